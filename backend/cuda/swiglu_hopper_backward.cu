/* The gradients of gate and up, and h in one kernel. */
#include "backend/cuda/swiglu_hopper_product.h"

bool swiglu_hopper_backward(const struct swiglu_product *p, gpu_stream s, gpu_error *e)
{
    return p->dtype == TT_BF16 ? product_launch<product_shape<gpu_bf16, true>>(p, s, e)
                               : product_launch<product_shape<gpu_half, true>>(p, s, e);
}
