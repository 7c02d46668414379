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
#define SILU(type, get, put, sigmoid)                                                              \
    {                                                                                              \
        type v = get(x + i);                                                                       \
        put(out + i, v * sigmoid(v));                                                              \
    }
        LOOP(piece_length(s, p), SILU);
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
#define SILU_BACKWARD(type, get, put, sigmoid)                                                     \
    {                                                                                              \
        type v = get(x + i), g = sigmoid(v);                                                       \
        put(dx + i, get(dy + i) * g * (1.0f + v * (1.0f - g)));                                    \
    }
        LOOP(piece_length(s, p), SILU_BACKWARD);
    }
}

static void k_swiglu(const struct cpu_team *team, const struct tt_swiglu_args *a)
{
    PARALLEL_FOR(team, a->rows * a->F)
    for (int64_t r = 0; r < a->rows; r++) {
        const float *gate = (const float *)a->gu + r * 2 * a->F, *up = gate + a->F;
        float *h = (float *)a->h + r * a->F;
#define SWIGLU(type, get, put, sigmoid)                                                            \
    {                                                                                              \
        type v = get(gate + i);                                                                    \
        put(h + i, v * sigmoid(v) * get(up + i));                                                  \
    }
        LOOP(a->F, SWIGLU);
    }
    raise_amax(team, a->amax, a->h, a->rows * a->F);
}

static void k_swiglu_backward(const struct cpu_team *team, const struct tt_swiglu_backward_args *a)
{
    PARALLEL_FOR(team, a->rows * a->F)
    for (int64_t r = 0; r < a->rows; r++) {
        const float *gate = (const float *)a->gu + r * 2 * a->F, *up = gate + a->F;
        const float *dh = (const float *)a->dh + r * a->F;
        float *dgate = (float *)a->dgu + r * 2 * a->F, *dup = dgate + a->F;
        float *h = a->h ? (float *)a->h + r * a->F : NULL;
#define SWIGLU_BACKWARD(type, get, put, sigmoid)                                                   \
    {                                                                                              \
        type v = get(gate + i), u = get(up + i), d = get(dh + i), g = sigmoid(v);                  \
        put(dgate + i, d * u * g * (1.0f + v * (1.0f - g)));                                       \
        put(dup + i, d * v * g);                                                                   \
    }
#define SWIGLU_BACKWARD_AND_H(type, get, put, sigmoid)                                             \
    {                                                                                              \
        type v = get(gate + i), u = get(up + i), d = get(dh + i), g = sigmoid(v);                  \
        put(dgate + i, d * u * g * (1.0f + v * (1.0f - g)));                                       \
        put(dup + i, d * v * g);                                                                   \
        put(h + i, v * g * u);                                                                     \
    }
        if (h)
            LOOP(a->F, SWIGLU_BACKWARD_AND_H);
        else
            LOOP(a->F, SWIGLU_BACKWARD);
    }
    raise_amax(team, a->amax, a->dgu, 2 * a->rows * a->F);
}

#endif
