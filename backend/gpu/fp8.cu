/* The 8-bit factors of products: the largest magnitude of a tensor, and its codes, as they are and transposed; and
 * scales from a history of magnitudes. The cast can also rotate the gradients of q and k back (RoPE). */
#include "backend/gpu/fp8_tile.h"
#include "backend/gpu/launch.h"
#include "backend/gpu/rotate.h"

/* ---- largest magnitudes: a block per part ---- */

/* Raises `most` by this thread's share of n neighbouring elements; `aligned`: x is aligned to 16 bytes. */
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

/* ---- codes ---- */

/* Normalises the patch as RMSNorm does, rounded to T. */
template <typename T>
GPU_DEVICE void normalise(patch &p, const float *rstd, const T *weight, int64_t rows, int64_t cols)
{
    GPU_UNROLL
    for (int c = 0; c < WIDTH; c++) {
        float w = c < cols ? gpu_to_float(weight[c]) : 0.0f;
        GPU_UNROLL
        for (int r = 0; r < PATCH; r++)
            p.v[r][c] = gpu_to_float(gpu_from_float<T>(p.v[r][c] * (r < rows ? rstd[r] : 0.0f) * w));
    }
}

template <typename T> GPU_DEVICE void turn_pair(float *v, float c, float s)
{
    T two[2] = {gpu_from_float<T>(v[0]), gpu_from_float<T>(v[1])};
    rotate_pair(two, two, c, s, true);
    v[0] = gpu_to_float(two[0]), v[1] = gpu_to_float(two[1]);
}

/* Rotates the pairs of columns below turn.cols back, as RoPE does, rounded to T. */
template <typename T> GPU_DEVICE void turn_back(patch &p, const struct fp8_turn &turn, int64_t row, int64_t col)
{
    uint32_t at = (uint32_t)row % (uint32_t)turn.S, half = (uint32_t)turn.D / 2;
    uint32_t pair = (uint32_t)col % (uint32_t)turn.D / 2;
    GPU_UNROLL
    for (int r = 0; r < PATCH; r++) {
        const float *cos = turn.cos + (int64_t)at * half, *sin = turn.sin + (int64_t)at * half;
        if (turn.wide && col < turn.cols) { /* all columns of the patch are of one head */
            gpu_vec<float> c = gpu_vec_load(cos + pair), s = gpu_vec_load(sin + pair);
            GPU_UNROLL
            for (int i = 0; i < WIDTH / 2; i++) turn_pair<T>(p.v[r] + 2 * i, c.v[i], s.v[i]);
        }
        for (int i = 0; !turn.wide && i < WIDTH / 2 && col + 2 * i < turn.cols; i++) {
            uint32_t of_head = (pair + i) % half;
            turn_pair<T>(p.v[r] + 2 * i, cos[of_head], sin[of_head]);
        }
        at = at + 1 < (uint32_t)turn.S ? at + 1 : 0;
    }
}

template <typename T, enum tt_dtype TO, bool TURNS>
GPU_DEVICE void cast_patch(const struct tt_fp8_cast_args &a, const struct fp8_turn &turn, float inverse, int64_t row,
                           int64_t col, place at, bool vectors, uint32_t *square, uint32_t &most)
{
    int64_t r0 = row + at.row, c0 = col + at.col, rows = a.rows - r0, cols = a.cols - c0;
    uint32_t words[PATCH][2];
    patch p;
    if (rows <= 0 || cols <= 0) return;
    load_patch(p, (const T *)a.x + r0 * a.ldx + c0, a.ldx, rows, cols, vectors);
    if (TURNS)
        turn_back<T>(p, turn, r0, c0);
    else if (a.rstd)
        normalise(p, a.rstd + r0, (const T *)a.weight + c0, rows, cols);
    GPU_UNROLL
    for (int r = 0; r < PATCH; r++) {
        GPU_UNROLL
        for (int c = 0; c < WIDTH; c++) most = gpu_most(most, p.v[r][c]);
        GPU_UNROLL
        for (int w = 0; w < 2; w++) words[r][w] = gpu_fp8_codes4<TO>(p.v[r] + 4 * w, inverse);
        if (a.out && r < rows) store_row(a.out + (r0 + r) * a.cols + c0, words[r], vectors, cols);
    }
    if (a.transposed) store_columns(square, at, words);
}

GPU_DEVICE float scale_of(const struct tt_fp8_cast_args &a)
{
    if (!a.partial) return *a.scale;
    float scale = scale_of_parts(a.partial, a.parts, a.to);
    if (gpu_block_x() == 0 && gpu_thread() == 0) *a.new_scale = scale;
    return scale;
}

/* Blocks per multiprocessor. Where waves are wide, shared memory holds no more than three. With four, fp16, which no
 * model has beside 8-bit factors, has too few registers on sm_90a. */
template <typename T> constexpr int CAST_BLOCKS = GPU_WAVE > GPU_GROUP ? 3 : 4;
template <> constexpr int CAST_BLOCKS<gpu_half> = 3;

/* `vectors`: rows and columns are multiples of CHUNK, and all is aligned. */
template <typename T, enum tt_dtype TO, bool TURNS>
GPU_DEVICE void cast_block(const struct tt_fp8_cast_args &a, const struct fp8_turn &turn, bool vectors)
{
    GPU_SHARED uint32_t square[SIDE * COLUMN_WORDS];
    int64_t across = gpu_divide_up(a.cols, SIDE);
    int64_t row = gpu_block_x() / across * SIDE, col = gpu_block_x() % across * SIDE;
    float inverse = tt_fp8_inverse(scale_of(a));
    uint32_t most = 0; /* padding is 0 */
    GPU_UNROLL
    for (int i = 0; i < PATCHES; i++)
        cast_patch<T, TO, TURNS>(a, turn, inverse, row, col, place_of(i * FP8_THREADS + gpu_thread()), vectors,
                                 square, most);
    if (a.amax) gpu_block_amax<float, FP8_THREADS>(a.amax, most);
    if (a.transposed) store_square(a.transposed, a.rows, a.cols, square, row, col, vectors);
}

template <typename T, enum tt_dtype TO>
GPU_KERNEL GPU_BOUNDS_MIN(FP8_THREADS, CAST_BLOCKS<T>) fp8_cast(struct tt_fp8_cast_args a, bool vectors)
{
    cast_block<T, TO, false>(a, fp8_turn(), vectors);
}
template <typename T, enum tt_dtype TO>
GPU_KERNEL GPU_BOUNDS_MIN(FP8_THREADS, 3)
fp8_cast_turned(struct tt_fp8_cast_args a, struct fp8_turn turn, bool vectors)
{
    cast_block<T, TO, true>(a, turn, vectors);
}

static gpu_grid cast_grid(const struct tt_fp8_cast_args *a)
{
    return gpu_grid_of(gpu_divide_up(a->rows, SIDE) * gpu_divide_up(a->cols, SIDE));
}
template <typename T> static bool cast_by_vectors(const struct tt_fp8_cast_args *a)
{
    return a->rows % CHUNK == 0 && a->cols % CHUNK == 0 && gpu_aligned_rows(a->x, a->ldx, sizeof(T)) &&
           gpu_aligned(a->out) && gpu_aligned(a->transposed);
}

template <typename T> static gpu_error cast_to(const struct tt_fp8_cast_args *a, gpu_stream s)
{
    gpu_grid grid = cast_grid(a);
    bool vectors = cast_by_vectors<T>(a);
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

template <typename T>
static gpu_error cast_turned_to(const struct tt_fp8_cast_args *a, const struct fp8_turn *turn, gpu_stream s)
{
    gpu_grid grid = cast_grid(a);
    bool vectors = cast_by_vectors<T>(a);
    static_assert(WIDTH / 2 == gpu_vec<float>::n, "a vector of angles for a row of a patch");
    if (a->to == TT_E5M2)
        return GPU_LAUNCH((fp8_cast_turned<T, TT_E5M2>), grid, FP8_THREADS, 0, s, *a, *turn, vectors);
    return GPU_LAUNCH((fp8_cast_turned<T, TT_E5M2_FNUZ>), grid, FP8_THREADS, 0, s, *a, *turn, vectors);
}

gpu_error fp8_cast_turned_back(const struct tt_fp8_cast_args *a, const struct fp8_turn *turn, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, cast_turned_to<T>(a, turn, s));
}

/* ---- scales from a history: a thread per tensor ---- */

GPU_DEVICE uint32_t most_of_ranks(const struct tt_fp8_history_args &a, int64_t i)
{
    uint32_t most = 0;
    for (int64_t r = 0; r < a.ranks; r++) {
        most = gpu_most(most, a.amax[r * a.n + i]);
        a.amax[r * a.n + i] = 0;
    }
    return most < 0x7f800000 ? most : 0;
}

GPU_KERNEL GPU_BOUNDS(FP8_THREADS) fp8_history(struct tt_fp8_history_args a)
{
    int64_t i = gpu_block_x() * FP8_THREADS + gpu_thread(), row = (a.state->step - 1) % TT_FP8_HISTORY;
    if (i >= a.n || a.state->stopped) return;
    uint32_t most = most_of_ranks(a, i);
    a.history[row * a.n + i] = gpu_bits_float(most);
    for (int64_t s = 0; s < TT_FP8_HISTORY; s++) most = gpu_most(most, a.history[s * a.n + i]);
    enum tt_dtype to = i < a.numbers ? tt_fp8_e4m3(a.fnuz) : tt_fp8_e5m2(a.fnuz);
    float *scale = a.scale + i * TT_FP8_APART;
    *scale = tt_fp8_next_scale(gpu_bits_float(most), *scale, to);
}

gpu_error tt_gpu_fp8_history(const struct tt_fp8_history_args *a, gpu_stream s)
{
    return GPU_LAUNCH(fp8_history, gpu_grid_of(gpu_divide_up(a->n, FP8_THREADS)), FP8_THREADS, 0, s, *a);
}
