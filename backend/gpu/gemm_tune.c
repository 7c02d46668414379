/* The choice of an algorithm for a shape. The library ranks some by its heuristic; tuning times them on the buffers of
 * the first multiply. That waits for the GPU, so it is done once per shape, in the first step, and never in a capture.
 */
#include <inttypes.h>
#include <stdio.h>

#include "backend/gpu/gemm.h"

enum { MOST = 64, QUICK = 8, ROUNDS = 3 };

struct candidates {
    struct gemm_algorithm found[MOST];
    double seconds[MOST];
    int count;
};

/* ---- timing ---- */

struct stopwatch {
    gpu_rt_event start, stop;
};

/* A buffer that the timed products write in place of a real matrix. real: the matrix whose numbers it must hold first;
 * NULL: any will do. */
struct scratch {
    void *copy;
    const void *real;
    size_t bytes;
};

static gpu_rt_error stopwatch_open(struct stopwatch *w)
{
    gpu_rt_error e = gpu_rt_event_create(&w->start);
    return e ? e : gpu_rt_event_create(&w->stop);
}

static void stopwatch_close(struct stopwatch *w)
{
    if (w->start) (void)gpu_rt_event_destroy(w->start);
    if (w->stop) (void)gpu_rt_event_destroy(w->stop);
}

static bool multiplies(struct gpu *gpu, const struct gemm_plan *p, const struct gemm_algorithm *algorithm,
                       const struct gemm_call *call)
{
    tt_status st = tt_gpu_gemm_multiply(gpu, p, algorithm, call);
    bool ok = !st;
    tt_status_free(st);
    return ok;
}

/* Seconds per multiply, over `times` in a row; negative if the algorithm fails. The first of them works on the real
 * numbers, since the time of a kernel depends on them. */
static double time_runs(struct gpu *gpu, const struct gemm_plan *p, const struct gemm_algorithm *algorithm,
                        const struct gemm_call *call, const struct scratch *scratch, const struct stopwatch *w,
                        int times)
{
    float ms = 0;
    bool ok = !scratch->real ||
              !gpu_rt_copy(scratch->copy, scratch->real, scratch->bytes, TT_ON_DEVICE, call->stream->rt);
    ok = ok && !gpu_rt_event_record(w->start, call->stream->rt);
    for (int i = 0; i < times && ok; i++) ok = multiplies(gpu, p, algorithm, call);
    ok = ok && !gpu_rt_event_record(w->stop, call->stream->rt) && !gpu_rt_event_sync(w->stop) &&
         !gpu_rt_event_elapsed(&ms, w->start, w->stop);
    if (!ok) gpu_rt_clear_error();
    return ok ? 1e-3 * (double)ms / times : -1;
}

/* The best of several rounds. Each round times all candidates, so that a rising clock favours none. */
static void time_all(struct gpu *gpu, const struct gemm_plan *p, const struct gemm_call *call,
                     const struct scratch *scratch, const struct stopwatch *w, double budget, struct candidates *c)
{
    for (int i = 0; i < c->count; i++) c->seconds[i] = time_runs(gpu, p, &c->found[i], call, scratch, w, 1);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < c->count; i++) {
            if (c->seconds[i] < 0) continue;
            double fit = budget / (c->seconds[i] + 1e-6);
            double t = time_runs(gpu, p, &c->found[i], call, scratch, w, fit < 1 ? 1 : fit > 20 ? 20 : (int)fit);
            if (t < c->seconds[i]) c->seconds[i] = t; /* negative if it fails now */
        }
}

/* An algorithm must be clearly faster to beat one that the library ranks before it. */
static int fastest(const struct candidates *c)
{
    int best = -1;
    for (int i = 0; i < c->count; i++)
        if (c->seconds[i] >= 0 && (best < 0 || c->seconds[i] < 0.98 * c->seconds[best])) best = i;
    return best;
}

/* If C is read (beta != 0), timing must not overwrite it: the result then goes to a scratch buffer. Likewise gate and
 * up, which SwiGLU's backward pass reads and overwrites: the scratch buffer is a copy of them. */
static tt_status scratch_for(struct gpu *gpu, const struct gemm_key *k, struct gemm_call *call,
                             struct scratch *scratch)
{
    size_t size = tt_dtype_size((enum tt_dtype)k->type_out);
    if (k->with == TT_WITH_SWIGLU_BACKWARD) {
        scratch->bytes = (size_t)(2 * k->m * k->n) * size;
        TT_TRY(tt_gpu_alloc(gpu, scratch->bytes, &scratch->copy));
        scratch->real = call->also;
        call->also = scratch->copy;
    }
    if (!k->reads_c || call->c != call->d) return TT_OK;
    int64_t elements = (k->batch - 1) * k->stride_c + (k->m - 1) * k->ldc + k->n;
    TT_TRY(tt_gpu_alloc(gpu, (size_t)elements * size, &scratch->copy));
    call->d = scratch->copy;
    return TT_OK;
}

/* Times the candidates and returns the fastest; -1 if that fails. */
static int race(struct gpu *gpu, const struct gemm_plan *p, struct gemm_call call, struct candidates *c)
{
    double budget = gpu->gemms->tune == TT_TUNE_FULL ? 20e-3 : 2e-3;
    struct stopwatch watch = {0};
    struct scratch scratch = {0};
    int best = -1;
    tt_status st = scratch_for(gpu, &p->key, &call, &scratch);
    if (!st && !stopwatch_open(&watch)) {
        time_all(gpu, p, &call, &scratch, &watch, budget, c);
        best = fastest(c);
    }
    tt_status_free(st); /* no memory for the scratch buffer: use the library's first choice */
    stopwatch_close(&watch);
    (void)gpu_rt_stream_sync(call.stream->rt);
    tt_gpu_free(gpu, scratch.copy);
    return best;
}

/* ---- choosing ---- */

/* The shape as text, the key in the file. Full tuning and quick tuning have different keys. The number after "swiglu",
 * "rope" and "exp" is a version of our own kernels, to be raised when they become faster. */
static void name_shape(const struct gpu *gpu, const struct gemm_key *k, char *out, size_t size)
{
    static const char *with[] = {
        [TT_WITH_NOTHING] = "", [TT_WITH_SWIGLU] = " swiglu 1", [TT_WITH_SWIGLU_BACKWARD] = " swiglu_backward 1",
        [TT_WITH_ROPE] = " rope 1", [TT_WITH_EXP] = " exp 1"};
    bool mixed = k->type_a != k->type_b;
    snprintf(out, size,
             "%" PRId64 "x%" PRId64 "x%" PRId64 " %s%s%s%s->%s %c%c ld %" PRId64 ",%" PRId64 ",%" PRId64
             " batch %" PRId64 ":%" PRId64 ",%" PRId64 ",%" PRId64 " align %" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
             "%s%s%s%s",
             k->m, k->n, k->k, tt_gpu_type_name(k->type_a), mixed ? "*" : "",
             mixed ? tt_gpu_type_name(k->type_b) : "", gpu->tf32 && k->type_a == TT_F32 ? "(tf32)" : "",
             tt_gpu_type_name(k->type_out), k->trans_a ? 't' : 'n', k->trans_b ? 't' : 'n', k->lda, k->ldb, k->ldc,
             k->batch, k->stride_a, k->stride_b, k->stride_c, k->align_a, k->align_b, k->align_c, k->align_d,
             k->reads_c ? " +c" : "", with[k->with], k->row_scales ? " rows" : "",
             gpu->gemms->tune == TT_TUNE_FULL ? " full" : "");
}

/* Uses a choice from the file if this library still accepts it. */
static bool recall(struct gpu *gpu, struct gemm_plan *p, const char *shape)
{
    struct gemm_algorithm algorithm;
    bool found = tt_gemm_file_find(&gpu->gemms->file, shape, &algorithm) && tt_gpu_gemm_takes(gpu, p, &algorithm);
    if (found) p->algorithm = algorithm;
    return found;
}

tt_status tt_gpu_gemm_choose(struct gpu *gpu, struct gemm_plan *p, const struct gemm_call *call)
{
    enum tt_gemm_tune tune = gpu->gemms->tune;
    char shape[400];
    struct candidates c;
    name_shape(gpu, &p->key, shape, sizeof shape);
    if (tune != TT_TUNE_OFF && !p->key.units && recall(gpu, p, shape)) return TT_OK;
    TT_TRY(tt_gpu_gemm_propose(gpu, p, tune == TT_TUNE_FULL ? MOST : QUICK, c.found, &c.count));
    if (c.count == 0) return tt_blas_no_algorithm(gpu, shape);
    p->algorithm = c.found[0];
    /* Beside other kernels, take the first proposal: a race runs alone, so what fills the device would win it. */
    if (tune == TT_TUNE_OFF || p->key.units || gpu_rt_capturing(call->stream->rt)) return TT_OK;
    int best = c.count > 1 ? race(gpu, p, *call, &c) : 0;
    if (best < 0 || (p->key.with && c.count == 1)) return TT_OK; /* nothing was chosen */
    p->algorithm = c.found[best];
    tt_gemm_file_add(&gpu->gemms->file, shape, &p->algorithm);
    return TT_OK;
}
