/* Which products Hopper's kernels compute together with their epilogue (tt_gemm.with). */
#include "backend/backend.h"
#include "backend/cuda/product_hopper_launch.h"

static bool rope(const struct tt_gemm *g, gpu_stream s, gpu_error *e)
{
    struct rope_product p = {g->type_a, g->a, g->b, g->c, g->rope.cos, g->rope.sin, g->m, g->n, g->k, g->rope.S,
                             g->rope.D, (g->rope.heads + g->rope.kv_heads) * g->rope.D, g->units};
    return rope_hopper(&p, s, e);
}

static bool swiglu(const struct tt_gemm *g, gpu_stream s, gpu_error *e)
{
    struct swiglu_product p = {g->type_a, g->a, g->b, g->c, g->also, g->m, g->k, g->n / 2, g->units};
    return g->n % 2 == 0 && swiglu_hopper_forward(&p, s, e);
}

static bool swiglu_backward(const struct tt_gemm *g, gpu_stream s, gpu_error *e)
{
    struct swiglu_product p = {g->type_a, g->a, g->b, g->also, g->c, g->m, g->k, g->n, g->units};
    return swiglu_hopper_backward(&p, s, e);
}

static bool exponentials(const struct tt_gemm *g, gpu_stream s, gpu_error *e)
{
    struct exp_product p = {g->a, g->b, g->c, g->exp.shift, g->exp.sums, g->m, g->n, g->k};
    return g->type_a == TT_BF16 && exp_hopper(&p, s, e);
}

bool product_hopper(const struct tt_gemm *g, gpu_stream s, gpu_error *e)
{
    bool backward = g->with == TT_WITH_SWIGLU_BACKWARD;
    bool plain = g->batch == 1 && g->alpha == 1 && g->beta == 0 && !g->trans_a && g->trans_b == !backward &&
                 g->lda == g->k && g->ldb == (backward ? g->n : g->k) && g->ldc == g->n && g->type_b == g->type_a &&
                 g->type_c == g->type_a && g->type_a != TT_F32;
    switch (plain ? g->with : TT_WITH_NOTHING) {
    case TT_WITH_SWIGLU: return swiglu(g, s, e);
    case TT_WITH_SWIGLU_BACKWARD: return swiglu_backward(g, s, e);
    case TT_WITH_ROPE: return rope(g, s, e);
    case TT_WITH_EXP: return exponentials(g, s, e);
    default: return false;
    }
}
