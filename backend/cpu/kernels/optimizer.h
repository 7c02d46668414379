/* AdamW, fused and in steps, and the gradient's norm. */
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

/* The parameters from `from` on, with their moments at m and v. */
static inline void adamw_run(const struct tt_adamw_args *a, float *m, float *v, int64_t from, int64_t n, float decay,
                             float bias1, float bias2)
{
    const struct tt_state *s = a->state;
    float *w = a->w + from, clip = s->clip, b1 = a->beta1, b2 = a->beta2, eps = a->eps;
    const float *grad = a->grad + from;
    float rate = s->lr / bias1, unbias2 = 1.0f / bias2, shrink = s->lr * decay;
    SIMD
    for (int64_t i = 0; i < n; i++) {
        float g = clip * grad[i];
        float mi = b1 * m[i] + (1.0f - b1) * g;
        float vi = b2 * v[i] + (1.0f - b2) * g * g;
        m[i] = mi;
        v[i] = vi;
        w[i] -= rate * mi / (sqrtf(vi * unbias2) + eps) + shrink * w[i];
    }
}

/* One function for the full update and the selective one, so that the compiler rounds the same way in both. m and v are
 * first multiplied by keep1 and keep2. */
static __attribute__((noinline)) void adamw_floats(const struct tt_adamw_args *a, float *m, float *v, int64_t from,
                                                   int64_t to, const struct tt_update_step *step)
{
    float *copy = a->copy, keep1 = step->keep1, keep2 = step->keep2; /* the copy is of floats too, on this backend */
    int64_t border = larger(from, smaller(to, a->decay_end)), decays = border - from;
    if (keep1 != 1 || keep2 != 1) {
        SIMD
        for (int64_t i = 0; i < to - from; i++) {
            m[i] *= keep1;
            v[i] *= keep2;
        }
    }
    adamw_run(a, m, v, from, decays, a->decay, step->bias1, step->bias2);
    adamw_run(a, m + decays, v + decays, border, to - border, 0.0f, step->bias1, step->bias2);
    if (copy) memcpy(copy + from, a->w + from, (size_t)(to - from) * sizeof *copy);
}

/* Moments in bf16 are widened to floats, RUN of them at a time. */
static void adamw_halves(const struct tt_adamw_args *a, int64_t from, int64_t to, const struct tt_update_step *step)
{
    enum { RUN = 256 };
    float m[RUN], v[RUN];
    for (; from < to; from += RUN) {
        int64_t n = smaller(RUN, to - from);
        uint16_t *m16 = (uint16_t *)a->m + from, *v16 = (uint16_t *)a->v + from;
        for (int64_t i = 0; i < n; i++) m[i] = tt_from_bf16(m16[i]), v[i] = tt_from_bf16(v16[i]);
        adamw_floats(a, m, v, from, from + n, step);
        for (int64_t i = 0; i < n; i++) {
            uint32_t draw = tt_draw(a->first + from + i, a->state->step);
            m16[i] = tt_to_bf16_drawn(m[i], draw);
            v16[i] = tt_to_bf16_drawn(v[i], draw >> 16);
        }
    }
}

static void adamw_piece(const struct tt_adamw_args *a, int64_t from, int64_t to, const struct tt_update_step *step)
{
    if (a->moments == TT_BF16)
        adamw_halves(a, from, to, step);
    else
        adamw_floats(a, (float *)a->m + from, (float *)a->v + from, from, to, step);
}

static void k_adamw(const struct cpu_team *team, const struct tt_adamw_args *a)
{
    const struct tt_state *s = a->state;
    if (!s->apply) return;
    struct tt_update_step step = {.keep1 = 1, .keep2 = 1, .bias1 = s->bias1, .bias2 = s->bias2};
    PARALLEL_FOR(team, a->n)
    for (int64_t from = 0; from < a->n; from += BLOCK) adamw_piece(a, from, smaller(a->n, from + BLOCK), &step);
}

/* A loop over i in fixed blocks, skipped when this step changes nothing. */
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
