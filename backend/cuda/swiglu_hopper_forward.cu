/* Gate, up and h in one kernel. */
#include "backend/cuda/swiglu_hopper_product.h"

bool swiglu_hopper_forward(const struct swiglu_product *p, gpu_stream s, gpu_error *e)
{
    return p->dtype == TT_BF16 ? product_launch<product_shape<gpu_bf16, false>>(p, s, e)
                               : product_launch<product_shape<gpu_half, false>>(p, s, e);
}
