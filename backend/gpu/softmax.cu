/* Softmax of rows, plain and causal, with S×S in memory. A team of threads keeps its row in registers between the
 * reduction and the write, so that each element is read once and written once; what does not fit is read again. */
#include "backend/gpu/map.h"
#include "backend/gpu/rows.h"

/* ---- forward ---- */

/* x = softmax(scale·x) of n elements. */
template <typename T, int LANES, int KEEP> GPU_DEVICE void softmax_row(T *x, int n, float scale)
{
    row_span span = row_span_of(x, n, true);
    row_chunk<T, LANES, KEEP> chunk;
    float factor = row_factor<T>(scale);
    row_softmax stats = row_exp_sum(x, span, chunk, factor);
    float part = gpu_divide_fast(1.0f, stats.sum), top = stats.top;
    row_replace(x, span, chunk, [=](float v) { return row_exp<T>(factor, v, top) * part; });
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

/* The first key that row r of (count, S, S) sees. */
GPU_DEVICE int first_seen(const int32_t *starts, int64_t r, int64_t S, int64_t heads)
{
    return starts ? starts[r / S / heads * S + r % S] : 0;
}

template <typename T, int LANES, int KEEP>
GPU_KERNEL GPU_BOUNDS(row_team<LANES>::threads) causal_softmax(struct tt_causal_softmax_args a)
{
    int64_t r = row_team<LANES>::row();
    if (r >= a.count * a.S) return;
    T *x = (T *)a.x + r * a.S;
    int n = (int)(r % a.S) + 1, first = first_seen(a.starts, r, a.S, a.heads);
    if (first) zero_row<T, LANES>(x, first);
    softmax_row<T, LANES, KEEP>(x + first, n - first, a.scale);
    zero_row<T, LANES>(x + n, (int)a.S - n);
}

gpu_error tt_gpu_causal_softmax(const struct tt_causal_softmax_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, ROWS_LAUNCH(causal_softmax, T, a->count * a->S, a->S, s, *a));
}

/* ---- backward ---- */

/* dx = scale·y·(dy - sum(dy·y)) of n elements. */
template <typename T, int LANES, int KEEP>
GPU_DEVICE void softmax_backward_row(T *dx, const T *y, const T *dy, int n, float scale, bool together)
{
    typedef row_team<LANES> team;
    constexpr int N = gpu_vec<T>::n;
    row_span span = row_span_of(dx, n, together);
    row_chunk<T, LANES, KEEP> ys, dys;
    float dot = 0;
    GPU_UNROLL_BY(1)
    for (int e = team::lane(); e < span.edges; e += LANES) {
        int at = row_edge<T>(span, e);
        dot += gpu_to_float(y[at]) * gpu_to_float(dy[at]);
    }
    GPU_UNROLL_BY(1)
    for (int c = ys.count(span) - 1; c >= 0; c--) {
        ys.load(y, span, c);
        dys.load(dy, span, c);
        GPU_UNROLL
        for (int k = 0; k < KEEP; k++) {
            if (ys.vector(c, k) >= span.vectors) continue;
            gpu_vec<T> p = gpu_vec_from<T>(ys.b[k]), d = gpu_vec_from<T>(dys.b[k]);
            GPU_UNROLL
            for (int i = 0; i < N; i++) dot += p.v[i] * d.v[i];
        }
    }
    dot = team::sum(dot);
    GPU_UNROLL_BY(1)
    for (int c = 0; c < ys.count(span); c++) {
        if (c > 0) {
            ys.load(y, span, c);
            dys.load(dy, span, c);
        }
        GPU_UNROLL
        for (int k = 0; k < KEEP; k++) {
            if (ys.vector(c, k) >= span.vectors) continue;
            gpu_vec<T> p = gpu_vec_from<T>(ys.b[k]), d = gpu_vec_from<T>(dys.b[k]);
            GPU_UNROLL
            for (int i = 0; i < N; i++) d.v[i] = scale * p.v[i] * (d.v[i] - dot);
            gpu_vec_store(dx + ys.column(span, c, k), d);
        }
    }
    GPU_UNROLL_BY(1)
    for (int e = team::lane(); e < span.edges; e += LANES) {
        int at = row_edge<T>(span, e);
        dx[at] = gpu_from_float<T>(scale * gpu_to_float(y[at]) * (gpu_to_float(dy[at]) - dot));
    }
}

template <typename T, int LANES, int KEEP>
GPU_KERNEL GPU_BOUNDS(row_team<LANES>::threads) softmax_backward(struct tt_softmax_backward_args a, bool together)
{
    int64_t r = row_team<LANES>::row(), at = r * a.cols;
    if (r >= a.rows) return;
    softmax_backward_row<T, LANES, KEEP>((T *)a.dx + at, (const T *)a.y + at, (const T *)a.dy + at, (int)a.cols, 1.0f,
                                         together);
}

gpu_error tt_gpu_softmax_backward(const struct tt_softmax_backward_args *a, gpu_stream s)
{
    bool together = map_together(a->dx, a->y) && map_together(a->dx, a->dy);
    return GPU_DISPATCH(a->dtype, T, ROWS_LAUNCH(softmax_backward, T, a->rows, a->cols, s, *a, together));
}

template <typename T, int LANES, int KEEP>
GPU_KERNEL GPU_BOUNDS(row_team<LANES>::threads)
    causal_softmax_backward(struct tt_causal_softmax_backward_args a, bool together)
{
    int64_t r = row_team<LANES>::row(), at = r * a.S;
    if (r >= a.count * a.S) return;
    int n = (int)(r % a.S) + 1, first = first_seen(a.starts, r, a.S, a.heads);
    if (n - first == 1) n = first; /* the gradient of a single score is exactly 0 */
    T *dx = (T *)a.dx + at;
    if (first) zero_row<T, LANES>(dx, first);
    at += first;
    softmax_backward_row<T, LANES, KEEP>(dx + first, (const T *)a.y + at, (const T *)a.dy + at, n - first, a.scale,
                                         together);
    zero_row<T, LANES>(dx + n, (int)a.S - n);
}

gpu_error tt_gpu_causal_softmax_backward(const struct tt_causal_softmax_backward_args *a, gpu_stream s)
{
    bool together = map_together(a->dx, a->y) && map_together(a->dx, a->dy);
    return GPU_DISPATCH(a->dtype, T, ROWS_LAUNCH(causal_softmax_backward, T, a->count * a->S, a->S, s, *a, together));
}

/* ---- the mask alone: only elements that are not seen are written ---- */

template <typename T> struct causal_mask_op {
    typedef T type;
    typedef map_nothing context, in;
    static constexpr int unroll = 4;
    T *x;
    const int32_t *starts;
    int64_t S, heads;

    GPU_MEMBER context begin(bool &) const { return context(); }
    GPU_MEMBER in load(int64_t, int64_t) const { return in(); }
    GPU_MEMBER void store(int64_t r, int64_t c, in, context) const
    {
        int64_t i = r % S, first = first_seen(starts, r, S, heads), last = c + gpu_vec<T>::n - 1;
        if (first <= c && last <= i) return;
        if (c > i || last < first) {
            gpu_vec<T> v;
            GPU_UNROLL
            for (int k = 0; k < gpu_vec<T>::n; k++) v.v[k] = -GPU_INFINITY;
            gpu_vec_store(x + r * S + c, v);
        } else {
            for (int64_t j = c; j <= last; j++)
                if (j > i || j < first) x[r * S + j] = gpu_from_float<T>(-GPU_INFINITY);
        }
    }
    GPU_MEMBER void one(int64_t r, int64_t c, context) const
    {
        if (c > r % S || c < first_seen(starts, r, S, heads)) x[r * S + c] = gpu_from_float<T>(-GPU_INFINITY);
    }
};

gpu_error tt_gpu_causal_mask(const struct tt_causal_mask_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T,
                        map_launch(causal_mask_op<T>{(T *)a->x, a->starts, a->S, a->heads}, a->count * a->S, a->S,
                                   gpu_aligned(a->x), s));
}
