/* What all GPU kernels include. platform.h lists the names that each vendor's folder defines; this file builds on them.
 *
 * Kernels are templates on T, the storage type of activations, and compute in float. They load and store 16 bytes at a
 * time if pointers and strides allow, else single elements. Sums have a fixed order: no float atomics. */
#ifndef TT_GPU_H
#define TT_GPU_H

#include "backend/gpu/platform.h"
#include "backend/kernels.h"

/* ---- host ---- */

GPU_BOTH int64_t gpu_smaller(int64_t a, int64_t b) { return a < b ? a : b; }
GPU_BOTH int64_t gpu_larger(int64_t a, int64_t b) { return a > b ? a : b; }
GPU_BOTH int64_t gpu_divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

static inline gpu_grid gpu_grid_of(int64_t blocks)
{
    return gpu_grid((unsigned)gpu_smaller(gpu_larger(blocks, 0), INT32_MAX));
}

/* Whether p can be accessed 16 bytes at a time; and rows with a stride of `ld` elements of `size` bytes. */
static inline bool gpu_aligned(const void *p) { return (uintptr_t)p % 16 == 0; }
static inline bool gpu_aligned_rows(const void *p, int64_t ld, size_t size)
{
    return gpu_aligned(p) && (size_t)ld * size % 16 == 0;
}

/* Evaluates an expression with T as the storage type of dtype. */
#define GPU_DISPATCH(dtype, T, ...)                                                                                    \
    [&]() -> gpu_error {                                                                                               \
        switch (dtype) {                                                                                               \
        case TT_BF16: {                                                                                                \
            typedef gpu_bf16 T;                                                                                        \
            return __VA_ARGS__;                                                                                        \
        }                                                                                                              \
        case TT_F16: {                                                                                                 \
            typedef gpu_half T;                                                                                        \
            return __VA_ARGS__;                                                                                        \
        }                                                                                                              \
        default: {                                                                                                     \
            typedef float T;                                                                                           \
            return __VA_ARGS__;                                                                                        \
        }                                                                                                              \
        }                                                                                                              \
    }()

/* ---- 8 bytes at a time; pointers are multiples of 8 ---- */

struct alignas(8) gpu_bytes8 {
    uint32_t w[2];
};

/* ---- 16 bytes of T as floats: gpu_vec<T>::n of them ---- */

template <typename T> struct gpu_vec {
    static constexpr int n = 16 / (int)sizeof(T);
    float v[n];
};

template <typename T> GPU_DEVICE gpu_vec<T> gpu_vec_from(gpu_bytes16 b)
{
    gpu_vec<T> x;
    GPU_UNROLL
    for (int i = 0; i < 4; i++) {
        if constexpr (sizeof(T) == 4)
            x.v[i] = gpu_bits_float(b.w[i]);
        else
            gpu_unpack2<T>(b.w[i], x.v[2 * i], x.v[2 * i + 1]);
    }
    return x;
}
template <typename T> GPU_DEVICE gpu_bytes16 gpu_vec_bytes(const gpu_vec<T> &x)
{
    gpu_bytes16 b;
    GPU_UNROLL
    for (int i = 0; i < 4; i++) {
        if constexpr (sizeof(T) == 4)
            b.w[i] = gpu_float_bits(x.v[i]);
        else
            b.w[i] = gpu_pack2<T>(x.v[2 * i], x.v[2 * i + 1]);
    }
    return b;
}
template <typename T> GPU_DEVICE gpu_vec<T> gpu_vec_load(const T *p) { return gpu_vec_from<T>(gpu_load16(p)); }
template <typename T> GPU_DEVICE void gpu_vec_store(T *p, const gpu_vec<T> &x) { gpu_store16(p, gpu_vec_bytes(x)); }
template <typename T> GPU_DEVICE gpu_vec<T> gpu_vec_load_stream(const T *p)
{
    return gpu_vec_from<T>(gpu_load16_stream(p));
}
template <typename T> GPU_DEVICE void gpu_vec_store_stream(T *p, const gpu_vec<T> &x)
{
    gpu_store16_stream(p, gpu_vec_bytes(x));
}

/* ---- reductions; every participant gets the result, always summed in the same order ---- */

struct gpu_op_sum {
    template <typename V> GPU_MEMBER V operator()(V a, V b) const { return a + b; }
    static GPU_MEMBER float identity() { return 0.0f; }
};
struct gpu_op_max {
    GPU_MEMBER float operator()(float a, float b) const { return gpu_max(a, b); }
    static GPU_MEMBER float identity() { return -GPU_INFINITY; }
};

/* Over LANES neighbouring lanes, a power of two up to GPU_WAVE; all lanes of the wave call it. */
template <int LANES, typename V, typename Op> GPU_DEVICE V gpu_group_reduce(V x, Op op)
{
    GPU_UNROLL
    for (int mask = LANES / 2; mask > 0; mask /= 2) x = op(x, gpu_shfl_xor(x, mask));
    return x;
}
template <int LANES, typename V> GPU_DEVICE V gpu_group_sum(V x) { return gpu_group_reduce<LANES>(x, gpu_op_sum()); }
template <int LANES> GPU_DEVICE float gpu_group_max(float x) { return gpu_group_reduce<LANES>(x, gpu_op_max()); }
template <typename V> GPU_DEVICE V gpu_wave_sum(V x) { return gpu_group_sum<GPU_WAVE>(x); }
GPU_DEVICE float gpu_wave_max(float x) { return gpu_group_max<GPU_WAVE>(x); }

/* Over a block of THREADS threads, a multiple of GPU_WAVE and a power of two. Up to 8 results of waves are combined one
 * by one, more by shuffles. The barrier at the end allows the next call to reuse the shared memory. */
template <int THREADS, typename V, typename Op> GPU_DEVICE V gpu_block_reduce(V x, Op op)
{
    constexpr int WAVES = THREADS / GPU_WAVE;
    x = gpu_group_reduce<GPU_WAVE>(x, op);
    if constexpr (WAVES > 1) {
        GPU_SHARED V part[WAVES];
        if (gpu_lane() == 0) part[gpu_wave()] = x;
        gpu_block_sync();
        if constexpr (WAVES <= 8) {
            x = part[0];
            GPU_UNROLL
            for (int i = 1; i < WAVES; i++) x = op(x, part[i]);
        } else {
            x = gpu_group_reduce<WAVES>(part[gpu_lane() % WAVES], op);
        }
        gpu_block_sync();
    }
    return x;
}
template <int THREADS, typename V> GPU_DEVICE V gpu_block_sum(V x)
{
    return gpu_block_reduce<THREADS>(x, gpu_op_sum());
}
template <int THREADS> GPU_DEVICE float gpu_block_max(float x) { return gpu_block_reduce<THREADS>(x, gpu_op_max()); }

#endif
