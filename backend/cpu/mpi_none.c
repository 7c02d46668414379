/* The CPU backend without MPI: no collectives. */
#include "backend/cpu/cpu.h"

const char *tt_backend_mpirun(void) { return NULL; }

void tt_cpu_mpi_name(char *name, size_t size)
{
    if (size) name[0] = 0;
}

void tt_cpu_mpi_leave(struct cpu_mpi *m, bool whole) { (void)m, (void)whole; }
