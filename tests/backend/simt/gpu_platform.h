/* The neutral names of the GPU kernels on the SIMT machine of simt.h, for waves of GPU_WAVE lanes (32 or 64, defined on
 * the compiler's command line). With SIMT_BACKGROUND, copies to shared memory run in the background as on NVIDIA's
 * chips; without it they go through registers as on AMD's. */
#ifndef TT_GPU_PLATFORM_H
#define TT_GPU_PLATFORM_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "backend/gpu/launch.h"
#include "tests/backend/simt/numbers.h"
#include "tests/backend/simt/simt.h"

/* ---- qualifiers ---- */

#define GPU_KERNEL static void
#define GPU_DEVICE static inline
#define GPU_MEMBER inline
#define GPU_BOTH static inline
#define GPU_SHARED static thread_local /* thread-local, so that the machine can find it */
#define GPU_DYNAMIC_SHARED(name) unsigned char *name = simt_dynamic_shared()
#define GPU_BOUNDS(threads)
#define GPU_BOUNDS_MIN(threads, blocks)
#define GPU_CODE_BLOCKS 2
#define GPU_UNROLL
#define GPU_UNROLL_BY(n)

/* ---- launching (host) ---- */

typedef simt_grid gpu_grid;

template <typename P> struct gpu_same {
    typedef P type;
};

template <typename F> static inline void simt_call(void *closure) { (*(F *)closure)(); }

template <typename... P>
static inline gpu_error gpu_launch(void (*kernel)(P...), gpu_grid grid, unsigned block, size_t shared_bytes,
                                   gpu_stream s, typename gpu_same<P>::type... args)
{
    auto thread = [&]() { kernel(args...); };
    return simt_launch((struct simt_device *)s,
                       {(const void *)kernel, simt_call<decltype(thread)>, &thread, grid, block, shared_bytes});
}
#define GPU_LAUNCH(...) gpu_launch(__VA_ARGS__)
static inline gpu_error gpu_find_code(void (*)(void)) { return 0; }

#ifdef SIMT_BACKGROUND
enum { GPU_COPY_HELD = 0, GPU_TILE_FLOATS = 1, SIMT_SHARED = 227 << 10 };
#else
enum { GPU_COPY_HELD = 1, GPU_TILE_FLOATS = 0, SIMT_SHARED = 64 << 10 };
#endif
static inline int gpu_wave_width(void) { return simt_wave_width(); }
static inline int gpu_shared_limit(void) { return SIMT_SHARED; }
template <typename... P> static inline gpu_error gpu_allow_shared(void (*kernel)(P...), size_t bytes)
{
    return bytes <= SIMT_SHARED ? simt_allow_shared((const void *)kernel, bytes) : SIMT_INVALID;
}

/* ---- kernels for certain chips, declared as in CUDA's platform header ---- */

#ifdef SIMT_NATIVE
#define GPU_HAS_NATIVE 1
bool gpu_native_launch(enum tt_kernel kernel, const void *args, gpu_stream s, bool crowded, gpu_error *e);
struct tt_gemm;
bool gpu_native_product(const struct tt_gemm *g, int way, gpu_stream s, gpu_error *e);
int gpu_native_products(void);
const char *gpu_native_name(void);
#endif

/* ---- threads ---- */

#define GPU_GROUP 32
#define GPU_FULL_BLOCK (GPU_COPY_HELD ? 256 : 128)

#define gpu_thread() (simt_here.thread)
#define gpu_threads() (simt_here.threads)
#define gpu_block_x() ((int64_t)simt_here.block[0])
#define gpu_block_y() ((int64_t)simt_here.block[1])
#define gpu_block_z() ((int64_t)simt_here.block[2])
#define gpu_blocks_x() ((int64_t)simt_here.blocks[0])

GPU_DEVICE int gpu_lane(void) { return gpu_thread() % GPU_WAVE; }
GPU_DEVICE int gpu_wave(void) { return gpu_thread() / GPU_WAVE; }

GPU_DEVICE void gpu_block_sync(SIMT_CALLER) { simt_meet(SIMT_BLOCK, SIMT_SITE, NULL, NULL); }
GPU_DEVICE void gpu_wave_sync(SIMT_CALLER) { simt_meet(SIMT_GROUP, SIMT_SITE, NULL, NULL); }

struct simt_exchange {
    uint64_t given, taken;
    int source;
};
GPU_DEVICE void simt_exchange_work(void *const *operands)
{
    for (int i = 0; i < GPU_WAVE; i++) {
        simt_exchange *mine = (simt_exchange *)operands[i];
        if (!mine) continue;
        const simt_exchange *theirs = (const simt_exchange *)operands[mine->source];
        if (!theirs) return simt_fault("lane %d reads from lane %d, which takes no part", i, mine->source);
        mine->taken = theirs->given;
    }
}
template <typename T> GPU_DEVICE T simt_from(T x, int source, simt_site site)
{
    static_assert(sizeof(T) <= sizeof(uint64_t), "a lane gives 8 bytes at most");
    simt_exchange e = {0, 0, source};
    memcpy(&e.given, &x, sizeof x);
    simt_meet(SIMT_GROUP, site, simt_exchange_work, &e);
    memcpy(&x, &e.taken, sizeof x);
    return x;
}
template <typename T> GPU_DEVICE T gpu_shfl(T x, int lane, SIMT_CALLER)
{
    return simt_from(x, (int)((unsigned)lane % GPU_WAVE), SIMT_SITE);
}
template <typename T> GPU_DEVICE T gpu_shfl_xor(T x, int mask, SIMT_CALLER)
{
    return simt_from(x, (gpu_lane() ^ mask) % GPU_WAVE, SIMT_SITE);
}
template <typename T> GPU_DEVICE T gpu_shfl_up(T x, int by, SIMT_CALLER)
{
    return simt_from(x, gpu_lane() >= by ? gpu_lane() - by : gpu_lane(), SIMT_SITE);
}
template <typename T> GPU_DEVICE T gpu_shfl_down(T x, int by, SIMT_CALLER)
{
    return simt_from(x, gpu_lane() + by < GPU_WAVE ? gpu_lane() + by : gpu_lane(), SIMT_SITE);
}

struct simt_vote {
    bool predicate;
    uint64_t ballot;
};
GPU_DEVICE void simt_vote_work(void *const *operands)
{
    uint64_t ballot = 0;
    for (int i = 0; i < GPU_WAVE; i++)
        if (operands[i] && ((simt_vote *)operands[i])->predicate) ballot |= (uint64_t)1 << i;
    for (int i = 0; i < GPU_WAVE; i++)
        if (operands[i]) ((simt_vote *)operands[i])->ballot = ballot;
}
GPU_DEVICE uint64_t gpu_ballot(int predicate, SIMT_CALLER)
{
    simt_vote v = {predicate != 0, 0};
    simt_meet(SIMT_WAVE, SIMT_SITE, simt_vote_work, &v);
    return v.ballot;
}
GPU_DEVICE int gpu_count(uint64_t ballot) { return __builtin_popcountll(ballot); }
GPU_DEVICE int gpu_count_below(uint64_t ballot, int lane)
{
    return __builtin_popcountll(ballot & (((uint64_t)1 << lane) - 1));
}

GPU_DEVICE void gpu_fetch_fence(void) {}

GPU_DEVICE int gpu_atomic_add(int *p, int x)
{
    int old = *p;
    *p += x;
    return old;
}
GPU_DEVICE void gpu_atomic_max(uint32_t *p, uint32_t x) { *p = x > *p ? x : *p; }

/* ---- numbers ---- */

template <typename T> GPU_DEVICE float gpu_to_float(T x) { return simt_widen(x); }

template <typename T> GPU_DEVICE T gpu_from_float(float x) { return simt_narrow(x, T()); }
template <> GPU_MEMBER float gpu_from_float<float>(float x) { return x; }

template <typename T> GPU_DEVICE uint32_t gpu_pack2(float low, float high)
{
    return gpu_from_float<T>(low).bits | (uint32_t)gpu_from_float<T>(high).bits << 16;
}
template <typename T> GPU_DEVICE void gpu_unpack2(uint32_t p, float &low, float &high)
{
    low = simt_widen(T{(uint16_t)p});
    high = simt_widen(T{(uint16_t)(p >> 16)});
}

GPU_DEVICE uint32_t gpu_float_bits(float x) { return simt_float_bits(x); }
GPU_DEVICE float gpu_bits_float(uint32_t bits) { return simt_bits_float(bits); }
#define GPU_INFINITY ((float)INFINITY)

GPU_DEVICE float gpu_exp(float x) { return expf(x); }
GPU_DEVICE float gpu_log(float x) { return logf(x); }
GPU_DEVICE float gpu_sqrt(float x) { return sqrtf(x); }
GPU_DEVICE float gpu_rsqrt(float x) { return 1.0f / sqrtf(x); }
GPU_DEVICE float gpu_divide(float x, float y) { return x / y; }
GPU_DEVICE float gpu_fma(float x, float y, float z) { return fmaf(x, y, z); }
GPU_DEVICE float gpu_max(float x, float y) { return fmaxf(x, y); }
GPU_DEVICE float gpu_min(float x, float y) { return fminf(x, y); }
GPU_DEVICE bool gpu_finite(float x) { return (simt_float_bits(x) & 0x7f800000u) != 0x7f800000u; }
GPU_DEVICE float gpu_exp_fast(float x) { return expf(x); }
GPU_DEVICE float gpu_divide_fast(float x, float y) { return x / y; }
GPU_DEVICE float gpu_reciprocal_fast(float x) { return 1 / x; }
GPU_DEVICE float gpu_sqrt_fast(float x) { return sqrtf(x); }
GPU_DEVICE float gpu_exp2_fast(float x) { return exp2f(x); }
GPU_DEVICE float gpu_log2_fast(float x) { return log2f(x); }

/* Mathematical functions that GPUs have beyond C17; newer C libraries also have it. */
#define cospi(x) simt_cospi(x)
GPU_DEVICE double simt_cospi(double x) { return cos(M_PI * x); }

/* ---- 16 bytes at a time ---- */

struct alignas(16) gpu_bytes16 {
    uint32_t w[4];
};

GPU_DEVICE void simt_on_16(const void *p)
{
    if ((uintptr_t)p % 16) simt_fault("an access of 16 bytes is not on a multiple of 16");
}
GPU_DEVICE gpu_bytes16 gpu_load16(const void *p)
{
    gpu_bytes16 b;
    simt_on_16(p);
    memcpy(&b, p, sizeof b);
    return b;
}
GPU_DEVICE void gpu_store16(void *p, gpu_bytes16 b)
{
    simt_on_16(p);
    memcpy(p, &b, sizeof b);
}
GPU_DEVICE gpu_bytes16 gpu_load16_stream(const void *p) { return gpu_load16(p); }
GPU_DEVICE void gpu_store16_stream(void *p, gpu_bytes16 b) { gpu_store16(p, b); }

#ifdef SIMT_BACKGROUND
struct gpu_copy16 {
    GPU_MEMBER void begin(void *shared, const void *from, bool valid) { simt_copy(shared, from, valid); }
    GPU_MEMBER void end(void *) {}
};
GPU_DEVICE void gpu_copy_commit(void) { simt_copy_commit(); }
template <int N> GPU_DEVICE void gpu_copy_wait(void) { simt_copy_wait(N); }
#else
struct gpu_copy16 {
    gpu_bytes16 bytes;
    GPU_MEMBER void begin(void *, const void *from, bool valid) { bytes = valid ? gpu_load16(from) : gpu_bytes16(); }
    GPU_MEMBER void end(void *shared) { gpu_store16(shared, bytes); }
};
GPU_DEVICE void gpu_copy_commit(void) {}
template <int N> GPU_DEVICE void gpu_copy_wait(void) {}
#endif

#endif
