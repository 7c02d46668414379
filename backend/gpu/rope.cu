/* RoPE on interleaved pairs: every element is read once and written once; cosines and sines come from the cache. A
 * 16-byte vector has whole pairs of one head. */
#include "backend/gpu/map.h"
#include "backend/gpu/rotate.h"

/* ---- q and k in place: columns of q, then of k ---- */

enum { ROPE_THREADS = 256, ROPE_ROWS = 4, ROPE_FEW = 1 << 17 /* below so many vectors, a thread takes one row */ };

/* A thread rotates the same vector of ROWS consecutive rows, so that its position in the row, which takes divisions, is
 * computed once. */
template <typename T, int ROWS>
GPU_KERNEL GPU_BOUNDS(ROPE_THREADS) rope_vectors(struct tt_rope_args a, float *amax, uint32_t vectors)
{
    constexpr int N = gpu_vec<T>::n;
    uint32_t i = (uint32_t)gpu_block_x() * ROPE_THREADS + gpu_thread(), group = i / vectors;
    int64_t first = (int64_t)group * ROWS, c = (int64_t)(i - group * vectors) * N, width = a.heads * a.D;
    T *column = c < width ? (T *)a.q + c : (T *)a.k + (c - width);
    gpu_bytes16 b[ROWS];
    GPU_UNROLL
    for (int r = 0; r < ROWS; r++)
        if (first + r < a.T) b[r] = gpu_load16(column + (first + r) * a.ld);
    int64_t half = a.D / 2, pair = (uint32_t)c % (uint32_t)a.D / 2;
    uint32_t at = (uint32_t)first % (uint32_t)a.S, most = 0;
    GPU_UNROLL
    for (int r = 0; r < ROWS; r++) {
        if (first + r >= a.T) break;
        gpu_vec<T> v = gpu_vec_from<T>(b[r]);
        int64_t angle = at * half + pair;
        rotate_vector(v, a.cos + angle, a.sin + angle, a.inverse);
        gpu_vec_store(column + (first + r) * a.ld, v);
        most = gpu_most(most, v);
        at = at + 1 < (uint32_t)a.S ? at + 1 : 0;
    }
    if (amax) gpu_block_amax<T, ROPE_THREADS>(amax, most);
}

/* For rows that are not aligned: one pair per thread. */
template <typename T> struct rope_pairs {
    typedef map_amax<T> context;
    struct tt_rope_args a;
    float *amax;
    GPU_MEMBER context begin(bool &) const { return {amax, 0}; }
    GPU_MEMBER void one(int64_t t, int64_t pair, context &k) const
    {
        int64_t c = 2 * pair, width = a.heads * a.D;
        T *place = c < width ? (T *)a.q + t * a.ld + c : (T *)a.k + t * a.ld + (c - width);
        int64_t at = (int64_t)((uint32_t)t % (uint32_t)a.S) * (a.D / 2) + (uint32_t)c % (uint32_t)a.D / 2;
        rotate_pair(place, place, a.cos[at], a.sin[at], a.inverse);
        k.most = gpu_most(gpu_most(k.most, gpu_to_float(place[0])), gpu_to_float(place[1]));
    }
};

template <typename T, int ROWS>
static gpu_error rope_by_vectors(const struct tt_rope_args *a, float *amax, int64_t vectors, gpu_stream s)
{
    gpu_grid grid = gpu_grid_of(gpu_divide_up(gpu_divide_up(a->T, ROWS) * vectors, ROPE_THREADS));
    return GPU_LAUNCH(rope_vectors<T, ROWS>, grid, ROPE_THREADS, 0, s, *a, amax, (uint32_t)vectors);
}

template <typename T> static gpu_error rope(const struct tt_rope_args *a, float *amax, gpu_stream s)
{
    bool aligned = a->D % gpu_vec<T>::n == 0 && gpu_aligned_rows(a->q, a->ld, sizeof(T)) && gpu_aligned(a->k) &&
                   gpu_aligned(a->cos) && gpu_aligned(a->sin);
    int64_t cols = (a->heads + a->kv_heads) * a->D, vectors = cols / gpu_vec<T>::n, all = a->T * vectors;
    if (!aligned || all > UINT32_MAX / 2) return map_launch_singles(rope_pairs<T>{*a, amax}, a->T, cols / 2, s);
    return all < ROPE_FEW ? rope_by_vectors<T, 1>(a, amax, vectors, s)
                          : rope_by_vectors<T, ROPE_ROWS>(a, amax, vectors, s);
}

gpu_error rope_with_amax(const struct tt_rope_args *a, float *amax, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, rope<T>(a, amax, s));
}
gpu_error tt_gpu_rope(const struct tt_rope_args *a, gpu_stream s) { return rope_with_amax(a, nullptr, s); }

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
        rotate_entries<T> entries = rotate_load<T>(angle(t, c));
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
