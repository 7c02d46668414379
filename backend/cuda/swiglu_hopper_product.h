/* Matrix products with SwiGLU in them on Hopper.
 *
 *   forward    gate|up (M, 2F) = x (M, K)·W^T, W (2F, K); h = silu(gate)·up from the rounded numbers
 *   backward   dh (M, F) = dy (M, K)·W, W (K, F), which is only rounded and never stored; gate|up become their
 *              gradients, and h is computed again
 *
 * Blocks stay and go through a list of tiles. One warp copies steps of 64 of the inner dimension through a ring of
 * STAGES buffers; two warpgroups multiply. Either both have a part of the same tile, the second some steps behind the
 * first; or with TURNS each has a tile of its own. In both cases one computes and stores what it has while the other
 * multiplies. Two blocks of a cluster have tiles below each other, and each copies half of the weights for both.
 *
 * In the forward pass half of a tile's columns are of the gate and half of up: a lane has both at the same place. */
#ifndef TT_CUDA_SWIGLU_HOPPER_PRODUCT_H
#define TT_CUDA_SWIGLU_HOPPER_PRODUCT_H

#include "backend/cuda/flash_hopper.h"
#include "backend/cuda/swiglu_hopper.h"
#include "backend/gpu/activation.h"

enum { PRODUCT_STEP = 64, PRODUCT_BAND = 8, PRODUCT_LAG = 2 };

/* A warpgroup has BLOCKS times 64 rows and COLS columns of a tile. */
template <typename T_, bool BACKWARD_, bool TURNS_, int BLOCKS_, int COLS_, int STAGES_, int CLUSTER_>
struct product_shape {
    typedef T_ T;
    static constexpr bool BACKWARD = BACKWARD_, TURNS = TURNS_;
    static constexpr int BLOCKS = BLOCKS_, COLS = COLS_, STAGES = STAGES_, CLUSTER = CLUSTER_;
    static constexpr int HALF = COLS / 2, ROWS = BLOCKS * HOPPER_ROWS * (TURNS ? 1 : 2), THREADS = 3 * HOPPER_GROUP;
    static constexpr int WIDTH = BACKWARD ? COLS : HALF; /* columns of h that a tile has */
    static constexpr int A_BYTES = ROWS * HOPPER_ROW_BYTES, HALF_BYTES = HALF * HOPPER_ROW_BYTES;
    static constexpr int STAGE_BYTES = A_BYTES + 2 * HALF_BYTES;
    static constexpr int WARPS = (TURNS ? 1 : 2) * HOPPER_GROUP / GPU_WAVE; /* that read a stage */
    static constexpr size_t bytes = STAGES * STAGE_BYTES + HOPPER_ALIGN;
};

struct product_args {
    struct hopper_map x, w;
    struct hopper_map gu_map; /* of the backward pass */
    void *gu, *h;
    int M, F, steps;
    int rows, cols; /* tiles, those of a cluster counted once */
    int clusters;   /* of the grid */
};

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
    return {((first + in % high) * C::CLUSTER + rank) * C::ROWS, in / high * C::WIDTH};
}

/* for (int n = product_first<C>(); n < a.rows * a.cols; n += a.clusters): a block's tiles */
template <typename C> GPU_DEVICE int product_first(void) { return (int)gpu_block_x() / C::CLUSTER; }

/* ---- copying ---- */

template <typename C> GPU_DEVICE void product_copy_half(const struct product_args &a, unsigned char *to, int half,
                                                        int col, int step, uint64_t *full)
{
    int row = C::BACKWARD ? step * PRODUCT_STEP : half * a.F + col;
    int head = C::BACKWARD ? col / C::HALF + half : step;
    if constexpr (C::CLUSTER > 1)
        hopper_copy_to(to + half * C::HALF_BYTES, &a.w, row, head, full, (1 << C::CLUSTER) - 1);
    else
        hopper_copy(to + half * C::HALF_BYTES, &a.w, row, head, 0, full);
}

/* One thread copies. What a tile will read of gate and up is on its way to the cache while it multiplies. */
template <typename C>
GPU_DEVICE void product_copies(const struct product_args &a, unsigned char *stages, uint64_t *full, uint64_t *empty)
{
    hopper_ring<C::STAGES> ring = {0, 0};
    int rank = C::CLUSTER > 1 ? hopper_rank() : 0;
    for (int n = product_first<C>(); n < a.rows * a.cols; n += a.clusters) {
        struct product_tile at = product_tile_of<C>(a, n);
        for (int k = 0; k < a.steps; k++) {
            unsigned char *to = stages + ring.stage * C::STAGE_BYTES;
            uint64_t *here = full + ring.stage;
            hopper_wait(empty + ring.stage, ring.parity ^ 1);
            hopper_arrive_bytes(here, C::STAGE_BYTES);
            hopper_copy(to, &a.x, at.row, k, 0, here);
            product_copy_half<C>(a, to + C::A_BYTES, rank, at.col, k, here);
            if (C::CLUSTER == 1) product_copy_half<C>(a, to + C::A_BYTES, 1, at.col, k, here);
            if (C::BACKWARD && k == 0) {
                hopper_prefetch(&a.gu_map, at.row, at.col / C::WIDTH);
                hopper_prefetch(&a.gu_map, at.row, (a.F + at.col) / C::WIDTH);
            }
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
template <typename C>
GPU_DEVICE void product_step(float (&c)[C::BLOCKS][C::COLS / 2], uint32_t a, uint32_t b, bool add)
{
    uint32_t low_a = hopper_low(a, 16), low_b = hopper_low(b, C::BACKWARD ? PRODUCT_STEP * HOPPER_ROW_BYTES : 16);
    constexpr int NEXT = (C::BACKWARD ? 16 * HOPPER_ROW_BYTES : 32) >> 4;
    GPU_UNROLL
    for (int k = 0; k < PRODUCT_STEP / 16; k++)
        GPU_UNROLL
        for (int m = 0; m < C::BLOCKS; m++)
            hopper_mma_ss<C::COLS, C::BACKWARD>(
                c[m], hopper_operand(low_a + (m * HOPPER_ROWS * HOPPER_ROW_BYTES >> 4) + k * 2),
                hopper_operand(low_b + k * NEXT), add || k > 0, typename C::T());
}

/* ---- storing: 16 bytes a lane ---- */

template <typename C>
GPU_DEVICE void product_forward(const struct product_args &a, const float (&c)[C::COLS / 2], int row, int col)
{
    typedef typename C::T T;
    int g = gpu_lane() / 4, t = gpu_lane() % 4;
    GPU_UNROLL
    for (int r = 0; r < 2; r++)
        GPU_UNROLL
        for (int j = 0; j < C::HALF / 8; j += 4) {
            gpu_bytes16 gate, up;
            GPU_UNROLL
            for (int i = 0; i < 4; i++) {
                int at = 4 * (j + i) + 2 * r, of_up = at + C::COLS / 4;
                gate.w[i] = gpu_pack2<T>(c[at], c[at + 1]);
                up.w[i] = gpu_pack2<T>(c[of_up], c[of_up + 1]);
            }
            hopper_transpose4(gate.w);
            hopper_transpose4(up.w);
            gpu_vec<T> x = gpu_vec_from<T>(gate), y = gpu_vec_from<T>(up);
            GPU_UNROLL
            for (int i = 0; i < gpu_vec<T>::n; i++) y.v[i] = swiglu<T>(x.v[i], y.v[i]);
            if (row + g + 8 * r >= a.M) continue;
            int64_t to = row + g + 8 * r, at = col + 8 * (j + t);
            gpu_store16((T *)a.gu + to * 2 * a.F + at, gate);
            gpu_store16((T *)a.gu + to * 2 * a.F + a.F + at, up);
            gpu_vec_store((T *)a.h + to * a.F + at, y);
        }
}

template <typename C>
GPU_DEVICE void product_backward(const struct product_args &a, const float (&c)[C::COLS / 2], int row, int col)
{
    typedef typename C::T T;
    int g = gpu_lane() / 4, t = gpu_lane() % 4;
    constexpr int AT_ONCE = 4;
    GPU_UNROLL
    for (int r = 0; r < 2; r++)
        GPU_UNROLL
        for (int j = 0; j < C::COLS / 8; j += 4 * AT_ONCE) {
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

template <typename C>
GPU_DEVICE void product_products(const struct product_args &a, unsigned char *stages, uint64_t *full, uint64_t *empty)
{
    int group = hopper_group() - 1, below = C::TURNS ? 0 : group * C::BLOCKS * HOPPER_ROWS, tiles = 0;
    uint32_t from = hopper_address(stages);
    hopper_ring<C::STAGES> ring = {0, 0};
    int lag = !C::TURNS && group == 0 ? (a.steps - 1 < PRODUCT_LAG ? a.steps - 1 : PRODUCT_LAG) : -1;
    if (!C::TURNS && group == 1) hopper_sync(1, 2 * HOPPER_GROUP); /* until the first is some steps ahead */
    /* With TURNS all steps of one tile come before the first of the next, so that a warpgroup never waits for a stage
     * that is still to be filled for the other. */
    hopper_turns<2> turns(C::TURNS ? group : 0);

    FLASH_NO_UNROLL
    for (int n = product_first<C>(); n < a.rows * a.cols; n += a.clusters, tiles++) {
        if (C::TURNS && tiles % 2 != group) { /* the other's tile */
            int on = ring.stage + a.steps;
            ring = {on % C::STAGES, ring.parity ^ (on / C::STAGES & 1)};
            continue;
        }
        if constexpr (C::TURNS) turns.take();
        float c[C::BLOCKS][C::COLS / 2];
        int last = 0; /* the stage before */
        FLASH_NO_UNROLL
        for (int k = 0; k < a.steps; k++) {
            int stage = hopper_uniform(ring.stage);
            hopper_wait(full + stage, ring.parity);
            ring.next();
            uint32_t at = from + stage * C::STAGE_BYTES;
            hopper_mma_begin();
            product_step<C>(c, at + below * HOPPER_ROW_BYTES, at + C::A_BYTES, k > 0);
            hopper_mma_commit();
            hopper_mma_wait<1>();
            if (k > 0) product_release<C>(empty + last);
            if (k == lag) hopper_sync_arrive(1, 2 * HOPPER_GROUP), lag = -1;
            last = stage;
        }
        if constexpr (C::TURNS) turns.pass();
        hopper_mma_wait<0>();
        GPU_UNROLL
        for (int m = 0; m < C::BLOCKS; m++) hopper_hold(c[m]);
        product_release<C>(empty + last);
        struct product_tile at = product_tile_of<C>(a, n);
        GPU_UNROLL
        for (int m = 0; m < C::BLOCKS; m++) {
            int row = at.row + below + m * HOPPER_ROWS + gpu_wave() % 4 * 16;
            if constexpr (C::BACKWARD)
                product_backward<C>(a, c[m], row, at.col);
            else
                product_forward<C>(a, c[m], row, at.col);
        }
    }
}

template <typename C>
HOPPER_CLUSTER_KERNEL(C::THREADS, C::CLUSTER)
gemm_swiglu(HOPPER_ARGUMENT struct product_args a)
{
#ifdef HOPPER_CODE
    GPU_DYNAMIC_SHARED(shared);
    GPU_SHARED uint64_t full[C::STAGES], empty[C::STAGES];
    unsigned char *stages = hopper_tiles(shared);
    if (gpu_thread() == 0) {
        hopper_map_prefetch(&a.x), hopper_map_prefetch(&a.w);
        for (int s = 0; s < C::STAGES; s++) {
            hopper_barrier_init(full + s, 1);
            hopper_barrier_init(empty + s, C::WARPS * (C::CLUSTER > 1 ? C::CLUSTER : HOPPER_ARRIVALS));
        }
        hopper_barrier_publish();
    }
    if constexpr (C::CLUSTER > 1)
        hopper_cluster_sync();
    else
        gpu_block_sync();
    if (gpu_wave() < 4) {
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

/* Launches; false, without a launch, if the kernel does not support these sizes or this chip. */
template <typename C> static bool product_launch(const struct swiglu_product *p, gpu_stream s, gpu_error *e)
{
    struct product_args a;
    int64_t wide = C::BACKWARD ? p->F : 2 * p->F, steps = p->K / PRODUCT_STEP;
    int64_t rows = gpu_divide_up(p->M, C::ROWS * C::CLUSTER), cols = p->F / C::WIDTH;
    bool good = p->M > 0 && p->F > 0 && p->K > 0 && p->K % PRODUCT_STEP == 0 && p->F % C::WIDTH == 0 &&
                p->M <= INT32_MAX - C::ROWS * C::CLUSTER && wide <= INT32_MAX && rows * cols <= INT32_MAX / 2 &&
                hopper_has(gemm_swiglu<C>) && gpu_aligned(p->gu) && gpu_aligned(p->h) &&
                hopper_map_rows(&a.x, p->x, p->dtype, 1, p->M, steps, PRODUCT_STEP, p->K, C::ROWS);
    if (!good) return false;
    good = C::BACKWARD ? hopper_map_rows(&a.w, p->w, p->dtype, 1, p->K, p->F / C::HALF, C::HALF, p->F, PRODUCT_STEP)
                       : hopper_map_rows(&a.w, p->w, p->dtype, 1, wide, steps, PRODUCT_STEP, p->K, C::HALF);
    if (C::BACKWARD)
        good = good && hopper_map_rows(&a.gu_map, p->gu, p->dtype, 1, p->M, 2 * p->F / C::WIDTH, C::WIDTH, 2 * p->F,
                                       C::ROWS);
    if (!good) return false;
    a.gu = p->gu, a.h = p->h, a.M = (int)p->M, a.F = (int)p->F, a.steps = (int)steps;
    a.rows = (int)rows, a.cols = (int)cols;
    a.clusters = (int)gpu_smaller(rows * cols, hopper_multiprocessors() / C::CLUSTER);
    *e = gpu_allow_shared(gemm_swiglu<C>, C::bytes);
    if (!*e)
        *e = GPU_LAUNCH(gemm_swiglu<C>, gpu_grid((unsigned)(a.clusters * C::CLUSTER)), C::THREADS, C::bytes, s, a);
    return true;
}

/* The first way has large tiles, which read operands least often; the second hides more behind the products. */
template <typename T, bool BACKWARD>
static bool product_choose(const struct swiglu_product *p, int way, gpu_stream s, gpu_error *e)
{
    return way == 0 ? product_launch<product_shape<T, BACKWARD, false, 1, 256, 4, HOPPER_CLUSTER>>(p, s, e)
                    : product_launch<product_shape<T, BACKWARD, true, 2, 128, 6, HOPPER_CLUSTER>>(p, s, e);
}

#endif
