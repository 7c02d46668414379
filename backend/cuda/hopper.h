/* Hopper's own instructions (sm_90a): barriers in shared memory that count bytes, the engine that copies tiles, and
 * matrix products by a warpgroup of 128 threads on operands in shared memory.
 *
 * A tile of R rows and D elements of 16 bits lies in shared memory as D / 64 slabs of R rows of 128 bytes, the 16-byte
 * pieces of a row exchanged as the 128-byte swizzle has it; it starts on a multiple of 1024. The copy engine writes it
 * so, and the matrix units read it either way: rows as rows of a factor, or as its columns. */
#ifndef TT_CUDA_HOPPER_H
#define TT_CUDA_HOPPER_H

#include "backend/gpu/gpu.h"

/* In a pass of the compiler for another chip the kernels that use these have no body. */
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define HOPPER_CODE 1
#endif

enum {
    HOPPER_GROUP = 128,     /* threads of a warpgroup */
    HOPPER_ROWS = 64,       /* rows of a product, always */
    HOPPER_ROW_BYTES = 128, /* of a slab */
    HOPPER_ALIGN = 1024,
};

/* A number that all lanes have: so the compiler knows it, and computes what follows from it once for the warp. */
GPU_DEVICE int hopper_uniform(int x) { return gpu_shfl(x, 0); }
GPU_DEVICE int hopper_group(void) { return hopper_uniform(gpu_thread() / HOPPER_GROUP); }

GPU_DEVICE uint32_t hopper_address(const void *shared) { return (uint32_t)__cvta_generic_to_shared(shared); }

/* ---- barriers: a phase ends when `count` arrivals and the announced bytes are in ---- */

GPU_DEVICE void hopper_barrier_init(uint64_t *b, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(hopper_address(b)), "r"(count) : "memory");
}
/* After the inits, before a barrier of the block: the copy engine sees them. */
GPU_DEVICE void hopper_barrier_publish(void)
{
    asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
}
GPU_DEVICE void hopper_arrive(uint64_t *b)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(hopper_address(b)) : "memory");
}
GPU_DEVICE void hopper_arrive_bytes(uint64_t *b, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(hopper_address(b)), "r"(bytes)
                 : "memory");
}
/* A whole warp arrives, as one: what its lanes read and wrote before is done for whoever waits. racecheck trusts a
 * thread that arrives and no other, so with TT_RACECHECK each lane does. */
#ifdef TT_RACECHECK
enum { HOPPER_ARRIVALS = GPU_WAVE };
#else
enum { HOPPER_ARRIVALS = 1 };
#endif
GPU_DEVICE void hopper_arrive_warp(uint64_t *b)
{
    gpu_wave_sync();
    if (gpu_lane() < HOPPER_ARRIVALS) hopper_arrive(b);
}
/* The same, and the first lane announces bytes. */
GPU_DEVICE void hopper_arrive_warp_bytes(uint64_t *b, int bytes)
{
    gpu_wave_sync();
    if (gpu_lane() == 0)
        hopper_arrive_bytes(b, bytes);
    else if (gpu_lane() < HOPPER_ARRIVALS)
        hopper_arrive(b);
}
/* Until the phase of that parity has ended. */
GPU_DEVICE void hopper_wait(uint64_t *b, int parity)
{
    uint32_t done = 0, at = hopper_address(b);
    while (!done)
        asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(at), "r"(parity)
                     : "memory");
}
/* Barrier `id` of the block, 1 to 15: waits for `threads` in all; or only counts as there. */
GPU_DEVICE void hopper_sync(int id, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
GPU_DEVICE void hopper_sync_arrive(int id, int threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
/* GROUPS warpgroups, one after the other and round again: each calls take and pass as often as the others. */
template <int GROUPS> struct hopper_turns {
    int group;
    GPU_MEMBER hopper_turns(int of) : group(of)
    {
        if (group == GROUPS - 1) pass();
    }
    GPU_MEMBER void take(void) { hopper_sync(1 + group, 2 * HOPPER_GROUP); }
    GPU_MEMBER void pass(void) { hopper_sync_arrive(1 + (group + 1) % GROUPS, 2 * HOPPER_GROUP); }
};

/* A ring of STAGES buffers: use number n of it is of buffer n % STAGES. */
template <int STAGES> struct hopper_ring {
    int stage, parity;
    GPU_MEMBER void next(void)
    {
        if (++stage == STAGES) stage = 0, parity ^= 1;
    }
};

/* ---- the copy engine ---- */

/* What the driver calls CUtensorMap: a view of memory, in the words of the copy engine. A kernel's argument. */
struct alignas(64) hopper_map {
    uint64_t words[16];
};

/* The box at (row, head, b) of a map that hopper_map_rows made, to shared memory; its bytes arrive at the barrier. */
GPU_DEVICE void hopper_copy(void *shared, const struct hopper_map *map, int row, int head, int b, uint64_t *barrier)
{
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %2, %4, %5}], [%6];" ::"r"(hopper_address(shared)),
                 "l"(map), "r"(0), "r"(row), "r"(head), "r"(b), "r"(hopper_address(barrier))
                 : "memory");
}
GPU_DEVICE void hopper_map_prefetch(const struct hopper_map *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/* ---- registers: what one role needs less another may have more ----
 * What racecheck adds to a kernel needs registers of every warp; with TT_RACECHECK none gives any away. */

template <int N> GPU_DEVICE void hopper_registers_give(void)
{
#ifndef TT_RACECHECK
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
#endif
}
template <int N> GPU_DEVICE void hopper_registers_take(void)
{
#ifndef TT_RACECHECK
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
#endif
}

/* ---- matrix products ----
 * C (64, N) float over the 128 threads as mma has it over 32: warp w has rows 16w to 16w+15, and of those a lane has
 * c[4j..4j+1] in row g, columns 8j+2t and 8j+2t+1, c[4j+2..4j+3] in row g+8; g = lane / 4, t = lane % 4.
 * Products run behind the threads' backs. Between mma_begin and a mma_wait that covers them, nothing may touch the
 * registers of C and A; hopper_hold tells the compiler where that ends. */

GPU_DEVICE void hopper_mma_begin(void) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
GPU_DEVICE void hopper_mma_commit(void) { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/* All but the newest N groups are done. */
template <int N> GPU_DEVICE void hopper_mma_wait(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
template <int N> GPU_DEVICE void hopper_hold(float (&c)[N])
{
    GPU_UNROLL
    for (int i = 0; i < N; i++) asm volatile("" : "+f"(c[i])::"memory");
}
template <int N> GPU_DEVICE void hopper_hold(uint32_t (&a)[N])
{
    GPU_UNROLL
    for (int i = 0; i < N; i++) asm volatile("" : "+r"(a[i])::"memory");
}

/* What the matrix units are told of a swizzled tile. Above: the swizzle, and 1024 bytes from 8 rows to the next 8.
 * Below: bytes to the next slab, and where it is; 16 are one, so that a tile within is a sum. */
GPU_DEVICE uint32_t hopper_low(uint32_t address, int slab_bytes) { return slab_bytes >> 4 << 16 | address >> 4; }
GPU_DEVICE uint64_t hopper_operand(uint32_t low) { return (uint64_t)(1u << 30 | 1024 >> 4) << 32 | low; }

#define HOPPER_C8(c, i)                                                                                                \
    "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3]), "+f"(c[i + 4]), "+f"(c[i + 5]), "+f"(c[i + 6]),        \
        "+f"(c[i + 7])
#define HOPPER_C32(c, i) HOPPER_C8(c, i), HOPPER_C8(c, i + 8), HOPPER_C8(c, i + 16), HOPPER_C8(c, i + 24)
#define HOPPER_L32                                                                                                     \
    "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,"   \
    "%30,%31"
#define HOPPER_L64                                                                                                     \
    HOPPER_L32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56," \
               "%57,%58,%59,%60,%61,%62,%63"
#define HOPPER_MMA(n, type, list, factors, add)                                                                        \
    "{\n.reg .pred p;\nsetp.ne.b32 p, " add ", 0;\nwgmma.mma_async.sync.aligned.m64n" n "k16.f32." type "." type       \
    " {" list "}, " factors ";\n}"
/* Both factors from shared memory, rows of either are rows of its tile: C = A·B^T. */
#define HOPPER_SS(type, c, a, b, add)                                                                                  \
    if constexpr (N == 64)                                                                                             \
        asm volatile(HOPPER_MMA("64", type, HOPPER_L32, "%32, %33, p, 1, 1, 0, 0", "%34")                              \
                     : HOPPER_C32(c, 0)                                                                                \
                     : "l"(a), "l"(b), "r"(add));                                                                      \
    else                                                                                                               \
        asm volatile(HOPPER_MMA("128", type, HOPPER_L64, "%64, %65, p, 1, 1, 0, 0", "%66")                             \
                     : HOPPER_C32(c, 0), HOPPER_C32(c, 32)                                                             \
                     : "l"(a), "l"(b), "r"(add))
/* A from registers; rows of B's tile are rows of the product's B: C = A·B. */
#define HOPPER_RS(type, c, a, b, add)                                                                                  \
    if constexpr (N == 64)                                                                                             \
        asm volatile(HOPPER_MMA("64", type, HOPPER_L32, "{%32,%33,%34,%35}, %36, p, 1, 1, 1", "%37")                   \
                     : HOPPER_C32(c, 0)                                                                                \
                     : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "l"(b), "r"(add));                          \
    else                                                                                                               \
        asm volatile(HOPPER_MMA("128", type, HOPPER_L64, "{%64,%65,%66,%67}, %68, p, 1, 1, 1", "%69")                  \
                     : HOPPER_C32(c, 0), HOPPER_C32(c, 32)                                                             \
                     : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "l"(b), "r"(add))

template <int N> GPU_DEVICE void hopper_mma_ss(float (&c)[N / 2], uint64_t a, uint64_t b, int add, gpu_bf16)
{
    HOPPER_SS("bf16", c, a, b, add);
}
template <int N> GPU_DEVICE void hopper_mma_ss(float (&c)[N / 2], uint64_t a, uint64_t b, int add, gpu_half)
{
    HOPPER_SS("f16", c, a, b, add);
}
template <int N> GPU_DEVICE void hopper_mma_rs(float (&c)[N / 2], const uint32_t *a, uint64_t b, int add, gpu_bf16)
{
    HOPPER_RS("bf16", c, a, b, add);
}
template <int N> GPU_DEVICE void hopper_mma_rs(float (&c)[N / 2], const uint32_t *a, uint64_t b, int add, gpu_half)
{
    HOPPER_RS("f16", c, a, b, add);
}

/* c (64, N) = a (64 rows of a tile of A_ROWS) · b (N rows)^T, over D. */
template <typename T, int N, int D, int A_ROWS>
GPU_DEVICE void hopper_product(float (&c)[N / 2], uint32_t a, uint32_t b)
{
    uint32_t low_a = hopper_low(a, 16), low_b = hopper_low(b, 16);
    GPU_UNROLL
    for (int k = 0; k < D / 16; k++) {
        int slab = k / 4 * HOPPER_ROW_BYTES >> 4, inside = k % 4 * 32 >> 4;
        hopper_mma_ss<N>(c, hopper_operand(low_a + slab * A_ROWS + inside), hopper_operand(low_b + slab * N + inside),
                         k > 0, T());
    }
}

/* c (64, D) += p (64, K), in registers, · b (K rows of D); without `add` what c was is forgotten. */
template <typename T, int K, int D>
GPU_DEVICE void hopper_accumulate(float (&c)[D / 2], const uint32_t (&p)[K / 4], uint32_t b, bool add)
{
    uint32_t low = hopper_low(b, K * HOPPER_ROW_BYTES);
    GPU_UNROLL
    for (int k = 0; k < K / 16; k++)
        hopper_mma_rs<D>(c, p + 4 * k, hopper_operand(low + (k * 16 * HOPPER_ROW_BYTES >> 4)), add || k > 0, T());
}

/* p = c rounded to T: what one product leaves is what the next one reads. */
template <typename T, int N> GPU_DEVICE void hopper_round(uint32_t (&p)[N / 2], const float (&c)[N])
{
    GPU_UNROLL
    for (int i = 0; i < N / 2; i++) p[i] = gpu_pack2<T>(c[2 * i], c[2 * i + 1]);
}

/* ---- results: a warp's 16 rows to memory ---- */

/* Lane s of four has column s of a 4x4 matrix; afterwards row s. */
GPU_DEVICE void hopper_transpose4(uint32_t (&x)[4])
{
    bool high = gpu_lane() & 2, odd = gpu_lane() & 1;
    uint32_t a = gpu_shfl_xor(high ? x[0] : x[2], 2), b = gpu_shfl_xor(high ? x[1] : x[3], 2);
    if (high)
        x[0] = a, x[1] = b;
    else
        x[2] = a, x[3] = b;
    a = gpu_shfl_xor(odd ? x[0] : x[1], 1), b = gpu_shfl_xor(odd ? x[2] : x[3], 1);
    if (odd)
        x[0] = a, x[2] = b;
    else
        x[1] = a, x[3] = b;
}

/* c's rows g and g+8, times their factors, to those rows of `out`, ld elements apart; only the first `count` of 16. */
template <typename T, int D>
GPU_DEVICE void hopper_store(T *out, int64_t ld, const float (&c)[D / 2], const float (&factor)[2], int count)
{
    int g = gpu_lane() / 4, t = gpu_lane() % 4;
    GPU_UNROLL
    for (int r = 0; r < 2; r++)
        GPU_UNROLL
        for (int j = 0; j < D / 8; j += 4) {
            gpu_bytes16 x;
            GPU_UNROLL
            for (int i = 0; i < 4; i++) {
                int at = 4 * (j + i) + 2 * r;
                x.w[i] = gpu_pack2<T>(c[at] * factor[r], c[at + 1] * factor[r]);
            }
            hopper_transpose4(x.w);
            if (g + 8 * r < count) gpu_store16(out + (g + 8 * r) * ld + 8 * (j + t), x);
        }
}

#endif
