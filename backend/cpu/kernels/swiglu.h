/* silu(x) = x·sigmoid(x), alone and as SwiGLU. Its derivative is sigmoid·(1 + x·(1 - sigmoid)). */
#ifndef TT_CPU_SWIGLU_H
#define TT_CPU_SWIGLU_H

static void k_silu(const struct cpu_team *team, const struct tt_silu_args *a)
{
    struct pieces s = pieces_of(a->rows, a->cols, a->ldx == a->cols && a->ldo == a->cols);
    PARALLEL_FOR(team, s.total)
    for (int64_t p = 0; p < s.count; p++) {
        const float *x = (const float *)a->x + piece_start(s, p, a->ldx);
        float *out = (float *)a->out + piece_start(s, p, a->ldo);
        int64_t n = piece_length(s, p);
        SIMD
        for (int64_t i = 0; i < n; i++) out[i] = x[i] * sigmoid(x[i]);
    }
}

static void k_silu_backward(const struct cpu_team *team, const struct tt_silu_backward_args *a)
{
    struct pieces s =
        pieces_of(a->rows, a->cols, a->ldx == a->cols && a->lddy == a->cols && a->lddx == a->cols);
    PARALLEL_FOR(team, s.total)
    for (int64_t p = 0; p < s.count; p++) {
        const float *x = (const float *)a->x + piece_start(s, p, a->ldx);
        const float *dy = (const float *)a->dy + piece_start(s, p, a->lddy);
        float *dx = (float *)a->dx + piece_start(s, p, a->lddx);
        int64_t n = piece_length(s, p);
        SIMD
        for (int64_t i = 0; i < n; i++) {
            float g = sigmoid(x[i]);
            dx[i] = dy[i] * g * (1.0f + x[i] * (1.0f - g));
        }
    }
}

static void k_swiglu(const struct cpu_team *team, const struct tt_swiglu_args *a)
{
    PARALLEL_FOR(team, a->rows * a->F)
    for (int64_t r = 0; r < a->rows; r++) {
        const float *gate = (const float *)a->gu + r * 2 * a->F, *up = gate + a->F;
        float *h = (float *)a->h + r * a->F;
        SIMD
        for (int64_t i = 0; i < a->F; i++) h[i] = gate[i] * sigmoid(gate[i]) * up[i];
    }
}

static void k_swiglu_backward(const struct cpu_team *team, const struct tt_swiglu_backward_args *a)
{
    PARALLEL_FOR(team, a->rows * a->F)
    for (int64_t r = 0; r < a->rows; r++) {
        const float *gate = (const float *)a->gu + r * 2 * a->F, *up = gate + a->F;
        const float *dh = (const float *)a->dh + r * a->F;
        float *dgate = (float *)a->dgu + r * 2 * a->F, *dup = dgate + a->F;
        SIMD
        for (int64_t i = 0; i < a->F; i++) {
            float x = gate[i], u = up[i], d = dh[i], g = sigmoid(x);
            dgate[i] = d * u * g * (1.0f + x * (1.0f - g));
            dup[i] = d * x * g;
        }
    }
}

#endif
