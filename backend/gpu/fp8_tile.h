/* 8-bit codes of a matrix, as it is and transposed.
 *
 * A block has a square of SIDE x SIDE elements. A thread has patches of PATCH rows of WIDTH neighbouring elements. So
 * for each column of a patch it has a word of four codes; the transposed square in shared memory is made of these
 * words. Four neighbouring lanes are along a row, the next ones further down. Each column of the square has one word of
 * padding, so that 32 lanes write to different banks, and later read from different ones. */
#ifndef TT_GPU_FP8_TILE_H
#define TT_GPU_FP8_TILE_H

#include "backend/gpu/amax.h"
#include "backend/gpu/fp8.h"

enum { FP8_THREADS = 256 };
enum { SIDE = 128, PATCH = 4, WIDTH = 8, CHUNK = 16, COLUMN_WORDS = SIDE / 4 + 1 };
enum { ALONG = 4, DOWN = 8 }; /* patches of 32 lanes, along a row and down */
enum { PATCHES = SIDE * SIDE / (PATCH * WIDTH * FP8_THREADS) }; /* per thread */

/* Where a patch begins in the square. */
struct place {
    int row, col;
};
GPU_DEVICE place place_of(int i)
{
    constexpr int across = SIDE / (WIDTH * ALONG);
    int lane = i % (ALONG * DOWN), group = i / (ALONG * DOWN);
    return {(group / across * DOWN + lane / ALONG) * PATCH, (group % across * ALONG + lane % ALONG) * WIDTH};
}

struct patch {
    float v[PATCH][WIDTH];
};

template <typename T> GPU_DEVICE void load_vectors(patch &p, const T *x, int64_t ld)
{
    constexpr int N = gpu_vec<T>::n;
    GPU_UNROLL
    for (int r = 0; r < PATCH; r++) {
        GPU_UNROLL
        for (int k = 0; k < WIDTH / N; k++) {
            gpu_vec<T> v = gpu_vec_load(x + r * ld + k * N);
            GPU_UNROLL
            for (int i = 0; i < N; i++) p.v[r][k * N + i] = v.v[i];
        }
    }
}

template <typename T> GPU_DEVICE void load_singles(patch &p, const T *x, int64_t ld, int64_t rows, int64_t cols)
{
    GPU_UNROLL
    for (int r = 0; r < PATCH; r++) {
        GPU_UNROLL
        for (int c = 0; c < WIDTH; c++) p.v[r][c] = r < rows && c < cols ? gpu_to_float(x[r * ld + c]) : 0.0f;
    }
}

/* `rows` and `cols`: how many the matrix has from x on. */
template <typename T>
GPU_DEVICE void load_patch(patch &p, const T *x, int64_t ld, int64_t rows, int64_t cols, bool vectors)
{
    if (vectors)
        load_vectors(p, x, ld);
    else
        load_singles(p, x, ld, rows, cols);
}

/* Stores the codes of a row of the patch to memory. */
GPU_DEVICE void store_row(uint8_t *out, const uint32_t *words, bool vectors, int64_t cols)
{
    if (vectors) {
        *(gpu_bytes8 *)out = gpu_bytes8{{words[0], words[1]}};
        return;
    }
    for (int c = 0; c < WIDTH && c < cols; c++) out[c] = (uint8_t)(words[c / 4] >> c % 4 * 8);
}

/* Byte c of four words, as a word: the column of four rows. */
GPU_DEVICE uint32_t column_of(const uint32_t (*words)[2], int c)
{
    uint32_t w = 0;
    GPU_UNROLL
    for (int r = 0; r < PATCH; r++) w |= (words[r][c / 4] >> c % 4 * 8 & 0xff) << 8 * r;
    return w;
}

/* Stores the columns of a patch in the square. */
GPU_DEVICE void store_columns(uint32_t *square, place at, const uint32_t (*words)[2])
{
    GPU_UNROLL
    for (int c = 0; c < WIDTH; c++) square[(at.col + c) * COLUMN_WORDS + at.row / 4] = column_of(words, c);
}

/* Stores CHUNK rows of a column of the square to the transposed matrix (all_cols, all_rows). */
GPU_DEVICE void store_chunk(uint8_t *transposed, int64_t all_rows, int64_t all_cols, const uint32_t *square,
                            int64_t row, int64_t col, int i, bool vectors)
{
    int c = i / (SIDE / CHUNK), r = i % (SIDE / CHUNK) * CHUNK;
    const uint32_t *words = square + c * COLUMN_WORDS + r / 4;
    int64_t rows = all_rows - row - r;
    if (col + c >= all_cols || rows <= 0) return;
    uint8_t *out = transposed + (col + c) * all_rows + row + r;
    if (vectors) {
        gpu_store16(out, gpu_bytes16{{words[0], words[1], words[2], words[3]}});
        return;
    }
    for (int k = 0; k < CHUNK && k < rows; k++) out[k] = (uint8_t)(words[k / 4] >> k % 4 * 8);
}

/* Stores the whole square; all threads of the block call it. */
GPU_DEVICE void store_square(uint8_t *transposed, int64_t rows, int64_t cols, const uint32_t *square, int64_t row,
                             int64_t col, bool vectors)
{
    gpu_block_sync();
    GPU_UNROLL
    for (int i = 0; i < SIDE * SIDE / (CHUNK * FP8_THREADS); i++)
        store_chunk(transposed, rows, cols, square, row, col, i * FP8_THREADS + gpu_thread(), vectors);
}

/* The scale for the largest magnitudes of `parts` parts; every thread gets it. */
GPU_DEVICE float scale_of_parts(const float *partial, int64_t parts, enum tt_dtype to)
{
    uint32_t most = 0;
    if (parts == 1) return tt_fp8_scale(*partial, to);
    for (int64_t i = gpu_thread(); i < parts; i += FP8_THREADS) most = gpu_most(most, partial[i]);
    most = gpu_block_reduce<FP8_THREADS>(most, gpu_op_most());
    return tt_fp8_scale(gpu_bits_float(most), to);
}

#endif
