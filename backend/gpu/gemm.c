/* C = alpha · op(A) · op(B) + beta · C for row-major matrices. The libraries are column-major and see a row-major
 * matrix as its transpose. Since Cᵀ = op(B)ᵀ · op(A)ᵀ, they get B on the left and A on the right, and nothing is
 * copied. */
#include <limits.h>

#include "backend/gpu/gemm.h"
#include "backend/gpu/launch.h"
#include "core/base/fp8.h"

/* ---- empty products: k = 0 gives beta · C ---- */

static tt_status scale_rows(struct gpu *gpu, const struct tt_gemm *g, char *c, struct tt_stream_s *s)
{
    bool dense = g->ldc == g->n;
    struct tt_scale_args args = {.dtype = g->type_c, .x = c, .n = dense ? g->m * g->n : g->n, .factor = g->beta};
    for (int64_t row = 0; row < (dense ? 1 : g->m); row++) {
        args.x = c + (size_t)(row * g->ldc) * tt_dtype_size(g->type_c);
        CHECK(gpu, (gpu_rt_error)tt_gpu_launch(TT_K_scale, &args, s->rt));
    }
    return TT_OK;
}

static tt_status empty_product(struct gpu *gpu, const struct tt_gemm *g, struct tt_stream_s *s)
{
    size_t size = tt_dtype_size(g->type_c), pitch = (size_t)g->ldc * size, width = (size_t)g->n * size;
    for (int64_t i = 0; i < g->batch && g->beta != 1; i++) {
        char *c = (char *)g->c + (size_t)(i * g->stride_c) * size;
        if (g->beta == 0)
            CHECK(gpu, gpu_rt_fill_rows(c, pitch, 0, width, (size_t)g->m, s->rt));
        else
            TT_TRY(scale_rows(gpu, g, c, s));
    }
    return TT_OK;
}

/* ---- products ---- */

const char *tt_gpu_type_name(int64_t type)
{
    static const char *const names[TT_FACTOR_DTYPES] = {[TT_F32] = "fp32",          [TT_BF16] = "bf16",
                                                        [TT_F16] = "fp16",          [TT_E4M3] = "e4m3",
                                                        [TT_E5M2] = "e5m2",         [TT_E4M3_FNUZ] = "e4m3fnuz",
                                                        [TT_E5M2_FNUZ] = "e5m2fnuz"};
    return type >= 0 && type < TT_FACTOR_DTYPES ? names[type] : "unknown";
}

/* Whether the device multiplies these 8-bit factors; the conditions are those of tt_gemm in backend.h. */
static bool takes_fp8(const struct gpu *gpu, const struct tt_gemm *g)
{
    enum tt_dtype e4m3 = tt_fp8_e4m3(gpu->fp8_fnuz), e5m2 = tt_fp8_e5m2(gpu->fp8_fnuz);
    bool types = (g->type_a == e4m3 && g->type_b == e4m3) || (g->type_a == e4m3 && g->type_b == e5m2) ||
                 (g->type_a == e5m2 && g->type_b == e4m3);
    bool sizes = (g->m | g->n | g->k | g->lda | g->ldb | g->ldc) % 16 == 0;
    bool scales = g->scale_a && g->scale_b && ((uintptr_t)g->scale_a | (uintptr_t)g->scale_b) % 16 == 0;
    bool rows = !g->row_scales || (gpu->fp8_rows && g->type_a == e4m3 && g->type_b == e4m3);
    return gpu->has[TT_PREC_FP8] && types && rows && sizes && !g->trans_a && g->trans_b && g->batch == 1 && scales &&
           (g->type_c == TT_BF16 || g->type_c == TT_F32);
}

static tt_status check_types(const struct gpu *gpu, const struct tt_gemm *g)
{
    bool eight = tt_is_fp8(g->type_a) || tt_is_fp8(g->type_b);
    bool known = g->type_a == g->type_b && (g->type_c == g->type_a || g->type_c == TT_F32);
    if (eight ? takes_fp8(gpu, g) : known && gpu_has_type(gpu, g->type_a)) return TT_OK;
    return tt_fail(TT_UNSUPPORTED, "gemm: %s does not multiply %s by %s into %s%s", gpu->arch,
                   tt_gpu_type_name(g->type_a), tt_gpu_type_name(g->type_b), tt_gpu_type_name(g->type_c),
                   eight ? " in this shape" : "");
}

static tt_status check_sizes(const struct tt_gemm *g)
{
    if (g->m >= 0 && g->n >= 0 && g->k >= 0 && g->batch >= 0 && g->batch <= INT_MAX) return TT_OK;
    return tt_fail(TT_FAILED, "gemm: %lld x %lld x %lld, batch %lld: a size is negative or too large",
                              (long long)g->m, (long long)g->n,
                   (long long)g->k, (long long)g->batch);
}

/* The largest power of two that divides the address, at most TT_ALIGN. */
static int64_t alignment(const void *p)
{
    uintptr_t bits = (uintptr_t)p | TT_ALIGN;
    return (int64_t)(bits & -bits);
}

static struct gemm_key key_of(const struct gpu *gpu, const struct tt_gemm *g, const struct gemm_call *call)
{
    bool reads_c = call->beta != 0, many = g->batch > 1;
    return (struct gemm_key){
        .m = g->m,
        .n = g->n,
        .k = g->k,
        .batch = g->batch,
        .stride_a = many ? g->stride_a : 0,
        .stride_b = many ? g->stride_b : 0,
        .stride_c = many ? g->stride_c : 0,
        .lda = g->lda,
        .ldb = g->ldb,
        .ldc = g->ldc,
        .trans_a = g->trans_a,
        .trans_b = g->trans_b,
        .type_a = g->type_a,
        .type_b = g->type_b,
        .type_out = g->type_c,
        .align_a = alignment(call->a),
        .align_b = alignment(call->b),
        .align_c = alignment(call->c),
        .align_d = alignment(call->d),
        .reads_c = reads_c,
        .with = g->with,
        .row_scales = g->row_scales,
        .units = gpu->asks_units && !g->with && g->units < gpu->units ? g->units : 0,
    };
}

static tt_status multiply(struct gpu *gpu, const struct tt_gemm *g, struct tt_stream_s *s)
{
    struct gemm_call call = {
        .a = g->a, .b = g->b, .c = g->from ? g->from : g->c, .d = g->c, .alpha = g->alpha, .beta = g->beta, .stream = s,
        .product = g, .also = g->also};
    struct gemm_key key = key_of(gpu, g, &call);
    struct gemm_plan *plan;
    CHECK(gpu, gpu_rt_set_device(gpu->device));
    TT_TRY(tt_gpu_scratch_take(gpu, s));
    TT_TRY(tt_gpu_gemm_plan(gpu, &key, &call, &plan));
    TT_TRY(tt_gpu_gemm_multiply(gpu, plan, &plan->algorithm, &call));
    if (gpu->sync && !gpu_rt_capturing(s->rt)) CHECK(gpu, gpu_rt_stream_sync(s->rt));
    return TT_OK;
}

tt_status tt_gpu_gemm(void *self, const struct tt_gemm *g, tt_stream s)
{
    struct gpu *gpu = self;
    TT_TRY(check_types(gpu, g));
    TT_TRY(check_sizes(g));
    if (g->m == 0 || g->n == 0 || g->batch == 0) return TT_OK;
    tt_status st = g->k == 0 ? empty_product(gpu, g, gpu_stream_of(gpu, s)) : multiply(gpu, g, gpu_stream_of(gpu, s));
    return st ? tt_context(st, "gemm %lldx%lldx%lld, batch %lld", (long long)g->m, (long long)g->n, (long long)g->k,
                           (long long)g->batch)
              : TT_OK;
}
