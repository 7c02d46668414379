/* The names of backend/gpu/platform.h for NVIDIA GPUs. Only this file and its neighbours gpu_mma.h and gpu_launcher.h
 * know the width of a warp, the layout of a matrix tile over its lanes, and CUDA's names. */
#ifndef TT_GPU_PLATFORM_H
#define TT_GPU_PLATFORM_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu_launcher.h"

/* ---- qualifiers ---- */

#define GPU_KERNEL static __global__ void
#define GPU_DEVICE static __device__ __forceinline__
#define GPU_MEMBER __device__ __forceinline__               /* in a struct, and for specialisations */
#define GPU_BOTH static __host__ __device__ __forceinline__ /* host and device */
#define GPU_SHARED __shared__
#define GPU_DYNAMIC_SHARED(name) extern __shared__ __align__(16) unsigned char name[]
#define GPU_BOUNDS(threads) __launch_bounds__(threads)
#define GPU_BOUNDS_MIN(threads, blocks) __launch_bounds__(threads, blocks)
#define GPU_UNROLL _Pragma("unroll")
#define GPU_UNROLL_BY(n) GPU_PRAGMA(unroll n)
#define GPU_PRAGMA(text) _Pragma(#text)

/* ---- threads ---- */

#define GPU_WAVE 32  /* lanes of a wave; for device code only, since AMD has chips of both widths */
#define GPU_GROUP 32 /* lanes that are within one wave on every chip; for host code too */
#define GPU_FULL_BLOCK (4 * GPU_GROUP) /* threads that give one wave to each partition of an SM; for host code too */

#define gpu_thread() ((int)threadIdx.x)
#define gpu_threads() ((int)blockDim.x)
#define gpu_block_x() ((int64_t)blockIdx.x)
#define gpu_block_y() ((int64_t)blockIdx.y)
#define gpu_block_z() ((int64_t)blockIdx.z)
#define gpu_blocks_x() ((int64_t)gridDim.x)

GPU_DEVICE int gpu_lane(void) { return (int)(threadIdx.x % GPU_WAVE); }
GPU_DEVICE int gpu_wave(void) { return (int)(threadIdx.x / GPU_WAVE); }

GPU_DEVICE void gpu_block_sync(void) { __syncthreads(); }
GPU_DEVICE void gpu_wave_sync(void) { __syncwarp(); }

/* All lanes of the wave take part. */
template <typename T> GPU_DEVICE T gpu_shfl(T x, int lane) { return __shfl_sync(0xffffffffu, x, lane, GPU_WAVE); }
template <typename T> GPU_DEVICE T gpu_shfl_xor(T x, int mask)
{
    return __shfl_xor_sync(0xffffffffu, x, mask, GPU_WAVE);
}
template <typename T> GPU_DEVICE T gpu_shfl_up(T x, int by) { return __shfl_up_sync(0xffffffffu, x, by, GPU_WAVE); }
template <typename T> GPU_DEVICE T gpu_shfl_down(T x, int by) { return __shfl_down_sync(0xffffffffu, x, by, GPU_WAVE); }
/* Bit i is the predicate of lane i; count_below counts the bits below a lane. */
GPU_DEVICE uint64_t gpu_ballot(int predicate) { return __ballot_sync(0xffffffffu, predicate); }
GPU_DEVICE int gpu_count(uint64_t ballot) { return __popcll(ballot); }
GPU_DEVICE int gpu_count_below(uint64_t ballot, int lane) { return __popcll(ballot & ((1ull << lane) - 1)); }

/* Keeps the compiler from moving later loads before it, where it would load more than registers can hold. */
GPU_DEVICE void gpu_fetch_fence(void) {}

GPU_DEVICE int gpu_atomic_add(int *p, int x) { return atomicAdd(p, x); } /* integers only */
GPU_DEVICE void gpu_atomic_max(uint32_t *p, uint32_t x) { atomicMax(p, x); }

/* ---- numbers ---- */

typedef __nv_bfloat16 gpu_bf16;
typedef __half gpu_half;

GPU_DEVICE float gpu_to_float(float x) { return x; }
GPU_DEVICE float gpu_to_float(gpu_bf16 x) { return __bfloat162float(x); }
GPU_DEVICE float gpu_to_float(gpu_half x) { return __half2float(x); }

/* Round to nearest even. */
template <typename T> GPU_DEVICE T gpu_from_float(float x);
template <> GPU_MEMBER float gpu_from_float<float>(float x) { return x; }
template <> GPU_MEMBER gpu_bf16 gpu_from_float<gpu_bf16>(float x) { return __float2bfloat16_rn(x); }
template <> GPU_MEMBER gpu_half gpu_from_float<gpu_half>(float x) { return __float2half_rn(x); }

/* Two 16-bit numbers in a register, `low` at the lower address. */
template <typename T> GPU_DEVICE uint32_t gpu_pack2(float low, float high);
template <> GPU_MEMBER uint32_t gpu_pack2<gpu_bf16>(float low, float high)
{
    __nv_bfloat162 p = __floats2bfloat162_rn(low, high);
    return *(uint32_t *)&p;
}
template <> GPU_MEMBER uint32_t gpu_pack2<gpu_half>(float low, float high)
{
    __half2 p = __floats2half2_rn(low, high);
    return *(uint32_t *)&p;
}
/* Two 8-bit codes in a register; by one instruction from sm_89 on. */
#define GPU_HAS_FP8_PACK2
template <bool E4M3> GPU_DEVICE uint32_t gpu_native_fp8_pack2(float low, float high)
{
    return __nv_cvt_float2_to_fp8x2(make_float2(low, high), __NV_SATFINITE, E4M3 ? __NV_E4M3 : __NV_E5M2);
}
/* Older chips need many instructions to round, and those need registers. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 890
#define GPU_CODE_BLOCKS 1
#else
#define GPU_CODE_BLOCKS 2
#endif
GPU_DEVICE float2 gpu_half_pair(uint32_t p) { return __half22float2(*(__half2 *)&p); }
template <typename T> GPU_DEVICE void gpu_unpack2(uint32_t p, float &low, float &high);
template <> GPU_MEMBER void gpu_unpack2<gpu_bf16>(uint32_t p, float &low, float &high)
{
    low = __uint_as_float(p << 16);
    high = __uint_as_float(p & 0xffff0000u);
}
template <> GPU_MEMBER void gpu_unpack2<gpu_half>(uint32_t p, float &low, float &high)
{
    float2 f = gpu_half_pair(p);
    low = f.x;
    high = f.y;
}

GPU_DEVICE uint32_t gpu_float_bits(float x) { return __float_as_uint(x); }
GPU_DEVICE float gpu_bits_float(uint32_t bits) { return __uint_as_float(bits); }
#define GPU_INFINITY __int_as_float(0x7f800000)

/* Within 2 ulp. */
GPU_DEVICE float gpu_exp(float x) { return expf(x); }
GPU_DEVICE float gpu_log(float x) { return logf(x); }
GPU_DEVICE float gpu_sqrt(float x) { return __fsqrt_rn(x); }
GPU_DEVICE float gpu_rsqrt(float x) { return rsqrtf(x); }
GPU_DEVICE float gpu_divide(float x, float y) { return __fdiv_rn(x, y); }
GPU_DEVICE float gpu_fma(float x, float y, float z) { return __fmaf_rn(x, y, z); }
GPU_DEVICE float gpu_max(float x, float y) { return fmaxf(x, y); } /* if one is NaN, the other */
GPU_DEVICE float gpu_min(float x, float y) { return fminf(x, y); }
GPU_DEVICE bool gpu_finite(float x) { return (__float_as_uint(x) & 0x7f800000u) != 0x7f800000u; }
/* Hardware approximations, accurate to a few ulp: for results that are rounded to 16 bits, or small parts of a sum. */
GPU_DEVICE float gpu_divide_fast(float x, float y) { return __fdividef(x, y); } /* 0 when y is above 2^126 */
GPU_DEVICE float gpu_sqrt_fast(float x)
{
    float y;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
GPU_DEVICE float gpu_exp2_fast(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
GPU_DEVICE float gpu_exp_fast(float x) { return gpu_exp2_fast(x * 1.44269504088896f); }
GPU_DEVICE float gpu_reciprocal_fast(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
GPU_DEVICE float gpu_log2_fast(float x) { return __log2f(x); }

/* ---- 16 bytes at a time; pointers are multiples of 16 ---- */

struct alignas(16) gpu_bytes16 {
    uint32_t w[4];
};

GPU_DEVICE gpu_bytes16 gpu_from_uint4(uint4 u)
{
    gpu_bytes16 b;
    b.w[0] = u.x, b.w[1] = u.y, b.w[2] = u.z, b.w[3] = u.w;
    return b;
}
GPU_DEVICE uint4 gpu_to_uint4(gpu_bytes16 b) { return make_uint4(b.w[0], b.w[1], b.w[2], b.w[3]); }

GPU_DEVICE gpu_bytes16 gpu_load16(const void *p) { return gpu_from_uint4(*(const uint4 *)p); }
GPU_DEVICE void gpu_store16(void *p, gpu_bytes16 b) { *(uint4 *)p = gpu_to_uint4(b); }
/* Streaming access, for bytes that this kernel touches once: they are evicted from the cache first. */
GPU_DEVICE gpu_bytes16 gpu_load16_stream(const void *p) { return gpu_from_uint4(__ldcs((const uint4 *)p)); }
GPU_DEVICE void gpu_store16_stream(void *p, gpu_bytes16 b) { __stcs((uint4 *)p, gpu_to_uint4(b)); }

/* Copies from global to shared memory, asynchronously from sm_80 on. With !valid the 16 bytes become zero and `from` is
 * not read. commit closes a group of copies; wait<N> waits for all but the newest N groups. A block_sync must follow
 * the wait before other threads read. */
GPU_DEVICE void gpu_copy_async16(void *shared, const void *from, bool valid)
{
#if __CUDA_ARCH__ >= 800
    uint32_t to = (uint32_t)__cvta_generic_to_shared(shared);
    int bytes = valid ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
#else
    *(uint4 *)shared = valid ? *(const uint4 *)from : make_uint4(0, 0, 0, 0);
#endif
}
/* One such copy, in two steps. GPU_COPY_HELD: between them its bytes are in a register, and only `end` writes them. */
enum { GPU_COPY_HELD = 0 };
struct gpu_copy16 {
    GPU_MEMBER void begin(void *shared, const void *from, bool valid) { gpu_copy_async16(shared, from, valid); }
    GPU_MEMBER void end(void *) {}
};
GPU_DEVICE void gpu_copy_commit(void)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int N> GPU_DEVICE void gpu_copy_wait(void)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

/* ---- matrix tiles: C[16,16] += A[16,16] · B[16,16], T 16-bit, C float ----
 * A wave owns a tile. The lane layout is that of mma.m16n8k16, g = lane / 4, t = lane % 4:
 *   A  w[0] (g, 2t..2t+1)  w[1] (g+8, 2t..)  w[2] (g, 2t+8..)  w[3] (g+8, 2t+8..)
 *   B  w[h][0] (k 2t..2t+1, n 8h+g)  w[h][1] (k 2t+8.., n 8h+g)
 *   C  v[h][0..1] (g, 8h+2t..)  v[h][2..3] (g+8, 8h+2t..)
 * Tiles are loaded from shared memory, where each row of 8 elements must start at a multiple of 16 bytes. */

template <typename T> struct gpu_tile_a {
    uint32_t w[4];
};
template <typename T> struct gpu_tile_b {
    uint32_t w[2][2];
};
struct gpu_tile_c {
    float v[2][4];
};

/* Loads four 8x8 matrices; lanes 8i..8i+7 give the addresses of the rows of matrix i. Before sm_75 there is no
 * ldmatrix: a lane gets the addresses of the rows that it needs from those lanes by shuffles. */
GPU_DEVICE uint32_t gpu_matrix_part(const void *row, int i)
{
    uint64_t at = gpu_shfl((uint64_t)row, 8 * i + gpu_lane() / 4);
    return ((const uint32_t *)at)[gpu_lane() % 4];
}
GPU_DEVICE uint32_t gpu_matrix_part_transposed(const void *row, int i)
{
    uint64_t low = gpu_shfl((uint64_t)row, 8 * i + gpu_lane() % 4 * 2);
    uint64_t high = gpu_shfl((uint64_t)row, 8 * i + gpu_lane() % 4 * 2 + 1);
    return ((const uint16_t *)low)[gpu_lane() / 4] | (uint32_t)((const uint16_t *)high)[gpu_lane() / 4] << 16;
}

GPU_DEVICE void gpu_ldmatrix4(const void *row, uint32_t &a, uint32_t &b, uint32_t &c, uint32_t &d)
{
#if __CUDA_ARCH__ < 750
    a = gpu_matrix_part(row, 0), b = gpu_matrix_part(row, 1);
    c = gpu_matrix_part(row, 2), d = gpu_matrix_part(row, 3);
#else
    uint32_t at = (uint32_t)__cvta_generic_to_shared(row);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "r"(at)
                 : "memory");
#endif
}
GPU_DEVICE void gpu_ldmatrix4_transposed(const void *row, uint32_t &a, uint32_t &b, uint32_t &c, uint32_t &d)
{
#if __CUDA_ARCH__ < 750
    a = gpu_matrix_part_transposed(row, 0), b = gpu_matrix_part_transposed(row, 1);
    c = gpu_matrix_part_transposed(row, 2), d = gpu_matrix_part_transposed(row, 3);
#else
    uint32_t at = (uint32_t)__cvta_generic_to_shared(row);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "r"(at)
                 : "memory");
#endif
}

/* A[m][k] at p[m·ld + k]; transposed: at p[k·ld + m]. */
template <typename T> GPU_DEVICE void gpu_tile_load(gpu_tile_a<T> &a, const T *p, int ld)
{
    int lane = gpu_lane();
    gpu_ldmatrix4(p + lane % 16 * ld + lane / 16 * 8, a.w[0], a.w[1], a.w[2], a.w[3]);
}
template <typename T> GPU_DEVICE void gpu_tile_load_transposed(gpu_tile_a<T> &a, const T *p, int ld)
{
    int lane = gpu_lane();
    gpu_ldmatrix4_transposed(p + (lane % 8 + lane / 16 * 8) * ld + lane / 8 % 2 * 8, a.w[0], a.w[1], a.w[2], a.w[3]);
}
/* B[k][n] at p[k·ld + n]; transposed: at p[n·ld + k]. */
template <typename T> GPU_DEVICE void gpu_tile_load(gpu_tile_b<T> &b, const T *p, int ld)
{
    int lane = gpu_lane();
    gpu_ldmatrix4_transposed(p + lane % 16 * ld + lane / 16 * 8, b.w[0][0], b.w[0][1], b.w[1][0], b.w[1][1]);
}
template <typename T> GPU_DEVICE void gpu_tile_load_transposed(gpu_tile_b<T> &b, const T *p, int ld)
{
    int lane = gpu_lane();
    gpu_ldmatrix4(p + (lane % 8 + lane / 16 * 8) * ld + lane / 8 % 2 * 8, b.w[0][0], b.w[0][1], b.w[1][0], b.w[1][1]);
}

/* tf32 tiles: two products with k = 8. The order of k within a product is free, as long as A and B agree; there are
 * two:
 *   A loaded from memory with B loaded transposed: lane t has elements t and t+4 of the eight, because ldmatrix takes
 *   a row of four floats for one of eight 16-bit numbers;
 *   A rounded from C with B loaded by rows: lane t has elements 2t and 2t+1, as in C. */
enum { GPU_TILE_FLOATS = 1 };
template <> struct gpu_tile_a<float> {
    uint32_t w[2][4]; /* for each k = 8: rows g and g+8 of the lane's first element, then of its second */
};
template <> struct gpu_tile_b<float> {
    uint32_t w[2][2][2]; /* for each 8 columns, for each k = 8: the lane's two elements */
};

/* The instruction truncates the low 13 bits of its operands. Multiplying by 1 + 2^-11.5 first compensates for that on
 * average. The error is at most 0.71 of the last kept bit; a number whose low 13 bits are 0 is not changed, and NaN
 * stays NaN. */
GPU_DEVICE uint32_t gpu_tf32(float x) { return __float_as_uint(x * 1.00034527f); }
GPU_DEVICE uint32_t gpu_tf32(uint32_t x) { return gpu_tf32(__uint_as_float(x)); }

GPU_DEVICE void gpu_tile_load(gpu_tile_a<float> &a, const float *p, int ld)
{
    p += gpu_lane() % 16 * ld + gpu_lane() / 16 * 4;
    GPU_UNROLL
    for (int k = 0; k < 2; k++) {
        gpu_ldmatrix4(p + 8 * k, a.w[k][0], a.w[k][1], a.w[k][2], a.w[k][3]);
        GPU_UNROLL
        for (int i = 0; i < 4; i++) a.w[k][i] = gpu_tf32(a.w[k][i]);
    }
}
GPU_DEVICE void gpu_tile_load_transposed(gpu_tile_b<float> &b, const float *p, int ld)
{
    p += gpu_lane() % 8 * ld + gpu_lane() / 8 * 4;
    GPU_UNROLL
    for (int n = 0; n < 2; n++) {
        gpu_ldmatrix4(p + n * 8 * ld, b.w[n][0][0], b.w[n][0][1], b.w[n][1][0], b.w[n][1][1]);
        GPU_UNROLL
        for (int i = 0; i < 4; i++) b.w[n][i / 2][i % 2] = gpu_tf32(b.w[n][i / 2][i % 2]);
    }
}
GPU_DEVICE void gpu_tile_load(gpu_tile_b<float> &b, const float *p, int ld)
{
    p += gpu_lane() % 4 * 2 * ld + gpu_lane() / 4;
    GPU_UNROLL
    for (int i = 0; i < 8; i++) b.w[i / 4][i / 2 % 2][i % 2] = gpu_tf32(p[(i / 2 % 2 * 8 + i % 2) * ld + i / 4 * 8]);
}

GPU_DEVICE void gpu_tile_fill(gpu_tile_c &c, float x)
{
    GPU_UNROLL
    for (int i = 0; i < 8; i++) c.v[i / 4][i % 4] = x;
}

#define GPU_MMA_K16(type)                                                                                              \
    asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 "                                                 \
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                                                        \
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                               \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#define GPU_MMA_K8(type, i)                                                                                            \
    asm("mma.sync.aligned.m16n8k8.row.col.f32." type "." type ".f32 "                                                  \
        "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"                                                                 \
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                               \
        : "r"(a[2 * i]), "r"(a[2 * i + 1]), "r"(b[i]))

#if __CUDA_ARCH__ < 750
/* Before sm_75 this mma does not exist: a lane gets its rows of A and its columns of B from other lanes by shuffles.
 * Correct but slow. Not unrolled, for a shorter compile time; not a function call, which would spill the caller's
 * registers. */
GPU_DEVICE float4 gpu_mma_by_shuffles(float4 c, uint2 a, uint32_t b)
{
    int g = gpu_lane() / 4 * 4, t = gpu_lane() % 4 * 8;
    GPU_UNROLL_BY(1)
    for (int k = 0; k < 4; k++) { /* of four neighbouring lanes, lane k holds pair k */
        float2 x = gpu_half_pair(gpu_shfl(a.x, g + k)), y = gpu_half_pair(gpu_shfl(a.y, g + k));
        float2 u = gpu_half_pair(gpu_shfl(b, t + k)), v = gpu_half_pair(gpu_shfl(b, t + 4 + k));
        c.x += x.x * u.x + x.y * u.y, c.y += x.x * v.x + x.y * v.y;
        c.z += y.x * u.x + y.y * u.y, c.w += y.x * v.x + y.y * v.y;
    }
    return c;
}
GPU_DEVICE void gpu_mma_16x8_without(float *c, const uint32_t *a, const uint32_t *b)
{
    float4 sum = make_float4(c[0], c[1], c[2], c[3]);
    sum = gpu_mma_by_shuffles(sum, make_uint2(a[0], a[1]), b[0]);
    sum = gpu_mma_by_shuffles(sum, make_uint2(a[2], a[3]), b[1]);
    c[0] = sum.x, c[1] = sum.y, c[2] = sum.z, c[3] = sum.w;
}
#endif

GPU_DEVICE void gpu_mma_16x8(float *c, const uint32_t *a, const uint32_t *b, gpu_half)
{
#if __CUDA_ARCH__ >= 800
    GPU_MMA_K16("f16");
#elif __CUDA_ARCH__ < 750
    gpu_mma_16x8_without(c, a, b);
#else
    GPU_MMA_K8("f16", 0);
    GPU_MMA_K8("f16", 1);
#endif
}
GPU_DEVICE void gpu_mma_16x8(float *c, const uint32_t *a, const uint32_t *b, gpu_bf16)
{
#if __CUDA_ARCH__ >= 800
    GPU_MMA_K16("bf16");
#else
    (void)c, (void)a, (void)b;
    __trap(); /* no such instruction before sm_80; the backend refuses bf16 there */
#endif
}

/* c += a·b */
template <typename T> GPU_DEVICE void gpu_tile_mma(gpu_tile_c &c, const gpu_tile_a<T> &a, const gpu_tile_b<T> &b)
{
    gpu_mma_16x8(c.v[0], a.w, b.w[0], T());
    gpu_mma_16x8(c.v[1], a.w, b.w[1], T());
}

GPU_DEVICE void gpu_mma_16x8x8(float *c, const uint32_t *a, const uint32_t *b)
{
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    (void)c, (void)a, (void)b;
    __trap(); /* no such instruction before sm_80; the backend refuses tf32 there */
#endif
}
GPU_DEVICE void gpu_tile_mma(gpu_tile_c &c, const gpu_tile_a<float> &a, const gpu_tile_b<float> &b)
{
    GPU_UNROLL
    for (int i = 0; i < 4; i++) gpu_mma_16x8x8(c.v[i / 2], a.w[i % 2], b.w[i / 2][i % 2]);
}

/* f(row, col, value&) for each element that this lane holds. */
template <typename F> GPU_DEVICE void gpu_tile_each(gpu_tile_c &c, F f)
{
    int g = gpu_lane() / 4, t = gpu_lane() % 4;
    GPU_UNROLL
    for (int i = 0; i < 8; i++) f(g + i % 4 / 2 * 8, i / 4 * 8 + 2 * t + i % 2, c.v[i / 4][i % 4]);
}

/* A lane's elements are in GPU_TILE_ROWS rows of the tile; row_of(s) is the row of slot s. each_slot is `each` with the
 * slot as first argument, so that a value per row (a maximum, a sum, a scale) is an array indexed by slot. */
enum { GPU_TILE_ROWS = 2 };
GPU_DEVICE int gpu_tile_row_of(int slot) { return gpu_lane() / 4 + slot * 8; }
template <typename F> GPU_DEVICE void gpu_tile_each_slot(gpu_tile_c &c, F f)
{
    int t = gpu_lane() % 4;
    GPU_UNROLL
    for (int i = 0; i < 8; i++) f(i % 4 / 2, gpu_tile_row_of(i % 4 / 2), i / 4 * 8 + 2 * t + i % 2, c.v[i / 4][i % 4]);
}
/* Reductions over the lanes that share a row; each of them gets the result. */
GPU_DEVICE float gpu_tile_row_max(float x)
{
    x = gpu_max(x, gpu_shfl_xor(x, 1));
    return gpu_max(x, gpu_shfl_xor(x, 2));
}
GPU_DEVICE float gpu_tile_row_sum(float x)
{
    x += gpu_shfl_xor(x, 1);
    return x + gpu_shfl_xor(x, 2);
}

/* a = c rounded to T: the result of one product becomes an operand of the next. */
template <typename T> GPU_DEVICE void gpu_tile_round(gpu_tile_a<T> &a, const gpu_tile_c &c)
{
    GPU_UNROLL
    for (int i = 0; i < 4; i++) a.w[i] = gpu_pack2<T>(c.v[i / 2][i % 2 * 2], c.v[i / 2][i % 2 * 2 + 1]);
}
GPU_DEVICE void gpu_tile_round(gpu_tile_a<float> &a, const gpu_tile_c &c)
{
    GPU_UNROLL
    for (int i = 0; i < 8; i++) a.w[i / 4][i % 4] = gpu_tf32(c.v[i / 4][i % 2 * 2 + i % 4 / 2]);
}
/* b = the transpose of c, rounded to T. */
template <typename T> GPU_DEVICE void gpu_tile_round_transposed(gpu_tile_b<T> &b, const gpu_tile_c &c)
{
    GPU_UNROLL
    for (int i = 0; i < 4; i++) b.w[i / 2][i % 2] = gpu_pack2<T>(c.v[i % 2][i / 2 * 2], c.v[i % 2][i / 2 * 2 + 1]);
}

#endif
