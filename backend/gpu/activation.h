/* silu(x) = x·sigmoid(x). */
#ifndef TT_GPU_ACTIVATION_H
#define TT_GPU_ACTIVATION_H

#include "backend/gpu/gpu.h"

/* Accurate for fp32; a fast approximation for 16-bit types. */
template <typename T> GPU_DEVICE float sigmoid(float x)
{
    if (sizeof(T) == 4) return gpu_divide(1.0f, 1.0f + gpu_exp(-x));
    return gpu_divide_fast(1.0f, 1.0f + gpu_exp_fast(-x));
}
/* The derivative, from sigmoid(x). */
GPU_DEVICE float silu_slope(float x, float sigmoid) { return sigmoid * (1.0f + x * (1.0f - sigmoid)); }

#endif
