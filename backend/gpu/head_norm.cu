/* RMSNorm of each head of q and k, in place in packed rows, and its gradient. A head is short, so a team of 16 lanes
 * takes one: with 16-byte vectors a head of 128 in 16 bits is one vector for each. */
#include "backend/gpu/gpu.h"

enum { LANES = 16, THREADS = 256, TEAMS = THREADS / LANES, WIDEST = 256 /* head whose gradient stays in registers */ };

/* N neighbouring elements: a vector, or one where heads are not aligned. */
template <typename T, bool VECTORS> struct piece {
    static constexpr int N = VECTORS ? gpu_vec<T>::n : 1;
    float v[N];

    GPU_MEMBER void load(const T *p)
    {
        if constexpr (VECTORS) {
            gpu_vec<T> x = gpu_vec_load(p);
            GPU_UNROLL
            for (int i = 0; i < N; i++) v[i] = x.v[i];
        } else {
            v[0] = gpu_to_float(*p);
        }
    }
    GPU_MEMBER void store(T *p) const
    {
        if constexpr (VECTORS) {
            gpu_vec<T> x;
            GPU_UNROLL
            for (int i = 0; i < N; i++) x.v[i] = v[i];
            gpu_vec_store(p, x);
        } else {
            *p = gpu_from_float<T>(v[0]);
        }
    }
    GPU_MEMBER float dot(const piece &b) const
    {
        float sum = 0;
        GPU_UNROLL
        for (int i = 0; i < N; i++) sum += v[i] * b.v[i];
        return sum;
    }
};

GPU_DEVICE float head_rstd(float squares, int64_t D, float eps)
{
    return gpu_rsqrt(gpu_divide_fast(squares, (float)D) + eps);
}

/* A team beyond the last head has no elements, but takes part in the shuffles of its wave. */
template <typename T, bool VECTORS> GPU_KERNEL GPU_BOUNDS(THREADS) head_norm(struct tt_head_norm_args a)
{
    typedef piece<T, VECTORS> part;
    constexpr int STEP = LANES * part::N;
    int64_t all = a.heads + a.kv_heads, i = gpu_block_x() * TEAMS + gpu_thread() / LANES;
    int64_t t = i / all, h = i - t * all, end = t < a.T ? a.D : 0;
    int first = gpu_thread() % LANES * part::N;
    const T *w = (const T *)(h < a.heads ? a.q_weight : a.k_weight);
    T *x = (T *)a.x + t * a.ld + h * a.D, *raw = a.raw ? (T *)a.raw + i * a.D : NULL;
    part v, scale;
    float squares = 0;
    for (int64_t c = first; c < end; c += STEP) {
        v.load(x + c);
        squares += v.dot(v);
    }
    float rstd = head_rstd(gpu_group_sum<LANES>(squares), a.D, a.eps);
    for (int64_t c = first; c < end; c += STEP) {
        v.load(x + c);
        scale.load(w + c);
        if (raw) v.store(raw + c);
        GPU_UNROLL
        for (int k = 0; k < part::N; k++) v.v[k] = v.v[k] * rstd * scale.v[k];
        v.store(x + c);
    }
}

/* ---- backward: a block takes a run of rows, first their heads of q, then those of k ---- */

template <typename T>
GPU_KERNEL GPU_BOUNDS(THREADS) head_norm_backward(struct tt_head_norm_backward_args a, int64_t run)
{
    typedef piece<T, true> part;
    constexpr int N = part::N, KEEP = WIDEST / (LANES * N);
    GPU_SHARED float sums[TEAMS][WIDEST];
    int team = gpu_thread() / LANES, first = gpu_thread() % LANES * N, D = (int)a.D;
    int64_t from = gpu_block_x() * run, to = gpu_smaller(a.T, from + run), all = a.heads + a.kv_heads;
    for (int side = 0; side < 2; side++) {
        int64_t heads = side ? a.kv_heads : a.heads, skip = side ? a.heads : 0;
        int64_t count = to > from ? (to - from) * heads : 0;
        const T *w = (const T *)(side ? a.k_weight : a.q_weight);
        part scale[KEEP], dweight[KEEP], x[KEEP], dy[KEEP];
        GPU_UNROLL
        for (int k = 0; k < KEEP; k++) {
            if (first + k * LANES * N < D) scale[k].load(w + first + k * LANES * N);
            GPU_UNROLL
            for (int i = 0; i < N; i++) dweight[k].v[i] = 0;
        }
        for (int64_t base = 0; base < count; base += TEAMS) {
            int64_t r = base + team, t = from + r / heads, h = skip + r % heads;
            int end = r < count ? D : 0;
            T *dx = (T *)a.dx + t * a.ld + h * a.D + first;
            const T *raw = (const T *)a.raw + (t * all + h) * a.D + first;
            float squares = 0, dot = 0;
            GPU_UNROLL
            for (int k = 0; k < KEEP; k++) {
                if (first + k * LANES * N >= end) continue;
                x[k].load(raw + k * LANES * N);
                dy[k].load(dx + k * LANES * N);
                squares += x[k].dot(x[k]);
                GPU_UNROLL
                for (int i = 0; i < N; i++) dot += scale[k].v[i] * (dy[k].v[i] * x[k].v[i]);
            }
            squares = gpu_group_sum<LANES>(squares);
            dot = gpu_group_sum<LANES>(dot);
            float rstd = head_rstd(squares, a.D, a.eps);
            float back = -gpu_divide_fast(dot, (float)D) * rstd * rstd * rstd;
            GPU_UNROLL
            for (int k = 0; k < KEEP; k++) {
                if (first + k * LANES * N >= end) continue;
                GPU_UNROLL
                for (int i = 0; i < N; i++) {
                    float d = dy[k].v[i], v = x[k].v[i];
                    dweight[k].v[i] += d * v * rstd;
                    dy[k].v[i] = rstd * scale[k].v[i] * d + back * v;
                }
                dy[k].store(dx + k * LANES * N);
            }
        }
        GPU_UNROLL
        for (int k = 0; k < KEEP; k++)
            GPU_UNROLL
            for (int i = 0; i < N; i++) sums[team][first + k * LANES * N + i] = dweight[k].v[i];
        gpu_block_sync();
        float *partial = a.partial + (gpu_block_x() * 2 + side) * a.D;
        for (int c = gpu_thread(); c < D; c += THREADS) {
            float sum = 0;
            GPU_UNROLL
            for (int k = 0; k < TEAMS; k++) sum += sums[k][c];
            partial[c] = sum;
        }
        gpu_block_sync();
    }
}

/* For wider heads and those without vectors: a block takes one at a time, and the sums are in `partial`, each element
 * with one thread. */
template <typename T>
GPU_KERNEL GPU_BOUNDS(THREADS) head_norm_backward_any(struct tt_head_norm_backward_args a, int64_t run)
{
    int64_t from = gpu_block_x() * run, to = gpu_smaller(a.T, from + run), all = a.heads + a.kv_heads;
    float *partial = a.partial + gpu_block_x() * 2 * a.D;
    for (int64_t c = gpu_thread(); c < 2 * a.D; c += THREADS) partial[c] = 0;
    gpu_block_sync(); /* below, other threads add to the second half if D is not a multiple of THREADS */
    for (int64_t r = from * all; r < to * all; r++) {
        int64_t t = r / all, h = r - t * all;
        const T *w = (const T *)(h < a.heads ? a.q_weight : a.k_weight), *x = (const T *)a.raw + r * a.D;
        T *dx = (T *)a.dx + t * a.ld + h * a.D;
        float *dweight = partial + (h < a.heads ? 0 : a.D), squares = 0, dot = 0;
        for (int64_t c = gpu_thread(); c < a.D; c += THREADS) {
            float v = gpu_to_float(x[c]);
            squares += v * v;
            dot += gpu_to_float(w[c]) * (gpu_to_float(dx[c]) * v);
        }
        squares = gpu_block_sum<THREADS>(squares);
        dot = gpu_block_sum<THREADS>(dot);
        float rstd = head_rstd(squares, a.D, a.eps), back = -gpu_divide_fast(dot, (float)a.D) * rstd * rstd * rstd;
        for (int64_t c = gpu_thread(); c < a.D; c += THREADS) {
            float d = gpu_to_float(dx[c]), v = gpu_to_float(x[c]);
            dweight[c] += d * v * rstd;
            dx[c] = gpu_from_float<T>(rstd * gpu_to_float(w[c]) * d + back * v);
        }
    }
}

/* ---- launches ---- */

template <typename T, typename Args> static bool has_vectors(const Args *a, const void *x)
{
    return a->D % gpu_vec<T>::n == 0 && gpu_aligned_rows(x, a->ld, sizeof(T)) && gpu_aligned(a->raw) &&
           gpu_aligned(a->q_weight) && gpu_aligned(a->k_weight);
}

template <typename T> static gpu_error forward(const struct tt_head_norm_args *a, gpu_stream s)
{
    gpu_grid grid = gpu_grid_of(gpu_divide_up(a->T * (a->heads + a->kv_heads), TEAMS));
    if (has_vectors<T>(a, a->x)) return GPU_LAUNCH((head_norm<T, true>), grid, THREADS, 0, s, *a);
    return GPU_LAUNCH((head_norm<T, false>), grid, THREADS, 0, s, *a);
}

gpu_error tt_gpu_head_norm(const struct tt_head_norm_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, forward<T>(a, s));
}

template <typename T> static gpu_error backward(const struct tt_head_norm_backward_args *a, gpu_stream s)
{
    int64_t run = gpu_divide_up(a->T, a->parts);
    gpu_grid grid = gpu_grid_of(a->parts);
    if (a->D <= WIDEST && has_vectors<T>(a, a->dx))
        return GPU_LAUNCH(head_norm_backward<T>, grid, THREADS, 0, s, *a, run);
    return GPU_LAUNCH(head_norm_backward_any<T>, grid, THREADS, 0, s, *a, run);
}

gpu_error tt_gpu_head_norm_backward(const struct tt_head_norm_backward_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, backward<T>(a, s));
}
