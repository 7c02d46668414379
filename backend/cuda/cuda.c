/* The vtable on an NVIDIA GPU: opening, closing, launching kernels, ranges for the profiler. TT_CUDA_SYNC=1 in the
 * environment waits after every launch, so that a kernel that goes wrong is the one the error names. */
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/cuda.h"
#include "backend/cuda/gemm.h"
#include "backend/gpu/launch.h"
#include "backend/kernel_info.h"

#ifdef TT_HAVE_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

/* ---- kernels ---- */

static tt_status launch(struct cuda *cuda, enum tt_kernel kernel, const void *args, struct tt_stream_s *s)
{
    CHECK(cuda, cudaSetDevice(cuda->device)); /* of this thread; quick when it is already */
    CHECK(cuda, (cudaError_t)(cuda->portable ? tt_gpu_launch : tt_gpu_launch_native)(kernel, args, s->cuda));
    if (cuda->sync && !tt_cuda_capturing(s)) CHECK(cuda, cudaStreamSynchronize(s->cuda));
    return TT_OK;
}

static tt_status cuda_launch(void *self, enum tt_kernel kernel, const void *args, tt_stream s)
{
    struct cuda *cuda = self;
    if ((unsigned)kernel >= TT_KERNELS) return tt_fail(TT_FAILED, "launch: there is no kernel %d", (int)kernel);
    if (!cuda_has_type(cuda, *(const enum tt_dtype *)args))
        return tt_fail(TT_UNSUPPORTED, "%s: sm_%d has no bf16; use --precision fp16 or fp32", tt_kernel_name(kernel),
                       cuda->sm);
    tt_status st = launch(cuda, kernel, args, cuda_stream(cuda, s));
    return st ? tt_context(st, "kernel %s", tt_kernel_name(kernel)) : TT_OK;
}

/* ---- ranges ---- */

#ifdef TT_HAVE_NVTX
static void cuda_range_push(void *self, const char *name)
{
    (void)self;
    nvtxRangePushA(name);
}

static void cuda_range_pop(void *self)
{
    (void)self;
    nvtxRangePop();
}
#endif

/* ---- opening and closing ---- */

static void cuda_close(void *self)
{
    struct cuda *cuda = self;
    if (cuda->compute.cuda) cudaStreamSynchronize(cuda->compute.cuda);
    tt_cuda_gemms_close(cuda);
    tt_cuda_free(cuda, cuda->compute.workspace);
    if (cuda->compute.cuda) cudaStreamDestroy(cuda->compute.cuda);
    pthread_mutex_destroy(&cuda->ledger.lock);
    free(cuda->ledger.blocks);
    free(cuda);
}

static const struct tt_backend_ops ops = {
    .name = "cuda",
    .close = cuda_close,
    .info = tt_cuda_info,
    .reset_peak = tt_cuda_reset_peak,
    .alloc = tt_cuda_alloc,
    .free = tt_cuda_free,
    .host_alloc = tt_cuda_host_alloc,
    .host_free = tt_cuda_host_free,
    .copy = tt_cuda_copy,
    .fill = tt_cuda_fill,
    .gemm = tt_cuda_gemm,
    .launch = cuda_launch,
    .stream_create = tt_cuda_stream_create,
    .stream_destroy = tt_cuda_stream_destroy,
    .stream_sync = tt_cuda_stream_sync,
    .stream_wait = tt_cuda_stream_wait,
    .event_create = tt_cuda_event_create,
    .event_destroy = tt_cuda_event_destroy,
    .event_record = tt_cuda_event_record,
    .event_query = tt_cuda_event_query,
    .event_sync = tt_cuda_event_sync,
    .event_elapsed = tt_cuda_event_elapsed,
#ifdef TT_HAVE_NVTX
    .range_push = cuda_range_push,
    .range_pop = cuda_range_pop,
#endif
    .graph_begin = tt_cuda_graph_begin,
    .graph_end = tt_cuda_graph_end,
    .graph_replay = tt_cuda_graph_replay,
    .graph_destroy = tt_cuda_graph_destroy,
};

static tt_status check_precision(const struct cuda *cuda, enum tt_precision precision)
{
    bool ampere = cuda->sm >= 80;
    if (ampere || (precision != TT_TF32 && precision != TT_PREC_BF16)) return TT_OK;
    return tt_fail(TT_USAGE, "%s is sm_%d and has no %s, which needs sm_80; use --precision fp16 or fp32", cuda->name,
                   cuda->sm, precision == TT_TF32 ? "tf32" : "bf16");
}

/* Better now than in the middle of the first step: is there code for this GPU in the program? */
static tt_status check_kernels(struct cuda *cuda)
{
    struct tt_zero_args args = {.dtype = TT_F32, .x = cuda->compute.workspace, .n = 1};
    tt_status st = launch(cuda, TT_K_zero, &args, &cuda->compute);
    if (st) st->code = TT_NO_DEVICE;
    return st;
}

static tt_status open_device(struct cuda *cuda, const struct tt_backend_options *options)
{
    TT_TRY(tt_cuda_choose(cuda, options->device));
    TT_TRY(check_precision(cuda, options->precision));
    cuda->portable = options->kernels == TT_PORTABLE;
    cuda->tf32 = options->precision == TT_TF32;
    CHECK(cuda, cudaStreamCreateWithFlags(&cuda->compute.cuda, cudaStreamNonBlocking));
    TT_TRY(tt_cuda_gemms_open(cuda, options));
    return check_kernels(cuda);
}

tt_status tt_backend_open(const struct tt_backend_options *options, struct tt_backend *out)
{
    static const struct tt_backend_options defaults;
    *out = (struct tt_backend){0};
    struct cuda *cuda = calloc(1, sizeof *cuda);
    if (!cuda) return tt_fail(TT_FAILED, "no memory to open the CUDA backend");
    pthread_mutex_init(&cuda->ledger.lock, NULL);
    const char *sync = getenv("TT_CUDA_SYNC");
    cuda->sync = sync && !strcmp(sync, "1");
    tt_status st = open_device(cuda, options ? options : &defaults);
    if (st) {
        cuda_close(cuda);
        return st;
    }
    *out = (struct tt_backend){&ops, cuda};
    return TT_OK;
}

void tt_backend_close(struct tt_backend *b)
{
    if (b->ops) b->ops->close(b->self);
    *b = (struct tt_backend){0};
}

const char *tt_backend_name(void) { return ops.name; }
