/* Sums of rows and of columns, in a fixed order. */
#include "backend/gpu/rows.h"

/* ---- a team of threads per row ---- */

template <typename T, int LANES, int KEEP>
GPU_KERNEL GPU_BOUNDS(row_team<LANES>::threads) row_sum(struct tt_row_sum_args a)
{
    typedef row_team<LANES> team;
    int64_t r = team::row();
    if (r >= a.rows) return;
    const T *x = (const T *)a.x + r * a.cols;
    row_span span = row_span_of(x, (int)a.cols, true);
    float sum = 0;
    row_each<LANES, KEEP>(x, span, [&](float v) { sum += v; });
    sum = team::sum(sum);
    if (team::lane() == 0) a.out[r] = a.factor * sum;
}

gpu_error tt_gpu_row_sum(const struct tt_row_sum_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, ROWS_LAUNCH(row_sum, T, a->rows, a->cols, s, *a));
}

/* ---- a block per SECTOR of columns; its threads are distributed over the rows ---- */

enum { COLUMN_THREADS = 512, SECTOR = 2 * 16 /* bytes: the smallest unit of a memory access */ };

template <typename T, bool VECTORS> struct column_block {
    static constexpr int n = VECTORS ? gpu_vec<T>::n : 1;   /* columns of a thread */
    static constexpr int columns = SECTOR / (int)sizeof(T); /* of a block */
    static constexpr int across = columns / n;              /* threads per row */
    static constexpr int rows = COLUMN_THREADS / across;    /* rows at a time */
};

template <typename T, bool VECTORS>
GPU_KERNEL GPU_BOUNDS_MIN(COLUMN_THREADS, 2)
    column_sum(const T *x, float *out, int64_t rows, int64_t cols, bool accumulate)
{
    typedef column_block<T, VECTORS> block;
    GPU_SHARED float sums[COLUMN_THREADS / GPU_WAVE][block::columns];
    int first = gpu_thread() % block::across * block::n;
    int64_t c = gpu_block_x() * block::columns + first;
    float sum[block::n];
    GPU_UNROLL
    for (int i = 0; i < block::n; i++) sum[i] = 0;
    if (c < cols) {
        GPU_UNROLL_BY(8)
        for (int64_t r = gpu_thread() / block::across; r < rows; r += block::rows) {
            if constexpr (VECTORS) {
                gpu_vec<T> v = gpu_vec_load(x + r * cols + c);
                GPU_UNROLL
                for (int i = 0; i < block::n; i++) sum[i] += v.v[i];
            } else {
                sum[0] += gpu_to_float(x[r * cols + c]);
            }
        }
    }
    GPU_UNROLL
    for (int i = 0; i < block::n; i++) {
        GPU_UNROLL
        for (int mask = block::across; mask < GPU_WAVE; mask *= 2) sum[i] += gpu_shfl_xor(sum[i], mask);
        if (gpu_lane() < block::across) sums[gpu_wave()][first + i] = sum[i];
    }
    gpu_block_sync();
    c = gpu_block_x() * block::columns + gpu_thread();
    if (gpu_thread() >= block::columns || c >= cols) return;
    double total = accumulate ? out[c] : 0.0;
    for (int w = 0; w < COLUMN_THREADS / GPU_WAVE; w++) total += sums[w][gpu_thread()];
    out[c] = (float)total;
}

template <typename T>
static gpu_error columns(const void *x, float *out, int64_t rows, int64_t cols, bool accumulate, gpu_stream s)
{
    gpu_grid grid = gpu_grid_of(gpu_divide_up(cols, SECTOR / (int64_t)sizeof(T)));
    if (gpu_aligned_rows(x, cols, sizeof(T)))
        return GPU_LAUNCH(column_sum<T, true>, grid, COLUMN_THREADS, 0, s, (const T *)x, out, rows, cols, accumulate);
    return GPU_LAUNCH(column_sum<T, false>, grid, COLUMN_THREADS, 0, s, (const T *)x, out, rows, cols, accumulate);
}

gpu_error tt_gpu_col_sum(const struct tt_col_sum_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, columns<T>(a->x, a->out, a->rows, a->cols, a->accumulate, s));
}

gpu_error tt_gpu_reduce_parts(const struct tt_reduce_parts_args *a, gpu_stream s)
{
    return columns<float>(a->partial, a->out, a->parts, a->cols, a->accumulate, s);
}
