/* hipBLASLt behind C functions. This is C++ because its header is. */
#include "backend/hip/blaslt.h"

#include <hipblaslt/hipblaslt.h>

#include <new>
#include <string.h>

namespace
{

struct plan {
    hipblasLtMatmulDesc_t product = nullptr;
    hipblasLtMatrixLayout_t left = nullptr, right = nullptr, out = nullptr;
};

hipblasStatus_t make_layout(hipblasLtMatrixLayout_t *out, int type, const lt_matrix &m, int32_t batch)
{
    hipblasStatus_t e = hipblasLtMatrixLayoutCreate(out, (hipDataType)type, (uint64_t)m.rows, (uint64_t)m.cols, m.ld);
    if (e || batch == 1) return e;
    e = hipblasLtMatrixLayoutSetAttribute(*out, HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch);
    if (e) return e;
    return hipblasLtMatrixLayoutSetAttribute(*out, HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &m.stride,
                                             sizeof m.stride);
}

/* What hipBLASLt proposes depends on whether there are scales, and not on where they are. */
hipblasStatus_t set_scales(hipblasLtMatmulDesc_t product, const void *left, const void *right)
{
    hipblasStatus_t e =
        hipblasLtMatmulDescSetAttribute(product, HIPBLASLT_MATMUL_DESC_A_SCALE_POINTER, &left, sizeof left);
    if (e) return e;
    return hipblasLtMatmulDescSetAttribute(product, HIPBLASLT_MATMUL_DESC_B_SCALE_POINTER, &right, sizeof right);
}

/* Row scales by a mode exist from ROCm 7 on. There, the attribute of the older way, with pointers of its own, is a
 * macro, which is tested here. */
hipblasStatus_t set_row_scales(hipblasLtMatmulDesc_t product)
{
#ifdef HIPBLASLT_MATMUL_DESC_A_SCALE_POINTER_VEC_EXT
    int32_t mode = HIPBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
    hipblasStatus_t e =
        hipblasLtMatmulDescSetAttribute(product, HIPBLASLT_MATMUL_DESC_A_SCALE_MODE, &mode, sizeof mode);
    if (e) return e;
    return hipblasLtMatmulDescSetAttribute(product, HIPBLASLT_MATMUL_DESC_B_SCALE_MODE, &mode, sizeof mode);
#else
    (void)product;
    return HIPBLAS_STATUS_NOT_SUPPORTED;
#endif
}

hipblasStatus_t make_product(hipblasLtMatmulDesc_t *out, const lt_shape &s)
{
    int32_t left = s.transpose_left ? HIPBLAS_OP_T : HIPBLAS_OP_N;
    int32_t right = s.transpose_right ? HIPBLAS_OP_T : HIPBLAS_OP_N;
    hipblasStatus_t e = hipblasLtMatmulDescCreate(out, (hipblasComputeType_t)s.compute, HIP_R_32F);
    if (!e) e = hipblasLtMatmulDescSetAttribute(*out, HIPBLASLT_MATMUL_DESC_TRANSA, &left, sizeof left);
    if (!e) e = hipblasLtMatmulDescSetAttribute(*out, HIPBLASLT_MATMUL_DESC_TRANSB, &right, sizeof right);
    if (!e && s.row_scales) e = set_row_scales(*out);
    if (!e && s.scaled) e = set_scales(*out, s.scaled, s.scaled);
    return e;
}

static_assert(sizeof(hipblasLtMatmulAlgo_t) <= LT_ALGORITHM, "an algorithm fits into LT_ALGORITHM bytes");

} // namespace

int tt_lt_open(void **lt) { return hipblasLtCreate((hipblasLtHandle_t *)lt); }

void tt_lt_close(void *lt) { (void)hipblasLtDestroy((hipblasLtHandle_t)lt); }

int tt_lt_version(void *lt)
{
    int version = 0;
    (void)hipblasLtGetVersion((hipblasLtHandle_t)lt, &version);
    return version;
}

int tt_lt_plan(const lt_shape *s, void **out)
{
    plan *p = new (std::nothrow) plan;
    *out = p;
    if (!p) return HIPBLAS_STATUS_ALLOC_FAILED;
    hipblasStatus_t e = make_product(&p->product, *s);
    if (!e) e = make_layout(&p->left, s->type_left, s->left, s->batch);
    if (!e) e = make_layout(&p->right, s->type_right, s->right, s->batch);
    if (!e) e = make_layout(&p->out, s->type_out, s->out, s->batch);
    return e;
}

void tt_lt_plan_free(void *any)
{
    plan *p = (plan *)any;
    if (!p) return;
    if (p->product) (void)hipblasLtMatmulDescDestroy(p->product);
    for (hipblasLtMatrixLayout_t m : {p->left, p->right, p->out})
        if (m) (void)hipblasLtMatrixLayoutDestroy(m);
    delete p;
}

int tt_lt_propose(void *lt, const void *any, size_t workspace_bytes, int most, unsigned char (*found)[LT_ALGORITHM],
                  int *count)
{
    const plan *p = (const plan *)any;
    hipblasLtMatmulHeuristicResult_t results[64];
    hipblasLtMatmulPreference_t preference;
    uint64_t room = workspace_bytes;
    int returned = 0;
    *count = 0;
    hipblasStatus_t e = hipblasLtMatmulPreferenceCreate(&preference);
    if (e) return e;
    e = hipblasLtMatmulPreferenceSetAttribute(preference, HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room,
                                              sizeof room);
    if (!e)
        e = hipblasLtMatmulAlgoGetHeuristic((hipblasLtHandle_t)lt, p->product, p->left, p->right, p->out, p->out,
                                            preference, most < 64 ? most : 64, results, &returned);
    (void)hipblasLtMatmulPreferenceDestroy(preference);
    for (int i = 0; i < returned && !e; i++) {
        if (results[i].state != HIPBLAS_STATUS_SUCCESS || results[i].workspaceSize > workspace_bytes) continue;
        memset(found[*count], 0, LT_ALGORITHM);
        memcpy(found[(*count)++], &results[i].algo, sizeof results[i].algo);
    }
    return e;
}

int tt_lt_multiply(void *lt, const void *any, const unsigned char bytes[LT_ALGORITHM], const lt_call *call)
{
    const plan *p = (const plan *)any;
    hipblasLtMatmulAlgo_t algorithm;
    memcpy(&algorithm, bytes, sizeof algorithm);
    hipblasStatus_t e = call->scale_left ? set_scales(p->product, call->scale_left, call->scale_right)
                                         : HIPBLAS_STATUS_SUCCESS;
    if (e) return e;
    return hipblasLtMatmul((hipblasLtHandle_t)lt, p->product, &call->alpha, call->left, p->left, call->right, p->right,
                           &call->beta, call->c, p->out, call->d, p->out, &algorithm, call->workspace,
                           call->workspace_bytes, (hipStream_t)call->stream);
}
