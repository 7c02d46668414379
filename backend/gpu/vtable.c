/* The vtable of a GPU: opening, closing, launching kernels. TT_GPU_SYNC=1 in the environment waits after every launch,
 * so that an error names the kernel that caused it. */
#include <stdlib.h>
#include <string.h>

#include "backend/gpu/gemm.h"
#include "backend/gpu/host.h"
#include "backend/gpu/launch.h"
#include "backend/kernel_info.h"

/* ---- kernels ---- */

static tt_status launch(struct gpu *gpu, enum tt_kernel kernel, const void *args, struct tt_stream_s *s)
{
    CHECK(gpu, gpu_rt_set_device(gpu->device)); /* per thread; cheap if it is set already */
    CHECK(gpu, (gpu_rt_error)(gpu->portable ? tt_gpu_launch(kernel, args, s->rt)
                                            : tt_gpu_launch_native(kernel, args, s->rt, gpu->crowded)));
    if (gpu->sync && !gpu_rt_capturing(s->rt)) CHECK(gpu, gpu_rt_stream_sync(s->rt));
    return TT_OK;
}

static tt_status gpu_launch(void *self, enum tt_kernel kernel, const void *args, tt_stream s)
{
    struct gpu *gpu = self;
    if ((unsigned)kernel >= TT_KERNELS) return tt_fail(TT_FAILED, "launch: there is no kernel %d", (int)kernel);
    if (!gpu_has_type(gpu, *(const enum tt_dtype *)args))
        return tt_fail(TT_UNSUPPORTED, "%s: %s has no bf16; use --precision fp16 or fp32", tt_kernel_name(kernel),
                       gpu->arch);
    tt_status st = launch(gpu, kernel, args, gpu_stream_of(gpu, s));
    return st ? tt_context(st, "kernel %s", tt_kernel_name(kernel)) : TT_OK;
}

/* ---- opening and closing ---- */

static void gpu_close(void *self)
{
    struct gpu *gpu = self;
    if (gpu->compute.rt) (void)gpu_rt_stream_sync(gpu->compute.rt);
    if (gpu->collectives) gpu->leave(gpu);
    tt_gpu_usage_close(gpu);
    tt_gpu_gemms_close(gpu);
    if (gpu->compute.rt) (void)gpu_rt_stream_destroy(gpu->compute.rt);
    pthread_mutex_destroy(&gpu->ledger.lock);
    free(gpu->ledger.blocks);
    free(gpu);
}

static const struct tt_backend_ops ops = {
    .name = GPU_RT_BACKEND,
    .close = gpu_close,
    .info = tt_gpu_info,
    .reset_peak = tt_gpu_reset_peak,
    .alloc = tt_gpu_alloc,
    .free = tt_gpu_free,
    .host_alloc = tt_gpu_host_alloc,
    .host_free = tt_gpu_host_free,
    .copy = tt_gpu_copy,
    .fill = tt_gpu_fill,
    .gemm = tt_gpu_gemm,
    .launch = gpu_launch,
    .stream_create = tt_gpu_stream_create,
    .stream_destroy = tt_gpu_stream_destroy,
    .stream_sync = tt_gpu_stream_sync,
    .stream_wait = tt_gpu_stream_wait,
    .event_create = tt_gpu_event_create,
    .event_destroy = tt_gpu_event_destroy,
    .event_record = tt_gpu_event_record,
    .event_query = tt_gpu_event_query,
    .event_sync = tt_gpu_event_sync,
    .event_elapsed = tt_gpu_event_elapsed,
#ifdef TT_GPU_MARKS
    .range_push = tt_gpu_range_push,
    .range_pop = tt_gpu_range_pop,
#endif
    .graph_begin = tt_gpu_graph_begin,
    .graph_end = tt_gpu_graph_end,
    .graph_replay = tt_gpu_graph_replay,
    .graph_destroy = tt_gpu_graph_destroy,
#ifdef TT_GPU_COLLECTIVES
    .join = tt_gpu_join,
    .collective = tt_gpu_collective,
    .split = tt_gpu_split,
#endif
    .usage = tt_gpu_usage,
};

/* Launches a small kernel, to find out at once whether this GPU runs any. */
static tt_status check_kernels(struct gpu *gpu)
{
    struct tt_zero_args args = {.dtype = TT_F32, .x = gpu->compute.scratch.workspace, .n = 1};
    return launch(gpu, TT_K_zero, &args, &gpu->compute);
}

static tt_status prepare(struct gpu *gpu, const struct tt_backend_options *options)
{
    CHECK_OF(gpu, (gpu_rt_error)tt_gpu_find_code(), tt_gpu_find_code());
    CHECK(gpu, gpu_rt_stream_create(&gpu->compute.rt));
    TT_TRY(tt_gpu_gemms_open(gpu, options));
    return check_kernels(gpu);
}

static tt_status open_device(struct gpu *gpu, const struct tt_backend_options *options)
{
    TT_TRY(tt_gpu_choose(gpu, options->device));
    TT_TRY(tt_gpu_accept(gpu, options->precision));
    gpu->portable = options->kernels == TT_PORTABLE;
    tt_status st = prepare(gpu, options);
    if (st) st->code = TT_NO_DEVICE; /* e.g. other programs use all its memory */
    if (st || options->precision != TT_PREC_FP8) return st;
    return tt_gpu_accept(gpu, TT_PREC_FP8); /* again: only now is it known whether the library has 8-bit products */
}

tt_status tt_backend_open(const struct tt_backend_options *options, struct tt_backend *out)
{
    static const struct tt_backend_options defaults;
    *out = (struct tt_backend){0};
    struct gpu *gpu = calloc(1, sizeof *gpu);
    if (!gpu) return tt_no_memory("the " GPU_RT_NAME " backend");
    pthread_mutex_init(&gpu->ledger.lock, NULL);
    const char *sync = getenv("TT_GPU_SYNC");
    gpu->sync = sync && !strcmp(sync, "1");
    tt_status st = open_device(gpu, options ? options : &defaults);
    if (st) {
        gpu_close(gpu);
        return st;
    }
    *out = (struct tt_backend){&ops, gpu};
    return TT_OK;
}

void tt_backend_close(struct tt_backend *b)
{
    if (b->ops) b->ops->close(b->self);
    *b = (struct tt_backend){0};
}

const char *tt_backend_name(void) { return ops.name; }

const char *tt_backend_mpirun(void) { return NULL; }
