/* Kernels that reduce a row before they can write it: a team of threads takes a row, chunk by chunk. A chunk is what
 * the team's registers hold. The first pass goes through the chunks backwards and the second forwards, so the first
 * chunk is still in registers and is read once; the other chunks of a longer row are read again, from the cache.
 *
 * A row may start at any address, so it is split into a `head` up to the first multiple of 16 bytes, vectors, and a
 * tail; head and tail together are its edges. */
#ifndef TT_GPU_ROWS_H
#define TT_GPU_ROWS_H

#include "backend/gpu/gpu.h"

struct row_span {
    int head, vectors, edges; /* elements, vectors, elements; a row is shorter than 2^31 */
};

/* The span of n elements at p. If operands are not aligned alike (not `together`), all elements are edges. */
template <typename T> GPU_DEVICE row_span row_span_of(const T *p, int n, bool together)
{
    if (!together) return {n, 0, n};
    int head = (16 - (int)((uintptr_t)p % 16)) % 16 / (int)sizeof(T);
    if (head > n) head = n;
    int vectors = (n - head) / gpu_vec<T>::n;
    return {head, vectors, n - vectors * gpu_vec<T>::n};
}
template <typename T> GPU_DEVICE int row_edge(const row_span &s, int e)
{
    return e < s.head ? e : e + s.vectors * gpu_vec<T>::n;
}

/* LANES threads per row: GPU_GROUP (several rows per block), or a whole block. */
template <int LANES> struct row_team {
    static constexpr int threads = LANES > GPU_GROUP ? LANES : 4 * GPU_GROUP;
    static constexpr int rows = threads / LANES; /* per block */
    static GPU_MEMBER int64_t row() { return gpu_block_x() * rows + gpu_thread() / LANES; }
    static GPU_MEMBER int lane() { return gpu_thread() % LANES; }
    template <typename V, typename Op> static GPU_MEMBER V reduce(V x, Op op)
    {
        if constexpr (LANES > GPU_GROUP)
            return gpu_block_reduce<LANES>(x, op);
        else
            return gpu_group_reduce<LANES>(x, op);
    }
    static GPU_MEMBER float sum(float x) { return reduce(x, gpu_op_sum()); }
    static GPU_MEMBER float max(float x) { return reduce(x, gpu_op_max()); }
    static GPU_MEMBER void sync()
    {
        if constexpr (LANES > GPU_GROUP)
            gpu_block_sync();
        else
            gpu_wave_sync();
    }
};

/* exp(scale·x - top·unit) with unit = row_unit<T>(): base e for float; for 16-bit types base 2, which is one
 * instruction. `factor` is scale / unit, so that factor·x has the unit of top. */
template <typename T> GPU_DEVICE float row_unit() { return sizeof(T) == 4 ? 1.0f : 0.693147180559945f; }
template <typename T> GPU_DEVICE float row_factor(float scale)
{
    return sizeof(T) == 4 ? scale : scale * 1.44269504088896f;
}
template <typename T> GPU_DEVICE float row_power(float x) { return sizeof(T) == 4 ? gpu_exp(x) : gpu_exp2_fast(x); }
template <typename T> GPU_DEVICE float row_exp(float factor, float x, float top)
{
    return row_power<T>(gpu_fma(factor, x, -top));
}

/* A chunk of a row: KEEP vectors per lane, with a stride of LANES vectors. */
template <typename T, int LANES, int KEEP> struct row_chunk {
    gpu_bytes16 b[KEEP];

    static GPU_MEMBER int count(const row_span &s) { return (s.vectors + LANES * KEEP - 1) / (LANES * KEEP); }
    /* the index of this lane's k-th vector */
    static GPU_MEMBER int vector(int chunk, int k) { return (chunk * KEEP + k) * LANES + row_team<LANES>::lane(); }
    static GPU_MEMBER int column(const row_span &s, int chunk, int k)
    {
        return s.head + vector(chunk, k) * gpu_vec<T>::n;
    }
    GPU_MEMBER void load(const T *p, const row_span &s, int chunk)
    {
        GPU_UNROLL
        for (int k = 0; k < KEEP; k++)
            if (vector(chunk, k) < s.vectors) b[k] = gpu_load16(p + column(s, chunk, k));
    }
    /* f(vector) for each vector of this lane */
    template <typename F> GPU_MEMBER void each(const row_span &s, int chunk, F f) const
    {
        GPU_UNROLL
        for (int k = 0; k < KEEP; k++)
            if (vector(chunk, k) < s.vectors) f(gpu_vec_from<T>(b[k]));
    }
};

/* f(value) for every element of the row that belongs to this lane. */
template <int LANES, int KEEP, typename T, typename F> GPU_DEVICE void row_each(const T *p, const row_span &s, F f)
{
    row_chunk<T, LANES, KEEP> chunk;
    GPU_UNROLL_BY(1)
    for (int c = 0; c < chunk.count(s); c++) {
        chunk.load(p, s, c);
        chunk.each(s, c, [&](const gpu_vec<T> &x) {
            GPU_UNROLL
            for (int i = 0; i < gpu_vec<T>::n; i++) f(x.v[i]);
        });
    }
    GPU_UNROLL_BY(1)
    for (int e = row_team<LANES>::lane(); e < s.edges; e += LANES) f(gpu_to_float(p[row_edge<T>(s, e)]));
}

/* p[i] = f(p[i]) for every element; `chunk` holds the first chunk. */
template <typename T, int LANES, int KEEP, typename F>
GPU_DEVICE void row_replace(T *p, const row_span &s, row_chunk<T, LANES, KEEP> &chunk, F f)
{
    GPU_UNROLL_BY(1)
    for (int c = 0; c < chunk.count(s); c++) {
        if (c > 0) chunk.load(p, s, c);
        GPU_UNROLL
        for (int k = 0; k < KEEP; k++) {
            if (chunk.vector(c, k) >= s.vectors) continue;
            gpu_vec<T> x = gpu_vec_from<T>(chunk.b[k]);
            GPU_UNROLL
            for (int i = 0; i < gpu_vec<T>::n; i++) x.v[i] = f(x.v[i]);
            gpu_vec_store(p + chunk.column(s, c, k), x);
        }
    }
    GPU_UNROLL_BY(1)
    for (int e = row_team<LANES>::lane(); e < s.edges; e += LANES) {
        int c = row_edge<T>(s, e);
        p[c] = gpu_from_float<T>(f(gpu_to_float(p[c])));
    }
}

/* top: the maximum of factor·x over a row; sum: that of row_exp(factor, x, top). Each lane has its own maximum and
 * rescales its sum when a chunk raises it. With a NaN or +infinity in the row, the sum becomes NaN. */
struct row_softmax {
    float top, sum;

    /* Avoids -infinity - (-infinity). */
    GPU_MEMBER float base() const { return top > -GPU_INFINITY ? top : 0.0f; }
    template <typename T> GPU_MEMBER void raise(float higher)
    {
        if (higher > top && top > -GPU_INFINITY) sum *= row_power<T>(top - higher);
        top = higher;
    }
};

/* Leaves the first chunk of the row in `chunk`. */
template <typename T, int LANES, int KEEP>
GPU_DEVICE row_softmax row_exp_sum(const T *p, const row_span &s, row_chunk<T, LANES, KEEP> &chunk, float factor)
{
    typedef row_team<LANES> team;
    constexpr int N = gpu_vec<T>::n;
    row_softmax r = {-GPU_INFINITY, 0};
    GPU_UNROLL_BY(1)
    for (int e = team::lane(); e < s.edges; e += LANES) {
        float x = gpu_to_float(p[row_edge<T>(s, e)]);
        r.raise<T>(gpu_max(r.top, factor * x));
        r.sum += row_exp<T>(factor, x, r.base());
    }
    GPU_UNROLL_BY(1)
    for (int c = chunk.count(s) - 1; c >= 0; c--) {
        chunk.load(p, s, c);
        float higher = r.top;
        chunk.each(s, c, [&](const gpu_vec<T> &x) {
            GPU_UNROLL
            for (int i = 0; i < N; i++) higher = gpu_max(higher, factor * x.v[i]);
        });
        r.raise<T>(higher);
        float base = r.base();
        chunk.each(s, c, [&](const gpu_vec<T> &x) {
            float part = 0;
            GPU_UNROLL
            for (int i = 0; i < N; i++) part += row_exp<T>(factor, x.v[i], base);
            r.sum += part;
        });
    }
    r.raise<T>(team::max(r.top));
    r.sum = team::sum(r.sum);
    return r;
}

/* Launches kernel<T, LANES, KEEP> with the smallest team that keeps a row of `cols` elements in its registers. */
#define ROWS_LAUNCH_AS(kernel, T, LANES, KEEP, row_count, stream, ...)                                                 \
    GPU_LAUNCH(kernel<T, LANES, KEEP>, gpu_grid_of(gpu_divide_up(row_count, row_team<LANES>::rows)),                   \
               row_team<LANES>::threads, 0, stream, __VA_ARGS__)
#define ROWS_LAUNCH(kernel, T, row_count, cols, stream, ...)                                                           \
    ((cols) <= GPU_GROUP * gpu_vec<T>::n ? ROWS_LAUNCH_AS(kernel, T, GPU_GROUP, 1, row_count, stream, __VA_ARGS__)     \
     : (cols) <= GPU_GROUP * 4 * gpu_vec<T>::n                                                                         \
         ? ROWS_LAUNCH_AS(kernel, T, GPU_GROUP, 4, row_count, stream, __VA_ARGS__)                                     \
         : ROWS_LAUNCH_AS(kernel, T, 256, 4, row_count, stream, __VA_ARGS__))

#endif
