/* Streams and events. Streams do not wait for CUDA's legacy stream. An event is CUDA's own handle. */
#include <stdlib.h>

#include "backend/cuda/cuda.h"

tt_status tt_cuda_stream_create(void *self, tt_stream *out)
{
    struct cuda *cuda = self;
    cudaStream_t stream;
    *out = NULL;
    CHECK(cuda, cudaSetDevice(cuda->device));
    CHECK(cuda, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    struct tt_stream_s *s = calloc(1, sizeof *s);
    if (!s) {
        cudaStreamDestroy(stream);
        return tt_fail(TT_FAILED, "stream_create: no host memory");
    }
    s->cuda = stream;
    *out = s;
    return TT_OK;
}

void tt_cuda_stream_destroy(void *self, tt_stream s)
{
    if (!s) return;
    if (s->workspace) cudaStreamSynchronize(s->cuda);
    tt_cuda_free(self, s->workspace);
    cudaStreamDestroy(s->cuda);
    free(s);
}

tt_status tt_cuda_stream_sync(void *self, tt_stream s)
{
    struct cuda *cuda = self;
    CHECK(cuda, cudaStreamSynchronize(cuda_stream(cuda, s)->cuda));
    return TT_OK;
}

tt_status tt_cuda_stream_wait(void *self, tt_stream s, tt_event e)
{
    struct cuda *cuda = self;
    CHECK(cuda, cudaStreamWaitEvent(cuda_stream(cuda, s)->cuda, (cudaEvent_t)e, 0));
    return TT_OK;
}

tt_status tt_cuda_event_create(void *self, tt_event *out)
{
    struct cuda *cuda = self;
    *out = NULL;
    CHECK(cuda, cudaSetDevice(cuda->device));
    CHECK(cuda, cudaEventCreateWithFlags((cudaEvent_t *)out, cudaEventDefault));
    return TT_OK;
}

void tt_cuda_event_destroy(void *self, tt_event e)
{
    (void)self;
    if (e) cudaEventDestroy((cudaEvent_t)e);
}

tt_status tt_cuda_event_record(void *self, tt_event e, tt_stream s)
{
    struct cuda *cuda = self;
    CHECK(cuda, cudaEventRecord((cudaEvent_t)e, cuda_stream(cuda, s)->cuda));
    return TT_OK;
}

tt_status tt_cuda_event_query(void *self, tt_event e, bool *done)
{
    struct cuda *cuda = self;
    cudaError_t answer = cudaEventQuery((cudaEvent_t)e);
    *done = answer == cudaSuccess;
    if (answer == cudaErrorNotReady)
        cudaGetLastError();
    else
        CHECK(cuda, answer);
    return TT_OK;
}

tt_status tt_cuda_event_sync(void *self, tt_event e)
{
    struct cuda *cuda = self;
    CHECK(cuda, cudaEventSynchronize((cudaEvent_t)e));
    return TT_OK;
}

tt_status tt_cuda_event_elapsed(void *self, tt_event from, tt_event to, double *seconds)
{
    struct cuda *cuda = self;
    float ms = 0;
    CHECK(cuda, cudaEventSynchronize((cudaEvent_t)to));
    cudaError_t e = cudaEventElapsedTime(&ms, (cudaEvent_t)from, (cudaEvent_t)to);
    if (e == cudaErrorInvalidResourceHandle) {
        cudaGetLastError();
        return tt_fail(TT_FAILED, "event_elapsed: both events must be recorded first");
    }
    CHECK(cuda, e);
    *seconds = 1e-3 * (double)ms;
    return TT_OK;
}
