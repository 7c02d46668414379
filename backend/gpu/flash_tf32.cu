/* Causal attention without S×S, forward and backward, in tf32: operands are rounded to 10 bits of mantissa, sums are
 * fp32. The kernels are those of 16-bit types; a tile takes twice the memory, so blocks own or stream fewer rows.
 * Without matrix tiles for floats, or if copies are held in registers, the fp32 kernels are used instead. */
#include "backend/gpu/flash_backward.h"
#include "backend/gpu/flash_forward.h"

static constexpr bool TILES = GPU_TILE_FLOATS && !GPU_COPY_HELD;

template <typename T> static gpu_error forward(const struct tt_flash_args *a, gpu_stream s)
{
    if (a->D <= 32) return flash_launch<flash_background<T, 32, 128, 64>>(a, s);
    if (a->D <= 64) return flash_launch<flash_background<T, 64, 128, 32>>(a, s);
    if (a->D <= 96) return flash_launch<flash_background<T, 96, 64, 32>>(a, s);
    if (a->D <= 128) return flash_launch<flash_background<T, 128, 64, 32>>(a, s);
    return flash_launch<flash_shape<T, 256, GPU_GROUP, 32, 16, 64, 2, false, true, 2>>(a, s);
}

template <typename T> static gpu_error backward(const struct tt_flash_backward_args *a, gpu_stream s)
{
    size_t limit = (size_t)gpu_shared_limit();
    if (a->D <= 32) return flash_gradients_both<flash_background<T, 32, 64, 64>>(a, s);
    if (a->D <= 64) return flash_gradients_both<flash_background<T, 64, 64, 32>>(a, s);
    if (a->D <= 96) return flash_gradients_both<flash_background<T, 96, 64, 16>>(a, s);
    if (a->D <= 128)
        return limit >= (100 << 10)
                   ? flash_gradients_both<flash_background<T, 128, 64, 16>>(a, s)
                   : flash_gradients_both<flash_shape<T, 128, GPU_GROUP, 32, 16, 64, 2, false, true, 2>>(a, s);
    return flash_gradients_both<flash_shape<T, 256, GPU_GROUP, 32, 16, 64, 1, false, false, 2>, true>(a, s);
}

template <typename T> static gpu_error forward_by_tiles(const struct tt_flash_args *a, gpu_stream s)
{
    if constexpr (TILES)
        return forward<T>(a, s);
    else
        return flash_f32(a, s);
}

template <typename T> static gpu_error backward_by_tiles(const struct tt_flash_backward_args *a, gpu_stream s)
{
    if constexpr (TILES)
        return backward<T>(a, s);
    else
        return flash_backward_f32(a, s);
}

gpu_error flash_tf32(const struct tt_flash_args *a, gpu_stream s) { return forward_by_tiles<float>(a, s); }
gpu_error flash_backward_tf32(const struct tt_flash_backward_args *a, gpu_stream s)
{
    return backward_by_tiles<float>(a, s);
}
