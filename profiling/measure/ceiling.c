#include "profiling/measure/ceiling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fp8.h"
#include "core/base/half.h"
#include "core/base/rng.h"
#include "core/base/stats.h"

enum { PATTERN = 1 << 18, LEAST_ROUNDS = 5, MOST_ROUNDS = 40, TRIAL_ROUNDS = 3, TRIAL_SIZE = 512, REPEATS = 4 };

struct product {
    struct tt_backend *b;
    struct tt_gemm g;
    void *memory[4]; /* the fourth: a scale of 1, for 8-bit factors */
    size_t bytes; /* of a copy */
    tt_event from, to;
};

/* Large enough to fill the device, small enough to be quick. */
static int64_t size_for(const struct tt_device_info *info, enum tt_dtype type)
{
    if (info->shares_memory) return 1024;
    return type == TT_F32 ? 4096 : 8192;
}

/* Random numbers, repeated: a product of zeros draws less power and so runs faster. */
static tt_status fill_random(struct product *p, void *device, size_t bytes, enum tt_dtype type)
{
    float *x = malloc(PATTERN * sizeof *x);
    void *narrow = malloc(PATTERN * sizeof(uint16_t));
    size_t piece = PATTERN * tt_dtype_size(type);
    tt_status st = x && narrow ? TT_OK : tt_no_memory("measuring the device");
    for (int i = 0; i < PATTERN && !st; i++) x[i] = (float)tt_uniform(1, 2, (uint64_t)i) - 0.5f;
    for (int i = 0; i < PATTERN && !st && tt_is_fp8(type); i++) ((uint8_t *)narrow)[i] = tt_to_fp8(x[i], type);
    if (!st && type != TT_F32 && !tt_is_fp8(type)) tt_narrow(x, narrow, PATTERN, type);
    const void *source = type == TT_F32 ? x : narrow;
    const struct tt_backend_ops *ops = p->b->ops;
    for (size_t at = 0; at < bytes && !st; at += piece)
        st = ops->copy(p->b->self, (char *)device + at, source, bytes - at < piece ? bytes - at : piece, TT_TO_DEVICE,
                       NULL);
    if (!st) st = ops->stream_sync(p->b->self, NULL);
    free(x);
    free(narrow);
    return st;
}

static tt_status make_scale(struct product *p)
{
    const struct tt_backend_ops *ops = p->b->ops;
    const float one = 1;
    TT_TRY(ops->alloc(p->b->self, sizeof one, &p->memory[3]));
    TT_TRY(ops->copy(p->b->self, p->memory[3], &one, sizeof one, TT_TO_DEVICE, NULL));
    return ops->stream_sync(p->b->self, NULL);
}

static tt_status prepare(struct product *p, enum tt_dtype type, int64_t n)
{
    const struct tt_backend_ops *ops = p->b->ops;
    size_t bytes = (size_t)(n * n) * tt_dtype_size(type);
    enum tt_dtype out = tt_is_fp8(type) ? TT_BF16 : type;
    for (int i = 0; i < 2; i++) TT_TRY(ops->alloc(p->b->self, bytes, &p->memory[i]));
    TT_TRY(ops->alloc(p->b->self, (size_t)(n * n) * tt_dtype_size(out), &p->memory[2]));
    if (tt_is_fp8(type)) TT_TRY(make_scale(p));
    for (int i = 0; i < 2; i++) TT_TRY(fill_random(p, p->memory[i], bytes, type));
    TT_TRY(ops->event_create(p->b->self, &p->from));
    TT_TRY(ops->event_create(p->b->self, &p->to));
    p->g = (struct tt_gemm){.a = p->memory[0], .b = p->memory[1], .c = p->memory[2], .m = n, .n = n, .k = n, .lda = n,
                            .ldb = n,
                            .ldc = n, .batch = 1, .alpha = 1, .trans_b = true, .type_a = type, .type_b = type,
                            .type_c = out, .scale_a = p->memory[3], .scale_b = p->memory[3]};
    return TT_OK;
}

/* ---- samples of a rate ---- */

struct samples {
    double rate[MOST_ROUNDS], sorted[MOST_ROUNDS];
    int n, most;
    double began;
};

/* Three samples agree, so the best is no outlier. */
static bool settled(const struct samples *s, double best)
{
    int near = 0;
    for (int i = 0; i < s->n; i++) near += s->rate[i] >= 0.97 * best;
    return near >= 3;
}

static bool enough(const struct samples *s)
{
    double best = 0;
    for (int i = 0; i < s->n; i++) best = fmax(best, s->rate[i]);
    if (s->n == s->most) return true;
    return s->n >= LEAST_ROUNDS && (settled(s, best) || tt_seconds() - s->began > 1);
}

static void finish(struct samples *s, struct tt_rate *out)
{
    memcpy(s->sorted, s->rate, sizeof s->rate);
    out->best = tt_quantile(s->sorted, s->n, 1);
    out->spread = 1 - tt_quantile(s->sorted, s->n, 0.5) / out->best;
}

/* Samples a rate: `work`, the FLOPs or bytes of one call of `once`, over its time. Takes no more than `most`
 * samples. */
static tt_status sample(struct product *p, tt_status (*once)(struct product *), double work, int most,
                        struct tt_rate *out)
{
    const struct tt_backend_ops *ops = p->b->ops;
    struct samples s = {.most = most, .began = tt_seconds()};
    struct tt_turns began = tt_turns_now();
    out->turns = (struct tt_turns){0};
    while (!enough(&s)) {
        double seconds;
        TT_TRY(ops->event_record(p->b->self, p->from, NULL));
        TT_TRY(once(p));
        TT_TRY(ops->event_record(p->b->self, p->to, NULL));
        TT_TRY(ops->event_elapsed(p->b->self, p->from, p->to, &seconds));
        s.rate[s.n++] = seconds > 0 ? work / seconds : 0;
    }
    finish(&s, out);
    struct tt_turns end = tt_turns_now();
    tt_turns_add(&out->turns, &began, &end);
    return TT_OK;
}

static tt_status multiply(struct product *p)
{
    for (int i = 0; i < REPEATS; i++) TT_TRY(p->b->ops->gemm(p->b->self, &p->g, NULL));
    return TT_OK;
}

static tt_status copy(struct product *p)
{
    return p->b->ops->copy(p->b->self, p->memory[1], p->memory[0], p->bytes, TT_ON_DEVICE, NULL);
}

/* x *= -1: reads and writes the same bytes. */
static tt_status update(struct product *p)
{
    struct tt_scale_args a = {.dtype = TT_F32, .x = p->memory[0], .n = (int64_t)(p->bytes / sizeof(float)),
                              .factor = -1};
    return p->b->ops->launch(p->b->self, TT_K_scale, &a, NULL);
}

static void release(struct product *p)
{
    const struct tt_backend_ops *ops = p->b->ops;
    for (int i = 0; i < 4; i++)
        if (p->memory[i]) ops->free(p->b->self, p->memory[i]);
    if (p->from) ops->event_destroy(p->b->self, p->from);
    if (p->to) ops->event_destroy(p->b->self, p->to);
}

/* The first product chooses its algorithm. A CPU then multiplies for `seconds`: the threads that OpenBLAS starts with a
 * program spin before they sleep (for 0.07 and 0.09 s of a core in two runs), and two threads of ours would wait for
 * them 5 to 21 % of the time. */
static tt_status warm_up(struct product *p, double seconds)
{
    double began = tt_seconds();
    do {
        TT_TRY(p->b->ops->gemm(p->b->self, &p->g, NULL));
    } while (tt_seconds() - began < seconds);
    return TT_OK;
}

static tt_status measure_gemm(struct tt_backend *b, enum tt_dtype type, int64_t n, double warm, int most,
                              struct tt_rate *out)
{
    struct product p = {.b = b};
    tt_status st = prepare(&p, type, n);
    if (!st) st = warm_up(&p, warm);
    if (!st) st = sample(&p, multiply, 2.0 * (double)p.g.m * (double)p.g.n * (double)p.g.k * REPEATS, most, out);
    release(&p);
    return st;
}

tt_status tt_measure_gemm(struct tt_backend *b, enum tt_dtype type, struct tt_rate *out)
{
    struct tt_device_info info;
    TT_TRY(b->ops->info(b->self, &info));
    return measure_gemm(b, type, size_for(&info, type), info.shares_memory ? 0.15 : 0, MOST_ROUNDS, out);
}

tt_status tt_try_gemm(struct tt_backend *b, enum tt_dtype type, struct tt_rate *out)
{
    return measure_gemm(b, type, TRIAL_SIZE, 0, TRIAL_ROUNDS, out);
}

/* Larger than any cache, where there is room. */
static size_t copy_bytes(const struct tt_device_info *info)
{
    size_t bytes = (size_t)(info->shares_memory ? 64 : 512) << 20;
    while (info->memory_free && bytes > info->memory_free / 8 && bytes > 1 << 20) bytes /= 2;
    return bytes;
}

static tt_status prepare_copies(struct product *p)
{
    const struct tt_backend_ops *ops = p->b->ops;
    for (int i = 0; i < 2; i++) TT_TRY(ops->alloc(p->b->self, p->bytes, &p->memory[i]));
    TT_TRY(ops->event_create(p->b->self, &p->from));
    TT_TRY(ops->event_create(p->b->self, &p->to));
    /* touch the pages, so that they exist */
    for (int i = 0; i < 2; i++) TT_TRY(ops->fill(p->b->self, p->memory[i], 1, p->bytes, NULL));
    return TT_OK;
}

/* A CPU reads a line of memory before it writes a part of it, so a copy moves three bytes for two that count. An update
 * in place moves what counts, and so shows what the memory gives: 18.7 GB/s where a copy had 10.2 (one thread of a
 * Xeon). */
static tt_status sample_update(struct product *p, struct tt_rate *out)
{
    struct tt_rate updates;
    TT_TRY(sample(p, update, 2 * (double)p->bytes, MOST_ROUNDS, &updates));
    if (updates.best > out->best) *out = updates;
    return TT_OK;
}

tt_status tt_measure_copy(struct tt_backend *b, struct tt_rate *out)
{
    struct tt_device_info info;
    struct product p = {.b = b};
    TT_TRY(b->ops->info(b->self, &info));
    p.bytes = copy_bytes(&info);
    tt_status st = prepare_copies(&p);
    if (!st) st = sample(&p, copy, 2 * (double)p.bytes, MOST_ROUNDS, out);
    if (!st && info.shares_memory) st = sample_update(&p, out);
    release(&p);
    return st;
}
