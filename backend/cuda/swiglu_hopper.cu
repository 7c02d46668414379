/* Which products Hopper's kernels compute with SwiGLU in them. */
#include "backend/cuda/swiglu_hopper.h"

#include "backend/backend.h"

bool swiglu_hopper(const struct tt_gemm *g, gpu_stream s, gpu_error *e)
{
    bool backward = g->with == TT_WITH_SWIGLU_BACKWARD;
    struct swiglu_product p = {g->type_a, g->a, g->b, backward ? g->also : g->c, backward ? g->c : g->also,
                               g->m,      g->k, backward ? g->n : g->n / 2};
    bool plain = g->with != TT_WITH_NOTHING && g->batch == 1 && g->alpha == 1 && g->beta == 0 && !g->trans_a &&
                 g->trans_b == !backward && g->n % 2 == 0 && g->lda == g->k && g->ldb == (backward ? g->n : g->k) &&
                 g->ldc == g->n && g->type_b == g->type_a && g->type_c == g->type_a;
    if (!plain || g->type_a == TT_F32) return false;
    return (backward ? swiglu_hopper_backward : swiglu_hopper_forward)(&p, s, e);
}
