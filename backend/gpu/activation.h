/* silu(x) = x·sigmoid(x), and SwiGLU: h = silu(gate)·up. */
#ifndef TT_GPU_ACTIVATION_H
#define TT_GPU_ACTIVATION_H

#include "backend/gpu/gpu.h"

/* Accurate for fp32; a fast approximation for 16-bit types. */
template <typename T> GPU_DEVICE float sigmoid(float x)
{
    if (sizeof(T) == 4) return gpu_divide(1.0f, 1.0f + gpu_exp(-x));
    return gpu_reciprocal_fast(1.0f + gpu_exp_fast(-x));
}
/* The derivative, from sigmoid(x). */
GPU_DEVICE float silu_slope(float x, float sigmoid) { return sigmoid + x * sigmoid * (1.0f - sigmoid); }

template <typename T> GPU_DEVICE float swiglu(float gate, float up) { return gate * sigmoid<T>(gate) * up; }
/* gate, up and dh become dgate, dup and h. */
template <typename T> GPU_DEVICE void swiglu_back(float &gate, float &up, float &dh)
{
    float x = gate, g = sigmoid<T>(x), u = up;
    gate = dh * u * silu_slope(x, g);
    up = dh * (x * g);
    dh = x * g * u;
}

#endif
