/* The names of backend/gpu/platform.h for AMD GPUs. Only this file and its neighbours gpu_mma.h (matrix tiles) and
 * gpu_launcher.h know the width of a wave and HIP's names. One binary has code for waves of both widths: kernels take
 * the width of the architecture that they are compiled for, and hosts ask the device with gpu_wave_width(). */
#ifndef TT_HIP_GPU_PLATFORM_H
#define TT_HIP_GPU_PLATFORM_H

#include <hip/hip_runtime.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu_launcher.h"

/* ---- qualifiers ---- */

#define GPU_KERNEL static __global__ void
#define GPU_DEVICE static __device__ __forceinline__
#define GPU_MEMBER __device__ __forceinline__               /* in a struct, and for specialisations */
#define GPU_BOTH static __host__ __device__ __forceinline__ /* host and device */
#define GPU_SHARED __shared__
#define GPU_DYNAMIC_SHARED(name) extern __shared__ __attribute__((aligned(16))) unsigned char name[]
#define GPU_BOUNDS(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define GPU_BOUNDS_MIN(threads, blocks)                                                                                \
    __attribute__((amdgpu_flat_work_group_size(1, threads), amdgpu_waves_per_eu(gpu_waves_of(threads, blocks))))
#define GPU_CODE_BLOCKS 2
#define GPU_UNROLL _Pragma("unroll")
#define GPU_UNROLL_BY(n) GPU_PRAGMA(unroll n)
#define GPU_PRAGMA(text) _Pragma(#text)

/* ---- threads ---- */

/* Lanes of a wave; for device code only. The host pass only parses the kernels, so any width will do there. */
#if defined(__GFX9__) || !defined(__HIP_DEVICE_COMPILE__)
#define GPU_WAVE 64
#elif defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__)
#define GPU_WAVE 32
#else
#error "the kernels do not know how wide a wave of this chip is: they are for gfx9 to gfx12"
#endif
#define GPU_GROUP 32 /* lanes that are within one wave on every chip; for host code too */
/* Threads that give a wave to each SIMD of a compute unit, at either width; for host code too. */
#define GPU_FULL_BLOCK (4 * 64)

/* Waves per SIMD, so that so many blocks fit into the four SIMDs of a compute unit (gfx9) or of a pair of them (gfx10
 * on). */
GPU_BOTH constexpr int gpu_waves_of(int threads, int blocks)
{
    return threads * blocks / (4 * GPU_WAVE) > 1 ? threads * blocks / (4 * GPU_WAVE) : 1;
}

#define gpu_thread() ((int)threadIdx.x)
#define gpu_threads() ((int)blockDim.x)
#define gpu_block_x() ((int64_t)blockIdx.x)
#define gpu_block_y() ((int64_t)blockIdx.y)
#define gpu_block_z() ((int64_t)blockIdx.z)
#define gpu_blocks_x() ((int64_t)gridDim.x)

GPU_DEVICE int gpu_lane(void) { return (int)(threadIdx.x % GPU_WAVE); }
GPU_DEVICE int gpu_wave(void) { return (int)(threadIdx.x / GPU_WAVE); }

GPU_DEVICE void gpu_block_sync(void) { __syncthreads(); }
/* The lanes of a wave run in lockstep, and their accesses to shared memory happen in order; this keeps the compiler
 * from reordering them. */
GPU_DEVICE void gpu_wave_sync(void)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

/* The lanes that are read from must take part. */
template <typename T> GPU_DEVICE T gpu_shfl(T x, int lane) { return __shfl(x, lane, GPU_WAVE); }
template <typename T> GPU_DEVICE T gpu_shfl_xor(T x, int mask) { return __shfl_xor(x, mask, GPU_WAVE); }
template <typename T> GPU_DEVICE T gpu_shfl_up(T x, int by) { return __shfl_up(x, (unsigned)by, GPU_WAVE); }
template <typename T> GPU_DEVICE T gpu_shfl_down(T x, int by) { return __shfl_down(x, (unsigned)by, GPU_WAVE); }
/* Bit i is the predicate of lane i; count_below counts the bits below a lane. */
GPU_DEVICE uint64_t gpu_ballot(int predicate) { return __ballot(predicate); }
GPU_DEVICE int gpu_count(uint64_t ballot) { return __builtin_popcountll(ballot); }
GPU_DEVICE int gpu_count_below(uint64_t ballot, int lane)
{
    return __builtin_popcountll(ballot & (((uint64_t)1 << lane) - 1));
}

/* Keeps the compiler from moving later loads before it, where it would load more than registers can hold. */
GPU_DEVICE void gpu_fetch_fence(void)
{
    if (GPU_WAVE == 32) __builtin_amdgcn_sched_barrier(0); /* these chips have 256 registers, not 512 */
}

GPU_DEVICE int gpu_atomic_add(int *p, int x) { return atomicAdd(p, x); } /* integers only */
GPU_DEVICE void gpu_atomic_max(uint32_t *p, uint32_t x) { atomicMax(p, x); }

/* ---- numbers ---- */

struct gpu_bf16 {
    uint16_t bits;
};
typedef _Float16 gpu_half;

GPU_DEVICE uint32_t gpu_float_bits(float x) { return __builtin_bit_cast(uint32_t, x); }
GPU_DEVICE float gpu_bits_float(uint32_t bits) { return __builtin_bit_cast(float, bits); }
#define GPU_INFINITY __builtin_inff()

GPU_DEVICE float gpu_to_float(float x) { return x; }
GPU_DEVICE float gpu_to_float(gpu_bf16 x) { return gpu_bits_float((uint32_t)x.bits << 16); }
GPU_DEVICE float gpu_to_float(gpu_half x) { return (float)x; }

/* x rounded to bf16, to nearest even, in the upper half of the word; NaN stays NaN. */
GPU_DEVICE uint32_t gpu_bf16_above(float x)
{
    uint32_t bits = gpu_float_bits(x), rounded = bits + 0x7fffu + (bits >> 16 & 1u);
    return x == x ? rounded : bits | 0x400000u;
}

/* Two 16-bit numbers in a register, `low` at the lower address. */
template <typename T> GPU_DEVICE uint32_t gpu_pack2(float low, float high);
template <> GPU_MEMBER uint32_t gpu_pack2<gpu_bf16>(float low, float high)
{
#ifdef __gfx950__ /* has an instruction for it */
    typedef __bf16 pair __attribute__((ext_vector_type(2)));
    pair p = {(__bf16)low, (__bf16)high};
    return __builtin_bit_cast(uint32_t, p);
#else
    return gpu_bf16_above(low) >> 16 | (gpu_bf16_above(high) & 0xffff0000u);
#endif
}
template <> GPU_MEMBER uint32_t gpu_pack2<gpu_half>(float low, float high)
{
    typedef _Float16 pair __attribute__((ext_vector_type(2)));
    pair p = {(_Float16)low, (_Float16)high};
    return __builtin_bit_cast(uint32_t, p);
}
template <typename T> GPU_DEVICE void gpu_unpack2(uint32_t p, float &low, float &high);
template <> GPU_MEMBER void gpu_unpack2<gpu_bf16>(uint32_t p, float &low, float &high)
{
    low = gpu_bits_float(p << 16);
    high = gpu_bits_float(p & 0xffff0000u);
}
template <> GPU_MEMBER void gpu_unpack2<gpu_half>(uint32_t p, float &low, float &high)
{
    typedef _Float16 pair __attribute__((ext_vector_type(2)));
    pair h = __builtin_bit_cast(pair, p);
    low = (float)h.x;
    high = (float)h.y;
}

/* Round to nearest even. */
template <typename T> GPU_DEVICE T gpu_from_float(float x);
template <> GPU_MEMBER float gpu_from_float<float>(float x) { return x; }
template <> GPU_MEMBER gpu_bf16 gpu_from_float<gpu_bf16>(float x) { return {(uint16_t)(gpu_bf16_above(x) >> 16)}; }
template <> GPU_MEMBER gpu_half gpu_from_float<gpu_half>(float x) { return (gpu_half)x; }

/* Within 2 ulp. */
GPU_DEVICE float gpu_exp(float x) { return expf(x); }
GPU_DEVICE float gpu_log(float x) { return logf(x); }
GPU_DEVICE float gpu_sqrt(float x) { return sqrtf(x); }
GPU_DEVICE float gpu_rsqrt(float x) { return rsqrtf(x); }
GPU_DEVICE float gpu_divide(float x, float y) { return x / y; }
GPU_DEVICE float gpu_fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
GPU_DEVICE float gpu_max(float x, float y) { return __builtin_fmaxf(x, y); } /* if one is NaN, the other */
GPU_DEVICE float gpu_min(float x, float y) { return __builtin_fminf(x, y); }
GPU_DEVICE bool gpu_finite(float x) { return (gpu_float_bits(x) & 0x7f800000u) != 0x7f800000u; }
/* Hardware approximations, accurate to a few ulp: for results that are rounded to 16 bits, or small parts of a sum. */
GPU_DEVICE float gpu_exp2_fast(float x) { return __builtin_amdgcn_exp2f(x); }
GPU_DEVICE float gpu_log2_fast(float x) { return __builtin_amdgcn_logf(x); }
GPU_DEVICE float gpu_exp_fast(float x) { return gpu_exp2_fast(x * 1.44269504088896f); }
GPU_DEVICE float gpu_divide_fast(float x, float y) { return x * __builtin_amdgcn_rcpf(y); } /* 0 when y > 2^126 */
GPU_DEVICE float gpu_reciprocal_fast(float x) { return __builtin_amdgcn_rcpf(x); }
GPU_DEVICE float gpu_sqrt_fast(float x) { return __builtin_amdgcn_sqrtf(x); }

/* ---- 16 bytes at a time; pointers are multiples of 16 ---- */

typedef uint32_t gpu_words4 __attribute__((ext_vector_type(4), may_alias));

struct alignas(16) gpu_bytes16 {
    uint32_t w[4];
};

GPU_DEVICE gpu_bytes16 gpu_from_words(gpu_words4 u)
{
    gpu_bytes16 b;
    b.w[0] = u.x, b.w[1] = u.y, b.w[2] = u.z, b.w[3] = u.w;
    return b;
}
GPU_DEVICE gpu_words4 gpu_to_words(gpu_bytes16 b) { return gpu_words4{b.w[0], b.w[1], b.w[2], b.w[3]}; }

GPU_DEVICE gpu_bytes16 gpu_load16(const void *p) { return gpu_from_words(*(const gpu_words4 *)p); }
GPU_DEVICE void gpu_store16(void *p, gpu_bytes16 b) { *(gpu_words4 *)p = gpu_to_words(b); }
/* Streaming access, for bytes that this kernel touches once: they are evicted from the cache first. */
GPU_DEVICE gpu_bytes16 gpu_load16_stream(const void *p)
{
    return gpu_from_words(__builtin_nontemporal_load((const gpu_words4 *)p));
}
GPU_DEVICE void gpu_store16_stream(void *p, gpu_bytes16 b)
{
    __builtin_nontemporal_store(gpu_to_words(b), (gpu_words4 *)p);
}

/* Copies from global to shared memory through registers, in two steps, since most of these chips can copy
 * asynchronously only 4 bytes at a time. GPU_COPY_HELD: between the steps the bytes are in a register, and only `end`
 * writes them. With !valid the 16 bytes become zero and `from` is not read. A block_sync must follow before other
 * threads read. */
enum { GPU_COPY_HELD = 1, GPU_TILE_FLOATS = 0 };
struct gpu_copy16 {
    gpu_words4 words;
    GPU_MEMBER void begin(void *, const void *from, bool valid)
    {
        words = 0;
        if (valid) words = *(const gpu_words4 *)from;
    }
    GPU_MEMBER void end(void *shared) { *(gpu_words4 *)shared = words; }
};
GPU_DEVICE void gpu_copy_commit(void) {}
template <int N> GPU_DEVICE void gpu_copy_wait(void) {}

#endif
