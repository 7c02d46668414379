/* Which algorithm multiplies a shape. The library ranks some by a model of its own; tuning times them on the buffers of
 * the first multiply. That waits for the GPU, so it happens once per shape, in the first step, and never in a capture.
 */
#include <inttypes.h>
#include <stdio.h>

#include "backend/cuda/gemm.h"

enum { MOST = 64, QUICK = 8, ROUNDS = 3 };

struct candidates {
    cublasLtMatmulHeuristicResult_t found[MOST];
    double seconds[MOST];
    int count;
};

/* ---- what the library proposes ---- */

/* In place, blocks add to C as they finish, in no order; in the output's type, partial sums would be rounded. */
static const uint32_t fixed_order = CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;

static tt_status prefer(struct cuda *cuda, const struct gemm_key *k, cublasLtMatmulPreference_t preference)
{
    const struct {
        cublasLtMatmulPreferenceAttributes_t name;
        int64_t bytes;
    } alignments[] = {
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, k->align_b}, /* cuBLASLt's A is our B */
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, k->align_a},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, k->align_c},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, k->align_d},
    };
    size_t workspace = cuda->workspace_bytes;
    CHECK(cuda, cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                                     sizeof workspace));
    CHECK(cuda, cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                                     &fixed_order, sizeof fixed_order));
    for (int i = 0; i < 4; i++) {
        uint32_t bytes = (uint32_t)alignments[i].bytes;
        CHECK(cuda, cublasLtMatmulPreferenceSetAttribute(preference, alignments[i].name, &bytes, sizeof bytes));
    }
    return TT_OK;
}

static tt_status ask(struct cuda *cuda, const struct gemm_plan *p, cublasLtMatmulPreference_t preference, int most,
                     struct candidates *out)
{
    TT_TRY(prefer(cuda, &p->key, preference));
    int returned = 0;
    cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(cuda->lt, p->product, p->left, p->right, p->out, p->out,
                                                           preference, most, out->found, &returned);
    if (status != CUBLAS_STATUS_NOT_SUPPORTED) CHECK(cuda, status);
    out->count = 0;
    for (int i = 0; i < returned; i++)
        if (out->found[i].state == CUBLAS_STATUS_SUCCESS && out->found[i].workspaceSize <= cuda->workspace_bytes)
            out->found[out->count++] = out->found[i];
    return TT_OK;
}

static tt_status propose(struct cuda *cuda, const struct gemm_plan *p, int most, struct candidates *out)
{
    cublasLtMatmulPreference_t preference;
    CHECK(cuda, cublasLtMatmulPreferenceCreate(&preference));
    tt_status st = ask(cuda, p, preference, most, out);
    cublasLtMatmulPreferenceDestroy(preference);
    return st;
}

/* ---- timing ---- */

struct stopwatch {
    cudaEvent_t start, stop;
};

static cudaError_t stopwatch_open(struct stopwatch *w)
{
    cudaError_t e = cudaEventCreateWithFlags(&w->start, cudaEventDefault);
    return e ? e : cudaEventCreateWithFlags(&w->stop, cudaEventDefault);
}

static void stopwatch_close(struct stopwatch *w)
{
    if (w->start) cudaEventDestroy(w->start);
    if (w->stop) cudaEventDestroy(w->stop);
}

/* Seconds of one of `times` multiplies in a row; negative when the algorithm does not run. */
static double time_runs(struct cuda *cuda, const struct gemm_plan *p, const cublasLtMatmulAlgo_t *algorithm,
                        const struct gemm_call *call, const struct stopwatch *w, int times)
{
    float ms = 0;
    bool ok = !cudaEventRecord(w->start, call->stream->cuda);
    for (int i = 0; i < times && ok; i++) ok = !tt_cuda_multiply(cuda, p, algorithm, call);
    ok = ok && !cudaEventRecord(w->stop, call->stream->cuda) && !cudaEventSynchronize(w->stop) &&
         !cudaEventElapsedTime(&ms, w->start, w->stop);
    if (!ok) cudaGetLastError();
    return ok ? 1e-3 * (double)ms / times : -1;
}

/* The best of some rounds, in turns, so that a clock that speeds up favours none. */
static void time_all(struct cuda *cuda, const struct gemm_plan *p, const struct gemm_call *call,
                     const struct stopwatch *w, double budget, struct candidates *c)
{
    for (int i = 0; i < c->count; i++) c->seconds[i] = time_runs(cuda, p, &c->found[i].algo, call, w, 1);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < c->count; i++) {
            if (c->seconds[i] < 0) continue;
            double fit = budget / (c->seconds[i] + 1e-6);
            double t = time_runs(cuda, p, &c->found[i].algo, call, w, fit < 1 ? 1 : fit > 20 ? 20 : (int)fit);
            if (t < c->seconds[i]) c->seconds[i] = t; /* also when it fails now */
        }
}

/* The library's order stands unless another is clearly faster. */
static int fastest(const struct candidates *c)
{
    int best = -1;
    for (int i = 0; i < c->count; i++)
        if (c->seconds[i] >= 0 && (best < 0 || c->seconds[i] < 0.98 * c->seconds[best])) best = i;
    return best;
}

/* What is added to is not overwritten while timing: the sums then go to a scratch copy of C's shape. */
static tt_status scratch_for(struct cuda *cuda, const struct gemm_key *k, struct gemm_call *call, void **scratch)
{
    *scratch = NULL;
    if (!k->reads_c || call->c != call->d) return TT_OK;
    int64_t elements = (k->batch - 1) * k->stride_c + (k->m - 1) * k->ldc + k->n;
    TT_TRY(tt_cuda_alloc(cuda, (size_t)elements * tt_dtype_size((enum tt_dtype)k->type_out), scratch));
    call->d = *scratch;
    return TT_OK;
}

/* Which candidate is the fastest; -1 when that cannot be found out. */
static int race(struct cuda *cuda, const struct gemm_plan *p, struct gemm_call call, struct candidates *c)
{
    double budget = cuda->gemms->tune == TT_TUNE_FULL ? 20e-3 : 2e-3;
    struct stopwatch watch = {0};
    void *scratch;
    int best = -1;
    tt_status st = scratch_for(cuda, &p->key, &call, &scratch);
    if (!st && !stopwatch_open(&watch)) {
        time_all(cuda, p, &call, &watch, budget, c);
        best = fastest(c);
    }
    tt_status_free(st); /* no memory for the copy: then the library's own first choice it is */
    stopwatch_close(&watch);
    cudaStreamSynchronize(call.stream->cuda);
    tt_cuda_free(cuda, scratch);
    return best;
}

/* ---- choosing ---- */

/* One of many timed is another choice than one of a few. */
static void name_shape(const struct cuda *cuda, const struct gemm_key *k, char *out, size_t size)
{
    static const char *types[] = {[TT_F32] = "fp32", [TT_BF16] = "bf16", [TT_F16] = "fp16"};
    snprintf(out, size,
             "%" PRId64 "x%" PRId64 "x%" PRId64 " %s%s->%s %c%c ld %" PRId64 ",%" PRId64 ",%" PRId64 " batch %" PRId64
             ":%" PRId64 ",%" PRId64 ",%" PRId64 " align %" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "%s%s",
             k->m, k->n, k->k, types[k->type_in], cuda->tf32 && k->type_in == TT_F32 ? "(tf32)" : "",
             types[k->type_out], k->trans_a ? 't' : 'n', k->trans_b ? 't' : 'n', k->lda, k->ldb, k->ldc, k->batch,
             k->stride_a, k->stride_b, k->stride_c, k->align_a, k->align_b, k->align_c, k->align_d,
             k->reads_c ? " +c" : "", cuda->gemms->tune == TT_TUNE_FULL ? " full" : "");
}

/* A remembered choice counts only when this library still takes it. */
static bool recall(struct cuda *cuda, struct gemm_plan *p, const char *shape)
{
    cublasLtMatmulAlgo_t algorithm;
    cublasLtMatmulHeuristicResult_t result;
    if (!tt_gemm_file_find(&cuda->gemms->file, shape, &algorithm)) return false;
    cublasStatus_t status =
        cublasLtMatmulAlgoCheck(cuda->lt, p->product, p->left, p->right, p->out, p->out, &algorithm, &result);
    if (status != CUBLAS_STATUS_SUCCESS || result.workspaceSize > cuda->workspace_bytes) return false;
    p->algorithm = algorithm;
    return true;
}

tt_status tt_cuda_gemm_choose(struct cuda *cuda, struct gemm_plan *p, const struct gemm_call *call)
{
    enum tt_gemm_tune tune = cuda->gemms->tune;
    char shape[400];
    struct candidates c;
    name_shape(cuda, &p->key, shape, sizeof shape);
    if (tune != TT_TUNE_OFF && recall(cuda, p, shape)) return TT_OK;
    TT_TRY(propose(cuda, p, tune == TT_TUNE_FULL ? MOST : QUICK, &c));
    if (c.count == 0)
        return tt_fail(TT_FAILED,
                       "cuBLASLt has no algorithm for %s on %s; CUBLASLT_LOG_LEVEL=5 shows what it was asked", shape,
                       cuda->name);
    p->algorithm = c.found[0].algo;
    if (tune == TT_TUNE_OFF || tt_cuda_capturing(call->stream)) return TT_OK;
    int best = c.count > 1 ? race(cuda, p, *call, &c) : 0;
    if (best < 0) return TT_OK;
    p->algorithm = c.found[best].algo;
    tt_gemm_file_add(&cuda->gemms->file, shape, &p->algorithm);
    return TT_OK;
}
