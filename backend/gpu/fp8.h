/* 8-bit floats in kernels: the functions of core/base/fp8.h on the device, and two codes at a time. */
#ifndef TT_GPU_FP8_H
#define TT_GPU_FP8_H

#include "backend/gpu/gpu.h"

#define TT_FP8_FUNCTION GPU_BOTH
#include "core/base/fp8.h"

/* Two codes in the lower half of a word, `low` in its lowest byte: by an instruction of the chip where it has one for
 * this format (GPU_HAS_FP8_PACK2), with the same results. */
template <enum tt_dtype TO> GPU_DEVICE uint32_t gpu_fp8_pack2(float low, float high)
{
#ifdef GPU_HAS_FP8_PACK2
    if constexpr (TO == TT_E4M3 || TO == TT_E5M2) return gpu_native_fp8_pack2<TO == TT_E4M3>(low, high);
#endif
    return tt_to_fp8(low, TO) | (uint32_t)tt_to_fp8(high, TO) << 8;
}

/* The codes of two numbers, and of four. */
template <enum tt_dtype TO> GPU_DEVICE uint32_t gpu_fp8_codes2(const float *v, float inverse)
{
    return gpu_fp8_pack2<TO>(tt_fp8_scaled(v[0], inverse), tt_fp8_scaled(v[1], inverse));
}
template <enum tt_dtype TO> GPU_DEVICE uint32_t gpu_fp8_codes4(const float *v, float inverse)
{
    return gpu_fp8_codes2<TO>(v, inverse) | gpu_fp8_codes2<TO>(v + 2, inverse) << 16;
}

#endif
