/* GEMM workspaces and handles of streams. Any number of streams may multiply: the main stream, and a side stream for
 * every captured step, of which a program has one per model. A stream takes its scratch at its first multiply and
 * returns it when it is destroyed. A spare one is reserved before a capture begins, since a side stream first
 * multiplies during the capture, where neither memory nor handles can be created. */
#include "backend/gpu/gemm.h"

static void scratch_free(struct gpu *gpu, struct gemm_scratch *scratch)
{
    tt_blas_handles_close(scratch->handles);
    tt_gpu_free(gpu, scratch->workspace);
    *scratch = (struct gemm_scratch){0};
}

static tt_status scratch_make(struct gpu *gpu, struct gemm_scratch *out)
{
    TT_TRY(tt_gpu_alloc(gpu, gpu->workspace_bytes, &out->workspace));
    tt_status st = tt_blas_handles_open(gpu, &out->handles);
    if (st) scratch_free(gpu, out);
    return st;
}

tt_status tt_gpu_scratch_reserve(struct gpu *gpu)
{
    return gpu->spare.workspace ? TT_OK : scratch_make(gpu, &gpu->spare);
}

tt_status tt_gpu_scratch_take(struct gpu *gpu, struct tt_stream_s *s)
{
    if (s->scratch.workspace) return TT_OK;
    if (!gpu->spare.workspace && gpu_rt_capturing(s->rt))
        return tt_fail(TT_FAILED, "gemm: two streams multiply for the first time in this capture; run one of them "
                                  "before the capture");
    TT_TRY(tt_gpu_scratch_reserve(gpu));
    s->scratch = gpu->spare;
    gpu->spare = (struct gemm_scratch){0};
    return TT_OK;
}

/* Products that s has captured are replayed on the main stream, so this waits for both streams. One scratch is kept as
 * the spare for the next stream. */
void tt_gpu_scratch_return(struct gpu *gpu, struct tt_stream_s *s)
{
    if (!s->scratch.workspace) return;
    (void)gpu_rt_stream_sync(s->rt);
    (void)gpu_rt_stream_sync(gpu->compute.rt);
    if (gpu->spare.workspace)
        scratch_free(gpu, &s->scratch);
    else
        gpu->spare = s->scratch;
    s->scratch = (struct gemm_scratch){0};
}

void tt_gpu_scratch_close(struct gpu *gpu)
{
    scratch_free(gpu, &gpu->compute.scratch);
    scratch_free(gpu, &gpu->spare);
}
