/* Graphs: a step recorded once from its stream, then launched whole. A tt_graph is CUDA's own executable graph. */
#include "backend/cuda/cuda.h"
#include "backend/cuda/gemm.h"

bool tt_cuda_capturing(const struct tt_stream_s *s)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    return !cudaStreamIsCapturing(s->cuda, &status) && status != cudaStreamCaptureStatusNone;
}

/* Relaxed: a library may load a kernel or take memory meanwhile, and loader threads go on with their copies. */
tt_status tt_cuda_graph_begin(void *self, tt_stream s)
{
    struct cuda *cuda = self;
    tt_cuda_gemms_save(cuda); /* what the first step found out, should this run not end in peace */
    CHECK(cuda, cudaStreamBeginCapture(cuda_stream(cuda, s)->cuda, cudaStreamCaptureModeRelaxed));
    return TT_OK;
}

static cudaError_t instantiate(cudaGraph_t graph, cudaGraphExec_t *out)
{
#if CUDART_VERSION >= 12000
    return cudaGraphInstantiate(out, graph, 0);
#else
    return cudaGraphInstantiate(out, graph, NULL, NULL, 0);
#endif
}

tt_status tt_cuda_graph_end(void *self, tt_stream s, tt_graph *out)
{
    struct cuda *cuda = self;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    *out = NULL;
    CHECK(cuda, cudaStreamEndCapture(cuda_stream(cuda, s)->cuda, &graph));
    cudaError_t e = instantiate(graph, &exec);
    cudaGraphDestroy(graph);
    CHECK(cuda, e);
    *out = (tt_graph)exec;
    CHECK(cuda, cudaGraphUpload(exec, cuda_stream(cuda, s)->cuda));
    return TT_OK;
}

tt_status tt_cuda_graph_replay(void *self, tt_graph g, tt_stream s)
{
    struct cuda *cuda = self;
    CHECK(cuda, cudaGraphLaunch((cudaGraphExec_t)g, cuda_stream(cuda, s)->cuda));
    return TT_OK;
}

void tt_cuda_graph_destroy(void *self, tt_graph g)
{
    (void)self;
    if (g) cudaGraphExecDestroy((cudaGraphExec_t)g);
}
