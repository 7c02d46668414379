/* AdamW, fused and in steps, and the gradient's norm. All of it is bound by memory bandwidth: fused AdamW moves 28
 * bytes per parameter (30 in fp16, 8 less with moments in bf16). The arena is far larger than any cache, so its bytes
 * are read and written with streaming access. */
#include "backend/gpu/optimizer.h"

/* ---- AdamW, fused ---- */

/* `vectors` vectors of four parameters after the first `head` parameters; the others one by one. */
template <typename W, typename M>
GPU_KERNEL GPU_BOUNDS(ADAM_THREADS) adamw(struct tt_adamw_args a, W weights, M moments, int64_t head, int64_t vectors)
{
    const struct tt_state *s = a.state;
    if (!s->apply) return;
    moments.begin(s->step);
    adam_step step = {s->clip, s->lr / s->bias1, 1.0f / s->bias2, s->lr * a.decay, a.beta1, a.beta2, a.eps};
    int64_t first = gpu_block_x() * (ADAM_VECTORS * ADAM_THREADS) + gpu_thread();
    adam_each(a, weights, moments, step, head, first, vectors);
    int64_t edges = a.n - vectors * 4;
    for (int64_t e = gpu_block_x() * ADAM_THREADS + gpu_thread(); e < edges; e += gpu_blocks_x() * ADAM_THREADS)
        adam_one(a, weights, moments, step, e < head ? e : e + vectors * 4);
}

/* The same by few blocks of the largest size, so that the other multiprocessors stay free. Blocks of the usual size
 * would be spread over all multiprocessors, and the blocks of a product would find room on none. */
template <typename W, typename M>
GPU_KERNEL GPU_BOUNDS(ADAM_WIDE)
adamw_beside(struct tt_adamw_args a, W weights, M moments, int64_t head, int64_t vectors)
{
    const struct tt_state *s = a.state;
    if (!s->apply) return;
    moments.begin(s->step);
    adam_step step = {s->clip, s->lr / s->bias1, 1.0f / s->bias2, s->lr * a.decay, a.beta1, a.beta2, a.eps};
    int64_t tile = ADAM_VECTORS * ADAM_THREADS, parts = ADAM_WIDE / ADAM_THREADS;
    int64_t first = (gpu_block_x() * parts + gpu_thread() / ADAM_THREADS) * tile + gpu_thread() % ADAM_THREADS;
    for (; first < vectors; first += gpu_blocks_x() * parts * tile)
        adam_each(a, weights, moments, step, head, first, vectors);
    int64_t edges = a.n - vectors * 4, e = gpu_block_x() * ADAM_WIDE + gpu_thread();
    for (; e < edges; e += gpu_blocks_x() * ADAM_WIDE)
        adam_one(a, weights, moments, step, e < head ? e : e + vectors * 4);
}

template <typename W, typename M>
static gpu_error launch_adamw(const struct tt_adamw_args *a, W weights, M moments, gpu_stream s)
{
    int64_t head = adam_head(a, weights, moments), vectors = head < 0 ? 0 : (a->n - head) / 4;
    if (head < 0) head = a->n;
    if (a->units && vectors) {
        int64_t wide = gpu_smaller(a->units, gpu_divide_up(vectors, ADAM_VECTORS * ADAM_WIDE));
        return GPU_LAUNCH((adamw_beside<W, M>), gpu_grid_of(wide), ADAM_WIDE, 0, s, *a, weights, moments, head,
                          vectors);
    }
    int64_t blocks = vectors ? gpu_divide_up(vectors, ADAM_VECTORS * ADAM_THREADS)
                             : gpu_smaller(gpu_divide_up(a->n, ADAM_THREADS), ADAM_BLOCKS);
    return GPU_LAUNCH((adamw<W, M>), gpu_grid_of(blocks), ADAM_THREADS, 0, s, *a, weights, moments, head, vectors);
}

gpu_error tt_gpu_adamw(const struct tt_adamw_args *a, gpu_stream s)
{
    return adam_launch(a, [&](auto weights, auto moments) { return launch_adamw(a, weights, moments, s); });
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
