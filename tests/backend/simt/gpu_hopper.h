/* Hopper's instructions on the SIMT machine, by the names of backend/cuda/gpu_hopper.h; hopper.cpp computes them.
 * Copies and products stay pending until somebody waits for them, and happen as early or as late as is allowed. */
#ifndef TT_GPU_HOPPER_H
#define TT_GPU_HOPPER_H

#include "backend/gpu/gpu.h"
#include "gpu_mma.h"

#define HOPPER_CODE 1
#define HOPPER_KERNEL(threads) static void
#define HOPPER_CLUSTER_KERNEL(threads, blocks) static void
#define HOPPER_ARGUMENT const

/* ---- the chip (host): few multiprocessors, so that each block works on many tiles ---- */

static inline bool hopper_chip(void) { return true; }
static inline int hopper_multiprocessors(void) { return 3; }
template <typename... P> static inline bool hopper_has(void (*)(P...)) { return true; }

/* After some static memory, so the address is not a multiple of 1024. */
enum { SIMT_SHARED_AT = 1664 };
GPU_DEVICE uint32_t hopper_address(const void *shared)
{
    return SIMT_SHARED_AT + (uint32_t)((const unsigned char *)shared - simt_dynamic_shared());
}

/* ---- barriers ---- */

void hopper_barrier_init(uint64_t *b, int count);
GPU_DEVICE void hopper_barrier_publish(void) {}
void hopper_arrive(uint64_t *b, SIMT_CALLER);
void hopper_arrive_bytes(uint64_t *b, int bytes);
void hopper_wait(uint64_t *b, int parity, SIMT_CALLER);
void hopper_sync(int id, int threads, SIMT_CALLER);
void hopper_sync_arrive(int id, int threads);

/* ---- clusters, always of one block ---- */

enum { HOPPER_CLUSTER = 1 };
GPU_DEVICE int hopper_rank(void) { return 0; }
GPU_DEVICE void hopper_cluster_sync(SIMT_CALLER) { gpu_block_sync(file, line); }
GPU_DEVICE void hopper_arrive_at(uint64_t *b, int, SIMT_CALLER) { hopper_arrive(b, file, line); }

/* ---- the copy engine ---- */

struct alignas(64) hopper_map {
    uint64_t words[16];
};

typedef int (*hopper_encoder)(struct hopper_map *, int, uint32_t, void *, const uint64_t *, const uint64_t *,
                              const uint32_t *, const uint32_t *, int, int, int, int);
hopper_encoder hopper_find_encoder(void);

void hopper_copy(void *shared, const struct hopper_map *map, int row, int head, int b, uint64_t *barrier);
GPU_DEVICE void hopper_copy_to(void *shared, const struct hopper_map *map, int row, int head, uint64_t *barrier, int)
{
    hopper_copy(shared, map, row, head, 0, barrier);
}
void hopper_copy_out(const struct hopper_map *map, int row, int head, const void *shared);
GPU_DEVICE void hopper_written(void) {}
void hopper_out_commit(void);
void simt_out_wait(int newest);
template <int N> GPU_DEVICE void hopper_out_read(void) { simt_out_wait(N); }
GPU_DEVICE void hopper_out_done(void) { simt_out_wait(0); }
GPU_DEVICE float hopper_least(float x, float y) { return x < y || x != x ? x : y; }
GPU_DEVICE void hopper_prefetch(const void *) {}
GPU_DEVICE void hopper_map_prefetch(const struct hopper_map *) {}

/* ---- matrices of 8x8 ---- */

struct simt_matrices {
    uint32_t *w;
    unsigned char *row;
    bool load;
};
void simt_matrices_move(simt_matrices m, simt_site site);
GPU_DEVICE void hopper_matrices_store(void *row, const uint32_t (&w)[4], SIMT_CALLER)
{
    simt_matrices_move({(uint32_t *)w, (unsigned char *)row, false}, SIMT_SITE);
}
GPU_DEVICE void hopper_matrices_load(uint32_t (&w)[4], const void *row, SIMT_CALLER)
{
    simt_matrices_move({w, (unsigned char *)row, true}, SIMT_SITE);
}

template <int N> GPU_DEVICE void hopper_registers_give(void) {}
template <int N> GPU_DEVICE void hopper_registers_take(void) {}

/* ---- matrix products: a wave computes 16 of its warpgroup's 64 rows ---- */

struct simt_tile_product {
    float *c;
    const uint32_t *a;          /* registers, or NULL: from_a */
    uint64_t from_a, from_b;    /* descriptors of tiles in shared memory */
    bool columns;               /* the result's columns are from_b's columns, not its rows */
    int n, add;
    bool half;
    int group;
};
void simt_product_begin(simt_tile_product p);
void simt_product_commit(simt_site site);
void simt_product_wait(int newest, simt_site site);

GPU_DEVICE void hopper_mma_begin(void) {}
GPU_DEVICE void hopper_mma_commit(SIMT_CALLER) { simt_product_commit(SIMT_SITE); }
template <int N> GPU_DEVICE void hopper_mma_wait(SIMT_CALLER) { simt_product_wait(N, SIMT_SITE); }
template <typename T, int N> GPU_DEVICE void hopper_hold(T (&)[N]) {}

GPU_DEVICE bool simt_is_half(gpu_half) { return true; }
GPU_DEVICE bool simt_is_half(gpu_bf16) { return false; }
template <int N, int COLUMNS = 0, typename T>
GPU_DEVICE void hopper_mma_ss(float (&c)[N / 2], uint64_t a, uint64_t b, int add, T type)
{
    simt_product_begin({c, NULL, a, b, COLUMNS != 0, N, add, simt_is_half(type), 0});
}
template <int N, typename T>
GPU_DEVICE void hopper_mma_rs(float (&c)[N / 2], const uint32_t *a, uint64_t b, int add, T type)
{
    simt_product_begin({c, a, 0, b, true, N, add, simt_is_half(type), 0});
}

#endif
