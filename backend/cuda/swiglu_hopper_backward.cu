/* The gradients of gate and up, and h in one kernel. */
#include "backend/cuda/swiglu_hopper_product.h"

bool swiglu_hopper_backward(const struct swiglu_product *p, int way, gpu_stream s, gpu_error *e)
{
    return p->dtype == TT_BF16 ? product_choose<gpu_bf16, true>(p, way, s, e)
                               : product_choose<gpu_half, true>(p, way, s, e);
}
