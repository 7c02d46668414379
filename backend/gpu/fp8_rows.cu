/* 8-bit factors with a scale for each row (--fp8-scaling row): largest magnitudes of rows and of columns, and codes by
 * their scales. Each block has a square, as in fp8.cu. */
#include "backend/gpu/fp8_tile.h"

/* ---- largest magnitudes ----
 *
 * A thread has TALL rows of WIDTH columns. What it has of a row or of a column goes to shared memory, where one thread
 * for each row and each column takes the largest. */
enum { TALL = 8, THREADS_ACROSS = SIDE / WIDTH, THREADS_DOWN = SIDE / TALL };
static_assert(THREADS_ACROSS * THREADS_DOWN == FP8_THREADS && 2 * SIDE == FP8_THREADS, "a square for a block");

template <typename T>
GPU_DEVICE void load_line(float *v, const T *x, int64_t rows, int64_t cols, bool vectors)
{
    constexpr int N = gpu_vec<T>::n;
    if (vectors && rows > 0 && cols > 0) {
        GPU_UNROLL
        for (int k = 0; k < WIDTH / N; k++) {
            gpu_vec<T> in = gpu_vec_load(x + k * N);
            GPU_UNROLL
            for (int i = 0; i < N; i++) v[k * N + i] = in.v[i];
        }
        return;
    }
    GPU_UNROLL
    for (int c = 0; c < WIDTH; c++) v[c] = rows > 0 && c < cols ? gpu_to_float(x[c]) : 0.0f;
}

template <typename T>
GPU_KERNEL GPU_BOUNDS(FP8_THREADS) fp8_amax_rows(struct tt_fp8_amax_rows_args a, bool vectors)
{
    GPU_SHARED uint32_t of_rows[SIDE][THREADS_ACROSS + 1], of_cols[SIDE][THREADS_DOWN + 1];
    int t = gpu_thread(), across = t % THREADS_ACROSS, down = t / THREADS_ACROSS;
    int64_t squares = gpu_divide_up(a.cols, SIDE);
    int64_t row = gpu_block_x() / squares * SIDE, col = gpu_block_x() % squares * SIDE;
    int64_t r0 = row + down * TALL, c0 = col + across * WIDTH;
    const T *x = (const T *)a.x + r0 * a.ldx + c0;
    uint32_t columns[WIDTH] = {};
    GPU_UNROLL
    for (int r = 0; r < TALL; r++) {
        float v[WIDTH];
        uint32_t most = 0;
        load_line(v, x + r * a.ldx, a.rows - r0 - r, a.cols - c0, vectors);
        GPU_UNROLL
        for (int c = 0; c < WIDTH; c++) {
            most = gpu_most(most, v[c]);
            columns[c] = gpu_most(columns[c], v[c]);
        }
        of_rows[down * TALL + r][across] = most;
    }
    GPU_UNROLL
    for (int c = 0; c < WIDTH; c++) of_cols[across * WIDTH + c][down] = columns[c];
    gpu_block_sync();
    bool by_row = t < SIDE;
    int64_t i = by_row ? row + t : col + t - SIDE;
    const uint32_t *line = by_row ? of_rows[t] : of_cols[t - SIDE];
    static_assert(THREADS_ACROSS == THREADS_DOWN, "lines of both are as long");
    uint32_t most = 0;
    GPU_UNROLL
    for (int k = 0; k < THREADS_ACROSS; k++) most = gpu_op_most()(most, line[k]);
    if (i < (by_row ? a.rows : a.cols)) gpu_atomic_max((uint32_t *)a.amax + (by_row ? 0 : a.rows) + i, most);
}

gpu_error tt_gpu_fp8_amax_rows(const struct tt_fp8_amax_rows_args *a, gpu_stream s)
{
    gpu_grid grid = gpu_grid_of(gpu_divide_up(a->rows, SIDE) * gpu_divide_up(a->cols, SIDE));
    return GPU_DISPATCH(a->dtype, T,
                        GPU_LAUNCH(fp8_amax_rows<T>, grid, FP8_THREADS, 0, s, *a,
                                   a->cols % WIDTH == 0 && gpu_aligned_rows(a->x, a->ldx, sizeof(T))));
}

/* ---- codes ---- */

/* The inverse scales of the square's rows and columns. The first block of each row and column of squares writes the
 * scales that it has made. */
GPU_DEVICE void take_scales(const struct tt_fp8_cast_rows_args &a, int64_t row, int64_t col, float *inverse)
{
    int t = gpu_thread();
    bool by_row = t < SIDE;
    int64_t i = by_row ? row + t : col + t - SIDE, at = by_row ? i : a.rows + i;
    float scale = 1;
    if (i < (by_row ? a.rows : a.cols)) {
        scale = a.amax ? tt_fp8_scale(a.amax[at], a.to) : a.scale[at];
        if (a.amax && (by_row ? col : row) == 0) a.new_scale[at] = scale;
    }
    inverse[t] = tt_fp8_inverse(scale);
    gpu_block_sync();
}

template <typename T, enum tt_dtype TO>
GPU_DEVICE void cast_patch(const struct tt_fp8_cast_rows_args &a, const float *inverse, int64_t row, int64_t col,
                           place at, bool vectors, uint32_t *square)
{
    int64_t r0 = row + at.row, c0 = col + at.col, rows = a.rows - r0, cols = a.cols - c0;
    patch p;
    if (rows <= 0 || cols <= 0) return;
    load_patch(p, (const T *)a.x + r0 * a.ldx + c0, a.ldx, rows, cols, vectors);
    GPU_UNROLL
    for (int r = 0; r < PATCH; r++) {
        float by = inverse[at.row + r];
        uint32_t words[2] = {gpu_fp8_codes4<TO>(p.v[r], by), gpu_fp8_codes4<TO>(p.v[r] + 4, by)};
        if (a.out && r < rows) store_row(a.out + (r0 + r) * a.cols + c0, words, vectors, cols);
    }
    if (!a.transposed) return;
    GPU_UNROLL
    for (int c = 0; c < WIDTH; c++) {
        float column[PATCH];
        GPU_UNROLL
        for (int r = 0; r < PATCH; r++) column[r] = p.v[r][c];
        square[(at.col + c) * COLUMN_WORDS + at.row / 4] = gpu_fp8_codes4<TO>(column, inverse[SIDE + at.col + c]);
    }
}

/* `vectors`: rows and columns are multiples of CHUNK, and all is aligned. Four blocks per multiprocessor would have too
 * few registers. */
template <typename T, enum tt_dtype TO>
GPU_KERNEL GPU_BOUNDS_MIN(FP8_THREADS, 3) fp8_cast_rows(struct tt_fp8_cast_rows_args a, bool vectors)
{
    GPU_SHARED uint32_t square[SIDE * COLUMN_WORDS];
    GPU_SHARED float inverse[2 * SIDE];
    int64_t across = gpu_divide_up(a.cols, SIDE);
    int64_t row = gpu_block_x() / across * SIDE, col = gpu_block_x() % across * SIDE;
    take_scales(a, row, col, inverse);
    GPU_UNROLL
    for (int i = 0; i < PATCHES; i++)
        cast_patch<T, TO>(a, inverse, row, col, place_of(i * FP8_THREADS + gpu_thread()), vectors, square);
    if (a.transposed) store_square(a.transposed, a.rows, a.cols, square, row, col, vectors);
}

template <typename T> static gpu_error cast_to(const struct tt_fp8_cast_rows_args *a, gpu_stream s)
{
    gpu_grid grid = gpu_grid_of(gpu_divide_up(a->rows, SIDE) * gpu_divide_up(a->cols, SIDE));
    bool vectors = a->rows % CHUNK == 0 && a->cols % CHUNK == 0 && gpu_aligned_rows(a->x, a->ldx, sizeof(T)) &&
                   gpu_aligned(a->out) && gpu_aligned(a->transposed);
    if (a->to == TT_E4M3) return GPU_LAUNCH((fp8_cast_rows<T, TT_E4M3>), grid, FP8_THREADS, 0, s, *a, vectors);
    return GPU_LAUNCH((fp8_cast_rows<T, TT_E4M3_FNUZ>), grid, FP8_THREADS, 0, s, *a, vectors);
}

gpu_error tt_gpu_fp8_cast_rows(const struct tt_fp8_cast_rows_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, cast_to<T>(a, s));
}
