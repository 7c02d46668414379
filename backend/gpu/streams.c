/* Streams and events. An event is the runtime's own handle. */
#include <stdlib.h>

#include "backend/gpu/gemm.h"
#include "backend/gpu/host.h"

tt_status tt_gpu_stream_create(void *self, tt_stream *out)
{
    struct gpu *gpu = self;
    gpu_rt_stream stream;
    *out = NULL;
    CHECK(gpu, gpu_rt_set_device(gpu->device));
    CHECK(gpu, gpu_rt_stream_create(&stream));
    struct tt_stream_s *s = calloc(1, sizeof *s);
    if (!s) {
        (void)gpu_rt_stream_destroy(stream);
        return tt_no_memory("a stream");
    }
    s->rt = stream;
    *out = s;
    return TT_OK;
}

void tt_gpu_stream_destroy(void *self, tt_stream s)
{
    if (!s) return;
    tt_gpu_scratch_return(self, s);
    (void)gpu_rt_stream_destroy(s->rt);
    free(s);
}

tt_status tt_gpu_stream_sync(void *self, tt_stream s)
{
    struct gpu *gpu = self;
    CHECK(gpu, gpu_rt_set_device(gpu->device));
    CHECK(gpu, gpu_rt_stream_sync(gpu_stream_of(gpu, s)->rt));
    return TT_OK;
}

tt_status tt_gpu_stream_wait(void *self, tt_stream s, tt_event e)
{
    struct gpu *gpu = self;
    CHECK(gpu, gpu_rt_set_device(gpu->device));
    CHECK(gpu, gpu_rt_stream_wait(gpu_stream_of(gpu, s)->rt, (gpu_rt_event)e));
    return TT_OK;
}

tt_status tt_gpu_event_create(void *self, tt_event *out)
{
    struct gpu *gpu = self;
    *out = NULL;
    CHECK(gpu, gpu_rt_set_device(gpu->device));
    CHECK(gpu, gpu_rt_event_create((gpu_rt_event *)out));
    return TT_OK;
}

void tt_gpu_event_destroy(void *self, tt_event e)
{
    (void)self;
    if (e) (void)gpu_rt_event_destroy((gpu_rt_event)e);
}

tt_status tt_gpu_event_record(void *self, tt_event e, tt_stream s)
{
    struct gpu *gpu = self;
    CHECK(gpu, gpu_rt_set_device(gpu->device));
    CHECK(gpu, gpu_rt_event_record((gpu_rt_event)e, gpu_stream_of(gpu, s)->rt));
    return TT_OK;
}

tt_status tt_gpu_event_query(void *self, tt_event e, bool *done)
{
    struct gpu *gpu = self;
    CHECK(gpu, gpu_rt_set_device(gpu->device));
    gpu_rt_error answer = gpu_rt_event_query((gpu_rt_event)e);
    *done = answer == GPU_RT_SUCCESS;
    if (answer == GPU_RT_NOT_READY)
        gpu_rt_clear_error();
    else
        CHECK_OF(gpu, answer, gpu_rt_event_query(e));
    return TT_OK;
}

tt_status tt_gpu_event_sync(void *self, tt_event e)
{
    struct gpu *gpu = self;
    CHECK(gpu, gpu_rt_set_device(gpu->device));
    CHECK(gpu, gpu_rt_event_sync((gpu_rt_event)e));
    return TT_OK;
}

tt_status tt_gpu_event_elapsed(void *self, tt_event from, tt_event to, double *seconds)
{
    struct gpu *gpu = self;
    float ms = 0;
    CHECK(gpu, gpu_rt_event_sync((gpu_rt_event)to));
    gpu_rt_error e = gpu_rt_event_elapsed(&ms, (gpu_rt_event)from, (gpu_rt_event)to);
    if (e == GPU_RT_BAD_HANDLE) {
        gpu_rt_clear_error();
        return tt_fail(TT_FAILED, "event_elapsed: both events must be recorded first");
    }
    CHECK_OF(gpu, e, gpu_rt_event_elapsed(&ms, from, to));
    *seconds = 1e-3 * (double)ms;
    return TT_OK;
}
