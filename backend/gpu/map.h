/* The engine of elementwise kernels: a thread loads `unroll` vectors of 16 bytes, one per block width, then computes
 * and stores them. A matrix is `rows` rows of `cols` elements; a flat array is one row.
 *
 * An Op defines what happens at (row, col):
 *   type            the storage type; a vector is N = 16 / sizeof(type) elements
 *   unroll          vectors per thread
 *   context begin(go) const    reads device memory once per thread; go = false: the kernel does nothing
 *   in load(r, c) const        the vector at (r, c), as bytes
 *   store(r, c, in, context) const
 *   one(r, c, context) const   the single element at (r, c)
 * A context that is a map_amax<T> collects the largest magnitude that store and one report to it.
 * The thread that reads an element also writes it, so an output may be an input. */
#ifndef TT_GPU_MAP_H
#define TT_GPU_MAP_H

#include "backend/gpu/amax.h"

enum { MAP_THREADS = 256, MAP_SINGLES = 4 };

struct map_nothing {
};

/* most: the largest magnitude that this thread has written; amax: where that of all threads goes, or NULL. */
template <typename T> struct map_amax {
    float *amax;
    uint32_t most;
};

/* Called at the end of a block, by all its threads. */
template <typename C> GPU_DEVICE void map_end(const C &) {}
template <typename T> GPU_DEVICE void map_end(const map_amax<T> &c)
{
    if (c.amax) gpu_block_amax<T, MAP_THREADS>(c.amax, c.most);
}

/* The position of the item `offset` items after the first of the block. Offsets within a block are small, so 32 bits
 * suffice for the division. */
struct map_place {
    int64_t row, col;
};
GPU_DEVICE map_place map_at(int64_t first_row, int64_t first_col, int64_t offset, int64_t rows, int64_t per_row)
{
    int64_t col = first_col + offset;
    if (rows == 1 || col < per_row) return {first_row, col};
    uint32_t over = (uint32_t)col / (uint32_t)per_row;
    return {first_row + over, (int64_t)((uint32_t)col - over * (uint32_t)per_row)};
}

/* In a flat array, `head` elements come before the first vector, and fewer than a vector's after the last. */
template <typename Op> GPU_KERNEL GPU_BOUNDS(MAP_THREADS) map_vectors(Op op, int64_t rows, int64_t cols, int64_t head)
{
    constexpr int N = gpu_vec<typename Op::type>::n, U = Op::unroll;
    bool go = true;
    typename Op::context context = op.begin(go);
    if (!go) return;
    int64_t per_row = (cols - head) / N, total = rows * per_row;
    int64_t first = gpu_block_x() * (MAP_THREADS * U);
    if (first < total) {
        int64_t row = rows == 1 ? 0 : first / per_row, col = first - row * per_row;
        typename Op::in v[U];
        GPU_UNROLL
        for (int u = 0; u < U; u++) {
            int offset = u * MAP_THREADS + gpu_thread();
            if (first + offset >= total) continue;
            map_place at = map_at(row, col, offset, rows, per_row);
            v[u] = op.load(at.row, head + at.col * N);
        }
        GPU_UNROLL
        for (int u = 0; u < U; u++) {
            int offset = u * MAP_THREADS + gpu_thread();
            if (first + offset >= total) continue;
            map_place at = map_at(row, col, offset, rows, per_row);
            op.store(at.row, head + at.col * N, v[u], context);
        }
    }
    int64_t edges = rows > 1 ? 0 : cols - per_row * N;
    for (int64_t e = gpu_block_x() * MAP_THREADS + gpu_thread(); e < edges; e += gpu_blocks_x() * MAP_THREADS)
        op.one(0, e < head ? e : e + per_row * N, context);
    map_end(context);
}

/* For operands that are not aligned to 16 bytes. */
template <typename Op> GPU_KERNEL GPU_BOUNDS(MAP_THREADS) map_singles(Op op, int64_t rows, int64_t cols)
{
    bool go = true;
    typename Op::context context = op.begin(go);
    if (!go) return;
    int64_t first = gpu_block_x() * (MAP_THREADS * MAP_SINGLES), total = rows * cols;
    int64_t row = rows == 1 ? 0 : first / cols, col = first - row * cols;
    for (int u = 0; u < MAP_SINGLES; u++) {
        int offset = u * MAP_THREADS + gpu_thread();
        if (first + offset >= total) break;
        map_place at = map_at(row, col, offset, rows, cols);
        op.one(at.row, at.col, context);
    }
    map_end(context);
}

/* ---- host ---- */

template <typename Op>
static inline gpu_error map_launch_singles(const Op &op, int64_t rows, int64_t cols, gpu_stream s)
{
    gpu_grid grid = gpu_grid_of(gpu_divide_up(rows * cols, MAP_THREADS * MAP_SINGLES));
    return GPU_LAUNCH(map_singles<Op>, grid, MAP_THREADS, 0, s, op, rows, cols);
}

/* `aligned`: every operand can be accessed 16 bytes at a time at every N-th column. */
template <typename Op>
static inline gpu_error map_launch(const Op &op, int64_t rows, int64_t cols, bool aligned, gpu_stream s)
{
    constexpr int N = gpu_vec<typename Op::type>::n;
    if (!aligned || cols % N) return map_launch_singles(op, rows, cols, s);
    gpu_grid grid = gpu_grid_of(gpu_divide_up(rows * (cols / N), MAP_THREADS * Op::unroll));
    return GPU_LAUNCH(map_vectors<Op>, grid, MAP_THREADS, 0, s, op, rows, cols, (int64_t)0);
}

/* Elements of `size` bytes from p to the next multiple of 16 bytes. */
static inline int64_t map_head(const void *p, size_t size) { return (int64_t)((16 - (uintptr_t)p % 16) % 16 / size); }
/* Whether p and q have the same offset from a multiple of 16 bytes. */
static inline bool map_together(const void *p, const void *q) { return (uintptr_t)p % 16 == (uintptr_t)q % 16; }

/* A flat array of n elements; `together`: all operands are map_together with p. */
template <typename Op>
static inline gpu_error map_launch_flat(const Op &op, int64_t n, const void *p, bool together, gpu_stream s)
{
    constexpr int N = gpu_vec<typename Op::type>::n;
    int64_t head = gpu_smaller(map_head(p, sizeof(typename Op::type)), n);
    if (!together) return map_launch_singles(op, 1, n, s);
    gpu_grid grid = gpu_grid_of(gpu_larger(n > 0, gpu_divide_up((n - head) / N, MAP_THREADS * Op::unroll)));
    return GPU_LAUNCH(map_vectors<Op>, grid, MAP_THREADS, 0, s, op, (int64_t)1, n, head);
}

/* ---- out = f(x[0], ..., x[K-1]) with all operands of one type, each with its own row stride ----
 * F has bool begin(), which reads what it needs from device memory, and float operator()(const float *x). */

template <typename T, int K, typename F> struct map_function {
    typedef T type;
    static constexpr int unroll = K > 2 ? 2 : 4;
    struct in {
        gpu_bytes16 b[K];
    };
    typedef F context;

    const T *x[K];
    T *out;
    int64_t ldx[K], ldo;
    F f;

    GPU_MEMBER F begin(bool &go) const
    {
        F g = f;
        go = g.begin();
        return g;
    }
    GPU_MEMBER in load(int64_t r, int64_t c) const
    {
        in v;
        GPU_UNROLL
        for (int k = 0; k < K; k++) v.b[k] = gpu_load16(x[k] + r * ldx[k] + c);
        return v;
    }
    GPU_MEMBER void store(int64_t r, int64_t c, const in &v, const F &g) const
    {
        gpu_vec<T> vec[K], result;
        GPU_UNROLL
        for (int k = 0; k < K; k++) vec[k] = gpu_vec_from<T>(v.b[k]);
        GPU_UNROLL
        for (int i = 0; i < gpu_vec<T>::n; i++) {
            float a[K];
            GPU_UNROLL
            for (int k = 0; k < K; k++) a[k] = vec[k].v[i];
            result.v[i] = g(a);
        }
        gpu_vec_store(out + r * ldo + c, result);
    }
    GPU_MEMBER void one(int64_t r, int64_t c, const F &g) const
    {
        float a[K];
        GPU_UNROLL
        for (int k = 0; k < K; k++) a[k] = gpu_to_float(x[k][r * ldx[k] + c]);
        out[r * ldo + c] = gpu_from_float<T>(g(a));
    }
};

/* Flat if no operand has padding between its rows. */
template <typename T, int K, typename F>
static inline gpu_error map_launch_function(const map_function<T, K, F> &op, int64_t rows, int64_t cols, gpu_stream s)
{
    bool flat = rows == 1 || op.ldo == cols, aligned = gpu_aligned_rows(op.out, op.ldo, sizeof(T)), together = true;
    for (int k = 0; k < K; k++) {
        flat = flat && (rows == 1 || op.ldx[k] == cols);
        aligned = aligned && gpu_aligned_rows(op.x[k], op.ldx[k], sizeof(T));
        together = together && map_together(op.x[k], op.out);
    }
    if (flat) return map_launch_flat(op, rows * cols, op.out, together, s);
    return map_launch(op, rows, cols, aligned, s);
}

#endif
