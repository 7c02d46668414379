/* Gate, up and h in one kernel. */
#include "backend/cuda/swiglu_hopper.h"

bool swiglu_hopper_forward(const struct swiglu_product *p, gpu_stream s, gpu_error *e)
{
    struct product_args a = {};
    bool good = product_map_x(&a, p->x, p->dtype, p->M, p->K) && product_map_w(&a, p->w, p->dtype, 2 * p->F, p->K) &&
                product_map_out(&a.h_map, p->h, p->dtype, p->M, p->F) &&
                product_map_out(&a.out, p->gu, p->dtype, p->M, 2 * p->F);
    if (!good) return false;
    return p->dtype == TT_BF16 ? product_launch<swiglu_forward_shape<gpu_bf16>>(a, p->M, p->F, p->K, p->units, s, e)
                               : product_launch<swiglu_forward_shape<gpu_half>>(a, p->M, p->F, p->K, p->units, s, e);
}
