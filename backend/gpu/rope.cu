/* RoPE on interleaved pairs: every element is read once and written once, with its angle's cosine and sine from the
 * cache. A 16-byte vector is whole pairs of one head; where rows allow no vectors a thread takes a pair. */
#include "backend/gpu/map.h"
#include "backend/gpu/turn.h"

/* q and k in place: columns of q, then of k. */
template <typename T> struct rope_op {
    typedef T type;
    typedef int64_t context; /* the first position */
    typedef gpu_bytes16 in;
    static constexpr int unroll = 4;
    struct tt_rope_args a;

    GPU_MEMBER T *place(int64_t t, int64_t c) const
    {
        int64_t width = a.heads * a.D;
        return c < width ? (T *)a.q + t * a.ld + c : (T *)a.k + t * a.ld + (c - width);
    }
    GPU_MEMBER int64_t angle(int64_t t, int64_t c, int64_t first) const
    {
        return ((uint32_t)t % (uint32_t)a.S + first) * (a.D / 2) + (uint32_t)c % (uint32_t)a.D / 2;
    }
    GPU_MEMBER context begin(bool &) const { return a.pos ? *a.pos : 0; }
    GPU_MEMBER in load(int64_t t, int64_t c) const { return gpu_load16(place(t, c)); }
    GPU_MEMBER void store(int64_t t, int64_t c, const in &b, context first) const
    {
        gpu_vec<T> v = gpu_vec_from<T>(b);
        int64_t at = angle(t, c, first);
        turn_vector(v, a.cos + at, a.sin + at, a.inverse);
        gpu_vec_store(place(t, c), v);
    }
    GPU_MEMBER void one(int64_t t, int64_t pair, context first) const
    {
        int64_t at = angle(t, 2 * pair, first);
        turn_pair(place(t, 2 * pair), place(t, 2 * pair), a.cos[at], a.sin[at], a.inverse);
    }
};

template <typename T> static gpu_error rope(const struct tt_rope_args *a, gpu_stream s)
{
    bool vectors = a->D % gpu_vec<T>::n == 0 && gpu_aligned_rows(a->q, a->ld, sizeof(T)) && gpu_aligned(a->k) &&
                   gpu_aligned(a->cos) && gpu_aligned(a->sin);
    int64_t cols = (a->heads + a->kv_heads) * a->D;
    if (vectors) return map_launch(rope_op<T>{*a}, a->T, cols, true, s);
    return map_launch_singles(rope_op<T>{*a}, a->T, cols / 2, s);
}

gpu_error tt_gpu_rope(const struct tt_rope_args *a, gpu_stream s) { return GPU_DISPATCH(a->dtype, T, rope<T>(a, s)); }

/* ---- in steps ---- */

/* out = x times a table entry per pair. */
template <typename T> struct rope_table_op {
    typedef T type;
    typedef map_nothing context;
    typedef gpu_bytes16 in;
    static constexpr int unroll = 4;
    const T *x;
    T *out;
    const float *table;
    int64_t S, D, ldx, ldo;

    GPU_MEMBER const float *angle(int64_t t, int64_t c) const
    {
        return table + (uint32_t)t % (uint32_t)S * (D / 2) + (uint32_t)c % (uint32_t)D / 2;
    }
    GPU_MEMBER context begin(bool &) const { return context(); }
    GPU_MEMBER in load(int64_t t, int64_t c) const { return gpu_load16(x + t * ldx + c); }
    GPU_MEMBER void store(int64_t t, int64_t c, const in &b, context) const
    {
        gpu_vec<T> v = gpu_vec_from<T>(b);
        turn_entries<T> entries = turn_load<T>(angle(t, c));
        GPU_UNROLL
        for (int i = 0; i < gpu_vec<T>::n; i++) v.v[i] *= entries.v[i / 2];
        gpu_vec_store(out + t * ldo + c, v);
    }
    GPU_MEMBER void one(int64_t t, int64_t c, context) const
    {
        out[t * ldo + c] = gpu_from_float<T>(gpu_to_float(x[t * ldx + c]) * *angle(t, c));
    }
};

template <typename T, typename Args> static gpu_error rope_table(const Args *a, gpu_stream s)
{
    rope_table_op<T> op = {(const T *)a->x, (T *)a->out, a->table, a->S, a->D, a->ldx, a->ldo};
    bool aligned = a->D % gpu_vec<T>::n == 0 && gpu_aligned_rows(a->x, a->ldx, sizeof(T)) &&
                   gpu_aligned_rows(a->out, a->ldo, sizeof(T)) && gpu_aligned(a->table);
    return map_launch(op, a->T, a->heads * a->D, aligned, s);
}

gpu_error tt_gpu_rope_cos(const struct tt_rope_cos_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, rope_table<T>(a, s));
}
gpu_error tt_gpu_rope_sin(const struct tt_rope_sin_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, rope_table<T>(a, s));
}

/* out = (-b, a) of each pair (a, b), or (b, -a) with inverse. */
template <typename T> struct rope_rotate_op {
    typedef T type;
    typedef map_nothing context;
    typedef gpu_bytes16 in;
    static constexpr int unroll = 4;
    const T *x;
    T *out;
    int64_t ldx, ldo;
    float sign; /* -1 with inverse */

    GPU_MEMBER context begin(bool &) const { return context(); }
    GPU_MEMBER in load(int64_t t, int64_t c) const { return gpu_load16(x + t * ldx + c); }
    GPU_MEMBER void store(int64_t t, int64_t c, const in &b, context) const
    {
        gpu_vec<T> v = gpu_vec_from<T>(b), y;
        GPU_UNROLL
        for (int i = 0; i < gpu_vec<T>::n; i += 2) {
            y.v[i] = -sign * v.v[i + 1];
            y.v[i + 1] = sign * v.v[i];
        }
        gpu_vec_store(out + t * ldo + c, y);
    }
    GPU_MEMBER void one(int64_t t, int64_t pair, context) const
    {
        const T *from = x + t * ldx + 2 * pair;
        T *to = out + t * ldo + 2 * pair;
        float first = gpu_to_float(from[0]), second = gpu_to_float(from[1]);
        to[0] = gpu_from_float<T>(-sign * second);
        to[1] = gpu_from_float<T>(sign * first);
    }
};

template <typename T> static gpu_error rope_rotate(const struct tt_rope_rotate_args *a, gpu_stream s)
{
    rope_rotate_op<T> op = {(const T *)a->x, (T *)a->out, a->ldx, a->ldo, a->inverse ? -1.0f : 1.0f};
    int64_t cols = a->heads * a->D;
    bool vectors = cols % gpu_vec<T>::n == 0 && gpu_aligned_rows(a->x, a->ldx, sizeof(T)) &&
                   gpu_aligned_rows(a->out, a->ldo, sizeof(T));
    if (vectors) return map_launch(op, a->T, cols, true, s);
    return map_launch_singles(op, a->T, cols / 2, s);
}

gpu_error tt_gpu_rope_rotate(const struct tt_rope_rotate_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, rope_rotate<T>(a, s));
}
