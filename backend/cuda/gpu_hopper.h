/* Hopper's instructions (sm_90a), one function each, and what its kernels need on the host: barriers in shared memory
 * that count bytes (mbarrier), the copy engine (TMA), and matrix products by a warpgroup of 128 threads with operands
 * in shared memory (WGMMA). tests/backend/simt has a header of the same name that does the same on a CPU. */
#ifndef TT_GPU_HOPPER_H
#define TT_GPU_HOPPER_H

#include "backend/gpu/gpu.h"

/* In code for other architectures, the kernels that use these have no body. */
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define HOPPER_CODE 1
#endif

/* HOPPER_KERNEL(threads) name(HOPPER_ARGUMENT struct args a): blocks of so many threads, one per multiprocessor. The
 * argument stays in constant memory (__grid_constant__), where TMA can read the tensor maps in it. */
#define HOPPER_KERNEL(threads) static __global__ void __launch_bounds__(threads, 1)
/* The same with so many neighbouring blocks as one cluster, which can write each other's shared memory. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define HOPPER_CLUSTER_KERNEL(threads, blocks) HOPPER_KERNEL(threads)
#else
#define HOPPER_CLUSTER_KERNEL(threads, blocks) HOPPER_KERNEL(threads) __cluster_dims__(blocks, 1, 1)
#endif
enum { HOPPER_CLUSTER = 2 }; /* blocks of the clusters that kernels here use */
#define HOPPER_ARGUMENT const __grid_constant__

/* ---- host ---- */

static inline bool hopper_chip(void) { return gpu_attribute(cudaDevAttrComputeCapabilityMajor) == 9; }
static inline int hopper_multiprocessors(void) { return gpu_attribute(cudaDevAttrMultiProcessorCount); }

/* Whether the program has this kernel's code for this chip. An empty body has no barriers in shared memory. */
template <typename... P> static inline bool hopper_has(void (*kernel)(P...))
{
    struct cudaFuncAttributes has;
    return !cudaFuncGetAttributes(&has, (const void *)kernel) && has.sharedSizeBytes > 0;
}

GPU_DEVICE uint32_t hopper_address(const void *shared) { return (uint32_t)__cvta_generic_to_shared(shared); }

/* ---- barriers: a phase ends when `count` arrivals and the announced bytes are in ---- */

GPU_DEVICE void hopper_barrier_init(uint64_t *b, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(hopper_address(b)), "r"(count) : "memory");
}
/* After the inits and before a block barrier: makes them visible to TMA. */
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
/* Waits until the phase of that parity has ended. */
GPU_DEVICE void hopper_wait(uint64_t *b, int parity)
{
    uint32_t done = 0, at = hopper_address(b);
    while (!done)
        asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(at), "r"(parity)
                     : "memory");
}
/* ---- clusters ---- */

GPU_DEVICE int hopper_rank(void) /* of this block in its cluster */
{
    int rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
/* A barrier for all threads of the cluster. It does not order what they wrote before, except for inits of barriers that
 * were published. hopper_arrive_at below does not order it either: that would wait for all stores to memory. */
GPU_DEVICE void hopper_cluster_sync(void)
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
/* Arrives at the same barrier of the block of that rank. */
GPU_DEVICE void hopper_arrive_at(uint64_t *b, int rank)
{
    asm volatile("{\n.reg .b32 at;\nmapa.shared::cluster.u32 at, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [at];\n}" ::"r"(hopper_address(b)),
                 "r"(rank)
                 : "memory");
}

/* Named barrier `id` of the block, 1 to 15, for `threads` threads: waits; or arrives without waiting. */
GPU_DEVICE void hopper_sync(int id, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
GPU_DEVICE void hopper_sync_arrive(int id, int threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/* ---- the copy engine (TMA) ---- */

/* CUtensorMap of the driver: describes a tensor in memory to TMA. Passed as a kernel argument. */
struct alignas(64) hopper_map {
    uint64_t words[16];
};

/* cuTensorMapEncodeTiled: type, dimensions, address, sizes, strides in bytes except the first, box, steps, ... It is
 * looked up in the driver at run time, so that the program also starts without a driver. NULL: not found. */
typedef int (*hopper_encoder)(struct hopper_map *, int, uint32_t, void *, const uint64_t *, const uint64_t *,
                              const uint32_t *, const uint32_t *, int, int, int, int);

static inline hopper_encoder hopper_find_encoder(void)
{
    void *f = NULL;
    enum cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
    cudaError_t e = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, cudaEnableDefault, &found);
#else
    cudaError_t e = cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &f, cudaEnableDefault, &found);
#endif
    return e || found != cudaDriverEntryPointSuccess ? NULL : (hopper_encoder)f;
}

/* Copies the box at (row, head, b) of a map of hopper_map_rows to shared memory; its bytes are counted at the barrier.
 */
GPU_DEVICE void hopper_copy(void *shared, const struct hopper_map *map, int row, int head, int b, uint64_t *barrier)
{
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %2, %4, %5}], [%6];" ::"r"(hopper_address(shared)),
                 "l"(map), "r"(0), "r"(row), "r"(head), "r"(b), "r"(hopper_address(barrier))
                 : "memory");
}
/* The same to the shared memory of every block of the cluster whose bit is in `ranks`, and to its barrier. */
GPU_DEVICE void hopper_copy_to(void *shared, const struct hopper_map *map, int row, int head, uint64_t *barrier,
                               int ranks)
{
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%2, %3, %2, %4, %2}], [%5], %6;" ::"r"(hopper_address(shared)),
                 "l"(map), "r"(0), "r"(row), "r"(head), "r"(hopper_address(barrier)), "h"((uint16_t)ranks)
                 : "memory");
}
/* The smaller one; NaN if one of them is. */
GPU_DEVICE float hopper_least(float x, float y)
{
    float least;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(least) : "f"(x), "f"(y));
    return least;
}
/* Fetches the line of 128 bytes at p into the cache of the chip. */
GPU_DEVICE void hopper_prefetch(const void *p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p) : "memory"); }
/* The other way: shared memory to the box at (row, head); what lies outside the tensor is not written. Threads that
 * wrote the tile call hopper_written and then a barrier, before one of them copies. A thread's copies are in groups. */
GPU_DEVICE void hopper_copy_out(const struct hopper_map *map, int row, int head, const void *shared)
{
    asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %1, %3, %1}], [%4];" ::"l"(
                     map),
                 "r"(0), "r"(row), "r"(head), "r"(hopper_address(shared))
                 : "memory");
}
GPU_DEVICE void hopper_written(void) { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
GPU_DEVICE void hopper_out_commit(void) { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/* The first waits until this thread's copies, except the newest N groups, have read shared memory; hopper_out_done
 * waits until all copies are done. */
template <int N> GPU_DEVICE void hopper_out_read(void)
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}
GPU_DEVICE void hopper_out_done(void) { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
GPU_DEVICE void hopper_map_prefetch(const struct hopper_map *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/* Stores four matrices of 8x8 16-bit elements to shared memory. Lane i says where row i % 8 of matrix i / 8 is; w[m]
 * has the two elements of matrix m in row lane / 4, columns from lane % 4 * 2. */
GPU_DEVICE void hopper_matrices_store(void *row, const uint32_t (&w)[4])
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(hopper_address(row)),
                 "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3])
                 : "memory");
}

/* The other way: w[m] has the two elements of matrix m. */
GPU_DEVICE void hopper_matrices_load(uint32_t (&w)[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "r"(hopper_address(row))
                 : "memory");
}

/* ---- registers: the copying warps give registers to the computing ones ----
 * The instrumentation of racecheck needs registers in every warp, so with TT_RACECHECK these do nothing. */

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

/* ---- matrix products (WGMMA) ----
 * The layout of C (64, N) float over 128 threads: warp w has rows 16w to 16w+15, and in those a lane has c[4j..4j+1] in
 * row g, columns 8j+2t and 8j+2t+1, and c[4j+2..4j+3] in row g+8; g = lane / 4, t = lane % 4.
 * Products are asynchronous. Between mma_begin and the mma_wait for them, nothing may touch the registers of C and A;
 * hopper_hold keeps the compiler from moving such accesses. */

GPU_DEVICE void hopper_mma_begin(void) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
GPU_DEVICE void hopper_mma_commit(void) { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/* Waits until all but the newest N groups are done. */
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
#define HOPPER_L128                                                                                                    \
    HOPPER_L64 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88," \
               "%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,"   \
               "%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define HOPPER_MMA(n, type, list, factors, add)                                                                        \
    "{\n.reg .pred p;\nsetp.ne.b32 p, " add ", 0;\nwgmma.mma_async.sync.aligned.m64n" n "k16.f32." type "." type       \
    " {" list "}, " factors ";\n}"
/* Both operands from shared memory: C = A·B^T; or with COLUMNS, C = A·B. */
#define HOPPER_SS(type, c, a, b, add)                                                                                  \
    if constexpr (N == 64)                                                                                             \
        asm volatile(HOPPER_MMA("64", type, HOPPER_L32, "%32, %33, p, 1, 1, 0, %35", "%34")                            \
                     : HOPPER_C32(c, 0)                                                                                \
                     : "l"(a), "l"(b), "r"(add), "n"(COLUMNS));                                                        \
    else if constexpr (N == 128)                                                                                       \
        asm volatile(HOPPER_MMA("128", type, HOPPER_L64, "%64, %65, p, 1, 1, 0, %67", "%66")                           \
                     : HOPPER_C32(c, 0), HOPPER_C32(c, 32)                                                             \
                     : "l"(a), "l"(b), "r"(add), "n"(COLUMNS));                                                        \
    else                                                                                                               \
        asm volatile(HOPPER_MMA("256", type, HOPPER_L128, "%128, %129, p, 1, 1, 0, %131", "%130")                      \
                     : HOPPER_C32(c, 0), HOPPER_C32(c, 32), HOPPER_C32(c, 64), HOPPER_C32(c, 96)                       \
                     : "l"(a), "l"(b), "r"(add), "n"(COLUMNS))
/* A from registers, B from shared memory: C = A·B. */
#define HOPPER_RS(type, c, a, b, add)                                                                                  \
    if constexpr (N == 64)                                                                                             \
        asm volatile(HOPPER_MMA("64", type, HOPPER_L32, "{%32,%33,%34,%35}, %36, p, 1, 1, 1", "%37")                   \
                     : HOPPER_C32(c, 0)                                                                                \
                     : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "l"(b), "r"(add));                          \
    else                                                                                                               \
        asm volatile(HOPPER_MMA("128", type, HOPPER_L64, "{%64,%65,%66,%67}, %68, p, 1, 1, 1", "%69")                  \
                     : HOPPER_C32(c, 0), HOPPER_C32(c, 32)                                                             \
                     : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "l"(b), "r"(add))

template <int N, int COLUMNS = 0>
GPU_DEVICE void hopper_mma_ss(float (&c)[N / 2], uint64_t a, uint64_t b, int add, gpu_bf16)
{
    HOPPER_SS("bf16", c, a, b, add);
}
template <int N, int COLUMNS = 0>
GPU_DEVICE void hopper_mma_ss(float (&c)[N / 2], uint64_t a, uint64_t b, int add, gpu_half)
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

#endif
