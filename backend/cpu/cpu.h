/* What the files of the CPU backend share. The kernels are compiled once per instruction set (kernels.c); each
 * compilation is one struct cpu_kernels, and cpu.c picks the best one this processor can run. */
#ifndef TT_CPU_H
#define TT_CPU_H

#include <stdatomic.h>
#include <time.h>

#include "backend/backend.h"

/* Who works: this many threads, each with `scratch_floats` of memory of its own that lives as long as the backend. */
struct cpu_team {
    int threads;
    float *scratch;
    size_t scratch_floats; /* per thread */
};

struct cpu_kernels {
    const char *isa;
    void (*launch[TT_KERNELS])(const struct cpu_team *team, const void *args);

    /* floats of scratch per thread that a kernel needs; 0 for most */
    size_t (*launch_scratch)(enum tt_kernel kernel, const void *args);

    /* the built-in matrix multiply, for machines without a BLAS */
    void (*gemm)(const struct cpu_team *team, const struct tt_gemm *g);
    size_t gemm_scratch;

    /* for one row, faster than a BLAS too */
    void (*gemv)(const struct cpu_team *team, const struct tt_gemm *g);
    bool (*gemv_can)(const struct tt_gemm *g);
};

/* OpenBLAS waits for ever when there is no memory for its buffers, one per thread. So that memory is held from the
 * start, where running out of it can be reported, and let go right before the first multiply asks for it. */
struct cpu_room {
    void *at;
    size_t bytes;
};

struct cpu {
    const struct cpu_kernels *kernels;
    struct cpu_team team;
    bool blas;
    char blas_name[64];
    struct cpu_room blas_room;
    size_t memory_total;       /* 0 when unknown */
    atomic_size_t used, peak;  /* atomic, because a loader thread may allocate too */
    struct cpu_worker *worker; /* NULL until something is queued */
    struct cpu_mpi *mpi;       /* NULL before join */
};

struct tt_stream_s {
    uint64_t last; /* ticket of the last task queued on it; 0: none was */
};

struct tt_event_s {
    bool recorded;
    struct timespec at;
    uint64_t ticket; /* of the task it comes after; 0: none */
};

extern const struct cpu_kernels tt_cpu_kernels_base;
#ifdef __x86_64__
extern const struct cpu_kernels tt_cpu_kernels_v3, tt_cpu_kernels_v4;
#endif

/* blas.c: a CBLAS on our own threads. When there is none tt_cpu_blas_open answers false. */
bool tt_cpu_blas_open(char *name, size_t size);
tt_status tt_cpu_blas_hold(int threads, struct cpu_room *room);
void tt_cpu_blas_let_go(struct cpu_room *room);
bool tt_cpu_blas_can(const struct tt_gemm *g);
void tt_cpu_blas_gemm(const struct cpu_team *team, const struct tt_gemm *g);

/* streams.c */
tt_status tt_cpu_stream_create(void *self, tt_stream *out);
void tt_cpu_stream_destroy(void *self, tt_stream s);
tt_status tt_cpu_stream_sync(void *self, tt_stream s); /* also before anything computes on s */
tt_status tt_cpu_stream_wait(void *self, tt_stream s, tt_event e);
tt_status tt_cpu_event_create(void *self, tt_event *out);
void tt_cpu_event_destroy(void *self, tt_event e);
tt_status tt_cpu_event_record(void *self, tt_event e, tt_stream s);
tt_status tt_cpu_event_query(void *self, tt_event e, bool *done);
tt_status tt_cpu_event_sync(void *self, tt_event e);
tt_status tt_cpu_event_elapsed(void *self, tt_event from, tt_event to, double *seconds);

/* For the worker. On a stream that was created the caller goes on at once; on the NULL stream it waits. */
struct cpu_task;
tt_status tt_cpu_enqueue(struct cpu *cpu, const struct cpu_task *task, tt_stream s);
tt_status tt_cpu_delay(void *self, double seconds, tt_stream s);

/* collectives.c */
tt_status tt_cpu_join(void *self, const struct tt_ranks *ranks);
tt_status tt_cpu_collective(void *self, const struct tt_collective *c, tt_stream s);
tt_status tt_cpu_split(void *self, int group);

/* mpi.c: the ranks of a job through MPI; mpi_none.c where there is none. After joining, one thread at a time may call
 * it. */
void tt_cpu_mpi_name(char *name, size_t size);
tt_status tt_cpu_mpi_join(const struct tt_ranks *ranks, struct cpu_mpi **out);
void tt_cpu_mpi_leave(struct cpu_mpi *m, bool whole); /* not whole: a collective failed, so the others may be gone */
int tt_cpu_mpi_ranks(const struct cpu_mpi *m); /* of its group */
tt_status tt_cpu_mpi_split(struct cpu_mpi *m, int group);
/* `to`, and `from` of the second, are of this rank's part alone; they may lie in the other at their place. */
tt_status tt_cpu_mpi_reduce_scatter(struct cpu_mpi *m, const float *from, float *to, size_t count);
tt_status tt_cpu_mpi_all_gather(struct cpu_mpi *m, const void *from, void *to, size_t count, size_t element);
/* Of any count. */
tt_status tt_cpu_mpi_all_reduce(struct cpu_mpi *m, float *x, size_t count);

/* machine.c: what this computer is. */
int tt_cpu_thread_count(void);
void tt_cpu_model_name(char *name, size_t size);
void tt_cpu_memory(size_t *total, size_t *free);

#endif
