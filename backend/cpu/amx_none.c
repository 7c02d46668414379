/* Without AMX: another processor, or a compiler that does not know it. */
#include "backend/cpu/cpu.h"

bool tt_cpu_amx_can(const struct tt_gemm *g)
{
    (void)g;
    return false;
}

size_t tt_cpu_amx_bytes(const struct tt_gemm *g)
{
    (void)g;
    return 0;
}

void tt_cpu_amx_gemm(const struct cpu_team *team, const struct tt_gemm *g, void *room)
{
    (void)team, (void)g, (void)room;
}
