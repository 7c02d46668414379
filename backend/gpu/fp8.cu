/* The 8-bit factors of products: the largest magnitude of a tensor, and its codes, as it is and transposed. */
#include "backend/gpu/amax.h"
#include "backend/gpu/fp8.h"

enum { FP8_THREADS = 256 };

/* ---- largest magnitudes: a block per part ---- */

/* Of n neighbouring elements, those of this thread; `aligned`: x is, to 16 bytes. */
template <typename T> GPU_DEVICE uint32_t most_of(const T *x, int64_t n, bool aligned, uint32_t most)
{
    constexpr int N = gpu_vec<T>::n;
    int64_t vectors = aligned ? n / N : 0;
    GPU_UNROLL_BY(4)
    for (int64_t i = gpu_thread(); i < vectors; i += FP8_THREADS) {
        gpu_vec<T> v = gpu_vec_load(x + i * N);
        most = gpu_most(most, v);
    }
    for (int64_t i = vectors * N + gpu_thread(); i < n; i += FP8_THREADS)
        most = gpu_most(most, gpu_to_float(x[i]));
    return most;
}

template <typename T> GPU_KERNEL GPU_BOUNDS(FP8_THREADS) fp8_amax(struct tt_fp8_amax_args a, bool aligned)
{
    int64_t step = gpu_divide_up(a.rows, a.parts), from = gpu_block_x() * step, to = gpu_smaller(a.rows, from + step);
    const T *x = (const T *)a.x;
    uint32_t most = 0;
    if (a.ldx == a.cols && from < to)
        most = most_of(x + from * a.cols, (to - from) * a.cols, aligned, most);
    else
        for (int64_t r = from; r < to; r++) most = most_of(x + r * a.ldx, a.cols, aligned, most);
    most = gpu_block_reduce<FP8_THREADS>(most, gpu_op_most());
    if (gpu_thread() == 0) a.partial[gpu_block_x()] = gpu_bits_float(most);
}

gpu_error tt_gpu_fp8_amax(const struct tt_fp8_amax_args *a, gpu_stream s)
{
    gpu_grid grid = gpu_grid_of(a->parts);
    return GPU_DISPATCH(
        a->dtype, T, GPU_LAUNCH(fp8_amax<T>, grid, FP8_THREADS, 0, s, *a, gpu_aligned_rows(a->x, a->ldx, sizeof(T))));
}

/* ---- codes ----
 *
 * A block has a square of SIDE x SIDE elements. A thread loads PATCH rows of WIDTH neighbouring elements, so that it
 * has for each of these columns a word of four codes, which is what the transposed square is made of in shared memory.
 * Four neighbouring lanes are along a row, the next ones further down: with a word behind each column of the square all
 * lanes of 32 write to different banks, and later read from different ones. */

enum { SIDE = 128, PATCH = 4, WIDTH = 8, CHUNK = 16, COLUMN_WORDS = SIDE / 4 + 1 };
enum { ALONG = 4, DOWN = 8 }; /* patches of 32 lanes, along a row and down */

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

/* The codes of a row of the patch, to memory. */
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

template <typename T, enum tt_dtype TO>
GPU_DEVICE void cast_patch(const struct tt_fp8_cast_args &a, float inverse, int64_t row, int64_t col, place at,
                           bool vectors, uint32_t *square)
{
    int64_t r0 = row + at.row, c0 = col + at.col, rows = a.rows - r0, cols = a.cols - c0;
    uint32_t words[PATCH][2];
    patch p;
    if (rows <= 0 || cols <= 0) return;
    const T *x = (const T *)a.x + r0 * a.ldx + c0;
    if (vectors)
        load_vectors(p, x, a.ldx);
    else
        load_singles(p, x, a.ldx, rows, cols);
    GPU_UNROLL
    for (int r = 0; r < PATCH; r++) {
        GPU_UNROLL
        for (int w = 0; w < 2; w++) {
            const float *v = p.v[r] + 4 * w;
            words[r][w] = gpu_fp8_pack2<TO>(v[0] * inverse, v[1] * inverse) |
                          gpu_fp8_pack2<TO>(v[2] * inverse, v[3] * inverse) << 16;
        }
        if (a.out && r < rows) store_row(a.out + (r0 + r) * a.cols + c0, words[r], vectors, cols);
    }
    if (!a.transposed) return;
    GPU_UNROLL
    for (int c = 0; c < WIDTH; c++) square[(at.col + c) * COLUMN_WORDS + at.row / 4] = column_of(words, c);
}

/* CHUNK rows of a column of the square. */
GPU_DEVICE void store_chunk(const struct tt_fp8_cast_args &a, const uint32_t *square, int64_t row, int64_t col, int i,
                            bool vectors)
{
    int c = i / (SIDE / CHUNK), r = i % (SIDE / CHUNK) * CHUNK;
    const uint32_t *words = square + c * COLUMN_WORDS + r / 4;
    int64_t rows = a.rows - row - r;
    if (col + c >= a.cols || rows <= 0) return;
    uint8_t *out = a.transposed + (col + c) * a.rows + row + r;
    if (vectors) {
        gpu_store16(out, gpu_bytes16{{words[0], words[1], words[2], words[3]}});
        return;
    }
    for (int k = 0; k < CHUNK && k < rows; k++) out[k] = (uint8_t)(words[k / 4] >> k % 4 * 8);
}

GPU_DEVICE float scale_of(const struct tt_fp8_cast_args &a)
{
    uint32_t most = 0;
    if (!a.partial) return *a.scale;
    for (int64_t i = gpu_thread(); i < a.parts; i += FP8_THREADS) most = gpu_most(most, a.partial[i]);
    most = gpu_block_reduce<FP8_THREADS>(most, gpu_op_most());
    float scale = tt_fp8_scale(gpu_bits_float(most), a.to);
    if (gpu_block_x() == 0 && gpu_thread() == 0) *a.new_scale = scale;
    return scale;
}

/* `vectors`: rows and columns are multiples of CHUNK, and all is aligned. */
template <typename T, enum tt_dtype TO>
GPU_KERNEL GPU_BOUNDS(FP8_THREADS) fp8_cast(struct tt_fp8_cast_args a, bool vectors)
{
    GPU_SHARED uint32_t square[SIDE * COLUMN_WORDS];
    int64_t across = gpu_divide_up(a.cols, SIDE);
    int64_t row = gpu_block_x() / across * SIDE, col = gpu_block_x() % across * SIDE;
    float inverse = tt_fp8_inverse(scale_of(a));
    GPU_UNROLL
    for (int i = 0; i < SIDE * SIDE / (PATCH * WIDTH * FP8_THREADS); i++)
        cast_patch<T, TO>(a, inverse, row, col, place_of(i * FP8_THREADS + gpu_thread()), vectors, square);
    if (!a.transposed) return;
    gpu_block_sync();
    GPU_UNROLL
    for (int i = 0; i < SIDE * SIDE / (CHUNK * FP8_THREADS); i++)
        store_chunk(a, square, row, col, i * FP8_THREADS + gpu_thread(), vectors);
}

template <typename T> static gpu_error cast_to(const struct tt_fp8_cast_args *a, gpu_stream s)
{
    gpu_grid grid = gpu_grid_of(gpu_divide_up(a->rows, SIDE) * gpu_divide_up(a->cols, SIDE));
    bool vectors = a->rows % CHUNK == 0 && a->cols % CHUNK == 0 && gpu_aligned_rows(a->x, a->ldx, sizeof(T)) &&
                   gpu_aligned(a->out) && gpu_aligned(a->transposed);
    switch (a->to) {
    case TT_E4M3:
        return GPU_LAUNCH((fp8_cast<T, TT_E4M3>), grid, FP8_THREADS, 0, s, *a, vectors);
    case TT_E5M2:
        return GPU_LAUNCH((fp8_cast<T, TT_E5M2>), grid, FP8_THREADS, 0, s, *a, vectors);
    case TT_E4M3_FNUZ:
        return GPU_LAUNCH((fp8_cast<T, TT_E4M3_FNUZ>), grid, FP8_THREADS, 0, s, *a, vectors);
    default:
        return GPU_LAUNCH((fp8_cast<T, TT_E5M2_FNUZ>), grid, FP8_THREADS, 0, s, *a, vectors);
    }
}

gpu_error tt_gpu_fp8_cast(const struct tt_fp8_cast_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, cast_to<T>(a, s));
}
