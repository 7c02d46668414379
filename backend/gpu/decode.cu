/* Attention of one new token over a cache of keys and values.
 *
 * A block computes one query head. First, each group of lanes takes a key; neighbouring lanes read neighbouring 16
 * bytes of its row. Then comes the softmax over the scores, which are in device memory because the cache may have any
 * length. Last, the threads are divided into slices of the keys, and those of a slice over the columns of a row; the
 * slices are added in order. */
#include "backend/gpu/gpu.h"

enum { DECODE_THREADS = 256, APPEND_THREADS = 256 };

/* N elements: 16 bytes of T, or a single one. */
template <typename T, bool WIDE> struct decode_vec {
    static constexpr int N = WIDE ? 16 / (int)sizeof(T) : 1;
    float v[N];
};
template <typename T, bool WIDE> GPU_DEVICE decode_vec<T, WIDE> decode_load(const T *p)
{
    decode_vec<T, WIDE> x;
    if constexpr (WIDE) {
        gpu_vec<T> y = gpu_vec_load(p);
        GPU_UNROLL
        for (int i = 0; i < x.N; i++) x.v[i] = y.v[i];
    } else {
        x.v[0] = gpu_to_float(*p);
    }
    return x;
}

/* scores[j] = scale·q·k_j for j < n, with `lanes` lanes per key. Returns the largest score that this thread computed.
 */
template <typename T, bool WIDE>
GPU_DEVICE float decode_scores(float *scores, const T *q, const T *k, int64_t ld, int64_t n, int64_t D, float scale,
                               int lanes)
{
    constexpr int N = decode_vec<T, WIDE>::N;
    int lane = gpu_thread() % lanes, group = gpu_thread() / lanes, groups = DECODE_THREADS / lanes;
    float top = -GPU_INFINITY;
    for (int64_t first = 0; first < n; first += groups) { /* every lane loops equally often, for the shuffles */
        int64_t j = first + group;
        float sum = 0.0f;
        for (int64_t d = lane * N; j < n && d < D; d += lanes * N) {
            decode_vec<T, WIDE> x = decode_load<T, WIDE>(q + d), y = decode_load<T, WIDE>(k + j * ld + d);
            GPU_UNROLL
            for (int i = 0; i < N; i++) sum = gpu_fma(x.v[i], y.v[i], sum);
        }
        for (int mask = lanes / 2; mask > 0; mask /= 2) sum += gpu_shfl_xor(sum, mask);
        sum *= scale;
        if (j < n) {
            if (lane == 0) scores[j] = sum;
            top = gpu_max(top, sum);
        }
    }
    return top;
}

/* o = factor · sum over j < n of p[j]·v_j. */
template <typename T, bool WIDE>
GPU_DEVICE void decode_values(T *o, const float *p, const T *v, int64_t ld, int64_t n, int64_t D, float factor)
{
    constexpr int N = decode_vec<T, WIDE>::N;
    GPU_SHARED float part[DECODE_THREADS * N]; /* (slices, width, N) */
    int64_t pieces = D / N;
    int width = (int)gpu_smaller(pieces, DECODE_THREADS), slices = DECODE_THREADS / width;
    int column = gpu_thread() % width, slice = gpu_thread() / width;
    for (int64_t first = 0; first < pieces; first += width) {
        float sum[N] = {0.0f};
        if (slice < slices && first + column < pieces)
            for (int64_t j = slice; j < n; j += slices) {
                decode_vec<T, WIDE> x = decode_load<T, WIDE>(v + j * ld + (first + column) * N);
                GPU_UNROLL
                for (int i = 0; i < N; i++) sum[i] = gpu_fma(p[j], x.v[i], sum[i]);
            }
        GPU_UNROLL
        for (int i = 0; i < N; i++) part[gpu_thread() * N + i] = sum[i];
        gpu_block_sync();
        for (int e = gpu_thread(); e < width * N; e += DECODE_THREADS) {
            float total = 0.0f;
            for (int i = 0; i < slices; i++) total += part[i * width * N + e];
            if (first * N + e < D) o[first * N + e] = gpu_from_float<T>(total * factor);
        }
        gpu_block_sync();
    }
}

template <typename T, bool WIDE>
GPU_KERNEL GPU_BOUNDS(DECODE_THREADS) attention_decode(struct tt_attention_decode_args a, int lanes)
{
    int h = (int)gpu_block_x();
    int64_t D = a.D, ld = a.kv_heads * D, at = h / ((int)a.heads / (int)a.kv_heads) * D;
    int64_t n = gpu_smaller(*a.pos + (int64_t)1, a.length);
    float *scores = a.scores + h * a.length;
    const T *q = (const T *)a.q + h * D, *k = (const T *)a.k_cache + at, *v = (const T *)a.v_cache + at;
    float top = decode_scores<T, WIDE>(scores, q, k, ld, n, D, a.scale, lanes);
    top = gpu_block_max<DECODE_THREADS>(top); /* its barriers also make the scores visible to all threads */
    float sum = 0.0f;
    for (int64_t j = gpu_thread(); j < n; j += DECODE_THREADS) sum += scores[j] = gpu_exp(scores[j] - top);
    sum = gpu_block_sum<DECODE_THREADS>(sum);
    decode_values<T, WIDE>((T *)a.o + h * D, scores, v, ld, n, D, gpu_divide(1.0f, sum));
}

template <typename T> static gpu_error decode_launch(const struct tt_attention_decode_args *a, gpu_stream s)
{
    bool wide = gpu_aligned_rows(a->q, a->D, sizeof(T)) && gpu_aligned(a->k_cache) && gpu_aligned(a->v_cache);
    int64_t pieces = wide ? a->D * (int64_t)sizeof(T) / 16 : a->D;
    int lanes = 1;
    while (lanes < pieces && lanes < GPU_GROUP) lanes *= 2;
    gpu_grid grid = gpu_grid_of(a->heads);
    if (wide) return GPU_LAUNCH(attention_decode<T, true>, grid, DECODE_THREADS, 0, s, *a, lanes);
    return GPU_LAUNCH(attention_decode<T, false>, grid, DECODE_THREADS, 0, s, *a, lanes);
}

gpu_error tt_gpu_attention_decode(const struct tt_attention_decode_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, decode_launch<T>(a, s));
}

/* Row *pos of the caches = k, v; U has the size of an element. */
template <typename U> GPU_KERNEL GPU_BOUNDS(APPEND_THREADS) cache_append(struct tt_cache_append_args a)
{
    int64_t width = a.kv_heads * a.D, i = gpu_block_x() * APPEND_THREADS + gpu_thread(), pos = *a.pos;
    if (i >= width || pos < 0 || pos >= a.length) return;
    ((U *)a.k_cache)[pos * width + i] = ((const U *)a.k)[i];
    ((U *)a.v_cache)[pos * width + i] = ((const U *)a.v)[i];
}

gpu_error tt_gpu_cache_append(const struct tt_cache_append_args *a, gpu_stream s)
{
    gpu_grid grid = gpu_grid_of(gpu_divide_up(a->kv_heads * a->D, APPEND_THREADS));
    if (a->dtype == TT_F32) return GPU_LAUNCH(cache_append<uint32_t>, grid, APPEND_THREADS, 0, s, *a);
    return GPU_LAUNCH(cache_append<uint16_t>, grid, APPEND_THREADS, 0, s, *a);
}
