/* Profiler ranges by rocTX, which rocprofv3 shows. Compiled if one of its libraries is found. */
#include TT_ROCTX_HEADER

#include "backend/gpu/host.h"

void tt_gpu_range_push(void *self, const char *name)
{
    (void)self;
    (void)roctxRangePushA(name);
}

void tt_gpu_range_pop(void *self)
{
    (void)self;
    (void)roctxRangePop();
}
