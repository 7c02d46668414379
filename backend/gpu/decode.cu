/* Attention of new tokens over caches of keys and values.
 *
 * A block takes TT_DECODE_KEYS keys of one sequence and key/value head, and up to HEADS of the query heads that share
 * it, so that a long cache is read by many blocks and each key by one (or a few). It rotates its queries, and
 * the block of the newest key rotates that and adds it to the cache. First, each group of lanes takes a key;
 * neighbouring lanes read neighbouring 16 bytes of its row. Then comes the softmax over these keys. Last, the threads
 * are divided into slices of the keys, and those of a slice over the columns of a row; the slices are added in order.
 * Where a cache is longer than TT_DECODE_KEYS, a second kernel puts the parts together, in their order. */
#include "backend/gpu/gpu.h"

enum {
    DECODE_THREADS = 128,
    DECODE_HEADS = 8,        /* most query heads of a block; 1 where rows are not aligned or heads are too large */
    DECODE_STATIC = 8 << 10, /* upper bound of a block's static shared memory; the dynamic limit includes it too */
    FILL_THREADS = 256
};

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

/* What a block works on. */
template <typename T> struct decode_block {
    const T *q, *k_new, *v_new; /* in the packed row, not rotated */
    T *k, *v;                   /* the caches, at the block's first key */
    T *o;
    int64_t D, ld, angle;
    int n, fresh, heads; /* keys; the newest of them, or -1; query heads */
};

/* to[h][d] = from rotated by the angles of the newest position; `ld` elements between heads of `to`. */
template <typename T>
GPU_DEVICE void decode_rotate(float *to, const T *from, int64_t pairs, const tt_attention_decode_args &a, int64_t angle)
{
    int64_t half = a.D / 2;
    for (int64_t i = gpu_thread(); i < pairs; i += DECODE_THREADS) {
        float c = a.cos[angle + i % half], s = a.sin[angle + i % half];
        float x = gpu_to_float(from[2 * i]), y = gpu_to_float(from[2 * i + 1]);
        to[2 * i] = gpu_to_float(gpu_from_float<T>(x * c - y * s));
        to[2 * i + 1] = gpu_to_float(gpu_from_float<T>(x * s + y * c));
    }
}

/* scores[h][j] = scale·q_h·k_j, with `lanes` lanes per key. */
template <typename T, bool WIDE, int HEADS>
GPU_DEVICE void decode_scores(float *scores, const float *q, const decode_block<T> &b, float scale, int lanes)
{
    constexpr int N = decode_vec<T, WIDE>::N;
    int lane = gpu_thread() % lanes, group = gpu_thread() / lanes, groups = DECODE_THREADS / lanes;
    for (int first = 0; first < b.n; first += groups) { /* every lane loops equally often, for the shuffles */
        int j = first + group;
        float sum[HEADS] = {0.0f};
        for (int64_t d = lane * N; j < b.n && d < b.D; d += lanes * N) {
            decode_vec<T, WIDE> y = decode_load<T, WIDE>(b.k + j * b.ld + d);
            GPU_UNROLL
            for (int h = 0; h < HEADS; h++)
                if (h < b.heads) {
                    GPU_UNROLL
                    for (int i = 0; i < N; i++) sum[h] = gpu_fma(q[h * b.D + d + i], y.v[i], sum[h]);
                }
        }
        GPU_UNROLL
        for (int h = 0; h < HEADS; h++) {
            for (int mask = lanes / 2; mask > 0; mask /= 2) sum[h] += gpu_shfl_xor(sum[h], mask);
            if (j < b.n && lane == 0) scores[h * TT_DECODE_KEYS + j] = sum[h] * scale;
        }
    }
}

/* Each head's scores become exponentials over their maximum; top and total get that and their sum. A wave has a head.
 */
GPU_DEVICE void decode_softmax(float *scores, int n, int heads, float *top, float *total)
{
    constexpr int WAVES = DECODE_THREADS / GPU_WAVE;
    for (int h = gpu_wave(); h < heads; h += WAVES) {
        float *s = scores + h * TT_DECODE_KEYS, most = -GPU_INFINITY, sum = 0.0f;
        for (int j = gpu_lane(); j < n; j += GPU_WAVE) most = gpu_max(most, s[j]);
        most = gpu_wave_max(most);
        for (int j = gpu_lane(); j < n; j += GPU_WAVE) sum += s[j] = gpu_exp(s[j] - most);
        sum = gpu_wave_sum(sum);
        if (gpu_lane() == 0) top[h] = most, total[h] = sum;
    }
}

/* write(h, d, sum over j of p[h][j]·v_j[d]). */
template <typename T, bool WIDE, int HEADS, typename F>
GPU_DEVICE void decode_values(const float *p, float *part, const decode_block<T> &b, F write)
{
    constexpr int N = decode_vec<T, WIDE>::N;
    int64_t pieces = b.D / N;
    int width = (int)gpu_smaller(pieces, DECODE_THREADS), slices = DECODE_THREADS / width;
    int column = gpu_thread() % width, slice = gpu_thread() / width;
    for (int64_t first = 0; first < pieces; first += width) {
        float sum[HEADS][N] = {{0.0f}};
        if (slice < slices && first + column < pieces)
            for (int j = slice; j < b.n; j += slices) {
                decode_vec<T, WIDE> x = decode_load<T, WIDE>(b.v + j * b.ld + (first + column) * N);
                GPU_UNROLL
                for (int h = 0; h < HEADS; h++)
                    if (h < b.heads) {
                        GPU_UNROLL
                        for (int i = 0; i < N; i++) sum[h][i] = gpu_fma(p[h * TT_DECODE_KEYS + j], x.v[i], sum[h][i]);
                    }
            }
        GPU_UNROLL
        for (int h = 0; h < HEADS; h++) {
            if (h >= b.heads) continue; /* the whole block */
            GPU_UNROLL
            for (int i = 0; i < N; i++) part[gpu_thread() * N + i] = sum[h][i];
            gpu_block_sync();
            for (int e = gpu_thread(); e < width * N; e += DECODE_THREADS) {
                float all = 0.0f;
                for (int i = 0; i < slices; i++) all += part[i * width * N + e];
                if (first * N + e < b.D) write(h, first * N + e, all);
            }
            gpu_block_sync();
        }
    }
}

/* Finds what a block works on. In the grid, x is sequences times parts of the keys, y is heads. False: the part is
 * beyond the newest key. */
template <int HEADS, typename T>
GPU_DEVICE bool decode_find(decode_block<T> &b, const tt_attention_decode_args &a, int64_t *first_head, int64_t *part)
{
    int64_t G = a.heads / a.kv_heads, chunks = gpu_divide_up(G, HEADS), parts = TT_DECODE_PARTS(a.length);
    int64_t kv = gpu_block_y() / chunks, chunk = gpu_block_y() % chunks, r = gpu_block_x() / parts;
    *part = gpu_block_x() - r * parts;
    int64_t pos = gpu_smaller(a.pos[r], a.length - 1), from = *part * TT_DECODE_KEYS;
    if (from > pos) return false;
    const T *row = (const T *)a.qkv + r * (a.heads + 2 * a.kv_heads) * a.D;
    b.D = a.D, b.ld = a.kv_heads * a.D, b.angle = pos * (a.D / 2);
    int64_t h = kv * G + chunk * HEADS, cache = (r * a.length + from) * b.ld + kv * a.D;
    b.heads = (int)gpu_smaller(HEADS, G - chunk * HEADS);
    b.q = row + h * a.D, b.k_new = row + (a.heads + kv) * a.D, b.v_new = b.k_new + b.ld;
    b.k = (T *)a.k_cache + cache, b.v = (T *)a.v_cache + cache;
    b.o = (T *)a.o + (r * a.heads + h) * a.D;
    b.n = (int)gpu_smaller(TT_DECODE_KEYS, pos + 1 - from);
    b.fresh = pos < from + TT_DECODE_KEYS ? (int)(pos - from) : -1;
    *first_head = r * a.heads + h;
    return true;
}

/* Blocks that share a key write the same bytes to the same place, and read what they wrote. */
template <typename T>
GPU_DEVICE void decode_append(const decode_block<T> &b, const tt_attention_decode_args &a, float *k)
{
    if (b.fresh < 0) return; /* the whole block */
    decode_rotate(k, b.k_new, b.D / 2, a, b.angle);
    gpu_block_sync();
    for (int64_t d = gpu_thread(); d < b.D; d += DECODE_THREADS) {
        b.k[b.fresh * b.ld + d] = gpu_from_float<T>(k[d]);
        b.v[b.fresh * b.ld + d] = b.v_new[d];
    }
}

/* Dynamic shared memory, in floats: queries (HEADS, D), the new key (D). */
template <typename T, bool WIDE, int HEADS>
GPU_KERNEL GPU_BOUNDS_MIN(DECODE_THREADS, 4) attention_decode(struct tt_attention_decode_args a, int lanes, bool parted)
{
    /* Sizes fit 32 bits; where the compiler knows that, they take one register each. */
    a.heads = (uint32_t)a.heads, a.kv_heads = (uint32_t)a.kv_heads;
    a.D = (uint32_t)a.D, a.length = (uint32_t)a.length;
    GPU_DYNAMIC_SHARED(bytes);
    GPU_SHARED float scores[HEADS * TT_DECODE_KEYS], top[HEADS], total[HEADS];
    GPU_SHARED float part[DECODE_THREADS * decode_vec<T, WIDE>::N];
    float *q = (float *)bytes, *k = q + HEADS * a.D;
    decode_block<T> b;
    int64_t head, x, D = a.D, apart = TT_DECODE_PARTS(a.length) * (D + 2); /* between the parts of two heads */
    if (!decode_find<HEADS>(b, a, &head, &x)) return;
    float *to = parted ? a.parts + head * apart + x * (D + 2) : NULL;
    decode_rotate(q, b.q, b.heads * D / 2, a, b.angle);
    decode_append(b, a, k);
    gpu_block_sync();
    decode_scores<T, WIDE, HEADS>(scores, q, b, a.scale, lanes);
    gpu_block_sync();
    decode_softmax(scores, b.n, b.heads, top, total);
    gpu_block_sync();
    decode_values<T, WIDE, HEADS>(scores, part, b, [&](int h, int64_t d, float sum) {
        if (parted)
            to[h * apart + d] = sum;
        else
            b.o[h * D + d] = gpu_from_float<T>(gpu_divide(sum, total[h]));
    });
    if (parted && gpu_thread() < b.heads) {
        to += gpu_thread() * apart + D;
        to[0] = top[gpu_thread()], to[1] = total[gpu_thread()];
    }
}

/* A block puts the parts of a head together. */
template <typename T> GPU_KERNEL GPU_BOUNDS(DECODE_THREADS) attention_decode_join(struct tt_attention_decode_args a)
{
    int64_t h = gpu_block_x(), D = a.D, pos = gpu_smaller(a.pos[h / a.heads], a.length - 1);
    int64_t n = pos / TT_DECODE_KEYS + 1, size = D + 2;
    const float *parts = a.parts + h * TT_DECODE_PARTS(a.length) * size;
    float top = -GPU_INFINITY, total = 0.0f;
    for (int64_t i = 0; i < n; i++) top = gpu_max(top, parts[i * size + D]);
    for (int64_t i = 0; i < n; i++) total = gpu_fma(gpu_exp(parts[i * size + D] - top), parts[i * size + D + 1], total);
    for (int64_t d = gpu_thread(); d < D; d += DECODE_THREADS) {
        float sum = 0.0f;
        for (int64_t i = 0; i < n; i++) sum = gpu_fma(gpu_exp(parts[i * size + D] - top), parts[i * size + d], sum);
        ((T *)a.o)[h * D + d] = gpu_from_float<T>(gpu_divide(sum, total));
    }
}

template <int HEADS> static size_t decode_bytes(int64_t D) { return (size_t)((HEADS + 1) * D) * sizeof(float); }

template <typename T, bool WIDE, int HEADS>
static gpu_error decode_heads(const struct tt_attention_decode_args *a, int lanes, gpu_stream s)
{
    int64_t parts = TT_DECODE_PARTS(a->length), chunks = gpu_divide_up(a->heads / a->kv_heads, HEADS);
    size_t shared = decode_bytes<HEADS>(a->D);
    gpu_grid grid((unsigned)(a->rows * parts), (unsigned)(a->kv_heads * chunks));
    gpu_error e = gpu_allow_shared(attention_decode<T, WIDE, HEADS>, shared + DECODE_STATIC);
    if (!e) e = GPU_LAUNCH(attention_decode<T, WIDE, HEADS>, grid, DECODE_THREADS, shared, s, *a, lanes, parts > 1);
    if (e || parts == 1) return e;
    return GPU_LAUNCH(attention_decode_join<T>, gpu_grid_of(a->rows * a->heads), DECODE_THREADS, 0, s, *a);
}

template <typename T, bool WIDE> static gpu_error decode_launch(const struct tt_attention_decode_args *a, gpu_stream s)
{
    int64_t pieces = WIDE ? a->D * (int64_t)sizeof(T) / 16 : a->D, G = a->heads / a->kv_heads;
    int lanes = 1;
    while (lanes < pieces && lanes < GPU_GROUP) lanes *= 2;
    bool fits = decode_bytes<DECODE_HEADS>(a->D) + 2 * DECODE_STATIC <= (size_t)gpu_shared_limit();
    if (WIDE && G > 1 && fits) return decode_heads < T, WIDE, WIDE ? DECODE_HEADS : 1 > (a, lanes, s);
    return decode_heads<T, WIDE, 1>(a, lanes, s);
}

gpu_error tt_gpu_attention_decode(const struct tt_attention_decode_args *a, gpu_stream s)
{
    size_t size = tt_dtype_size(a->dtype);
    bool wide = gpu_aligned_rows(a->k_cache, a->D, size) && gpu_aligned(a->v_cache);
    if (wide) return GPU_DISPATCH(a->dtype, T, decode_launch<T, true>(a, s));
    return GPU_DISPATCH(a->dtype, T, decode_launch<T, false>(a, s));
}

/* ---- the keys and values of a prompt ---- */

/* U has the size of an element. */
template <typename U> GPU_KERNEL GPU_BOUNDS(FILL_THREADS) cache_fill(struct tt_cache_fill_args a)
{
    int64_t width = a.kv_heads * a.D, i = gpu_block_y() * FILL_THREADS + gpu_thread(), t = gpu_block_x();
    if (i >= width || t >= a.length) return;
    int64_t to = (*a.sequence * a.length + t) * width + i;
    ((U *)a.k_cache)[to] = ((const U *)a.k)[t * a.ld + i];
    ((U *)a.v_cache)[to] = ((const U *)a.v)[t * a.ld + i];
}

gpu_error tt_gpu_cache_fill(const struct tt_cache_fill_args *a, gpu_stream s)
{
    gpu_grid grid((unsigned)a->T, (unsigned)gpu_divide_up(a->kv_heads * a->D, FILL_THREADS));
    if (a->dtype == TT_F32) return GPU_LAUNCH(cache_fill<uint32_t>, grid, FILL_THREADS, 0, s, *a);
    return GPU_LAUNCH(cache_fill<uint16_t>, grid, FILL_THREADS, 0, s, *a);
}
