/* Single operations, one kernel each, as an eager framework runs them. */
#ifndef TT_CPU_ELEMENTWISE_H
#define TT_CPU_ELEMENTWISE_H

#define BINARY_KERNEL(name, op)                                                                    \
    static void k_##name(const struct cpu_team *team, const struct tt_##name##_args *a)            \
    {                                                                                              \
        struct pieces s = pieces_of(a->rows, a->cols,                                              \
                                    a->ldx == a->cols && a->ldy == a->cols && a->ldo == a->cols);  \
        PARALLEL_FOR(team, s.total)                                                                \
        for (int64_t p = 0; p < s.count; p++) {                                                    \
            const float *x = (const float *)a->x + piece_start(s, p, a->ldx);                      \
            const float *y = (const float *)a->y + piece_start(s, p, a->ldy);                      \
            float *out = (float *)a->out + piece_start(s, p, a->ldo);                              \
            int64_t n = piece_length(s, p);                                                        \
            SIMD                                                                                   \
            for (int64_t i = 0; i < n; i++) out[i] = x[i] op y[i];                                 \
        }                                                                                          \
    }

BINARY_KERNEL(add, +)
BINARY_KERNEL(mul, *)

static void k_scale(const struct cpu_team *team, const struct tt_scale_args *a)
{
    float factor = a->factor * (a->state ? a->state->loss_scale : 1.0f);
    PARALLEL_FOR(team, a->n)
    for (int64_t from = 0; from < a->n; from += BLOCK)
        row_scale((float *)a->x + from, smaller(BLOCK, a->n - from), factor);
}

/* The CPU has only fp32, so a cast is a copy. */
static void k_cast(const struct cpu_team *team, const struct tt_cast_args *a)
{
    PARALLEL_FOR(team, a->n)
    for (int64_t from = 0; from < a->n; from += BLOCK)
        memcpy((float *)a->out + from, a->x + from, (size_t)smaller(BLOCK, a->n - from) * sizeof(float));
}

static void k_zero(const struct cpu_team *team, const struct tt_zero_args *a)
{
    PARALLEL_FOR(team, a->n)
    for (int64_t from = 0; from < a->n; from += BLOCK) row_zero(a->x + from, smaller(BLOCK, a->n - from));
}

static void k_square(const struct cpu_team *team, const struct tt_square_args *a)
{
    PARALLEL_FOR(team, a->n)
    for (int64_t from = 0; from < a->n; from += BLOCK) {
        const float *x = (const float *)a->x + from;
        float *out = (float *)a->out + from;
        int64_t n = smaller(BLOCK, a->n - from);
        SIMD
        for (int64_t i = 0; i < n; i++) out[i] = x[i] * x[i];
    }
}

static void k_exp(const struct cpu_team *team, const struct tt_exp_args *a)
{
    PARALLEL_FOR(team, a->n)
    for (int64_t from = 0; from < a->n; from += BLOCK) {
        float *x = (float *)a->x + from;
        int64_t n = smaller(BLOCK, a->n - from);
        SIMD
        for (int64_t i = 0; i < n; i++) x[i] = exp_any(x[i]);
    }
}

static void k_row_sum(const struct cpu_team *team, const struct tt_row_sum_args *a)
{
    PARALLEL_FOR(team, a->rows * a->cols)
    for (int64_t r = 0; r < a->rows; r++)
        a->out[r] = (float)(a->factor * row_sum((const float *)a->x + r * a->cols, a->cols));
}

/* out (+)= the column sums of up to COLUMNS columns: runs of rows in float, the sum of runs in double. */
static inline void columns_sum(const float *x, int64_t rows, int64_t cols, int64_t ld, float *out, bool accumulate)
{
    enum { RUN = 128 };
    double total[COLUMNS] = {0};
    for (int64_t from = 0; from < rows; from += RUN) {
        int64_t to = smaller(rows, from + RUN);
        float s[COLUMNS] = {0};
        for (int64_t r = from; r < to; r++) {
            SIMD
            for (int64_t c = 0; c < cols; c++) s[c] += x[r * ld + c];
        }
        for (int64_t c = 0; c < cols; c++) total[c] += s[c];
    }
    for (int64_t c = 0; c < cols; c++) out[c] = (float)((accumulate ? out[c] : 0.0) + total[c]);
}

static void k_col_sum(const struct cpu_team *team, const struct tt_col_sum_args *a)
{
    PARALLEL_FOR(team, a->rows * a->cols)
    for (int64_t c = 0; c < a->cols; c += COLUMNS)
        columns_sum((const float *)a->x + c, a->rows, smaller(COLUMNS, a->cols - c), a->cols, a->out + c,
                    a->accumulate);
}

static void k_reduce_parts(const struct cpu_team *team, const struct tt_reduce_parts_args *a)
{
    PARALLEL_FOR(team, a->parts * a->cols / 4) /* / 4, since an element costs only an addition */
    for (int64_t c = 0; c < a->cols; c += COLUMNS)
        columns_sum(a->partial + c, a->parts, smaller(COLUMNS, a->cols - c), a->cols, a->out + c, a->accumulate);
}

static void k_rsqrt(const struct cpu_team *team, const struct tt_rsqrt_args *a)
{
    PARALLEL_FOR(team, a->n)
    for (int64_t from = 0; from < a->n; from += BLOCK) {
        int64_t to = smaller(a->n, from + BLOCK);
        SIMD
        for (int64_t i = from; i < to; i++) a->rstd[i] = 1.0f / sqrtf(a->mean[i] + a->eps);
    }
}

static void k_rsqrt_backward(const struct cpu_team *team, const struct tt_rsqrt_backward_args *a)
{
    float factor = -1.0f / (float)a->cols;
    PARALLEL_FOR(team, a->n)
    for (int64_t from = 0; from < a->n; from += BLOCK) {
        int64_t to = smaller(a->n, from + BLOCK);
        SIMD
        for (int64_t i = from; i < to; i++) {
            float r = a->rstd[i];
            a->coef[i] = factor * a->drstd[i] * (r * r * r);
        }
    }
}

static void k_mul_rows(const struct cpu_team *team, const struct tt_mul_rows_args *a)
{
    PARALLEL_FOR(team, a->rows * a->cols)
    for (int64_t r = 0; r < a->rows; r++) {
        const float *x = (const float *)a->x + r * a->cols;
        float *out = (float *)a->out + r * a->cols, s = a->s[r];
        SIMD
        for (int64_t c = 0; c < a->cols; c++) out[c] = x[c] * s;
    }
}

#define COLUMN_KERNEL(name, op)                                                                    \
    static void k_##name(const struct cpu_team *team, const struct tt_##name##_args *a)            \
    {                                                                                              \
        const float *w = a->w;                                                                     \
        PARALLEL_FOR(team, a->rows * a->cols)                                                      \
        for (int64_t r = 0; r < a->rows; r++) {                                                    \
            const float *x = (const float *)a->x + r * a->cols;                                    \
            float *out = (float *)a->out + r * a->cols;                                            \
            SIMD                                                                                   \
            for (int64_t c = 0; c < a->cols; c++) out[c] = x[c] op w[c];                           \
        }                                                                                          \
    }

COLUMN_KERNEL(mul_cols, *)
COLUMN_KERNEL(add_cols, +)

static void k_sub_rows(const struct cpu_team *team, const struct tt_sub_rows_args *a)
{
    PARALLEL_FOR(team, a->rows * a->cols)
    for (int64_t r = 0; r < a->rows; r++) {
        float *x = (float *)a->x + r * a->cols, s = a->s[r];
        SIMD
        for (int64_t c = 0; c < a->cols; c++) x[c] -= s;
    }
}

#endif
