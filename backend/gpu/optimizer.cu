/* AdamW, whole and in steps, and the gradient's norm: all of it is bytes, 28 per parameter for the whole (30 in fp16).
 * The arena is far larger than any cache, so its bytes are read and written as ones that will not be used again
 * soon. */
#include "backend/gpu/map.h"

/* ---- the whole: a thread has two vectors of each array, a block apart, so that the lanes of a wave read and write
 * whole lines ---- */

enum { ADAM_THREADS = 256, ADAM_VECTORS = 2, ADAM_BLOCKS = 4096 /* without vectors */ };

/* What is rounded when is written out, so that every form of the kernel gives the same bits. */
struct adam_step {
    float clip, rate, unbias2, shrink, beta1, beta2, eps;
    GPU_MEMBER void operator()(float grad, float &w, float &m, float &v, bool decays) const
    {
        float g = clip * grad;
        m = gpu_fma(beta1, m, (1.0f - beta1) * g);
        v = gpu_fma(beta2, v, (1.0f - beta2) * g * g);
        float move = gpu_divide_fast(rate * m, gpu_sqrt_fast(v * unbias2) + eps); /* far smaller than w */
        w -= decays ? gpu_fma(shrink, w, move) : move;
    }
};

/* ---- where the weights lie: four() and one() read, put() writes; together() says whether vectors of four of them and
 * of the floats p start at the same element `head` ---- */

/* Floats, and maybe a copy of them, which the next step reads: so not as a stream. */
template <typename T> struct whole_weights {
    float *w;
    T *copy;
    bool together(const float *p, int64_t head) const
    {
        return map_together(p, w) && (!copy || (uintptr_t)(copy + head) % (4 * sizeof(T)) == 0);
    }
    GPU_MEMBER gpu_vec<float> four(int64_t i) const { return gpu_vec_load_stream(w + i); }
    GPU_MEMBER float one(int64_t i) const { return w[i]; }
    GPU_MEMBER void put(int64_t i, const gpu_vec<float> &x) const
    {
        gpu_vec_store_stream(w + i, x);
        if (!copy) return;
        if constexpr (sizeof(T) == 4)
            gpu_vec_store(copy + i, x);
        else
            *(gpu_bytes8 *)(copy + i) = {{gpu_pack2<T>(x.v[0], x.v[1]), gpu_pack2<T>(x.v[2], x.v[3])}};
    }
    GPU_MEMBER void put(int64_t i, float x) const
    {
        w[i] = x;
        if (copy) copy[i] = gpu_from_float<T>(x);
    }
};

/* Halfway between two bf16 a float could not be restored from its halves (core/base/half.h). */
GPU_DEVICE uint32_t off_the_middle(float x)
{
    uint32_t u = gpu_float_bits(x);
    return u | ((u & 0xffff) == 0x8000);
}

/* A bf16 and the 16 bits that it lacks. */
struct split_weights {
    gpu_bf16 *high;
    uint16_t *low;
    bool together(const float *, int64_t head) const
    {
        return (uintptr_t)(high + head) % 8 == 0 && (uintptr_t)(low + head) % 8 == 0;
    }
    GPU_MEMBER gpu_vec<float> four(int64_t i) const
    {
        gpu_bytes8 h = *(const gpu_bytes8 *)(high + i), l = *(const gpu_bytes8 *)(low + i);
        gpu_vec<float> x;
        GPU_UNROLL
        for (int k = 0; k < 2; k++) {
            x.v[2 * k] = gpu_bits_float(((h.w[k] << 16) - ((l.w[k] & 0x8000) << 1)) | (l.w[k] & 0xffff));
            x.v[2 * k + 1] = gpu_bits_float(((h.w[k] & 0xffff0000) - (l.w[k] >> 31 << 16)) | l.w[k] >> 16);
        }
        return x;
    }
    GPU_MEMBER float one(int64_t i) const
    {
        uint32_t l = low[i], h = gpu_float_bits(gpu_to_float(high[i]));
        return gpu_bits_float((h - ((l & 0x8000) << 1)) | l);
    }
    GPU_MEMBER void put(int64_t i, const gpu_vec<float> &x) const
    {
        gpu_bytes8 h, l;
        GPU_UNROLL
        for (int k = 0; k < 2; k++) {
            uint32_t a = off_the_middle(x.v[2 * k]), b = off_the_middle(x.v[2 * k + 1]);
            h.w[k] = gpu_pack2<gpu_bf16>(gpu_bits_float(a), gpu_bits_float(b));
            l.w[k] = (a & 0xffff) | b << 16;
        }
        *(gpu_bytes8 *)(high + i) = h;
        *(gpu_bytes8 *)(low + i) = l;
    }
    GPU_MEMBER void put(int64_t i, float x) const
    {
        uint32_t u = off_the_middle(x);
        high[i] = gpu_from_float<gpu_bf16>(gpu_bits_float(u));
        low[i] = (uint16_t)u;
    }
};

template <typename W>
GPU_DEVICE void adam_one(const struct tt_adamw_args &a, const W &weights, const adam_step &step, int64_t i)
{
    float w = weights.one(i), m = a.m[i], v = a.v[i];
    step(a.grad[i], w, m, v, i < a.decay_end);
    weights.put(i, w);
    a.m[i] = m;
    a.v[i] = v;
}

/* The vectors first, first + ADAM_THREADS, ... of those below `vectors`, after `head` parameters. */
template <typename W>
GPU_DEVICE void adam_each(const struct tt_adamw_args &a, const W &weights, const adam_step &step, int64_t head,
                          int64_t first, int64_t vectors)
{
    gpu_vec<float> w[ADAM_VECTORS], m[ADAM_VECTORS], v[ADAM_VECTORS], g[ADAM_VECTORS];
    GPU_UNROLL
    for (int k = 0; k < ADAM_VECTORS; k++) {
        int64_t i = head + 4 * (first + k * ADAM_THREADS);
        if (first + k * ADAM_THREADS >= vectors) continue;
        g[k] = gpu_vec_load_stream(a.grad + i);
        w[k] = weights.four(i);
        m[k] = gpu_vec_load_stream(a.m + i);
        v[k] = gpu_vec_load_stream(a.v + i);
    }
    GPU_UNROLL
    for (int k = 0; k < ADAM_VECTORS; k++) {
        int64_t i = head + 4 * (first + k * ADAM_THREADS);
        if (first + k * ADAM_THREADS >= vectors) continue;
        GPU_UNROLL
        for (int j = 0; j < 4; j++) step(g[k].v[j], w[k].v[j], m[k].v[j], v[k].v[j], i + j < a.decay_end);
        weights.put(i, w[k]);
        gpu_vec_store_stream(a.m + i, m[k]);
        gpu_vec_store_stream(a.v + i, v[k]);
    }
}

/* `vectors` times four parameters after the first `head`; the others one by one. */
template <typename W>
GPU_KERNEL GPU_BOUNDS(ADAM_THREADS) adamw(struct tt_adamw_args a, W weights, int64_t head, int64_t vectors)
{
    const struct tt_state *s = a.state;
    if (!s->apply) return;
    adam_step step = {s->clip, s->lr / s->bias1, 1.0f / s->bias2, s->lr * a.decay, a.beta1, a.beta2, a.eps};
    adam_each(a, weights, step, head, gpu_block_x() * (ADAM_VECTORS * ADAM_THREADS) + gpu_thread(), vectors);
    int64_t edges = a.n - vectors * 4;
    for (int64_t e = gpu_block_x() * ADAM_THREADS + gpu_thread(); e < edges; e += gpu_blocks_x() * ADAM_THREADS)
        adam_one(a, weights, step, e < head ? e : e + vectors * 4);
}

template <typename W> static gpu_error launch_adamw(const struct tt_adamw_args *a, W weights, gpu_stream s)
{
    int64_t head = gpu_smaller(map_head(a->m, sizeof(float)), a->n), vectors = (a->n - head) / 4;
    if (!map_together(a->m, a->v) || !map_together(a->m, a->grad) || !weights.together(a->m, head))
        head = a->n, vectors = 0;
    int64_t blocks = vectors ? gpu_divide_up(vectors, ADAM_VECTORS * ADAM_THREADS)
                             : gpu_smaller(gpu_divide_up(a->n, ADAM_THREADS), ADAM_BLOCKS);
    return GPU_LAUNCH(adamw<W>, gpu_grid_of(blocks), ADAM_THREADS, 0, s, *a, weights, head, vectors);
}

gpu_error tt_gpu_adamw(const struct tt_adamw_args *a, gpu_stream s)
{
    if (a->low) return launch_adamw(a, split_weights{(gpu_bf16 *)a->copy, a->low}, s);
    return GPU_DISPATCH(a->dtype, T, launch_adamw(a, whole_weights<T>{a->w, (T *)a->copy}, s));
}

/* ---- in steps ---- */

struct stepwise {
    const struct tt_state *state;
    GPU_MEMBER bool begin() { return state->apply != 0; }
};
struct f_clip_grad : stepwise {
    float clip;
    GPU_MEMBER bool begin()
    {
        clip = state->clip;
        return state->apply != 0;
    }
    GPU_MEMBER float operator()(const float *x) const { return x[0] * clip; }
};
struct f_adam_m : stepwise {
    float beta;
    GPU_MEMBER float operator()(const float *x) const { return beta * x[0] + (1.0f - beta) * x[1]; }
};
struct f_adam_v : stepwise {
    float beta;
    GPU_MEMBER float operator()(const float *x) const { return beta * x[0] + (1.0f - beta) * x[1] * x[1]; }
};
struct f_weight_decay : stepwise {
    float decay, shrink;
    GPU_MEMBER bool begin()
    {
        shrink = state->lr * decay;
        return state->apply != 0;
    }
    GPU_MEMBER float operator()(const float *x) const { return x[0] - shrink * x[0]; }
};
struct f_adam_update : stepwise {
    float eps, lr, bias1, bias2;
    GPU_MEMBER bool begin()
    {
        lr = state->lr, bias1 = state->bias1, bias2 = state->bias2;
        return state->apply != 0;
    }
    GPU_MEMBER float operator()(const float *x) const
    {
        return x[0] - gpu_divide(lr * gpu_divide(x[1], bias1), gpu_sqrt(gpu_divide(x[2], bias2)) + eps);
    }
};

gpu_error tt_gpu_clip_grad(const struct tt_clip_grad_args *a, gpu_stream s)
{
    f_clip_grad f = {{a->state}, 0};
    map_function<float, 1, f_clip_grad> op = {{a->g}, a->g, {a->n}, a->n, f};
    return map_launch_function(op, 1, a->n, s);
}
gpu_error tt_gpu_adam_m(const struct tt_adam_m_args *a, gpu_stream s)
{
    f_adam_m f = {{a->state}, a->beta1};
    map_function<float, 2, f_adam_m> op = {{a->m, a->g}, a->m, {a->n, a->n}, a->n, f};
    return map_launch_function(op, 1, a->n, s);
}
gpu_error tt_gpu_adam_v(const struct tt_adam_v_args *a, gpu_stream s)
{
    f_adam_v f = {{a->state}, a->beta2};
    map_function<float, 2, f_adam_v> op = {{a->v, a->g}, a->v, {a->n, a->n}, a->n, f};
    return map_launch_function(op, 1, a->n, s);
}
gpu_error tt_gpu_weight_decay(const struct tt_weight_decay_args *a, gpu_stream s)
{
    f_weight_decay f = {{a->state}, a->decay, 0};
    map_function<float, 1, f_weight_decay> op = {{a->w}, a->w, {a->n}, a->n, f};
    return map_launch_function(op, 1, a->n, s);
}
gpu_error tt_gpu_adam_update(const struct tt_adam_update_args *a, gpu_stream s)
{
    f_adam_update f = {{a->state}, a->eps, 0, 0, 0};
    map_function<float, 3, f_adam_update> op = {{a->w, a->m, a->v}, a->w, {a->n, a->n, a->n}, a->n, f};
    return map_launch_function(op, 1, a->n, s);
}

/* ---- sums of squares: a block per part, float within a thread's few loads, double over them ---- */

enum { SQUARE_THREADS = 512, SQUARE_LOADS = 8 };

GPU_DEVICE float vector_squares(gpu_bytes16 b)
{
    gpu_vec<float> x = gpu_vec_from<float>(b);
    return (x.v[0] * x.v[0] + x.v[1] * x.v[1]) + (x.v[2] * x.v[2] + x.v[3] * x.v[3]);
}

GPU_KERNEL GPU_BOUNDS(SQUARE_THREADS) sum_squares(struct tt_sum_squares_args a, int64_t run)
{
    int64_t from = gpu_smaller(gpu_block_x() * run, a.n), n = gpu_smaller(run, a.n - from);
    const float *x = a.x + from;
    int64_t head = gpu_smaller((16 - (int)((uintptr_t)x % 16)) % 16 / 4, n), vectors = (n - head) / 4;
    int64_t edges = n - 4 * vectors;
    double sum = 0;
    int64_t v = gpu_thread();
    for (; v + (SQUARE_LOADS - 1) * SQUARE_THREADS < vectors; v += SQUARE_THREADS * SQUARE_LOADS) {
        float part = 0;
        gpu_bytes16 b[SQUARE_LOADS];
        GPU_UNROLL
        for (int k = 0; k < SQUARE_LOADS; k++) b[k] = gpu_load16_stream(x + head + 4 * (v + k * SQUARE_THREADS));
        GPU_UNROLL
        for (int k = 0; k < SQUARE_LOADS; k++) part += vector_squares(b[k]);
        sum += part;
    }
    for (; v < vectors; v += SQUARE_THREADS) sum += vector_squares(gpu_load16_stream(x + head + 4 * v));
    for (int64_t e = gpu_thread(); e < edges; e += SQUARE_THREADS) {
        float v = x[e < head ? e : e + 4 * vectors];
        sum += v * v;
    }
    sum = gpu_block_sum<SQUARE_THREADS>(sum);
    if (gpu_thread() == 0) a.partial[gpu_block_x()] = (float)sum;
}

gpu_error tt_gpu_sum_squares(const struct tt_sum_squares_args *a, gpu_stream s)
{
    return GPU_LAUNCH(sum_squares, gpu_grid_of(a->parts), SQUARE_THREADS, 0, s, *a, gpu_divide_up(a->n, a->parts));
}
