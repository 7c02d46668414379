/* Matrix products on Hopper with an epilogue: something is done with the result before it is stored.
 *
 * Blocks are persistent: each goes through a list of tiles of 128x128. One warp copies the operands, 64 of the inner
 * dimension at a time, through a ring of buffers. Two warpgroups multiply in turns, each a tile of its own: while one
 * multiplies, the other computes its epilogue and stores. If no block has a second tile, both warpgroups have half of
 * the only one (TOGETHER). The two blocks of a cluster have tiles below each other, and each copies half of the weights
 * for both.
 *
 * A shape C of such a product (swiglu_hopper_*.cu, rope_hopper.cu, exp_hopper.cu) has
 *
 *   T        the type of all matrices
 *   COLUMNS  W is (K, N), and the product is x·W; else W is (N, K), and the product is x·W^T
 *   WIDTH    columns of the result (of h, with SwiGLU) that a tile has
 *   STAGES   buffers of the ring
 *   slabs    a warp's shared memory after the ring, through which the copy engine moves results; its constructor gets
 *            how many blocks of 64 rows the other warpgroup has before this one
 *   BRINGS   the copy engine also brings what `rows` reads: slabs::begin, called by one warp, then slabs::bring, called
 *            by one thread
 *   w_row    where the rows of W for half a tile begin; without COLUMNS
 *   held     what a lane has in registers while it multiplies
 *   ahead    what a warp does before that; it gets the warp's first row. N: blocks of 64 rows of the tile that its
 *            warpgroup has
 *   rows     what a warp does with its 16 rows of each of these blocks */
#ifndef TT_CUDA_PRODUCT_HOPPER_H
#define TT_CUDA_PRODUCT_HOPPER_H

#include "backend/cuda/flash_hopper.h"
#include "backend/cuda/product_hopper_launch.h"

enum {
    PRODUCT_STEP = 64,
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
    PRODUCT_SLABS = 2, /* per warp: one is filled while the other is on its way to memory */
};

template <typename C> constexpr size_t product_bytes(void)
{
    return C::STAGES * PRODUCT_STAGE_BYTES + C::slabs::BYTES + HOPPER_ALIGN;
}

struct product_args {
    struct hopper_map x, w;
    struct hopper_map out, h_map; /* boxes of a slab, of the result (gate and up, with SwiGLU) and of h */
    void *gu, *h;                 /* the same matrices as pointers, for SwiGLU's backward pass */
    const float *cos, *sin;       /* of RoPE: (S, D/2) */
    int S, D, turned;             /* the first columns are rotated */
    const float *shift;           /* of exponentials */
    float *sums;
    int M, F, steps;              /* F: columns of h, or of the result */
    int rows, cols; /* tiles, those of a cluster counted once */
    int clusters;   /* of the grid */
};

template <typename C> using product_ring = hopper_ring<C::STAGES>;
template <int N> using product_c = float[N][PRODUCT_COLS / 2];

struct product_tile {
    int row, col; /* of x, and of the result (of h, with SwiGLU) */
};

/* Tiles in bands of PRODUCT_BAND rows of tiles, column by column, so that tiles that run at the same time share
 * operands in the cache. */
template <typename C> GPU_DEVICE struct product_tile product_tile_of(const struct product_args &a, int n)
{
    int band = n / (PRODUCT_BAND * a.cols), first = band * PRODUCT_BAND, in = n - first * a.cols;
    int high = a.rows - first < PRODUCT_BAND ? a.rows - first : PRODUCT_BAND;
    int rank = HOPPER_CLUSTER > 1 ? hopper_rank() : 0;
    return {((first + in % high) * HOPPER_CLUSTER + rank) * PRODUCT_ROWS, in / high * C::WIDTH};
}

/* for (int n = product_first<C>(); n < a.rows * a.cols; n += a.clusters): a block's tiles */
template <typename C> GPU_DEVICE int product_first(void) { return (int)gpu_block_x() / HOPPER_CLUSTER; }

/* ---- copying ---- */

template <typename C> GPU_DEVICE void product_copy_half(const struct product_args &a, unsigned char *to, int half,
                                                        int col, int step, uint64_t *full)
{
    int row = step * PRODUCT_STEP, head = col / PRODUCT_HALF + half;
    if constexpr (!C::COLUMNS) row = C::w_row(a, half, col), head = step;
    if constexpr (HOPPER_CLUSTER > 1)
        hopper_copy_to(to + half * PRODUCT_HALF_BYTES, &a.w, row, head, full, (1 << HOPPER_CLUSTER) - 1);
    else
        hopper_copy(to + half * PRODUCT_HALF_BYTES, &a.w, row, head, 0, full);
}

/* One thread copies. */
template <typename C>
GPU_DEVICE void product_copies(const struct product_args &a, unsigned char *stages, uint64_t *full, uint64_t *empty)
{
    product_ring<C> ring = {0, 0};
    int rank = HOPPER_CLUSTER > 1 ? hopper_rank() : 0;
    for (int n = product_first<C>(); n < a.rows * a.cols; n += a.clusters) {
        struct product_tile at = product_tile_of<C>(a, n);
        for (int k = 0; k < a.steps; k++) {
            unsigned char *to = stages + ring.stage * PRODUCT_STAGE_BYTES;
            uint64_t *here = full + ring.stage;
            hopper_wait(empty + ring.stage, ring.parity ^ 1);
            hopper_arrive_bytes(here, PRODUCT_STAGE_BYTES);
            hopper_copy(to, &a.x, at.row, k, 0, here);
            product_copy_half<C>(a, to + PRODUCT_A_BYTES, rank, at.col, k, here);
            if (HOPPER_CLUSTER == 1) product_copy_half<C>(a, to + PRODUCT_A_BYTES, 1, at.col, k, here);
            ring.next();
        }
    }
}

/* ---- multiplying ---- */

/* A warp is done with a stage: the copying warps of the whole cluster may write it. */
template <typename C> GPU_DEVICE void product_release(uint64_t *empty)
{
    if constexpr (HOPPER_CLUSTER > 1) {
        gpu_wave_sync();
        if (gpu_lane() < HOPPER_CLUSTER) hopper_arrive_at(empty, gpu_lane());
    } else {
        hopper_arrive_warp(empty);
    }
}

/* c = the product of one step, or c += it. */
template <typename C, int N> GPU_DEVICE void product_step(product_c<N> &c, uint32_t a, uint32_t b, bool add)
{
    uint32_t low_a = hopper_low(a, 16), low_b = hopper_low(b, C::COLUMNS ? PRODUCT_STEP * HOPPER_ROW_BYTES : 16);
    constexpr int NEXT = (C::COLUMNS ? 16 * HOPPER_ROW_BYTES : 32) >> 4;
    GPU_UNROLL
    for (int k = 0; k < PRODUCT_STEP / 16; k++)
        GPU_UNROLL
        for (int m = 0; m < N; m++)
            hopper_mma_ss<PRODUCT_COLS, C::COLUMNS>(
                c[m], hopper_operand(low_a + (m * HOPPER_ROWS * HOPPER_ROW_BYTES >> 4) + k * 2),
                hopper_operand(low_b + k * NEXT), add || k > 0, typename C::T());
}

/* All steps of a tile, for N blocks of its rows from `first` on. If these are all of its blocks, the other warpgroup
 * has another tile, and the two take turns. */
template <typename C, int N>
GPU_DEVICE void product_multiply(product_c<N> &c, int steps, unsigned char *stages, int first, product_ring<C> &ring,
                                 uint64_t *full, uint64_t *empty, hopper_turns<2> &turns)
{
    uint32_t from = hopper_address(stages);
    int last = 0; /* the stage before */
    if (N == PRODUCT_BLOCKS) turns.take();
    FLASH_NO_UNROLL
    for (int k = 0; k < steps; k++) {
        int stage = hopper_uniform(ring.stage);
        hopper_wait(full + stage, ring.parity);
        ring.next();
        uint32_t at = from + stage * PRODUCT_STAGE_BYTES;
        hopper_mma_begin();
        product_step<C, N>(c, at + first * HOPPER_ROW_BYTES, at + PRODUCT_A_BYTES, k > 0);
        hopper_mma_commit();
        hopper_mma_wait<1>();
        if (k > 0) product_release<C>(empty + last);
        last = stage;
    }
    if (N == PRODUCT_BLOCKS) turns.pass();
    hopper_mma_wait<0>();
    GPU_UNROLL
    for (int m = 0; m < N; m++) hopper_hold(c[m]);
    product_release<C>(empty + last);
}

/* ---- what a warp does with its rows of a tile ---- */

/* The copy engine moves 16 rows of 64 columns as a slab. A lane has two columns of each eighth of it, in rows g and
 * g + 8, so it has 16 words. The four words of quarter j are stored to the slab, or loaded from it, as matrices of 8x8.
 * This is the offset in the slab that the lane gives for them. */
GPU_DEVICE int product_slab_at(int j)
{
    int r = gpu_lane() % PRODUCT_SLAB_ROWS, piece = gpu_lane() / PRODUCT_SLAB_ROWS;
    return r * HOPPER_ROW_BYTES + ((2 * j + piece) ^ r % 8) * 16;
}

/* A warp's slabs of results, on their way to memory. */
struct product_slabs {
    static constexpr int BYTES = 2 * PRODUCT_WARPS * PRODUCT_SLABS * PRODUCT_SLAB_BYTES;
    unsigned char *at;
    int next;

    GPU_MEMBER product_slabs(unsigned char *behind, int warp, int)
        : at(behind + warp * PRODUCT_SLABS * PRODUCT_SLAB_BYTES), next(0)
    {
    }

    /* w: the words of 16 rows and 64 columns, in the layout of a product's result. */
    GPU_MEMBER void store(const struct hopper_map *map, int row, int head, const uint32_t (&w)[4][4])
    {
        unsigned char *slab = at + next * PRODUCT_SLAB_BYTES;
        if (gpu_lane() == 0) hopper_out_read<PRODUCT_SLABS - 1>();
        gpu_wave_sync();
        GPU_UNROLL
        for (int j = 0; j < 4; j++) hopper_matrices_store(slab + product_slab_at(j), w[j]);
        hopper_written();
        gpu_wave_sync();
        if (gpu_lane() == 0) {
            hopper_copy_out(map, row, head, slab);
            hopper_out_commit();
        }
        if (++next == PRODUCT_SLABS) next = 0;
    }
};

/* The defaults, for most shapes. */
struct product_shape {
    typedef struct product_slabs slabs;
    static constexpr int STAGES = 6;
    static constexpr bool BRINGS = false;
};

/* ---- a block ---- */

template <typename C, bool TOGETHER>
GPU_DEVICE void product_products(const struct product_args &a, unsigned char *stages, uint64_t *full, uint64_t *empty)
{
    constexpr int N = TOGETHER ? 1 : (int)PRODUCT_BLOCKS; /* blocks of rows of a tile */
    int group = hopper_group() - 1, warp = gpu_wave() - PRODUCT_WARPS, tiles = 0;
    int first = TOGETHER ? group * HOPPER_ROWS : 0; /* row of a tile */
    product_ring<C> ring = {0, 0};
    /* All steps of one tile come before the first of the next, so that a warpgroup never waits for a stage that is
     * still to be filled for the other. */
    hopper_turns<2> turns(group);
    typename C::slabs slabs(stages + C::STAGES * PRODUCT_STAGE_BYTES, warp, group * N);

    FLASH_NO_UNROLL
    for (int n = product_first<C>(); n < a.rows * a.cols; n += a.clusters, tiles++) {
        if (!TOGETHER && tiles % 2 != group) { /* the other's tile */
            int on = ring.stage + a.steps;
            ring = {on % C::STAGES, ring.parity ^ (on / C::STAGES & 1)};
            continue;
        }
        struct product_tile at = product_tile_of<C>(a, n);
        at.row += first;
        product_c<N> c;
        typename C::held held;
        C::template ahead<N>(a, at, at.row + warp % PRODUCT_WARPS * 16, held);
        product_multiply<C, N>(c, a.steps, stages, first, ring, full, empty, turns);
        GPU_UNROLL
        for (int m = 0; m < N; m++) {
            int row = at.row + m * HOPPER_ROWS + warp % PRODUCT_WARPS * 16;
            C::template rows<N>(a, slabs, held, m, c[m], row, at.col);
        }
    }
    if (gpu_lane() == 0) hopper_out_done();
}

template <typename C, bool TOGETHER>
HOPPER_CLUSTER_KERNEL(PRODUCT_THREADS, HOPPER_CLUSTER)
product_kernel(HOPPER_ARGUMENT struct product_args a)
{
#ifdef HOPPER_CODE
    GPU_DYNAMIC_SHARED(shared);
    GPU_SHARED uint64_t full[C::STAGES], empty[C::STAGES];
    unsigned char *stages = hopper_tiles(shared);
    if (gpu_thread() == 0) {
        hopper_map_prefetch(&a.x), hopper_map_prefetch(&a.w);
        constexpr int ARRIVALS = HOPPER_CLUSTER > 1 ? (int)HOPPER_CLUSTER : (int)HOPPER_ARRIVALS;
        for (int s = 0; s < C::STAGES; s++) {
            hopper_barrier_init(full + s, 1);
            hopper_barrier_init(empty + s, (TOGETHER ? 2 : 1) * PRODUCT_WARPS * ARRIVALS);
        }
        hopper_barrier_publish();
    }
    if constexpr (C::BRINGS)
        if (gpu_wave() == 0) {
            C::slabs::begin(stages + C::STAGES * PRODUCT_STAGE_BYTES);
            hopper_barrier_publish();
        }
    if constexpr (HOPPER_CLUSTER > 1)
        hopper_cluster_sync();
    else
        gpu_block_sync();
    if (gpu_wave() < PRODUCT_WARPS) {
        hopper_registers_give<24>();
        if (gpu_thread() == 0) product_copies<C>(a, stages, full, empty);
        if constexpr (C::BRINGS)
            if (gpu_thread() == GPU_WAVE) C::slabs::template bring<C>(a, stages + C::STAGES * PRODUCT_STAGE_BYTES);
    } else {
        hopper_registers_take<240>();
        product_products<C, TOGETHER>(a, stages, full, empty);
    }
    if constexpr (HOPPER_CLUSTER > 1) hopper_cluster_sync(); /* until nobody writes this block's memory any more */
#endif
}

/* ---- launching ---- */

template <typename C, bool TOGETHER>
static bool product_launch_as(const struct product_args &a, gpu_stream s, gpu_error *e)
{
    if (!hopper_has(product_kernel<C, TOGETHER>)) return false;
    *e = gpu_allow_shared(product_kernel<C, TOGETHER>, product_bytes<C>());
    if (!*e)
        *e = GPU_LAUNCH((product_kernel<C, TOGETHER>), gpu_grid((unsigned)(a.clusters * HOPPER_CLUSTER)),
                        PRODUCT_THREADS, product_bytes<C>(), s, a);
    return true;
}

static inline int64_t product_clusters(int units)
{
    int all = hopper_multiprocessors(), most = units > 0 && units < all ? units : all;
    return most < HOPPER_CLUSTER ? 1 : most / HOPPER_CLUSTER;
}

/* Launches the kernel; `a` has the maps and whatever else the epilogue reads. False, without a launch, if the kernel
 * does not support these sizes or this chip. ONE is the shape to use if no block has a second tile. */
template <typename C, typename ONE = C>
static bool product_launch(struct product_args a, int64_t M, int64_t N, int64_t K, int units, gpu_stream s,
                           gpu_error *e)
{
    int64_t rows = gpu_divide_up(M, PRODUCT_ROWS * HOPPER_CLUSTER), cols = gpu_divide_up(N, C::WIDTH);
    int64_t most = product_clusters(units);
    if (M > INT32_MAX - PRODUCT_ROWS * HOPPER_CLUSTER || 2 * N > INT32_MAX || rows * cols > INT32_MAX / 2) return false;
    a.M = (int)M, a.F = (int)N, a.steps = (int)(K / PRODUCT_STEP);
    a.rows = (int)rows, a.cols = (int)cols;
    a.clusters = (int)gpu_smaller(rows * cols, most);
    return rows * cols <= most ? product_launch_as<ONE, true>(a, s, e) : product_launch_as<C, false>(a, s, e);
}

/* Maps of x (M, K) and of W (N, K), and of a result (M, cols) in slabs; false if the copy engine cannot read them. */
static inline bool product_map_x(struct product_args *a, const void *x, enum tt_dtype type, int64_t M, int64_t K)
{
    return M > 0 && K > 0 && K % PRODUCT_STEP == 0 &&
           hopper_map_rows(&a->x, x, type, 1, M, K / PRODUCT_STEP, PRODUCT_STEP, K, PRODUCT_ROWS);
}
static inline bool product_map_w(struct product_args *a, const void *w, enum tt_dtype type, int64_t N, int64_t K)
{
    return hopper_map_rows(&a->w, w, type, 1, N, K / PRODUCT_STEP, PRODUCT_STEP, K, PRODUCT_HALF);
}
static inline bool product_map_out(struct hopper_map *map, void *out, enum tt_dtype type, int64_t M, int64_t cols)
{
    return cols > 0 && cols % PRODUCT_HALF == 0 &&
           hopper_map_rows(map, out, type, 1, M, cols / PRODUCT_HALF, PRODUCT_HALF, cols, PRODUCT_SLAB_ROWS);
}

#endif
