/* The gradients of gate and up, and h in one kernel. */
#include "backend/cuda/swiglu_hopper.h"

bool swiglu_hopper_backward(const struct swiglu_product *p, gpu_stream s, gpu_error *e)
{
    struct product_args a = {};
    bool good = p->F > 0 && p->F % PRODUCT_COLS == 0 && gpu_aligned(p->gu) && gpu_aligned(p->h) &&
                product_map_x(&a, p->x, p->dtype, p->M, p->K) &&
                hopper_map_rows(&a.w, p->w, p->dtype, 1, p->K, p->F / PRODUCT_HALF, PRODUCT_HALF, p->F, PRODUCT_STEP);
    if (!good) return false;
    a.gu = p->gu, a.h = p->h;
    return p->dtype == TT_BF16 ? product_launch<swiglu_backward_shape<gpu_bf16>>(a, p->M, p->F, p->K, p->units, s, e)
                               : product_launch<swiglu_backward_shape<gpu_half>>(a, p->M, p->F, p->K, p->units, s, e);
}
