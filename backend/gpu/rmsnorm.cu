/* RMSNorm, optionally with the residual addition before it. A team of threads keeps its row in registers between the
 * sum of squares and the product, so that x and delta are read once and sum and y are written once; only what does not
 * fit is read again. The sum is normalised as stored, rounded to T, because the backward pass reads that. */
#include "backend/gpu/amax.h"
#include "backend/gpu/rows.h"

template <typename T> struct norm_row {
    const T *x, *delta, *weight; /* delta or NULL */
    T *sum, *y;                  /* sum with delta; y or NULL */

    /* Loads a chunk of x, or computes x + delta and stores it. All loads come before the first store, since the
     * compiler must assume that they alias. */
    template <int LANES, int KEEP>
    GPU_MEMBER void first_chunk(row_chunk<T, LANES, KEEP> &chunk, const row_span &s, int c) const
    {
        chunk.load(x, s, c);
        if (!delta) return;
        row_chunk<T, LANES, KEEP> add;
        add.load(delta, s, c);
        GPU_UNROLL
        for (int k = 0; k < KEEP; k++) {
            if (chunk.vector(c, k) >= s.vectors) continue;
            gpu_vec<T> v = gpu_vec_from<T>(chunk.b[k]), d = gpu_vec_from<T>(add.b[k]);
            GPU_UNROLL
            for (int i = 0; i < gpu_vec<T>::n; i++) v.v[i] += d.v[i];
            chunk.b[k] = gpu_vec_bytes(v);
            gpu_store16(sum + chunk.column(s, c, k), chunk.b[k]);
        }
    }
    GPU_MEMBER float first_element(int c) const
    {
        if (!delta) return gpu_to_float(x[c]);
        sum[c] = gpu_from_float<T>(gpu_to_float(x[c]) + gpu_to_float(delta[c]));
        return gpu_to_float(sum[c]);
    }
    /* Returns the larger one of `most` and the magnitudes written. */
    GPU_MEMBER uint32_t write_vector(int c, gpu_bytes16 b, float rstd, bool weight_aligned, uint32_t most) const
    {
        gpu_vec<T> v = gpu_vec_from<T>(b), w;
        if (weight_aligned) {
            w = gpu_vec_load(weight + c);
        } else {
            GPU_UNROLL
            for (int i = 0; i < gpu_vec<T>::n; i++) w.v[i] = gpu_to_float(weight[c + i]);
        }
        GPU_UNROLL
        for (int i = 0; i < gpu_vec<T>::n; i++) v.v[i] = v.v[i] * rstd * w.v[i];
        if (y) gpu_vec_store(y + c, v);
        return gpu_most(most, v);
    }
};

template <typename T, int LANES, int KEEP>
GPU_KERNEL GPU_BOUNDS(row_team<LANES>::threads) rmsnorm(struct tt_rmsnorm_args a, bool together)
{
    typedef row_team<LANES> team;
    int64_t r = team::row(), start = r * a.cols;
    if (r >= a.rows) return;
    norm_row<T> row = {(const T *)a.x + start, a.delta ? (const T *)a.delta + start : NULL, (const T *)a.weight,
                       a.delta ? (T *)a.sum + start : NULL, a.y ? (T *)a.y + start : NULL};
    row_span span = row_span_of(row.x, (int)a.cols, together);
    int lane = team::lane();

    row_chunk<T, LANES, KEEP> chunk;
    float sum = 0;
    GPU_UNROLL_BY(1)
    for (int e = lane; e < span.edges; e += LANES) {
        float x = row.first_element(row_edge<T>(span, e));
        sum += x * x;
    }
    GPU_UNROLL_BY(1)
    for (int c = chunk.count(span) - 1; c >= 0; c--) {
        row.first_chunk(chunk, span, c);
        chunk.each(span, c, [&](const gpu_vec<T> &x) {
            GPU_UNROLL
            for (int i = 0; i < gpu_vec<T>::n; i++) sum += x.v[i] * x.v[i];
        });
    }
    sum = team::sum(sum);
    float rstd = gpu_rsqrt(gpu_divide_fast(sum, (float)a.cols) + a.eps);

    if (!a.y && !a.amax) {
        if (lane == 0) a.rstd[r] = rstd;
        return;
    }
    bool weight_aligned = span.head == 0 && (uintptr_t)a.weight % 16 == 0;
    const T *again = a.delta ? row.sum : row.x;
    uint32_t most = 0;
    GPU_UNROLL_BY(1)
    for (int c = 0; c < chunk.count(span); c++) {
        if (c > 0) chunk.load(again, span, c);
        GPU_UNROLL
        for (int k = 0; k < KEEP; k++)
            if (chunk.vector(c, k) < span.vectors)
                most = row.write_vector(chunk.column(span, c, k), chunk.b[k], rstd, weight_aligned, most);
    }
    GPU_UNROLL_BY(1)
    for (int e = lane; e < span.edges; e += LANES) {
        int at = row_edge<T>(span, e);
        float y = gpu_to_float(again[at]) * rstd * gpu_to_float(row.weight[at]);
        if (row.y) row.y[at] = gpu_from_float<T>(y);
        most = gpu_most(most, y);
    }
    if (a.amax) {
        most = team::reduce(most, gpu_op_most());
        if (lane == 0) gpu_raise_amax<T>(a.amax, most);
    }
    if (lane == 0) a.rstd[r] = rstd;
}

/* For rows of up to 256 vectors, one vector per thread: the registers for four would halve the number of resident
 * blocks. */
template <typename T> static gpu_error launch(const struct tt_rmsnorm_args *a, bool together, gpu_stream s)
{
    int64_t vectors = gpu_divide_up(a->cols, gpu_vec<T>::n);
    if (vectors > 4 * GPU_GROUP && vectors <= 256) return ROWS_LAUNCH_AS(rmsnorm, T, 256, 1, a->rows, s, *a, together);
    return ROWS_LAUNCH(rmsnorm, T, a->rows, a->cols, s, *a, together);
}

gpu_error tt_gpu_rmsnorm(const struct tt_rmsnorm_args *a, gpu_stream s)
{
    uintptr_t off = (uintptr_t)a->x % 16;
    bool together = !a->y || (uintptr_t)a->y % 16 == off;
    if (a->delta) together = together && (uintptr_t)a->delta % 16 == off && (uintptr_t)a->sum % 16 == off;
    return GPU_DISPATCH(a->dtype, T, launch<T>(a, together, s));
}
