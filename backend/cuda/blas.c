/* cuBLASLt behind the tt_blas_ functions of backend/gpu/gemm.h. */
#include <cublasLt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/gpu/gemm.h"
#include "core/base/fp8.h"

struct gpu_blas {
    cublasLtHandle_t lt;
};

struct shape {
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t left, right, out; /* as cuBLASLt sees them: left is our B, right our A */
};

_Static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof(struct gemm_algorithm), "gemm_algorithm holds an algorithm");

/* ---- errors ---- */

static const char *hint(cublasStatus_t e)
{
    switch (e) {
    case CUBLAS_STATUS_ALLOC_FAILED:
        return "use a smaller --batch-size, or free the GPU (nvidia-smi lists who uses it)";
    case CUBLAS_STATUS_NOT_INITIALIZED:
        return "the cuBLASLt that was found does not match the driver or the CUDA runtime; check LD_LIBRARY_PATH";
    case CUBLAS_STATUS_ARCH_MISMATCH:
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return "this GPU or this cuBLASLt cannot multiply that; try --precision fp32";
    case CUBLAS_STATUS_EXECUTION_FAILED:
        return "an earlier kernel may have failed; TT_GPU_SYNC=1 with --graph off names it";
    default:
        return "CUBLASLT_LOG_LEVEL=5 in the environment shows what cuBLASLt was asked";
    }
}

static tt_status failed(const struct gpu *gpu, const char *function, const char *expression, cublasStatus_t e)
{
    gpu_rt_clear_error();
    return tt_fail(TT_FAILED, "%s: %s: %s (%s) on GPU %d, %s; %s", function, expression, cublasLtGetStatusString(e),
                   cublasLtGetStatusName(e), gpu->device, gpu->name, hint(e));
}

#define BLAS(gpu, call)                                                                                                \
    do {                                                                                                               \
        cublasStatus_t blas_ = (call);                                                                                 \
        if (blas_ != CUBLAS_STATUS_SUCCESS) return failed(gpu, __func__, #call, blas_);                                \
    } while (0)

/* ---- the library ---- */

static bool proposes_rows(struct gpu *gpu, enum tt_dtype out);

size_t tt_blas_workspace(const struct gpu *gpu)
{
    (void)gpu;
    return (size_t)8 << 20; /* on Hopper, 4, 16, 32 and 64 MiB were not faster */
}

tt_status tt_blas_open(struct gpu *gpu)
{
    gpu->blas = calloc(1, sizeof *gpu->blas);
    if (!gpu->blas) return tt_no_memory("cuBLASLt");
    BLAS(gpu, cublasLtCreate(&gpu->blas->lt));
    gpu->asks_units = true;
    gpu->fp8_rows = gpu->has[TT_PREC_FP8] && proposes_rows(gpu, TT_BF16) && proposes_rows(gpu, TT_F32);
    return TT_OK;
}

/* A multiply writes nothing into a cuBLASLt handle, so all streams share one; only the workspaces differ. */
tt_status tt_blas_handles_open(struct gpu *gpu, void **out)
{
    (void)gpu;
    *out = NULL;
    return TT_OK;
}

void tt_blas_handles_close(void *handles) { (void)handles; }

void tt_blas_close(struct gpu *gpu)
{
    if (gpu->blas && gpu->blas->lt) cublasLtDestroy(gpu->blas->lt);
    free(gpu->blas);
    gpu->blas = NULL;
}

void tt_blas_name(const struct gpu *gpu, char *out, size_t size)
{
    size_t version = cublasLtGetVersion();
    (void)gpu;
    snprintf(out, size, "cuBLASLt %zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
}

/* ---- one shape ---- */

static cudaDataType_t cuda_type(int64_t type)
{
    switch (type) {
    case TT_F32: return CUDA_R_32F;
    case TT_BF16: return CUDA_R_16BF;
    case TT_E4M3: return CUDA_R_8F_E4M3;
    case TT_E5M2: return CUDA_R_8F_E5M2;
    default: return CUDA_R_16F;
    }
}

/* The scales of 8-bit factors; cuBLASLt's A is our B. */
static tt_status set_scales(struct gpu *gpu, cublasLtMatmulDesc_t product, const void *a, const void *b)
{
    BLAS(gpu, cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &b, sizeof b));
    BLAS(gpu, cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &a, sizeof a));
    return TT_OK;
}

/* A scale per row: cuBLASLt has that since 12.9, and as of 13.1 only on sm_90. */
static tt_status set_row_scales(struct gpu *gpu, cublasLtMatmulDesc_t product)
{
#if CUBLAS_VERSION >= 120900
    int32_t mode = CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
    BLAS(gpu, cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, &mode, sizeof mode));
    BLAS(gpu, cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, &mode, sizeof mode));
    return TT_OK;
#else
    (void)product;
    return tt_fail(TT_UNSUPPORTED, "%s: this cuBLASLt has no scales of rows", gpu->name);
#endif
}

/* `fast`: Hopper's 8-bit products keep their sums in the tensor cores, with fewer bits than fp32 has; else the sums
 * move to fp32 registers every few steps. It is set for E4M3 by E4M3, the products of the forward pass. It is not set
 * for gradients, of which one factor is E5M2: their sums are long and of both signs. With a scale per row, gradients
 * are E4M3 too, so no product is fast.
 *
 * Algorithms depend on whether there are scales, not on where they are. The addresses are set before each multiply, so
 * any address will do here. */
static tt_status make_fp8(struct gpu *gpu, const struct gemm_key *k, cublasLtMatmulDesc_t product)
{
    int8_t fast = k->type_a == TT_E4M3 && k->type_b == TT_E4M3 && !k->row_scales;
    const void *any = gpu->compute.scratch.workspace;
    BLAS(gpu, cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast));
    if (k->row_scales) TT_TRY(set_row_scales(gpu, product));
    return set_scales(gpu, product, any, any);
}

/* Makes the library propose algorithms for so many multiprocessors. */
static tt_status take_units(struct gpu *gpu, cublasLtMatmulDesc_t product, int64_t units)
{
    int32_t most = (int32_t)units;
    BLAS(gpu, cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, &most, sizeof most));
    return TT_OK;
}

static tt_status make_product(struct gpu *gpu, const struct gemm_key *k, cublasLtMatmulDesc_t *out)
{
    bool fast = gpu->tf32 && k->type_a == TT_F32;
    cublasOperation_t left = k->trans_b ? CUBLAS_OP_T : CUBLAS_OP_N, right = k->trans_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    BLAS(gpu, cublasLtMatmulDescCreate(out, fast ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F));
    BLAS(gpu, cublasLtMatmulDescSetAttribute(*out, CUBLASLT_MATMUL_DESC_TRANSA, &left, sizeof left));
    BLAS(gpu, cublasLtMatmulDescSetAttribute(*out, CUBLASLT_MATMUL_DESC_TRANSB, &right, sizeof right));
    if (k->units) TT_TRY(take_units(gpu, *out, k->units));
    return tt_is_fp8((enum tt_dtype)k->type_a) ? make_fp8(gpu, k, *out) : TT_OK;
}

/* A row-major matrix of `rows` rows with stride `ld` is a column-major one of `rows` columns. */
static tt_status make_layout(struct gpu *gpu, int64_t many, int64_t type, int64_t rows, int64_t cols, int64_t ld,
                             int64_t stride, cublasLtMatrixLayout_t *out)
{
    int32_t batch = (int32_t)many;
    BLAS(gpu, cublasLtMatrixLayoutCreate(out, cuda_type(type), (uint64_t)cols, (uint64_t)rows, ld));
    if (batch == 1) return TT_OK;
    BLAS(gpu, cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch));
    BLAS(gpu,
         cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride));
    return TT_OK;
}

tt_status tt_blas_plan(struct gpu *gpu, struct gemm_plan *p)
{
    const struct gemm_key *k = &p->key;
    struct shape *s = p->library = calloc(1, sizeof *s);
    if (!s) return tt_no_memory("a matrix shape");
    TT_TRY(make_product(gpu, k, &s->product));
    TT_TRY(make_layout(gpu, k->batch, k->type_b, k->trans_b ? k->n : k->k, k->trans_b ? k->k : k->n, k->ldb,
                       k->stride_b, &s->left));
    TT_TRY(make_layout(gpu, k->batch, k->type_a, k->trans_a ? k->k : k->m, k->trans_a ? k->m : k->k, k->lda,
                       k->stride_a, &s->right));
    return make_layout(gpu, k->batch, k->type_out, k->m, k->n, k->ldc, k->stride_c, &s->out);
}

void tt_blas_plan_free(struct gemm_plan *p)
{
    struct shape *s = p->library;
    if (!s) return;
    if (s->product) cublasLtMatmulDescDestroy(s->product);
    if (s->left) cublasLtMatrixLayoutDestroy(s->left);
    if (s->right) cublasLtMatrixLayoutDestroy(s->right);
    if (s->out) cublasLtMatrixLayoutDestroy(s->out);
    free(s);
}

/* ---- candidates ---- */

/* Excluded schemes: with INPLACE, blocks add to C in no fixed order; with OUTPUT_TYPE, partial sums are rounded. */
static const uint32_t fixed_order = CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;

static tt_status prefer(struct gpu *gpu, const struct gemm_key *k, cublasLtMatmulPreference_t preference)
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
    size_t workspace = gpu->workspace_bytes;
    BLAS(gpu, cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                                   sizeof workspace));
    BLAS(gpu, cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &fixed_order,
                                                   sizeof fixed_order));
    for (int i = 0; i < 4; i++) {
        uint32_t bytes = (uint32_t)alignments[i].bytes;
        BLAS(gpu, cublasLtMatmulPreferenceSetAttribute(preference, alignments[i].name, &bytes, sizeof bytes));
    }
    return TT_OK;
}

static tt_status ask(struct gpu *gpu, const struct gemm_plan *p, cublasLtMatmulPreference_t preference, int most,
                     cublasLtMatmulHeuristicResult_t *results, int *returned)
{
    const struct shape *s = p->library;
    TT_TRY(prefer(gpu, &p->key, preference));
    cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(gpu->blas->lt, s->product, s->left, s->right, s->out, s->out,
                                                           preference, most, results, returned);
    if (status == CUBLAS_STATUS_SUCCESS || status == CUBLAS_STATUS_NOT_SUPPORTED) return TT_OK;
    return failed(gpu, __func__, "cublasLtMatmulAlgoGetHeuristic", status);
}

tt_status tt_blas_propose(struct gpu *gpu, const struct gemm_plan *p, int most, struct gemm_algorithm *found,
                          int *count)
{
    cublasLtMatmulHeuristicResult_t results[64];
    cublasLtMatmulPreference_t preference;
    int returned = 0;
    *count = 0;
    BLAS(gpu, cublasLtMatmulPreferenceCreate(&preference));
    tt_status st = ask(gpu, p, preference, most < 64 ? most : 64, results, &returned);
    cublasLtMatmulPreferenceDestroy(preference);
    for (int i = 0; i < returned && !st; i++)
        if (results[i].state == CUBLAS_STATUS_SUCCESS && results[i].workspaceSize <= gpu->workspace_bytes)
            memcpy(&found[(*count)++], &results[i].algo, sizeof *found);
    return st;
}

/* Whether cuBLASLt multiplies 8-bit factors with a scale per row on this chip. Asking for an algorithm shows that. */
static bool proposes_rows(struct gpu *gpu, enum tt_dtype out)
{
    enum { SIDE = 256 };
    struct gemm_plan p = {.key = {.m = SIDE, .n = SIDE, .k = SIDE, .batch = 1, .lda = SIDE, .ldb = SIDE, .ldc = SIDE,
                                  .trans_b = true, .type_a = TT_E4M3, .type_b = TT_E4M3, .type_out = out,
                                  .align_a = 16, .align_b = 16, .align_c = 16, .align_d = 16, .row_scales = true}};
    struct gemm_algorithm found[1];
    int count = 0;
    tt_status st = cublasLtGetVersion() < 120900 ? TT_OK : tt_blas_plan(gpu, &p);
    if (!st && p.library) st = tt_blas_propose(gpu, &p, 1, found, &count);
    bool some = !st && count > 0;
    tt_blas_plan_free(&p);
    tt_status_free(st);
    return some;
}

tt_status tt_blas_no_algorithm(const struct gpu *gpu, const char *shape)
{
    return tt_fail(TT_FAILED, "cuBLASLt has no algorithm for %s on %s; CUBLASLT_LOG_LEVEL=5 shows what it was asked",
                   shape, gpu->name);
}

bool tt_blas_takes(struct gpu *gpu, const struct gemm_plan *p, const struct gemm_algorithm *remembered)
{
    const struct shape *s = p->library;
    cublasLtMatmulAlgo_t algorithm;
    cublasLtMatmulHeuristicResult_t result;
    memcpy(&algorithm, remembered, sizeof algorithm);
    cublasStatus_t status =
        cublasLtMatmulAlgoCheck(gpu->blas->lt, s->product, s->left, s->right, s->out, s->out, &algorithm, &result);
    return status == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= gpu->workspace_bytes;
}

tt_status tt_blas_multiply(struct gpu *gpu, const struct gemm_plan *p, const struct gemm_algorithm *algorithm,
                           const struct gemm_call *call)
{
    const struct shape *s = p->library;
    const struct tt_gemm *g = call->product;
    if (tt_is_fp8(g->type_a)) TT_TRY(set_scales(gpu, s->product, g->scale_a, g->scale_b));
    BLAS(gpu, cublasLtMatmul(gpu->blas->lt, s->product, &call->alpha, call->b, s->left, call->a, s->right, &call->beta,
                             call->c, s->out, call->d, s->out, (const cublasLtMatmulAlgo_t *)algorithm,
                             call->stream->scratch.workspace, gpu->workspace_bytes, call->stream->rt));
    return TT_OK;
}
