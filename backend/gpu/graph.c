/* Graphs: a step is captured once from its stream and then launched as a whole. A tt_graph is the runtime's executable
 * graph. */
#include "backend/gpu/gemm.h"
#include "backend/gpu/host.h"

tt_status tt_gpu_graph_begin(void *self, tt_stream s)
{
    struct gpu *gpu = self;
    TT_TRY(tt_gpu_scratch_reserve(gpu));
    tt_gpu_gemms_save(gpu); /* the first step has tuned all shapes: save now, in case the run is killed */
    CHECK(gpu, gpu_rt_capture_begin(gpu_stream_of(gpu, s)->rt));
    return TT_OK;
}

tt_status tt_gpu_graph_end(void *self, tt_stream s, tt_graph *out)
{
    struct gpu *gpu = self;
    gpu_rt_capture capture = NULL;
    gpu_rt_graph graph = NULL;
    *out = NULL;
    CHECK(gpu, gpu_rt_capture_end(gpu_stream_of(gpu, s)->rt, &capture));
    gpu_rt_error e = gpu_rt_graph_create(&graph, capture);
    (void)gpu_rt_capture_destroy(capture);
    CHECK_OF(gpu, e, gpu_rt_graph_create(&graph, capture));
    e = gpu_rt_graph_upload(graph, gpu_stream_of(gpu, s)->rt);
    if (e) (void)gpu_rt_graph_destroy(graph);
    CHECK_OF(gpu, e, gpu_rt_graph_upload(graph, s));
    *out = (tt_graph)graph;
    return TT_OK;
}

tt_status tt_gpu_graph_replay(void *self, tt_graph g, tt_stream s)
{
    struct gpu *gpu = self;
    CHECK(gpu, gpu_rt_graph_launch((gpu_rt_graph)g, gpu_stream_of(gpu, s)->rt));
    return TT_OK;
}

void tt_gpu_graph_destroy(void *self, tt_graph g)
{
    (void)self;
    if (g) (void)gpu_rt_graph_destroy((gpu_rt_graph)g);
}
