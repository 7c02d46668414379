/* Profiler ranges by NVTX, which nsys and ncu show. Compiled if NVTX 3 is found. */
#include <nvtx3/nvToolsExt.h>

#include "backend/gpu/host.h"

void tt_gpu_range_push(void *self, const char *name)
{
    (void)self;
    nvtxRangePushA(name);
}

void tt_gpu_range_pop(void *self)
{
    (void)self;
    nvtxRangePop();
}
