/* AdamW, whole and in steps, and the gradient's norm: all of it is bytes, 28 to 30 per parameter for the whole. The
 * arena is far larger than any cache, so its bytes are read and written as ones that will not be used again soon. */
#include "backend/gpu/map.h"

/* ---- the whole: a thread has two vectors of each array, a block apart, so that the lanes of a wave read and write
 * whole lines ---- */

enum { ADAM_THREADS = 256, ADAM_VECTORS = 2, ADAM_BLOCKS = 4096 /* without vectors */ };

struct adam_step {
    float clip, rate, unbias2, shrink, beta1, beta2, eps;
    GPU_MEMBER void operator()(float grad, float &w, float &m, float &v, bool decays) const
    {
        float g = clip * grad;
        m = beta1 * m + (1.0f - beta1) * g;
        v = beta2 * v + (1.0f - beta2) * g * g;
        float move = gpu_divide_fast(rate * m, gpu_sqrt_fast(v * unbias2) + eps); /* far smaller than w */
        w -= move + (decays ? shrink * w : 0.0f);
    }
};

template <typename T> GPU_DEVICE void adam_one(const struct tt_adamw_args &a, const adam_step &step, int64_t i)
{
    float w = a.w[i], m = a.m[i], v = a.v[i];
    step(a.grad[i], w, m, v, i < a.decay_end);
    a.w[i] = w;
    a.m[i] = m;
    a.v[i] = v;
    if (a.copy) ((T *)a.copy)[i] = gpu_from_float<T>(w);
}

/* The weights that the next step reads, so not as a stream. */
template <typename T> GPU_DEVICE void store_copy(T *to, const gpu_vec<float> &w)
{
    gpu_bytes8 b = {{gpu_pack2<T>(w.v[0], w.v[1]), gpu_pack2<T>(w.v[2], w.v[3])}};
    *(gpu_bytes8 *)to = b;
}
template <> GPU_MEMBER void store_copy<float>(float *to, const gpu_vec<float> &w) { gpu_vec_store(to, w); }

/* The vectors first, first + ADAM_THREADS, ... of those below `vectors`, after `head` parameters. */
template <typename T>
GPU_DEVICE void adam_each(const struct tt_adamw_args &a, const adam_step &step, int64_t head, int64_t first,
                          int64_t vectors)
{
    gpu_vec<float> w[ADAM_VECTORS], m[ADAM_VECTORS], v[ADAM_VECTORS], g[ADAM_VECTORS];
    GPU_UNROLL
    for (int k = 0; k < ADAM_VECTORS; k++) {
        int64_t i = head + 4 * (first + k * ADAM_THREADS);
        if (first + k * ADAM_THREADS >= vectors) continue;
        g[k] = gpu_vec_load_stream(a.grad + i);
        w[k] = gpu_vec_load_stream(a.w + i);
        m[k] = gpu_vec_load_stream(a.m + i);
        v[k] = gpu_vec_load_stream(a.v + i);
    }
    GPU_UNROLL
    for (int k = 0; k < ADAM_VECTORS; k++) {
        int64_t i = head + 4 * (first + k * ADAM_THREADS);
        if (first + k * ADAM_THREADS >= vectors) continue;
        GPU_UNROLL
        for (int j = 0; j < 4; j++) step(g[k].v[j], w[k].v[j], m[k].v[j], v[k].v[j], i + j < a.decay_end);
        gpu_vec_store_stream(a.w + i, w[k]);
        gpu_vec_store_stream(a.m + i, m[k]);
        gpu_vec_store_stream(a.v + i, v[k]);
        if (a.copy) store_copy((T *)a.copy + i, w[k]);
    }
}

/* `vectors` times four parameters after the first `head`; the others one by one. */
template <typename T> GPU_KERNEL GPU_BOUNDS(ADAM_THREADS) adamw(struct tt_adamw_args a, int64_t head, int64_t vectors)
{
    const struct tt_state *s = a.state;
    if (!s->apply) return;
    adam_step step = {s->clip, s->lr / s->bias1, 1.0f / s->bias2, s->lr * a.decay, a.beta1, a.beta2, a.eps};
    adam_each<T>(a, step, head, gpu_block_x() * (ADAM_VECTORS * ADAM_THREADS) + gpu_thread(), vectors);
    int64_t edges = a.n - vectors * 4;
    for (int64_t e = gpu_block_x() * ADAM_THREADS + gpu_thread(); e < edges; e += gpu_blocks_x() * ADAM_THREADS)
        adam_one<T>(a, step, e < head ? e : e + vectors * 4);
}

template <typename T> static gpu_error launch_adamw(const struct tt_adamw_args *a, gpu_stream s)
{
    int64_t head = gpu_smaller(map_head(a->w, sizeof(float)), a->n), vectors = (a->n - head) / 4;
    bool together = map_together(a->w, a->m) && map_together(a->w, a->v) && map_together(a->w, a->grad);
    if (!together || (a->copy && (uintptr_t)((const T *)a->copy + head) % (4 * sizeof(T)))) head = a->n, vectors = 0;
    int64_t blocks = vectors ? gpu_divide_up(vectors, ADAM_VECTORS * ADAM_THREADS)
                             : gpu_smaller(gpu_divide_up(a->n, ADAM_THREADS), ADAM_BLOCKS);
    return GPU_LAUNCH(adamw<T>, gpu_grid_of(blocks), ADAM_THREADS, 0, s, *a, head, vectors);
}

gpu_error tt_gpu_adamw(const struct tt_adamw_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, launch_adamw<T>(a, s));
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
