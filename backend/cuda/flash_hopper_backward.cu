/* The launcher of the attention backward on Hopper. */
#include "backend/cuda/flash_hopper_backward.h"

template <typename Keys, typename Queries>
static gpu_error backward_both(const struct tt_flash_backward_args *a, gpu_stream s, bool *mine)
{
    gpu_error e = flash_backward_delta(a, s);
    if (!e) e = backward_launch<Keys>(a, s, mine);
    return e || !*mine ? e : backward_launch<Queries>(a, s, mine);
}

#ifndef KT
#define KT true
#define QT true
#define BQ_G 2
#define BQ_C 128
#define KT2 true
#endif
template <typename T> static gpu_error backward_choose(const struct tt_flash_backward_args *a, gpu_stream s, bool *mine)
{
    if (a->D == 64)
        return backward_both<backward_shape<T, 64, 2, 64, 3, true, KT>,
                             backward_shape<T, 64, BQ_G, BQ_C, 2, false, QT>>(a, s, mine);
    return backward_both<backward_shape<T, 128, 2, 64, 3, true, KT2>, backward_shape<T, 128, 2, 64, 3, false, QT>>(
        a, s, mine);
}

bool flash_hopper_backward(const struct tt_flash_backward_args *a, gpu_stream s, gpu_error *e)
{
    bool mine = false;
    if (!hopper_flash_supported(a->dtype, a->B, a->S, a->heads, a->kv_heads, a->D)) return false;
    *e = a->dtype == TT_BF16 ? backward_choose<gpu_bf16>(a, s, &mine) : backward_choose<gpu_half>(a, s, &mine);
    return mine;
}
