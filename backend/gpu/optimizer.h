/* What the kernels of the optimiser share: a step of AdamW for a few parameters, where their weights lie, and squares
 * of gradients. */
#ifndef TT_GPU_OPTIMIZER_H
#define TT_GPU_OPTIMIZER_H

#include "backend/gpu/map.h"

/* ---- AdamW: a thread has two vectors of each array, a block apart, so that the lanes of a wave read and write whole
 * lines ---- */

enum { ADAM_THREADS = 256, ADAM_VECTORS = 2, ADAM_BLOCKS = 4096 /* without vectors */, ADAM_WIDE = 1024 };

/* The fused multiply-adds are written out, so that every form of the kernel rounds the same way. */
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

/* ---- where the weights lie: four() and one() read, put() writes; together() says whether aligned vectors of four of
 * them, and of the floats at p, start at the same element `head` ---- */

/* Floats, and maybe a copy of them. The next step reads the copy, so it is not written with streaming access. */
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

/* The bits of x, moved off the midpoint between two bf16: a float there could not be restored from its halves
 * (core/base/half.h). */
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

/* ---- how the moments lie: begin(step) is called first; four() and one() read, put() writes ---- */

struct float_moments {
    float *m, *v;
    bool together(const float *p, int64_t) const { return map_together(m, p) && map_together(v, p); }
    GPU_MEMBER void begin(int64_t) {}
    GPU_MEMBER void four(int64_t i, gpu_vec<float> &x, gpu_vec<float> &y) const
    {
        x = gpu_vec_load_stream(m + i);
        y = gpu_vec_load_stream(v + i);
    }
    GPU_MEMBER void one(int64_t i, float &x, float &y) const { x = m[i], y = v[i]; }
    GPU_MEMBER void put(int64_t i, const gpu_vec<float> &x, const gpu_vec<float> &y) const
    {
        gpu_vec_store_stream(m + i, x);
        gpu_vec_store_stream(v + i, y);
    }
    GPU_MEMBER void put(int64_t i, float x, float y) const { m[i] = x, v[i] = y; }
};

/* tt_draw and tt_to_bf16_drawn of core/base/half.h. */
GPU_DEVICE uint32_t adam_draw(uint32_t parameter, uint32_t of_step)
{
    uint32_t x = parameter ^ of_step;
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}
GPU_DEVICE uint32_t bf16_drawn(float x, uint32_t draw)
{
    uint32_t u = gpu_float_bits(x);
    if ((u & 0x7f800000) == 0x7f800000) return u >> 16 | ((u & 0x7fffff) != 0) << 6;
    return (u + draw) >> 16;
}

struct bf16_moments {
    uint16_t *m, *v;
    uint32_t first, of_step;
    bool together(const float *, int64_t head) const
    {
        return (uintptr_t)(m + head) % 8 == 0 && (uintptr_t)(v + head) % 8 == 0;
    }
    GPU_MEMBER void begin(int64_t step) { of_step = (uint32_t)step * 0x9e3779b9u; }
    static GPU_MEMBER gpu_vec<float> widen(gpu_bytes8 h)
    {
        gpu_vec<float> x;
        GPU_UNROLL
        for (int k = 0; k < 2; k++)
            x.v[2 * k] = gpu_bits_float(h.w[k] << 16), x.v[2 * k + 1] = gpu_bits_float(h.w[k] & 0xffff0000);
        return x;
    }
    GPU_MEMBER void four(int64_t i, gpu_vec<float> &x, gpu_vec<float> &y) const
    {
        x = widen(*(const gpu_bytes8 *)(m + i));
        y = widen(*(const gpu_bytes8 *)(v + i));
    }
    GPU_MEMBER void one(int64_t i, float &x, float &y) const
    {
        x = gpu_bits_float((uint32_t)m[i] << 16), y = gpu_bits_float((uint32_t)v[i] << 16);
    }
    GPU_MEMBER void put(int64_t i, const gpu_vec<float> &x, const gpu_vec<float> &y) const
    {
        gpu_bytes8 p = {{0, 0}}, q = {{0, 0}};
        GPU_UNROLL
        for (int k = 0; k < 4; k++) {
            uint32_t draw = adam_draw(first + (uint32_t)i + k, of_step);
            p.w[k / 2] |= bf16_drawn(x.v[k], draw & 0xffff) << k % 2 * 16;
            q.w[k / 2] |= bf16_drawn(y.v[k], draw >> 16) << k % 2 * 16;
        }
        *(gpu_bytes8 *)(m + i) = p;
        *(gpu_bytes8 *)(v + i) = q;
    }
    GPU_MEMBER void put(int64_t i, float x, float y) const
    {
        uint32_t draw = adam_draw(first + (uint32_t)i, of_step);
        m[i] = (uint16_t)bf16_drawn(x, draw & 0xffff), v[i] = (uint16_t)bf16_drawn(y, draw >> 16);
    }
};

/* ---- a step for some parameters ---- */

template <typename W, typename M, typename Step>
GPU_DEVICE void adam_one(const struct tt_adamw_args &a, const W &weights, const M &moments, const Step &step, int64_t i)
{
    float w = weights.one(i), m, v;
    moments.one(i, m, v);
    step(a.grad[i], w, m, v, i < a.decay_end);
    weights.put(i, w);
    moments.put(i, m, v);
}

/* The vectors first, first + ADAM_THREADS, ... of those below `vectors`, after `head` parameters. */
template <typename W, typename M, typename Step>
GPU_DEVICE void adam_each(const struct tt_adamw_args &a, const W &weights, const M &moments, const Step &step,
                          int64_t head, int64_t first, int64_t vectors)
{
    gpu_vec<float> w[ADAM_VECTORS], m[ADAM_VECTORS], v[ADAM_VECTORS], g[ADAM_VECTORS];
    GPU_UNROLL
    for (int k = 0; k < ADAM_VECTORS; k++) {
        int64_t i = head + 4 * (first + k * ADAM_THREADS);
        if (first + k * ADAM_THREADS >= vectors) continue;
        g[k] = gpu_vec_load_stream(a.grad + i);
        w[k] = weights.four(i);
        moments.four(i, m[k], v[k]);
    }
    GPU_UNROLL
    for (int k = 0; k < ADAM_VECTORS; k++) {
        int64_t i = head + 4 * (first + k * ADAM_THREADS);
        if (first + k * ADAM_THREADS >= vectors) continue;
        GPU_UNROLL
        for (int j = 0; j < 4; j++) step(g[k].v[j], w[k].v[j], m[k].v[j], v[k].v[j], i + j < a.decay_end);
        weights.put(i, w[k]);
        moments.put(i, m[k], v[k]);
    }
}

/* How many parameters come before the first vector of four. -1 if vectors do not start at the same element in all
 * arrays. */
template <typename W, typename M>
static int64_t adam_head(const struct tt_adamw_args *a, const W &weights, const M &moments)
{
    int64_t head = gpu_smaller(map_head(a->grad, sizeof(float)), a->n);
    return moments.together(a->grad, head) && weights.together(a->grad, head) ? head : -1;
}

/* Calls launch(weights, moments) with the types that the arguments need. */
template <typename Launch> static gpu_error adam_launch(const struct tt_adamw_args *a, const Launch &launch)
{
    auto with = [&](auto weights) {
        if (a->moments == TT_BF16)
            return launch(weights, bf16_moments{(uint16_t *)a->m, (uint16_t *)a->v, (uint32_t)a->first, 0});
        return launch(weights, float_moments{(float *)a->m, (float *)a->v});
    };
    if (a->low) return with(split_weights{(gpu_bf16 *)a->copy, a->low});
    return GPU_DISPATCH(a->dtype, T, with(whole_weights<T>{a->w, (T *)a->copy}));
}

/* ---- sums of squares: float within a thread's few loads, double over them ---- */

enum { SQUARE_THREADS = 512, SQUARE_LOADS = 8 };

/* The fused multiply-adds are written out, since a compiler may fuse these products in one kernel and not in another,
 * and the sums of sum_squares and group_squares must have the same bits. */
GPU_DEVICE float vector_squares(gpu_bytes16 b)
{
    gpu_vec<float> x = gpu_vec_from<float>(b);
    return gpu_fma(x.v[0], x.v[0], x.v[1] * x.v[1]) + gpu_fma(x.v[2], x.v[2], x.v[3] * x.v[3]);
}

#endif
