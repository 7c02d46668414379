/* Softmax of rows, plain and causal, with S×S in memory. */
#ifndef TT_CPU_SOFTMAX_H
#define TT_CPU_SOFTMAX_H

/* x = softmax(scale·x). For a negative scale both signs are flipped, since row_exp needs a positive factor. */
static inline void softmax_row(float *x, int64_t n, float scale)
{
    if (n == 0) return;
    if (scale < 0) {
        row_scale(x, n, -1.0f);
        scale = -scale;
    }
    double sum = row_exp(x, x, n, row_max(x, n), scale);
    row_scale(x, n, (float)(1.0 / sum));
}

/* dx = scale·y·(dy - sum(dy·y)). */
static inline void softmax_backward_row(float *dx, const float *y, const float *dy, int64_t n, float scale)
{
    float mean = (float)row_dot(y, dy, n);
    SIMD
    for (int64_t i = 0; i < n; i++) dx[i] = scale * y[i] * (dy[i] - mean);
}

/* The first key that row r of (count, S, S) sees. */
static inline int64_t first_seen(const int32_t *starts, int64_t r, int64_t S, int64_t heads)
{
    return starts ? starts[r / S / heads * S + r % S] : 0;
}

static void k_causal_mask(const struct cpu_team *team, const struct tt_causal_mask_args *a)
{
    int64_t S = a->S;
    PARALLEL_FOR(team, a->count * S * S)
    for (int64_t r = 0; r < a->count * S; r++) {
        float *x = (float *)a->x + r * S;
        int64_t first = first_seen(a->starts, r, S, a->heads);
        for (int64_t j = 0; j < first; j++) x[j] = -INFINITY;
        for (int64_t j = r % S + 1; j < S; j++) x[j] = -INFINITY;
    }
}

static void k_softmax(const struct cpu_team *team, const struct tt_softmax_args *a)
{
    PARALLEL_FOR(team, a->rows * a->cols)
    for (int64_t r = 0; r < a->rows; r++) softmax_row((float *)a->x + r * a->cols, a->cols, 1.0f);
}

static void k_softmax_backward(const struct cpu_team *team, const struct tt_softmax_backward_args *a)
{
    PARALLEL_FOR(team, a->rows * a->cols)
    for (int64_t r = 0; r < a->rows; r++) {
        int64_t at = r * a->cols;
        softmax_backward_row((float *)a->dx + at, (const float *)a->y + at, (const float *)a->dy + at, a->cols, 1.0f);
    }
}

/* Rows i and S-1-i together have the same cost for every i, so a piece is such a pair of rows. */
static inline int64_t causal_row(int64_t piece, int64_t S, int half)
{
    int64_t pairs = divide_up(S, 2), i = piece % pairs;
    if (half && i == S - 1 - i) return -1;
    return piece / pairs * S + (half ? S - 1 - i : i);
}

static void k_causal_softmax(const struct cpu_team *team, const struct tt_causal_softmax_args *a)
{
    int64_t S = a->S;
    PARALLEL_FOR(team, a->count * S * S)
    for (int64_t p = 0; p < a->count * divide_up(S, 2); p++) {
        for (int half = 0; half < 2; half++) {
            int64_t r = causal_row(p, S, half);
            if (r < 0) continue;
            float *x = (float *)a->x + r * S;
            int64_t n = r % S + 1, first = first_seen(a->starts, r, S, a->heads);
            row_zero(x, first);
            softmax_row(x + first, n - first, a->scale);
            row_zero(x + n, S - n);
        }
    }
}

static void k_causal_softmax_backward(const struct cpu_team *team, const struct tt_causal_softmax_backward_args *a)
{
    int64_t S = a->S;
    PARALLEL_FOR(team, a->count * S * S)
    for (int64_t p = 0; p < a->count * divide_up(S, 2); p++) {
        for (int half = 0; half < 2; half++) {
            int64_t r = causal_row(p, S, half);
            if (r < 0) continue;
            int64_t n = r % S + 1, first = first_seen(a->starts, r, S, a->heads), at = r * S + first;
            float *dx = (float *)a->dx + r * S;
            row_zero(dx, first);
            softmax_backward_row((float *)a->dx + at, (const float *)a->y + at, (const float *)a->dy + at, n - first,
                                 a->scale);
            row_zero(dx + n, S - n);
        }
    }
}

#endif
