/* The launcher of the attention backward on Hopper. */
#include "backend/cuda/flash_hopper_backward.h"

enum { SHORT = 256 }; /* sequences of up to so many tokens have too few steps for long ones, of 128 columns */

template <typename T>
static gpu_error backward_choose(const struct tt_flash_backward_args *a, gpu_stream s, bool crowded, bool *mine)
{
    typedef backward_shape<T, 64, 128, 2, false> queries64;
    if (a->D == 64 && a->S > SHORT)
        return backward_launch<backward_shape<T, 64, 128, 3, true>, queries64>(a, s, crowded, mine);
    if (a->D == 64) return backward_launch<backward_shape<T, 64, 64, 4, true>, queries64>(a, s, crowded, mine);
    return backward_launch<backward_shape<T, 128, 64, 3, true>, backward_shape<T, 128, 64, 3, false>>(a, s, crowded,
                                                                                                      mine);
}

bool flash_hopper_backward(const struct tt_flash_backward_args *a, gpu_stream s, bool crowded, gpu_error *e)
{
    bool mine = false;
    if (!hopper_flash_supported(a->dtype, a->B, a->S, a->heads, a->kv_heads, a->D)) return false;
    *e = a->dtype == TT_BF16 ? backward_choose<gpu_bf16>(a, s, crowded, &mine)
                             : backward_choose<gpu_half>(a, s, crowded, &mine);
    return mine;
}
