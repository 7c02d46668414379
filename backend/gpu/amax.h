/* The largest magnitude of what a kernel writes (`amax` of kernels_fp8.h), found while it writes. */
#ifndef TT_GPU_AMAX_H
#define TT_GPU_AMAX_H

#include "backend/gpu/gpu.h"

/* The maximum of magnitudes as bits: NaN is larger than all numbers, so it is not lost. */
struct gpu_op_most {
    GPU_MEMBER uint32_t operator()(uint32_t a, uint32_t b) const { return a > b ? a : b; }
};

GPU_DEVICE uint32_t gpu_magnitude(float x) { return gpu_float_bits(x) & 0x7fffffff; }
GPU_DEVICE uint32_t gpu_most(uint32_t most, float x) { return gpu_op_most()(most, gpu_magnitude(x)); }
template <typename T> GPU_DEVICE uint32_t gpu_most(uint32_t most, const gpu_vec<T> &x)
{
    GPU_UNROLL
    for (int i = 0; i < gpu_vec<T>::n; i++) most = gpu_most(most, x.v[i]);
    return most;
}

/* Called by one thread, with the largest magnitude of many values before they are rounded to T. Rounding keeps their
 * order, so only the largest is rounded here. */
template <typename T> GPU_DEVICE void gpu_raise_amax(float *amax, uint32_t most)
{
    most = gpu_magnitude(gpu_to_float(gpu_from_float<T>(gpu_bits_float(most))));
    gpu_atomic_max((uint32_t *)amax, most);
}

/* Called by all lanes of a wave, each with its own largest magnitude. */
template <typename T> GPU_DEVICE void gpu_wave_amax(float *amax, uint32_t most)
{
    most = gpu_group_reduce<GPU_WAVE>(most, gpu_op_most());
    if (gpu_lane() == 0) gpu_raise_amax<T>(amax, most);
}

/* Called by all threads of a block, each with its own. */
template <typename T, int THREADS> GPU_DEVICE void gpu_block_amax(float *amax, uint32_t most)
{
    most = gpu_block_reduce<THREADS>(most, gpu_op_most());
    if (gpu_thread() == 0) gpu_raise_amax<T>(amax, most);
}

#endif
