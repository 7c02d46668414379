/* A fake hipBLASLt for test_blaslt.c. It multiplies 8-bit matrices on the host as its descriptors say, so the numbers
 * show what blaslt.cpp put into them. */
#include <hipblaslt/hipblaslt.h>

#include "core/base/fp8.h"

extern "C" int fake_hipblaslt_live;
int fake_hipblaslt_live; /* descriptors that were not freed */

namespace
{

struct layout {
    hipDataType type;
    int64_t ld;
    uint64_t rows, cols;
};

struct product {
    bool transposed[2]; /* A, B */
    const float *scale[2];
    bool rows[2]; /* one scale per row */
};

template <typename T> hipblasStatus_t make(void *out, T value)
{
    *(T **)out = new T(value);
    fake_hipblaslt_live++;
    return HIPBLAS_STATUS_SUCCESS;
}

template <typename T> hipblasStatus_t unmake(const void *p)
{
    delete (const T *)p;
    fake_hipblaslt_live--;
    return HIPBLAS_STATUS_SUCCESS;
}

enum tt_dtype type_of(hipDataType t)
{
    switch ((int)t) {
    case 28: return TT_E4M3;
    case 29: return TT_E5M2;
    case 1000: return TT_E4M3_FNUZ;
    default: return TT_E5M2_FNUZ;
    }
}

/* Row i of op(A) or column i of op(B): element `at` of the dimension that is summed. */
double element(const void *data, const layout *m, bool along_columns, int64_t i, int64_t at)
{
    int64_t index = along_columns ? i * m->ld + at : at * m->ld + i;
    return (double)tt_from_fp8(((const uint8_t *)data)[index], type_of(m->type));
}

} // namespace

hipblasStatus_t hipblasLtCreate(hipblasLtHandle_t *out) { return make(out, 1); }
hipblasStatus_t hipblasLtDestroy(const hipblasLtHandle_t handle) { return unmake<int>(handle); }
hipblasStatus_t hipblasLtGetVersion(hipblasLtHandle_t, int *out) { return *out = 100100, HIPBLAS_STATUS_SUCCESS; }

hipblasStatus_t hipblasLtMatrixLayoutCreate(hipblasLtMatrixLayout_t *out, hipDataType type, uint64_t rows,
                                            uint64_t cols, int64_t ld)
{
    return make(out, layout{type, ld, rows, cols});
}
hipblasStatus_t hipblasLtMatrixLayoutDestroy(const hipblasLtMatrixLayout_t m) { return unmake<layout>(m); }
hipblasStatus_t hipblasLtMatrixLayoutSetAttribute(hipblasLtMatrixLayout_t, hipblasLtMatrixLayoutAttribute_t,
                                                  const void *, size_t)
{
    return HIPBLAS_STATUS_NOT_SUPPORTED; /* no batches */
}

hipblasStatus_t hipblasLtMatmulDescCreate(hipblasLtMatmulDesc_t *out, hipblasComputeType_t compute, hipDataType scale)
{
    if (compute != HIPBLAS_COMPUTE_32F || scale != HIP_R_32F) return HIPBLAS_STATUS_NOT_SUPPORTED;
    return make(out, product{});
}
hipblasStatus_t hipblasLtMatmulDescDestroy(const hipblasLtMatmulDesc_t p) { return unmake<product>(p); }

hipblasStatus_t hipblasLtMatmulDescSetAttribute(hipblasLtMatmulDesc_t desc, hipblasLtMatmulDescAttributes_t which,
                                                const void *value, size_t)
{
    product *p = (product *)desc;
    switch (which) {
    case HIPBLASLT_MATMUL_DESC_TRANSA: p->transposed[0] = *(const int32_t *)value == HIPBLAS_OP_T; break;
    case HIPBLASLT_MATMUL_DESC_TRANSB: p->transposed[1] = *(const int32_t *)value == HIPBLAS_OP_T; break;
    case HIPBLASLT_MATMUL_DESC_A_SCALE_POINTER: p->scale[0] = *(const float *const *)value; break;
    case HIPBLASLT_MATMUL_DESC_B_SCALE_POINTER: p->scale[1] = *(const float *const *)value; break;
#ifdef HIPBLASLT_MATMUL_DESC_A_SCALE_POINTER_VEC_EXT /* the same condition as in blaslt.cpp */
    case HIPBLASLT_MATMUL_DESC_A_SCALE_MODE:
    case HIPBLASLT_MATMUL_DESC_B_SCALE_MODE:
        p->rows[which == HIPBLASLT_MATMUL_DESC_B_SCALE_MODE] =
            *(const int32_t *)value == HIPBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
        break;
#endif
    default: return HIPBLAS_STATUS_NOT_SUPPORTED;
    }
    return HIPBLAS_STATUS_SUCCESS;
}

hipblasStatus_t hipblasLtMatmulPreferenceCreate(hipblasLtMatmulPreference_t *out) { return make(out, 1); }
hipblasStatus_t hipblasLtMatmulPreferenceDestroy(const hipblasLtMatmulPreference_t p) { return unmake<int>(p); }
hipblasStatus_t hipblasLtMatmulPreferenceSetAttribute(hipblasLtMatmulPreference_t,
                                                      hipblasLtMatmulPreferenceAttributes_t, const void *, size_t)
{
    return HIPBLAS_STATUS_SUCCESS;
}

/* Proposes one algorithm if both factors have scales and none otherwise, since hipBLASLt has other kernels without
 * scales. */
hipblasStatus_t hipblasLtMatmulAlgoGetHeuristic(hipblasLtHandle_t, hipblasLtMatmulDesc_t desc, hipblasLtMatrixLayout_t,
                                                hipblasLtMatrixLayout_t, hipblasLtMatrixLayout_t,
                                                hipblasLtMatrixLayout_t, hipblasLtMatmulPreference_t, const int,
                                                hipblasLtMatmulHeuristicResult_t found[], int *count)
{
    const product *p = (const product *)desc;
    found[0].state = HIPBLAS_STATUS_SUCCESS;
    found[0].workspaceSize = 0;
    *count = p->scale[0] && p->scale[1];
    return HIPBLAS_STATUS_SUCCESS;
}

hipblasStatus_t hipblasLtMatmul(hipblasLtHandle_t, hipblasLtMatmulDesc_t desc, const void *alpha, const void *A,
                                hipblasLtMatrixLayout_t a_desc, const void *B, hipblasLtMatrixLayout_t b_desc,
                                const void *beta, const void *C, hipblasLtMatrixLayout_t, void *D,
                                hipblasLtMatrixLayout_t d_desc, const hipblasLtMatmulAlgo_t *, void *, size_t,
                                hipStream_t)
{
    const product *p = (const product *)desc;
    const layout *a = (const layout *)a_desc, *b = (const layout *)b_desc, *d = (const layout *)d_desc;
    int64_t k = (int64_t)(p->transposed[0] ? a->rows : a->cols);
    if (d->type != HIP_R_32F) return HIPBLAS_STATUS_NOT_SUPPORTED;
    for (int64_t i = 0; i < (int64_t)d->rows; i++)
        for (int64_t j = 0; j < (int64_t)d->cols; j++) {
            double sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += element(A, a, p->transposed[0], i, l) * element(B, b, !p->transposed[1], j, l);
            float before = *(const float *)beta != 0 ? *(const float *)beta * ((const float *)C)[j * d->ld + i] : 0;
            float scale = p->scale[0][p->rows[0] ? i : 0] * p->scale[1][p->rows[1] ? j : 0];
            ((float *)D)[j * d->ld + i] = (float)(*(const float *)alpha * scale * sum) + before;
        }
    return HIPBLAS_STATUS_SUCCESS;
}
