/* AdamW, whole and in steps, and the gradient's norm. */
#ifndef TT_CPU_OPTIMIZER_H
#define TT_CPU_OPTIMIZER_H

static void k_sum_squares(const struct cpu_team *team, const struct tt_sum_squares_args *a)
{
    int64_t run = divide_up(a->n, a->parts);
    PARALLEL_FOR(team, a->n)
    for (int64_t p = 0; p < a->parts; p++) {
        int64_t from = smaller(p * run, a->n), n = smaller(run, a->n - from);
        a->partial[p] = (float)row_dot(a->x + from, a->x + from, n);
    }
}

static inline void adamw_run(const struct tt_adamw_args *a, int64_t from, int64_t to, float decay, float bias1,
                             float bias2)
{
    const struct tt_state *s = a->state;
    float *w = a->w, *m = a->m, *v = a->v, clip = s->clip, b1 = a->beta1, b2 = a->beta2, eps = a->eps;
    const float *grad = a->grad;
    float rate = s->lr / bias1, unbias2 = 1.0f / bias2, shrink = s->lr * decay;
    SIMD
    for (int64_t i = from; i < to; i++) {
        float g = clip * grad[i];
        float mi = b1 * m[i] + (1.0f - b1) * g;
        float vi = b2 * v[i] + (1.0f - b2) * g * g;
        m[i] = mi;
        v[i] = vi;
        w[i] -= rate * mi / (sqrtf(vi * unbias2) + eps) + shrink * w[i];
    }
}

/* One function for all parameters and for some of them, so that a compiler rounds alike in both. */
static __attribute__((noinline)) void adamw_piece(const struct tt_adamw_args *a, int64_t from, int64_t to, float bias1,
                                                  float bias2)
{
    float *copy = a->copy; /* float too, on this backend */
    int64_t border = larger(from, smaller(to, a->decay_end));
    adamw_run(a, from, border, a->decay, bias1, bias2);
    adamw_run(a, border, to, 0.0f, bias1, bias2);
    if (copy) memcpy(copy + from, a->w + from, (size_t)(to - from) * sizeof *copy);
}

static void k_adamw(const struct cpu_team *team, const struct tt_adamw_args *a)
{
    const struct tt_state *s = a->state;
    if (!s->apply) return;
    PARALLEL_FOR(team, a->n)
    for (int64_t from = 0; from < a->n; from += BLOCK)
        adamw_piece(a, from, smaller(a->n, from + BLOCK), s->bias1, s->bias2);
}

/* A loop over i in fixed blocks, left out when this step changes nothing. */
#define OPTIMIZER_STEP(name, statement)                                                            \
    static void k_##name(const struct cpu_team *team, const struct tt_##name##_args *a)            \
    {                                                                                              \
        const struct tt_state *s = a->state;                                                       \
        if (!s->apply) return;                                                                     \
        PARALLEL_FOR(team, a->n)                                                                   \
        for (int64_t from = 0; from < a->n; from += BLOCK) {                                       \
            int64_t to = smaller(a->n, from + BLOCK);                                              \
            SIMD                                                                                   \
            for (int64_t i = from; i < to; i++) statement;                                         \
        }                                                                                          \
    }

OPTIMIZER_STEP(clip_grad, a->g[i] *= s->clip)
OPTIMIZER_STEP(adam_m, a->m[i] = a->beta1 * a->m[i] + (1.0f - a->beta1) * a->g[i])
OPTIMIZER_STEP(adam_v, a->v[i] = a->beta2 * a->v[i] + (1.0f - a->beta2) * a->g[i] * a->g[i])
OPTIMIZER_STEP(weight_decay, a->w[i] -= s->lr * a->decay * a->w[i])

static void k_adam_update(const struct cpu_team *team, const struct tt_adam_update_args *a)
{
    const struct tt_state *s = a->state;
    if (!s->apply) return;
    float rate = s->lr / s->bias1, unbias2 = 1.0f / s->bias2; /* outside the loop: a division costs a dozen products */
    PARALLEL_FOR(team, a->n)
    for (int64_t from = 0; from < a->n; from += BLOCK) {
        int64_t to = smaller(a->n, from + BLOCK);
        SIMD
        for (int64_t i = from; i < to; i++) a->w[i] -= rate * a->m[i] / (sqrtf(a->v[i] * unbias2) + a->eps);
    }
}

#endif
