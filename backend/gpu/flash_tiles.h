/* Shared by forward and backward attention on matrix tiles: the shape of a block, and the two kinds of product. A wave
 * owns M tiles of 16 rows; streamed rows are in shared memory. */
#ifndef TT_GPU_FLASH_TILES_H
#define TT_GPU_FLASH_TILES_H

#include "backend/gpu/flash.h"
#include "gpu_mma.h"

/* A block of THREADS threads owns ROWS rows of a head and streams COLS at a time through STAGES buffers.
 * HOLD    waves keep their own rows in registers, and the buffers reuse the shared memory that the rows came through
 * EARLY   the copy of the next rows starts while these are computed (with one buffer: in registers)
 * STEP    streamed rows whose scores the backward pass holds at a time
 * BLOCKS  blocks per multiprocessor whose registers should fit
 * WAVE    the kernel has a body only in code for waves of this width */
template <typename T_, int DP_, int WAVE_, int ROWS_, int COLS_, int THREADS_, int STAGES_, bool HOLD_, bool EARLY_,
          int BLOCKS_, int STEP_ = 32>
struct flash_shape {
    typedef T_ T;
    static constexpr int DP = DP_, WAVE = WAVE_, ROWS = ROWS_, COLS = COLS_, THREADS = THREADS_, STAGES = STAGES_;
    static constexpr bool HOLD = HOLD_, EARLY = EARLY_ || STAGES_ > 1;
    static constexpr int BLOCKS = BLOCKS_, LD = flash_ld<T>(DP), STAGE = 2 * COLS * LD;
    static constexpr int STEP = COLS < STEP_ ? COLS : STEP_, M = ROWS / 16 / (THREADS / WAVE);
    static_assert(M * 16 * (THREADS / WAVE) == ROWS, "every wave has rows");
};

/* The bounds of a wave's rows: the least and the largest, and each. */
template <typename C> struct flash_bounds {
    int least, most;
    flash_padding<typename C::T, C::DP> each;
};

/* Copies are asynchronous, into two buffers, by 128 threads; or they go through registers into one buffer. */
template <typename T, int DP, int ROWS, int COLS>
using flash_background = flash_shape<T, DP, GPU_GROUP, ROWS, COLS, 128, 2, false, true, 2>;
template <typename T, int DP, int WAVE, int ROWS, int COLS, int THREADS, bool HOLD, int BLOCKS>
using flash_registers = flash_shape<T, DP, WAVE, ROWS, COLS, THREADS, 1, HOLD, GPU_COPY_HELD, BLOCKS, WAVE / 2>;

/* A wave's own rows, as the left operand of products: in shared memory, or with HOLD in registers. */
template <typename C, bool HOLD = C::HOLD> struct flash_own {
    const typename C::T *tile;
    GPU_MEMBER void take(const typename C::T *rows) { tile = rows; }
    GPU_MEMBER void get(gpu_tile_a<typename C::T> &a, int m, int d) const
    {
        gpu_tile_load(a, tile + m * 16 * C::LD + d * 16, C::LD);
    }
};
template <typename C> struct flash_own<C, true> {
    gpu_tile_a<typename C::T> tile[C::M][C::DP / 16];
    GPU_MEMBER void take(const typename C::T *rows)
    {
        GPU_UNROLL
        for (int m = 0; m < C::M; m++)
            GPU_UNROLL
            for (int d = 0; d < C::DP / 16; d++) gpu_tile_load(tile[m][d], rows + m * 16 * C::LD + d * 16, C::LD);
    }
    GPU_MEMBER void get(gpu_tile_a<typename C::T> &a, int m, int d) const { a = tile[m][d]; }
};

/* s = own·u^T for TILES·16 rows of u. */
template <typename C, int TILES>
GPU_DEVICE void flash_product(gpu_tile_c (&s)[C::M][TILES], const flash_own<C> &own, const typename C::T *u)
{
    GPU_UNROLL
    for (int m = 0; m < C::M; m++)
        GPU_UNROLL
        for (int n = 0; n < TILES; n++) gpu_tile_fill(s[m][n], 0.0f);
    GPU_UNROLL
    for (int d = 0; d < C::DP / 16; d++) {
        gpu_tile_a<typename C::T> a[C::M];
        GPU_UNROLL
        for (int m = 0; m < C::M; m++) own.get(a[m], m, d);
        GPU_UNROLL
        for (int n = 0; n < TILES; n++) {
            gpu_tile_b<typename C::T> b;
            gpu_tile_load_transposed(b, u + n * 16 * C::LD + d * 16, C::LD);
            GPU_UNROLL
            for (int m = 0; m < C::M; m++) gpu_tile_mma(s[m][n], a[m], b);
        }
        gpu_fetch_fence();
    }
}

/* sum += s·w, s rounded, for TILES·16 rows of w. */
template <typename C, int TILES>
GPU_DEVICE void flash_accumulate(gpu_tile_c (&sum)[C::M][C::DP / 16], const gpu_tile_c (&s)[C::M][TILES],
                                 const typename C::T *w)
{
    GPU_UNROLL
    for (int n = 0; n < TILES; n++) {
        gpu_tile_a<typename C::T> a[C::M];
        GPU_UNROLL
        for (int m = 0; m < C::M; m++) gpu_tile_round(a[m], s[m][n]);
        GPU_UNROLL
        for (int d = 0; d < C::DP / 16; d++) {
            gpu_tile_b<typename C::T> b;
            gpu_tile_load(b, w + n * 16 * C::LD + d * 16, C::LD);
            GPU_UNROLL
            for (int m = 0; m < C::M; m++) gpu_tile_mma(sum[m][d], a[m], b);
            if (d % 2) gpu_fetch_fence();
        }
    }
}

#endif
