/* Conversion between the layouts (T, heads·D) and (B, heads, S, D), optionally with RoPE, and repetition of key/value
 * heads for the query heads that share them. A head is D contiguous elements in both layouts. */
#include "backend/gpu/map.h"
#include "backend/gpu/rotate.h"

/* The index of column c of row t in (B, heads, S, D). */
struct head_layout {
    int64_t S, heads, D;
    GPU_MEMBER int64_t at(int64_t t, int64_t c) const
    {
        uint32_t b = (uint32_t)t / (uint32_t)S, i = (uint32_t)t - b * (uint32_t)S;
        uint32_t h = (uint32_t)c / (uint32_t)D, d = (uint32_t)c - h * (uint32_t)D;
        return ((b * heads + h) * S + i) * D + d;
    }
};

/* ---- copies ---- */

template <typename T, bool SPLIT> struct heads_op {
    typedef T type;
    typedef map_nothing context;
    typedef gpu_bytes16 in;
    static constexpr int unroll = 4;
    const T *x;
    T *out;
    int64_t ld; /* of the layout (T, heads·D) */
    head_layout layout;

    GPU_MEMBER int64_t from(int64_t t, int64_t c) const { return SPLIT ? t * ld + c : layout.at(t, c); }
    GPU_MEMBER int64_t to(int64_t t, int64_t c) const { return SPLIT ? layout.at(t, c) : t * ld + c; }
    GPU_MEMBER context begin(bool &) const { return context(); }
    GPU_MEMBER in load(int64_t t, int64_t c) const { return gpu_load16(x + from(t, c)); }
    GPU_MEMBER void store(int64_t t, int64_t c, const in &b, context) const { gpu_store16(out + to(t, c), b); }
    GPU_MEMBER void one(int64_t t, int64_t c, context) const { out[to(t, c)] = x[from(t, c)]; }
};

template <typename T, bool SPLIT, typename Args> static gpu_error heads(const Args *a, int64_t ld, gpu_stream s)
{
    heads_op<T, SPLIT> op = {(const T *)a->x, (T *)a->out, ld, {a->S, a->heads, a->D}};
    bool aligned = a->D % gpu_vec<T>::n == 0 && gpu_aligned(a->x) && gpu_aligned(a->out) && ld % gpu_vec<T>::n == 0;
    return map_launch(op, a->B * a->S, a->heads * a->D, aligned, s);
}

gpu_error tt_gpu_heads_split(const struct tt_heads_split_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, heads<T, true>(a, a->ldx, s));
}
gpu_error tt_gpu_heads_merge(const struct tt_heads_merge_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, heads<T, false>(a, a->ldo, s));
}

/* ---- with RoPE: columns of q, then k, then v; q and k are rotated ---- */

template <typename T, bool SPLIT> struct rope_heads_op {
    typedef T type;
    typedef map_nothing context;
    typedef gpu_bytes16 in;
    static constexpr int unroll = 4;
    T *packed, *q, *k, *v; /* packed: (T, (heads + 2·kv_heads)·D); the side that is read is const */
    const float *cos, *sin;
    int64_t S, heads, kv_heads, D;

    GPU_MEMBER T *apart(int64_t t, int64_t c) const
    {
        int64_t width = heads * D, kv_width = kv_heads * D;
        if (c < width) return q + head_layout{S, heads, D}.at(t, c);
        if (c < width + kv_width) return k + head_layout{S, kv_heads, D}.at(t, c - width);
        return v + head_layout{S, kv_heads, D}.at(t, c - width - kv_width);
    }
    GPU_MEMBER T *together(int64_t t, int64_t c) const { return packed + t * (heads + 2 * kv_heads) * D + c; }
    GPU_MEMBER bool turns(int64_t c) const { return c < (heads + kv_heads) * D; }
    GPU_MEMBER int64_t angle(int64_t t, int64_t c) const
    {
        return (uint32_t)t % (uint32_t)S * (D / 2) + (uint32_t)c % (uint32_t)D / 2;
    }
    GPU_MEMBER context begin(bool &) const { return context(); }
    GPU_MEMBER in load(int64_t t, int64_t c) const { return gpu_load16(SPLIT ? together(t, c) : apart(t, c)); }
    GPU_MEMBER void store(int64_t t, int64_t c, in b, context) const
    {
        if (turns(c)) {
            gpu_vec<T> x = gpu_vec_from<T>(b);
            int64_t at = angle(t, c);
            rotate_vector(x, cos + at, sin + at, !SPLIT);
            b = gpu_vec_bytes(x);
        }
        gpu_store16(SPLIT ? apart(t, c) : together(t, c), b);
    }
    GPU_MEMBER void one(int64_t t, int64_t pair, context) const
    {
        int64_t c = 2 * pair;
        const T *from = SPLIT ? together(t, c) : apart(t, c);
        T *to = SPLIT ? apart(t, c) : together(t, c);
        if (turns(c)) {
            int64_t at = angle(t, c);
            rotate_pair(to, from, cos[at], sin[at], !SPLIT);
        } else {
            to[0] = from[0];
            to[1] = from[1];
        }
    }
};

template <typename T, bool SPLIT>
static gpu_error rope_heads(const rope_heads_op<T, SPLIT> &op, int64_t B, gpu_stream s)
{
    bool vectors = op.D % gpu_vec<T>::n == 0 && gpu_aligned(op.packed) && gpu_aligned(op.q) && gpu_aligned(op.k) &&
                   gpu_aligned(op.v) && gpu_aligned(op.cos) && gpu_aligned(op.sin);
    int64_t cols = (op.heads + 2 * op.kv_heads) * op.D;
    if (vectors) return map_launch(op, B * op.S, cols, true, s);
    return map_launch_singles(op, B * op.S, cols / 2, s);
}

gpu_error tt_gpu_rope_split(const struct tt_rope_split_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T,
                        rope_heads(rope_heads_op<T, true>{(T *)a->qkv, (T *)a->q, (T *)a->k, (T *)a->v, a->cos, a->sin,
                                                          a->S, a->heads, a->kv_heads, a->D},
                                   a->B, s));
}
gpu_error tt_gpu_rope_merge(const struct tt_rope_merge_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T,
                        rope_heads(rope_heads_op<T, false>{(T *)a->dqkv, (T *)a->dq, (T *)a->dk, (T *)a->dv, a->cos,
                                                           a->sin, a->S, a->heads, a->kv_heads, a->D},
                                   a->B, s));
}

/* ---- repeated heads: a row is one of the B·KV heads of n elements; it is read once and written G times, or the
 * reverse ---- */

template <typename T> struct repeat_op {
    typedef T type;
    typedef map_nothing context;
    typedef gpu_bytes16 in;
    static constexpr int unroll = 2;
    const T *x;
    T *out;
    int64_t n;
    int G;

    GPU_MEMBER context begin(bool &) const { return context(); }
    GPU_MEMBER in load(int64_t h, int64_t c) const { return gpu_load16(x + h * n + c); }
    GPU_MEMBER void store(int64_t h, int64_t c, const in &b, context) const
    {
        for (int g = 0; g < G; g++) gpu_store16(out + (h * G + g) * n + c, b);
    }
    GPU_MEMBER void one(int64_t h, int64_t c, context) const
    {
        for (int g = 0; g < G; g++) out[(h * G + g) * n + c] = x[h * n + c];
    }
};

gpu_error tt_gpu_repeat_kv(const struct tt_repeat_kv_args *a, gpu_stream s)
{
    int G = (int)(a->heads / a->kv_heads);
    bool aligned = gpu_aligned(a->x) && gpu_aligned(a->out);
    return GPU_DISPATCH(
        a->dtype, T,
        map_launch(repeat_op<T>{(const T *)a->x, (T *)a->out, a->n, G}, a->B * a->kv_heads, a->n, aligned, s));
}

template <typename T> struct repeat_backward_op {
    typedef T type;
    typedef map_nothing context;
    typedef gpu_bytes16 in; /* the first of the G; the others follow */
    static constexpr int unroll = 2;
    const T *dy;
    T *dx;
    int64_t n;
    int G;

    GPU_MEMBER context begin(bool &) const { return context(); }
    GPU_MEMBER in load(int64_t h, int64_t c) const { return gpu_load16(dy + h * G * n + c); }
    GPU_MEMBER void store(int64_t h, int64_t c, const in &b, context) const
    {
        gpu_vec<T> sum = gpu_vec_from<T>(b);
        GPU_UNROLL_BY(4)
        for (int g = 1; g < G; g++) {
            gpu_vec<T> v = gpu_vec_load(dy + (h * G + g) * n + c);
            GPU_UNROLL
            for (int i = 0; i < gpu_vec<T>::n; i++) sum.v[i] += v.v[i];
        }
        gpu_vec_store(dx + h * n + c, sum);
    }
    GPU_MEMBER void one(int64_t h, int64_t c, context) const
    {
        float sum = gpu_to_float(dy[h * G * n + c]);
        for (int g = 1; g < G; g++) sum += gpu_to_float(dy[(h * G + g) * n + c]);
        dx[h * n + c] = gpu_from_float<T>(sum);
    }
};

gpu_error tt_gpu_repeat_kv_backward(const struct tt_repeat_kv_backward_args *a, gpu_stream s)
{
    int G = (int)(a->heads / a->kv_heads);
    bool aligned = gpu_aligned(a->dy) && gpu_aligned(a->dx);
    return GPU_DISPATCH(
        a->dtype, T,
        map_launch(repeat_backward_op<T>{(const T *)a->dy, (T *)a->dx, a->n, G}, a->B * a->kv_heads, a->n, aligned, s));
}
