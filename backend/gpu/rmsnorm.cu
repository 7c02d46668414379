/* RMSNorm with the residual addition before it. A team of threads keeps its row in registers between the sum of squares
 * and the product, so that x and delta are read once and sum and y written once; only what does not fit is read again.
 * The sum is normalised as it was stored, because that is what the backward will read. */
#include "backend/gpu/rows.h"

template <typename T> struct norm_row {
    const T *x, *delta, *weight; /* delta or NULL */
    T *sum, *y;                  /* sum with delta */
    row_span span;

    /* The vector or element at c of x, or of x + delta, which is then stored. */
    GPU_MEMBER gpu_bytes16 first_vector(int c) const
    {
        gpu_bytes16 b = gpu_load16(x + c);
        if (!delta) return b;
        gpu_vec<T> v = gpu_vec_from<T>(b), d = gpu_vec_load(delta + c);
        GPU_UNROLL
        for (int i = 0; i < gpu_vec<T>::n; i++) v.v[i] += d.v[i];
        b = gpu_vec_bytes(v);
        gpu_store16(sum + c, b);
        return b;
    }
    GPU_MEMBER float first_element(int c) const
    {
        if (!delta) return gpu_to_float(x[c]);
        sum[c] = gpu_from_float<T>(gpu_to_float(x[c]) + gpu_to_float(delta[c]));
        return gpu_to_float(sum[c]);
    }
    GPU_MEMBER void write_vector(int c, gpu_bytes16 b, float rstd, bool weight_aligned) const
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
        gpu_vec_store(y + c, v);
    }
};

template <typename T> GPU_DEVICE float squares(gpu_bytes16 b)
{
    gpu_vec<T> v = gpu_vec_from<T>(b);
    float sum = 0;
    GPU_UNROLL
    for (int i = 0; i < gpu_vec<T>::n; i++) sum += v.v[i] * v.v[i];
    return sum;
}

template <typename T, int LANES, int KEEP>
GPU_KERNEL GPU_BOUNDS(row_team<LANES>::threads) rmsnorm(struct tt_rmsnorm_args a, bool together)
{
    typedef row_team<LANES> team;
    constexpr int N = gpu_vec<T>::n;
    int64_t r = team::row(), at = r * a.cols;
    if (r >= a.rows) return;
    norm_row<T> row = {(const T *)a.x + at, a.delta ? (const T *)a.delta + at : NULL, (const T *)a.weight,
                       a.delta ? (T *)a.sum + at : NULL, (T *)a.y + at};
    row.span = row_span_of(row.x, (int)a.cols, together);
    int lane = team::lane(), head = row.span.head, vectors = row.span.vectors, edges = row.span.edges;

    gpu_bytes16 kept[KEEP];
    float sum = 0;
    GPU_UNROLL
    for (int k = 0; k < KEEP; k++) {
        int v = k * LANES + lane;
        if (v < vectors) kept[k] = row.first_vector(head + v * N);
    }
    GPU_UNROLL
    for (int k = 0; k < KEEP; k++)
        if (k * LANES + lane < vectors) sum += squares<T>(kept[k]);
    for (int v = KEEP * LANES + lane; v < vectors; v += LANES) sum += squares<T>(row.first_vector(head + v * N));
    for (int e = lane; e < edges; e += LANES) {
        float x = row.first_element(row_edge<T>(row.span, e));
        sum += x * x;
    }
    sum = team::sum(sum);
    float rstd = gpu_rsqrt(gpu_divide_fast(sum, (float)a.cols) + a.eps);

    bool weight_aligned = head == 0 && (uintptr_t)a.weight % 16 == 0;
    const T *again = a.delta ? row.sum : row.x;
    GPU_UNROLL
    for (int k = 0; k < KEEP; k++) {
        int v = k * LANES + lane;
        if (v < vectors) row.write_vector(head + v * N, kept[k], rstd, weight_aligned);
    }
    for (int v = KEEP * LANES + lane; v < vectors; v += LANES)
        row.write_vector(head + v * N, gpu_load16(again + head + v * N), rstd, weight_aligned);
    for (int e = lane; e < edges; e += LANES) {
        int c = row_edge<T>(row.span, e);
        row.y[c] = gpu_from_float<T>(gpu_to_float(again[c]) * rstd * gpu_to_float(row.weight[c]));
    }
    if (lane == 0) a.rstd[r] = rstd;
}

gpu_error tt_gpu_rmsnorm(const struct tt_rmsnorm_args *a, gpu_stream s)
{
    uintptr_t off = (uintptr_t)a->x % 16;
    bool together = (uintptr_t)a->y % 16 == off;
    if (a->delta) together = together && (uintptr_t)a->delta % 16 == off && (uintptr_t)a->sum % 16 == off;
    return GPU_DISPATCH(a->dtype, T, ROWS_LAUNCH(rmsnorm, T, a->rows, a->cols, s, *a, together));
}
