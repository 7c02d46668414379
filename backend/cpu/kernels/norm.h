/* RMSNorm, with the residual addition before it, and its gradient. */
#ifndef TT_CPU_NORM_H
#define TT_CPU_NORM_H

/* amax of a result y that is not stored. */
static void rmsnorm_amax(const struct tt_rmsnorm_args *a)
{
    const float *x = a->delta ? a->sum : a->x, *w = a->weight;
    uint32_t most;
    memcpy(&most, a->amax, sizeof most);
    for (int64_t r = 0; r < a->rows; r++)
        for (int64_t c = 0; c < a->cols; c++) {
            float y = x[r * a->cols + c] * a->rstd[r] * w[c];
            most = row_amax(&y, 1, most);
        }
    memcpy(a->amax, &most, sizeof most);
}

static void k_rmsnorm(const struct cpu_team *team, const struct tt_rmsnorm_args *a)
{
    const float *w = a->weight;
    PARALLEL_FOR(team, a->rows * a->cols)
    for (int64_t r = 0; r < a->rows; r++) {
        const float *x = (const float *)a->x + r * a->cols;
        if (a->delta) {
            const float *delta = (const float *)a->delta + r * a->cols;
            float *sum = (float *)a->sum + r * a->cols;
            SIMD
            for (int64_t c = 0; c < a->cols; c++) sum[c] = x[c] + delta[c];
            x = sum;
        }
        float rstd = (float)(1.0 / sqrt(row_dot(x, x, a->cols) / (double)a->cols + a->eps));
        a->rstd[r] = rstd;
        if (!a->y) continue;
        float *y = (float *)a->y + r * a->cols;
        SIMD
        for (int64_t c = 0; c < a->cols; c++) y[c] = x[c] * rstd * w[c];
    }
    if (a->y)
        raise_amax(team, a->amax, a->y, a->rows * a->cols);
    else if (a->amax)
        rmsnorm_amax(a);
}

/* dx = rstd·(w·dy) - x·rstd³·mean(w·dy·x); also adds the row's part of the gradient of the weight. */
static inline void rmsnorm_backward_row(const struct tt_rmsnorm_backward_args *a, int64_t r, float *dweight)
{
    const float *w = a->weight, *dy = (const float *)a->dy + r * a->cols, *x = (const float *)a->x + r * a->cols;
    float *dx = (float *)a->dx + r * a->cols, rstd = a->rstd[r];
    float back = (float)(-row_dot3(w, dy, x, a->cols) / (double)a->cols) * rstd * rstd * rstd;
    if (a->dres) {
        const float *dres = (const float *)a->dres + r * a->cols;
        SIMD
        for (int64_t c = 0; c < a->cols; c++) {
            float d = dy[c], v = x[c];
            dweight[c] += d * v * rstd;
            dx[c] = dres[c] + rstd * w[c] * d + back * v;
        }
    } else {
        SIMD
        for (int64_t c = 0; c < a->cols; c++) {
            float d = dy[c], v = x[c];
            dweight[c] += d * v * rstd;
            dx[c] = rstd * w[c] * d + back * v;
        }
    }
}

static void k_rmsnorm_backward(const struct cpu_team *team, const struct tt_rmsnorm_backward_args *a)
{
    int64_t run = divide_up(a->rows, a->parts);
    PARALLEL_FOR(team, a->rows * a->cols)
    for (int64_t p = 0; p < a->parts; p++) {
        float *dweight = a->partial + p * a->cols;
        row_zero(dweight, a->cols);
        int64_t end = smaller(a->rows, (p + 1) * run);
        for (int64_t r = p * run; r < end; r++) rmsnorm_backward_row(a, r, dweight);
    }
    raise_amax(team, a->amax, a->dx, a->rows * a->cols);
    if (!a->codes) return;
    struct tt_fp8_cast_args cast = {.to = a->to, .x = a->dx, .scale = a->code_scale, .out = a->codes,
                                    .transposed = a->transposed, .rows = a->rows, .cols = a->cols, .ldx = a->cols};
    k_fp8_cast(team, &cast);
}

/* ---- RMSNorm of each head ---- */

static inline float head_rstd(const float *x, int64_t D, float eps)
{
    return (float)(1.0 / sqrt(row_dot(x, x, D) / (double)D + eps));
}

static void k_head_norm(const struct cpu_team *team, const struct tt_head_norm_args *a)
{
    int64_t all = a->heads + a->kv_heads, D = a->D;
    PARALLEL_FOR(team, a->T * all * D)
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t h = 0; h < all; h++) {
            float *x = (float *)a->x + t * a->ld + h * D, rstd = head_rstd(x, D, a->eps);
            const float *w = h < a->heads ? a->q_weight : a->k_weight;
            if (a->raw) row_copy((float *)a->raw + (t * all + h) * D, x, D);
            SIMD
            for (int64_t c = 0; c < D; c++) x[c] = x[c] * rstd * w[c];
        }
}

static inline void head_norm_backward_row(const struct tt_head_norm_backward_args *a, int64_t t, float *partial)
{
    int64_t all = a->heads + a->kv_heads, D = a->D;
    for (int64_t h = 0; h < all; h++) {
        const float *x = (const float *)a->raw + (t * all + h) * D, *w = h < a->heads ? a->q_weight : a->k_weight;
        float *dx = (float *)a->dx + t * a->ld + h * D, *dweight = partial + (h < a->heads ? 0 : D);
        float rstd = head_rstd(x, D, a->eps);
        float back = (float)(-row_dot3(w, dx, x, D) / (double)D) * rstd * rstd * rstd;
        SIMD
        for (int64_t c = 0; c < D; c++) {
            float d = dx[c], v = x[c];
            dweight[c] += d * v * rstd;
            dx[c] = rstd * w[c] * d + back * v;
        }
    }
}

static void k_head_norm_backward(const struct cpu_team *team, const struct tt_head_norm_backward_args *a)
{
    int64_t run = divide_up(a->T, a->parts);
    PARALLEL_FOR(team, a->T * (a->heads + a->kv_heads) * a->D)
    for (int64_t p = 0; p < a->parts; p++) {
        float *partial = a->partial + p * 2 * a->D;
        row_zero(partial, 2 * a->D);
        int64_t end = smaller(a->T, (p + 1) * run);
        for (int64_t t = p * run; t < end; t++) head_norm_backward_row(a, t, partial);
    }
}

#endif
