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

enum { GLU_RUN = 256 }; /* columns at a time, where results are not stored */

static void k_fp8_swiglu(const struct cpu_team *team, const struct tt_fp8_swiglu_args *a)
{
    float inverse = tt_fp8_inverse(*a->scale);
    PARALLEL_FOR(team, a->rows * a->F)
    for (int64_t r = 0; r < a->rows; r++)
        for (int64_t c = 0; c < a->F; c += GLU_RUN) {
            float h[GLU_RUN];
            const float *gate = (const float *)a->gu + r * 2 * a->F + c, *up = gate + a->F;
            int64_t n = smaller(GLU_RUN, a->F - c);
            LOOP(n, SWIGLU);
            for (int64_t i = 0; i < n; i++) a->h[r * a->F + c + i] = tt_fp8_code(h[i], inverse, a->to);
            raise_to(a->amax, row_amax(h, n, 0));
        }
}

/* n values of a row of gate, up and dh; h may be NULL. */
static void swiglu_backward_row(const float *gate, const float *up, const float *dh, float *dgate, float *dup, float *h,
                                int64_t n)
{
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
        LOOP(n, SWIGLU_BACKWARD_AND_H);
    else
        LOOP(n, SWIGLU_BACKWARD);
}

/* amax of a gradient dgu that is not stored. */
static void swiglu_backward_amax(const struct tt_swiglu_backward_args *a)
{
    float dgate[GLU_RUN], dup[GLU_RUN];
    uint32_t most;
    memcpy(&most, a->amax, sizeof most);
    for (int64_t r = 0; r < a->rows; r++)
        for (int64_t c = 0; c < a->F; c += GLU_RUN) {
            const float *gate = (const float *)a->gu + r * 2 * a->F + c;
            int64_t n = smaller(GLU_RUN, a->F - c);
            swiglu_backward_row(gate, gate + a->F, (const float *)a->dh + r * a->F + c, dgate, dup, NULL, n);
            most = row_amax(dup, n, row_amax(dgate, n, most));
        }
    memcpy(a->amax, &most, sizeof most);
}

static void k_swiglu_backward(const struct cpu_team *team, const struct tt_swiglu_backward_args *a)
{
    if (!a->dgu) {
        swiglu_backward_amax(a);
        return;
    }
    PARALLEL_FOR(team, a->rows * a->F)
    for (int64_t r = 0; r < a->rows; r++) {
        const float *gate = (const float *)a->gu + r * 2 * a->F;
        float *dgate = (float *)a->dgu + r * 2 * a->F;
        swiglu_backward_row(gate, gate + a->F, (const float *)a->dh + r * a->F, dgate, dgate + a->F,
                            a->h ? (float *)a->h + r * a->F : NULL, a->F);
    }
    raise_amax(team, a->amax, a->dgu, 2 * a->rows * a->F);
}

/* n codes, as they are and transposed; out may be NULL. */
static void put_codes(const float *x, int64_t n, float inverse, enum tt_dtype to, uint8_t *out, uint8_t *transposed,
                      int64_t rows)
{
    for (int64_t i = 0; i < n; i++) {
        uint8_t code = tt_fp8_code(x[i], inverse, to);
        if (out) out[i] = code;
        transposed[i * rows] = code;
    }
}

static void k_fp8_swiglu_backward(const struct cpu_team *team, const struct tt_fp8_swiglu_backward_args *a)
{
    int64_t rows = a->rows, F = a->F;
    enum tt_dtype to_h = tt_fp8_fnuz(a->to) ? TT_E4M3_FNUZ : TT_E4M3;
    if (a->partial) *a->new_scale = tt_fp8_scale(*a->partial, a->to);
    float inverse = tt_fp8_inverse(a->partial ? *a->new_scale : *a->scale), inverse_h = tt_fp8_inverse(*a->h_scale);
    PARALLEL_FOR(team, rows * F)
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < F; c += GLU_RUN) {
            float dgate[GLU_RUN], dup[GLU_RUN], h[GLU_RUN];
            const float *gate = (const float *)a->gu + r * 2 * F + c;
            int64_t n = smaller(GLU_RUN, F - c);
            uint8_t *dgu = a->dgu + r * 2 * F + c, *turned = a->dgu_transposed + c * rows + r;
            swiglu_backward_row(gate, gate + F, (const float *)a->dh + r * F + c, dgate, dup, h, n);
            if (a->amax) raise_to(a->amax, row_amax(dup, n, row_amax(dgate, n, 0)));
            put_codes(dgate, n, inverse, a->to, dgu, turned, rows);
            put_codes(dup, n, inverse, a->to, dgu + F, turned + F * rows, rows);
            put_codes(h, n, inverse_h, to_h, NULL, a->h_transposed + c * rows + r, rows);
        }
}

#endif
