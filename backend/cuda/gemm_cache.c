/* Plans by shape: made when a shape is first multiplied, kept until the backend is closed. A step has a few dozen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/gemm.h"

/* ---- one plan ---- */

static cudaDataType_t cuda_type(int64_t type)
{
    return type == TT_F32 ? CUDA_R_32F : type == TT_BF16 ? CUDA_R_16BF : CUDA_R_16F;
}

static void plan_free(struct gemm_plan *p)
{
    if (p->product) cublasLtMatmulDescDestroy(p->product);
    if (p->left) cublasLtMatrixLayoutDestroy(p->left);
    if (p->right) cublasLtMatrixLayoutDestroy(p->right);
    if (p->out) cublasLtMatrixLayoutDestroy(p->out);
    free(p);
}

static tt_status make_product(struct cuda *cuda, struct gemm_plan *p)
{
    bool fast = cuda->tf32 && p->key.type_in == TT_F32;
    cublasOperation_t left = p->key.trans_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                      right = p->key.trans_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    CHECK(cuda,
          cublasLtMatmulDescCreate(&p->product, fast ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F));
    CHECK(cuda, cublasLtMatmulDescSetAttribute(p->product, CUBLASLT_MATMUL_DESC_TRANSA, &left, sizeof left));
    CHECK(cuda, cublasLtMatmulDescSetAttribute(p->product, CUBLASLT_MATMUL_DESC_TRANSB, &right, sizeof right));
    return TT_OK;
}

/* A row-major matrix of `rows` rows, `ld` apart, is a column-major one of `rows` columns. */
static tt_status make_layout(struct cuda *cuda, const struct gemm_plan *p, int64_t type, int64_t rows, int64_t cols,
                             int64_t ld, int64_t stride, cublasLtMatrixLayout_t *out)
{
    int32_t batch = (int32_t)p->key.batch;
    CHECK(cuda, cublasLtMatrixLayoutCreate(out, cuda_type(type), (uint64_t)cols, (uint64_t)rows, ld));
    if (batch == 1) return TT_OK;
    CHECK(cuda, cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch));
    CHECK(cuda,
          cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride));
    return TT_OK;
}

static tt_status describe(struct cuda *cuda, struct gemm_plan *p)
{
    const struct gemm_key *k = &p->key;
    TT_TRY(make_product(cuda, p));
    TT_TRY(make_layout(cuda, p, k->type_in, k->trans_b ? k->n : k->k, k->trans_b ? k->k : k->n, k->ldb, k->stride_b,
                       &p->left));
    TT_TRY(make_layout(cuda, p, k->type_in, k->trans_a ? k->k : k->m, k->trans_a ? k->m : k->k, k->lda, k->stride_a,
                       &p->right));
    return make_layout(cuda, p, k->type_out, k->m, k->n, k->ldc, k->stride_c, &p->out);
}

/* ---- the table ---- */

static uint64_t hash_of(const struct gemm_key *key)
{
    int64_t words[sizeof *key / sizeof(int64_t)];
    memcpy(words, key, sizeof words);
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        h = (h ^ (uint64_t)words[i]) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return h;
}

/* Where the key is, or where it would go. */
static struct gemm_plan **slot_of(const struct cuda_gemms *t, const struct gemm_key *key, uint64_t hash)
{
    for (size_t i = hash;; i++) {
        struct gemm_plan **slot = &t->slots[i & (t->room - 1)];
        if (!*slot || ((*slot)->hash == hash && !memcmp(&(*slot)->key, key, sizeof *key))) return slot;
    }
}

static tt_status make_room(struct cuda_gemms *t)
{
    if (2 * (t->count + 1) <= t->room) return TT_OK;
    struct cuda_gemms larger = *t;
    larger.room = t->room ? 2 * t->room : 64;
    larger.slots = calloc(larger.room, sizeof *larger.slots);
    if (!larger.slots) return tt_fail(TT_FAILED, "no host memory for the table of matrix shapes");
    for (size_t i = 0; i < t->room; i++)
        if (t->slots[i]) *slot_of(&larger, &t->slots[i]->key, t->slots[i]->hash) = t->slots[i];
    free(t->slots);
    *t = larger;
    return TT_OK;
}

tt_status tt_cuda_gemm_plan(struct cuda *cuda, const struct gemm_key *key, const struct gemm_call *call,
                            struct gemm_plan **out)
{
    struct cuda_gemms *t = cuda->gemms;
    TT_TRY(make_room(t));
    uint64_t hash = hash_of(key);
    struct gemm_plan **slot = slot_of(t, key, hash), *p = *slot;
    *out = p;
    if (p) return TT_OK;
    p = calloc(1, sizeof *p);
    if (!p) return tt_fail(TT_FAILED, "no host memory for a matrix shape");
    p->key = *key;
    p->hash = hash;
    tt_status st = describe(cuda, p);
    if (!st) st = tt_cuda_gemm_choose(cuda, p, call);
    if (st) {
        plan_free(p);
        return st;
    }
    *out = *slot = p;
    t->count++;
    return TT_OK;
}

/* ---- opening and closing ---- */

/* Large tiles of the newer chips want more room for partial sums. */
static size_t workspace_of(int sm) { return (size_t)(sm >= 90 ? 64 : 32) << 20; }

tt_status tt_cuda_gemms_open(struct cuda *cuda, const struct tt_backend_options *options)
{
    char device[160];
    struct cuda_gemms *t = cuda->gemms = calloc(1, sizeof *t);
    if (!t) return tt_fail(TT_FAILED, "no host memory for the table of matrix shapes");
    CHECK(cuda, cublasLtCreate(&cuda->lt));
    cuda->workspace_bytes = workspace_of(cuda->sm);
    TT_TRY(tt_cuda_alloc(cuda, cuda->workspace_bytes, &cuda->compute.workspace));
    t->tune = options->gemm_tune;
    snprintf(device, sizeof device, "%s, %d units, cuBLASLt %zu", cuda->name, cuda->units, cublasLtGetVersion());
    tt_gemm_file_open(&t->file, t->tune == TT_TUNE_OFF ? NULL : options->gemm_cache, device);
    return TT_OK;
}

void tt_cuda_gemms_save(struct cuda *cuda) { tt_gemm_file_save(&cuda->gemms->file); }

void tt_cuda_gemms_close(struct cuda *cuda)
{
    struct cuda_gemms *t = cuda->gemms;
    if (!t) return;
    tt_gemm_file_save(&t->file);
    tt_gemm_file_close(&t->file);
    for (size_t i = 0; i < t->room; i++)
        if (t->slots[i]) plan_free(t->slots[i]);
    free(t->slots);
    free(t);
    if (cuda->lt) cublasLtDestroy(cuda->lt);
}
