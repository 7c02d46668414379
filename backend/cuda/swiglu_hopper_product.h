/* Matrix products with SwiGLU in them on Hopper.
 *
 *   forward    gate|up (M, 2F) = x (M, K)·W^T, W (2F, K); h = silu(gate)·up from the rounded numbers
 *   backward   dh (M, F) = dy (M, K)·W, W (K, F), which is only rounded and never stored; gate|up become their
 *              gradients, and h is computed again
 *
 * Blocks stay and go through a list of tiles of 128x128. One warp copies steps of 64 of the inner dimension through a
 * ring of buffers; two warpgroups multiply, each a tile of its own, in turns: one computes and stores what it has while
 * the other multiplies. Two blocks of a cluster have tiles below each other, and each copies half of the weights for
 * both.
 *
 * In the forward pass half of a tile's columns are of the gate and half of up: a lane has both at the same place. The
 * copy engine stores them, from slabs in shared memory. The backward pass reads and writes memory by its threads. */
#ifndef TT_CUDA_SWIGLU_HOPPER_PRODUCT_H
#define TT_CUDA_SWIGLU_HOPPER_PRODUCT_H

#include "backend/cuda/flash_hopper.h"
#include "backend/cuda/swiglu_hopper.h"
#include "backend/gpu/activation.h"

enum {
    PRODUCT_STEP = 64,
    PRODUCT_STAGES = 6,
    PRODUCT_BAND = 8,
    PRODUCT_BLOCKS = 2, /* of 64 rows, of a tile */
    PRODUCT_ROWS = PRODUCT_BLOCKS * HOPPER_ROWS,
    PRODUCT_COLS = 128,
    PRODUCT_HALF = PRODUCT_COLS / 2,
    PRODUCT_THREADS = 3 * HOPPER_GROUP,
    PRODUCT_WARPS = HOPPER_GROUP / GPU_WAVE, /* that read a stage */
    PRODUCT_A_BYTES = PRODUCT_ROWS * HOPPER_ROW_BYTES,
    PRODUCT_HALF_BYTES = PRODUCT_HALF * HOPPER_ROW_BYTES,
    PRODUCT_STAGE_BYTES = PRODUCT_A_BYTES + 2 * PRODUCT_HALF_BYTES,
    PRODUCT_SLAB_ROWS = 16, /* a warp's, of 64 columns */
    PRODUCT_SLAB_BYTES = PRODUCT_SLAB_ROWS * HOPPER_ROW_BYTES,
    PRODUCT_SLABS = 2, /* of a warp: one is filled while the other is on its way to memory */
};

template <typename T_, bool BACKWARD_> struct product_shape {
    typedef T_ T;
    static constexpr bool BACKWARD = BACKWARD_;
    static constexpr int CLUSTER = HOPPER_CLUSTER;
    static constexpr int WIDTH = BACKWARD ? PRODUCT_COLS : PRODUCT_HALF; /* columns of h that a tile has */
    static constexpr int SLABS_BYTES = BACKWARD ? 0 : 2 * PRODUCT_WARPS * PRODUCT_SLABS * PRODUCT_SLAB_BYTES;
    static constexpr size_t bytes = PRODUCT_STAGES * PRODUCT_STAGE_BYTES + SLABS_BYTES + HOPPER_ALIGN;
};

struct product_args {
    struct hopper_map x, w;
    struct hopper_map gu_map, h_map; /* of the forward pass: boxes of a slab */
    void *gu, *h;                    /* of the backward pass */
    int M, F, steps;
    int rows, cols; /* tiles, those of a cluster counted once */
    int clusters;   /* of the grid */
};

typedef hopper_ring<PRODUCT_STAGES> product_ring;
typedef float product_c[PRODUCT_BLOCKS][PRODUCT_COLS / 2];

struct product_tile {
    int row, col; /* of x, and of h */
};

/* Tiles in bands of so many rows of tiles, column by column, so that those that run at the same time share operands in
 * the cache. */
template <typename C> GPU_DEVICE struct product_tile product_tile_of(const struct product_args &a, int n)
{
    int band = n / (PRODUCT_BAND * a.cols), first = band * PRODUCT_BAND, in = n - first * a.cols;
    int high = a.rows - first < PRODUCT_BAND ? a.rows - first : PRODUCT_BAND;
    int rank = C::CLUSTER > 1 ? hopper_rank() : 0;
    return {((first + in % high) * C::CLUSTER + rank) * PRODUCT_ROWS, in / high * C::WIDTH};
}

/* for (int n = product_first<C>(); n < a.rows * a.cols; n += a.clusters): a block's tiles */
template <typename C> GPU_DEVICE int product_first(void) { return (int)gpu_block_x() / C::CLUSTER; }

/* ---- copying ---- */

template <typename C> GPU_DEVICE void product_copy_half(const struct product_args &a, unsigned char *to, int half,
                                                        int col, int step, uint64_t *full)
{
    int row = C::BACKWARD ? step * PRODUCT_STEP : half * a.F + col;
    int head = C::BACKWARD ? col / PRODUCT_HALF + half : step;
    if constexpr (C::CLUSTER > 1)
        hopper_copy_to(to + half * PRODUCT_HALF_BYTES, &a.w, row, head, full, (1 << C::CLUSTER) - 1);
    else
        hopper_copy(to + half * PRODUCT_HALF_BYTES, &a.w, row, head, 0, full);
}

/* One thread copies. */
template <typename C>
GPU_DEVICE void product_copies(const struct product_args &a, unsigned char *stages, uint64_t *full, uint64_t *empty)
{
    product_ring ring = {0, 0};
    int rank = C::CLUSTER > 1 ? hopper_rank() : 0;
    for (int n = product_first<C>(); n < a.rows * a.cols; n += a.clusters) {
        struct product_tile at = product_tile_of<C>(a, n);
        for (int k = 0; k < a.steps; k++) {
            unsigned char *to = stages + ring.stage * PRODUCT_STAGE_BYTES;
            uint64_t *here = full + ring.stage;
            hopper_wait(empty + ring.stage, ring.parity ^ 1);
            hopper_arrive_bytes(here, PRODUCT_STAGE_BYTES);
            hopper_copy(to, &a.x, at.row, k, 0, here);
            product_copy_half<C>(a, to + PRODUCT_A_BYTES, rank, at.col, k, here);
            if (C::CLUSTER == 1) product_copy_half<C>(a, to + PRODUCT_A_BYTES, 1, at.col, k, here);
            ring.next();
        }
    }
}

/* ---- multiplying ---- */

/* A warp is done with a stage: the copying warps of the whole cluster may write it. */
template <typename C> GPU_DEVICE void product_release(uint64_t *empty)
{
    if constexpr (C::CLUSTER > 1) {
        gpu_wave_sync();
        if (gpu_lane() < C::CLUSTER) hopper_arrive_at(empty, gpu_lane());
    } else {
        hopper_arrive_warp(empty);
    }
}

/* c = the product of one step, or c += it. */
template <typename C> GPU_DEVICE void product_step(product_c &c, uint32_t a, uint32_t b, bool add)
{
    uint32_t low_a = hopper_low(a, 16), low_b = hopper_low(b, C::BACKWARD ? PRODUCT_STEP * HOPPER_ROW_BYTES : 16);
    constexpr int NEXT = (C::BACKWARD ? 16 * HOPPER_ROW_BYTES : 32) >> 4;
    GPU_UNROLL
    for (int k = 0; k < PRODUCT_STEP / 16; k++)
        GPU_UNROLL
        for (int m = 0; m < PRODUCT_BLOCKS; m++)
            hopper_mma_ss<PRODUCT_COLS, C::BACKWARD>(
                c[m], hopper_operand(low_a + (m * HOPPER_ROWS * HOPPER_ROW_BYTES >> 4) + k * 2),
                hopper_operand(low_b + k * NEXT), add || k > 0, typename C::T());
}

/* All steps of a tile. */
template <typename C>
GPU_DEVICE void product_multiply(product_c &c, int steps, unsigned char *stages, product_ring &ring,
                                 uint64_t *full, uint64_t *empty, hopper_turns<2> &turns)
{
    uint32_t from = hopper_address(stages);
    int last = 0; /* the stage before */
    turns.take();
    FLASH_NO_UNROLL
    for (int k = 0; k < steps; k++) {
        int stage = hopper_uniform(ring.stage);
        hopper_wait(full + stage, ring.parity);
        ring.next();
        uint32_t at = from + stage * PRODUCT_STAGE_BYTES;
        hopper_mma_begin();
        product_step<C>(c, at, at + PRODUCT_A_BYTES, k > 0);
        hopper_mma_commit();
        hopper_mma_wait<1>();
        if (k > 0) product_release<C>(empty + last);
        last = stage;
    }
    turns.pass();
    hopper_mma_wait<0>();
    GPU_UNROLL
    for (int m = 0; m < PRODUCT_BLOCKS; m++) hopper_hold(c[m]);
    product_release<C>(empty + last);
}

/* ---- what a warp does with its rows of a tile ---- */

/* Slabs of 64 columns, on their way to memory. */
struct product_slabs {
    unsigned char *at;
    int next;

    /* w: the words of 16 rows and 64 columns, as the product left them. */
    GPU_MEMBER void store(const struct hopper_map *map, int row, int head, const uint32_t (&w)[4][4])
    {
        unsigned char *slab = at + next * PRODUCT_SLAB_BYTES;
        int r = gpu_lane() % 16, piece = gpu_lane() / 16;
        if (gpu_lane() == 0) hopper_out_read<PRODUCT_SLABS - 1>();
        gpu_wave_sync();
        GPU_UNROLL
        for (int j = 0; j < 4; j++)
            hopper_matrices_store(slab + r * HOPPER_ROW_BYTES + ((2 * j + piece) ^ r % 8) * 16, w[j]);
        hopper_written();
        gpu_wave_sync();
        if (gpu_lane() == 0) {
            hopper_copy_out(map, row, head, slab);
            hopper_out_commit();
        }
        if (++next == PRODUCT_SLABS) next = 0;
    }
};

/* 16 rows of gate, up and h. */
template <typename T>
GPU_DEVICE void product_forward(const struct product_args &a, struct product_slabs &slabs,
                                const float (&c)[PRODUCT_COLS / 2], int row, int col)
{
    uint32_t gate[4][4], up[4][4], h[4][4];
    int head = col / PRODUCT_HALF;
    GPU_UNROLL
    for (int i = 0; i < 16; i++) gate[i / 4][i % 4] = gpu_pack2<T>(c[2 * i], c[2 * i + 1]);
    slabs.store(&a.gu_map, row, head, gate);
    GPU_UNROLL
    for (int i = 0; i < 16; i++) {
        float x[2], y[2];
        uint32_t &word = up[i / 4][i % 4];
        word = gpu_pack2<T>(c[PRODUCT_COLS / 4 + 2 * i], c[PRODUCT_COLS / 4 + 2 * i + 1]);
        gpu_unpack2<T>(gate[i / 4][i % 4], x[0], x[1]);
        gpu_unpack2<T>(word, y[0], y[1]);
        h[i / 4][i % 4] = gpu_pack2<T>(swiglu<T>(x[0], y[0]), swiglu<T>(x[1], y[1]));
    }
    slabs.store(&a.gu_map, row, a.F / PRODUCT_HALF + head, up);
    slabs.store(&a.h_map, row, head, h);
}

/* What a tile will read of gate and up goes to the cache while it multiplies. The copy engine could do this too, but
 * the operands would wait behind it. */
GPU_DEVICE void product_ahead(const struct product_args &a, struct product_tile at)
{
    constexpr int LINE = HOPPER_ROW_BYTES / 2, LINES = 2 * PRODUCT_COLS / LINE; /* of a row */
    GPU_UNROLL
    for (int i = 0; i < PRODUCT_ROWS * LINES / HOPPER_GROUP; i++) {
        int n = i * HOPPER_GROUP + (int)gpu_thread() % HOPPER_GROUP, line = n % LINES;
        int64_t row = at.row + n / LINES, col = at.col + line / 2 * LINE;
        if (row < a.M) hopper_prefetch((const uint16_t *)a.gu + row * 2 * a.F + line % 2 * a.F + col);
    }
}

/* 16 rows of the gradients of gate and up, and of h: 16 bytes a lane. */
template <typename T>
GPU_DEVICE void product_backward(const struct product_args &a, const float (&c)[PRODUCT_COLS / 2], int row, int col)
{
    int g = gpu_lane() / 4, t = gpu_lane() % 4;
    constexpr int AT_ONCE = 4;
    GPU_UNROLL
    for (int r = 0; r < 2; r++)
        GPU_UNROLL
        for (int j = 0; j < PRODUCT_COLS / 8; j += 4 * AT_ONCE) {
            bool inside = row + g + 8 * r < a.M;
            int64_t at_row = inside ? row + g + 8 * r : row;
            T *gate = (T *)a.gu + at_row * 2 * a.F + col + 8 * (j + t);
            T *h = (T *)a.h + at_row * a.F + col + 8 * (j + t);
            gpu_bytes16 x[AT_ONCE], y[AT_ONCE];
            if (inside) {
                GPU_UNROLL
                for (int n = 0; n < AT_ONCE; n++)
                    x[n] = gpu_load16(gate + 32 * n), y[n] = gpu_load16(gate + a.F + 32 * n);
            }
            GPU_UNROLL
            for (int n = 0; n < AT_ONCE; n++) {
                gpu_bytes16 dh;
                GPU_UNROLL
                for (int i = 0; i < 4; i++) {
                    int at = 4 * (j + 4 * n + i) + 2 * r;
                    dh.w[i] = gpu_pack2<T>(c[at], c[at + 1]);
                }
                hopper_transpose4(dh.w);
                if (!inside) continue;
                gpu_vec<T> u = gpu_vec_from<T>(x[n]), v = gpu_vec_from<T>(y[n]), d = gpu_vec_from<T>(dh);
                GPU_UNROLL
                for (int i = 0; i < gpu_vec<T>::n; i++) swiglu_back<T>(u.v[i], v.v[i], d.v[i]);
                gpu_vec_store(gate + 32 * n, u);
                gpu_vec_store(gate + a.F + 32 * n, v);
                gpu_vec_store(h + 32 * n, d);
            }
        }
}

/* ---- a block ---- */

template <typename C>
GPU_DEVICE void product_products(const struct product_args &a, unsigned char *stages, uint64_t *full, uint64_t *empty)
{
    int group = hopper_group() - 1, warp = gpu_wave() - PRODUCT_WARPS, tiles = 0;
    product_ring ring = {0, 0};
    /* All steps of one tile come before the first of the next, so that a warpgroup never waits for a stage that is
     * still to be filled for the other. */
    hopper_turns<2> turns(group);
    struct product_slabs slabs = {
        stages + PRODUCT_STAGES * PRODUCT_STAGE_BYTES + warp * PRODUCT_SLABS * PRODUCT_SLAB_BYTES, 0};

    FLASH_NO_UNROLL
    for (int n = product_first<C>(); n < a.rows * a.cols; n += a.clusters, tiles++) {
        if (tiles % 2 != group) { /* the other's tile */
            int on = ring.stage + a.steps;
            ring = {on % PRODUCT_STAGES, ring.parity ^ (on / PRODUCT_STAGES & 1)};
            continue;
        }
        struct product_tile at = product_tile_of<C>(a, n);
        product_c c;
        if (C::BACKWARD) product_ahead(a, at);
        product_multiply<C>(c, a.steps, stages, ring, full, empty, turns);
        GPU_UNROLL
        for (int m = 0; m < PRODUCT_BLOCKS; m++) {
            int row = at.row + m * HOPPER_ROWS + warp % PRODUCT_WARPS * 16;
            if constexpr (C::BACKWARD)
                product_backward<typename C::T>(a, c[m], row, at.col);
            else
                product_forward<typename C::T>(a, slabs, c[m], row, at.col);
        }
    }
    if (!C::BACKWARD && gpu_lane() == 0) hopper_out_done();
}

template <typename C>
HOPPER_CLUSTER_KERNEL(PRODUCT_THREADS, C::CLUSTER)
gemm_swiglu(HOPPER_ARGUMENT struct product_args a)
{
#ifdef HOPPER_CODE
    GPU_DYNAMIC_SHARED(shared);
    GPU_SHARED uint64_t full[PRODUCT_STAGES], empty[PRODUCT_STAGES];
    unsigned char *stages = hopper_tiles(shared);
    if (gpu_thread() == 0) {
        hopper_map_prefetch(&a.x), hopper_map_prefetch(&a.w);
        for (int s = 0; s < PRODUCT_STAGES; s++) {
            hopper_barrier_init(full + s, 1);
            hopper_barrier_init(empty + s, PRODUCT_WARPS * (C::CLUSTER > 1 ? C::CLUSTER : HOPPER_ARRIVALS));
        }
        hopper_barrier_publish();
    }
    if constexpr (C::CLUSTER > 1)
        hopper_cluster_sync();
    else
        gpu_block_sync();
    if (gpu_wave() < PRODUCT_WARPS) {
        hopper_registers_give<24>();
        if (gpu_thread() == 0) product_copies<C>(a, stages, full, empty);
    } else {
        hopper_registers_take<240>();
        product_products<C>(a, stages, full, empty);
    }
    if constexpr (C::CLUSTER > 1) hopper_cluster_sync(); /* until nobody writes this block's memory any more */
#endif
}

/* ---- launching ---- */

static inline bool product_maps(struct product_args *a, const struct swiglu_product *p, bool backward)
{
    int64_t steps = p->K / PRODUCT_STEP, heads = p->F / PRODUCT_HALF;
    if (!hopper_map_rows(&a->x, p->x, p->dtype, 1, p->M, steps, PRODUCT_STEP, p->K, PRODUCT_ROWS)) return false;
    if (backward)
        return gpu_aligned(p->gu) && gpu_aligned(p->h) &&
               hopper_map_rows(&a->w, p->w, p->dtype, 1, p->K, heads, PRODUCT_HALF, p->F, PRODUCT_STEP);
    return hopper_map_rows(&a->w, p->w, p->dtype, 1, 2 * p->F, steps, PRODUCT_STEP, p->K, PRODUCT_HALF) &&
           hopper_map_rows(&a->gu_map, p->gu, p->dtype, 1, p->M, 2 * heads, PRODUCT_HALF, 2 * p->F,
                           PRODUCT_SLAB_ROWS) &&
           hopper_map_rows(&a->h_map, p->h, p->dtype, 1, p->M, heads, PRODUCT_HALF, p->F, PRODUCT_SLAB_ROWS);
}

/* Launches; false, without a launch, if the kernel does not support these sizes or this chip. */
template <typename C> static bool product_launch(const struct swiglu_product *p, gpu_stream s, gpu_error *e)
{
    struct product_args a;
    int64_t rows = gpu_divide_up(p->M, PRODUCT_ROWS * C::CLUSTER), cols = p->F / C::WIDTH;
    bool good = p->M > 0 && p->F > 0 && p->K > 0 && p->K % PRODUCT_STEP == 0 && p->F % C::WIDTH == 0 &&
                p->M <= INT32_MAX - PRODUCT_ROWS * C::CLUSTER && 2 * p->F <= INT32_MAX &&
                rows * cols <= INT32_MAX / 2 && hopper_has(gemm_swiglu<C>) && product_maps(&a, p, C::BACKWARD);
    if (!good) return false;
    a.gu = p->gu, a.h = p->h, a.M = (int)p->M, a.F = (int)p->F, a.steps = (int)(p->K / PRODUCT_STEP);
    a.rows = (int)rows, a.cols = (int)cols;
    a.clusters = (int)gpu_smaller(rows * cols, hopper_multiprocessors() / C::CLUSTER);
    *e = gpu_allow_shared(gemm_swiglu<C>, C::bytes);
    if (!*e)
        *e = GPU_LAUNCH(gemm_swiglu<C>, gpu_grid((unsigned)(a.clusters * C::CLUSTER)), PRODUCT_THREADS, C::bytes, s, a);
    return true;
}

#endif
