/* Softmax of rows, plain and causal, with S×S in memory. A team of threads keeps its row in registers between finding
 * the maximum and writing, so that each element is read once and written once. */
#include "backend/gpu/map.h"
#include "backend/gpu/rows.h"

/* ---- forward ---- */

/* x = softmax(scale·x) of n elements; minus x instead of x when the scale is negative. */
template <typename T, int LANES, int KEEP> GPU_DEVICE void softmax_row(T *x, int n, float scale)
{
    row_span span = row_span_of(x, n, true);
    row_kept<T, LANES, KEEP> kept;
    kept.load(x, span);
    row_softmax stats = row_exp_sum(x, span, kept, scale);
    row_team<LANES>::sync(); /* nobody reads an edge that somebody already wrote */
    float part = gpu_divide(1.0f, stats.sum), top = stats.top;
    row_replace(x, span, kept, [=](float v) { return row_exp<T>(scale * (v - top)) * part; });
}

template <typename T, int LANES, int KEEP>
GPU_KERNEL GPU_BOUNDS(row_team<LANES>::threads) softmax(struct tt_softmax_args a)
{
    int64_t r = row_team<LANES>::row();
    if (r < a.rows) softmax_row<T, LANES, KEEP>((T *)a.x + r * a.cols, (int)a.cols, 1.0f);
}

gpu_error tt_gpu_softmax(const struct tt_softmax_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, ROWS_LAUNCH(softmax, T, a->rows, a->cols, s, *a));
}

/* x[0..n) = 0 */
template <typename T, int LANES> GPU_DEVICE void zero_row(T *x, int n)
{
    row_span span = row_span_of(x, n, true);
    for (int v = row_team<LANES>::lane(); v < span.vectors; v += LANES)
        gpu_store16(x + span.head + v * gpu_vec<T>::n, gpu_bytes16{{0, 0, 0, 0}});
    for (int e = row_team<LANES>::lane(); e < span.edges; e += LANES) x[row_edge<T>(span, e)] = gpu_from_float<T>(0.0f);
}

template <typename T, int LANES, int KEEP>
GPU_KERNEL GPU_BOUNDS(row_team<LANES>::threads) causal_softmax(struct tt_causal_softmax_args a)
{
    int64_t r = row_team<LANES>::row();
    if (r >= a.count * a.S) return;
    T *x = (T *)a.x + r * a.S;
    int n = (int)(r % a.S) + 1;
    softmax_row<T, LANES, KEEP>(x, n, a.scale);
    zero_row<T, LANES>(x + n, (int)a.S - n);
}
