#include "profiling/measure/ceiling.h"

#include <stdlib.h>

#include "core/base/half.h"
#include "core/base/rng.h"

enum { PATTERN = 1 << 18, ROUNDS = 5, REPEATS = 4 };

struct product {
    struct tt_backend *b;
    struct tt_gemm g;
    void *memory[3];
    tt_event from, to;
};

/* Large enough to fill the device, small enough to be quick. */
static int64_t size_for(const struct tt_device_info *info, enum tt_dtype type)
{
    if (info->shares_memory) return 1024;
    return type == TT_F32 ? 4096 : 8192;
}

/* A stretch of random numbers, over and over: zeros would be multiplied faster than numbers are. */
static tt_status fill_random(struct product *p, void *device, size_t bytes, enum tt_dtype type)
{
    float *x = malloc(PATTERN * sizeof *x);
    uint16_t *narrow = malloc(PATTERN * sizeof *narrow);
    size_t piece = PATTERN * tt_dtype_size(type);
    tt_status st = x && narrow ? TT_OK : tt_no_memory("measuring the device");
    for (int i = 0; i < PATTERN && !st; i++) x[i] = (float)tt_uniform(1, 2, (uint64_t)i) - 0.5f;
    if (!st && type != TT_F32) tt_narrow(x, narrow, PATTERN, type);
    const void *source = type == TT_F32 ? (const void *)x : narrow;
    const struct tt_backend_ops *ops = p->b->ops;
    for (size_t at = 0; at < bytes && !st; at += piece)
        st = ops->copy(p->b->self, (char *)device + at, source, bytes - at < piece ? bytes - at : piece, TT_TO_DEVICE,
                       NULL);
    if (!st) st = ops->stream_sync(p->b->self, NULL);
    free(x);
    free(narrow);
    return st;
}

static tt_status prepare(struct product *p, enum tt_dtype type)
{
    const struct tt_backend_ops *ops = p->b->ops;
    struct tt_device_info info;
    TT_TRY(ops->info(p->b->self, &info));
    int64_t n = size_for(&info, type);
    size_t bytes = (size_t)(n * n) * tt_dtype_size(type);
    for (int i = 0; i < 3; i++) TT_TRY(ops->alloc(p->b->self, bytes, &p->memory[i]));
    for (int i = 0; i < 2; i++) TT_TRY(fill_random(p, p->memory[i], bytes, type));
    TT_TRY(ops->event_create(p->b->self, &p->from));
    TT_TRY(ops->event_create(p->b->self, &p->to));
    p->g = (struct tt_gemm){.a = p->memory[0], .b = p->memory[1], .c = p->memory[2], .m = n, .n = n, .k = n, .lda = n,
                            .ldb = n,
                            .ldc = n, .batch = 1, .alpha = 1, .trans_b = true, .type_a = type, .type_b = type,
                            .type_c = type};
    return TT_OK;
}

static tt_status measure(struct product *p, double *best)
{
    const struct tt_backend_ops *ops = p->b->ops;
    double flops = 2.0 * (double)p->g.m * (double)p->g.n * (double)p->g.k * REPEATS, seconds;
    *best = 0;
    TT_TRY(ops->gemm(p->b->self, &p->g, NULL)); /* chooses its algorithm */
    for (int round = 0; round < ROUNDS; round++) {
        TT_TRY(ops->event_record(p->b->self, p->from, NULL));
        for (int i = 0; i < REPEATS; i++) TT_TRY(ops->gemm(p->b->self, &p->g, NULL));
        TT_TRY(ops->event_record(p->b->self, p->to, NULL));
        TT_TRY(ops->event_elapsed(p->b->self, p->from, p->to, &seconds));
        if (seconds > 0 && flops / seconds > *best) *best = flops / seconds;
    }
    return TT_OK;
}

static void release(struct product *p)
{
    const struct tt_backend_ops *ops = p->b->ops;
    for (int i = 0; i < 3; i++)
        if (p->memory[i]) ops->free(p->b->self, p->memory[i]);
    if (p->from) ops->event_destroy(p->b->self, p->from);
    if (p->to) ops->event_destroy(p->b->self, p->to);
}

tt_status tt_measure_gemm(struct tt_backend *b, enum tt_dtype type, double *flops_per_second)
{
    struct product p = {.b = b};
    tt_status st = prepare(&p, type);
    if (!st) st = measure(&p, flops_per_second);
    release(&p);
    return st;
}

/* Larger than any cache, where there is room. */
static size_t copy_bytes(const struct tt_device_info *info)
{
    size_t bytes = (size_t)(info->shares_memory ? 64 : 512) << 20;
    while (info->memory_free && bytes > info->memory_free / 8 && bytes > 1 << 20) bytes /= 2;
    return bytes;
}

static tt_status time_copies(struct product *p, size_t bytes, double *best)
{
    const struct tt_backend_ops *ops = p->b->ops;
    double seconds;
    *best = 0;
    for (int i = 0; i < 2; i++) TT_TRY(ops->alloc(p->b->self, bytes, &p->memory[i]));
    TT_TRY(ops->event_create(p->b->self, &p->from));
    TT_TRY(ops->event_create(p->b->self, &p->to));
    /* So that its pages exist. */
    for (int i = 0; i < 2; i++) TT_TRY(ops->fill(p->b->self, p->memory[i], 1, bytes, NULL));
    for (int round = 0; round < ROUNDS; round++) {
        TT_TRY(ops->event_record(p->b->self, p->from, NULL));
        TT_TRY(ops->copy(p->b->self, p->memory[1], p->memory[0], bytes, TT_ON_DEVICE, NULL));
        TT_TRY(ops->event_record(p->b->self, p->to, NULL));
        TT_TRY(ops->event_elapsed(p->b->self, p->from, p->to, &seconds));
        if (seconds > 0 && 2 * (double)bytes / seconds > *best) *best = 2 * (double)bytes / seconds;
    }
    return TT_OK;
}

tt_status tt_measure_copy(struct tt_backend *b, double *bytes_per_second)
{
    struct tt_device_info info;
    struct product p = {.b = b};
    TT_TRY(b->ops->info(b->self, &info));
    tt_status st = time_copies(&p, copy_bytes(&info), bytes_per_second);
    release(&p);
    return st;
}
