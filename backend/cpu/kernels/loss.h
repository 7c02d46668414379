/* Cross-entropy, in steps and fused. */
#ifndef TT_CPU_LOSS_H
#define TT_CPU_LOSS_H

#include "backend/cpu/kernels/tokens.h"

static void k_row_logsumexp(const struct cpu_team *team, const struct tt_row_logsumexp_args *a)
{
    PARALLEL_FOR(team, a->rows * a->cols)
    for (int64_t r = 0; r < a->rows; r++) {
        const float *x = (const float *)a->x + r * a->cols;
        float top = row_max(x, a->cols);
        a->lse[r] = (float)(top + log(row_exp(NULL, x, a->cols, top, 1.0f)));
    }
}

static void k_gather_nll(const struct cpu_team *team, const struct tt_gather_nll_args *a)
{
    const int32_t *base = step_tokens(a->tokens, a->state, a->slot_stride);
    PARALLEL_FOR(team, a->rows)
    for (int64_t r = 0; r < a->rows; r++) {
        int32_t target = target_at(base, a->first + r, a->S);
        a->losses[r] = target < 0 ? TT_NO_LOSS : -((const float *)a->x)[r * a->cols + target];
    }
}

static void k_sub_target(const struct cpu_team *team, const struct tt_sub_target_args *a)
{
    const int32_t *base = step_tokens(a->tokens, a->state, a->slot_stride);
    PARALLEL_FOR(team, a->rows)
    for (int64_t r = 0; r < a->rows; r++) {
        int32_t target = target_at(base, a->first + r, a->S);
        float *x = (float *)a->x + r * a->cols;
        if (target < 0)
            memset(x, 0, (size_t)a->cols * sizeof *x);
        else
            x[target] -= 1.0f;
    }
}

static void k_cross_entropy(const struct cpu_team *team, const struct tt_cross_entropy_args *a)
{
    const int32_t *base = step_tokens(a->tokens, a->state, a->slot_stride);
    float factor = a->factor * (a->state ? a->state->loss_scale : 1.0f);
    PARALLEL_FOR(team, a->rows * a->cols)
    for (int64_t r = 0; r < a->rows; r++) {
        float *x = (float *)a->x + r * a->ldx;
        int32_t target = target_at(base, a->first + r, a->S);
        if (target < 0) {
            a->losses[r] = TT_NO_LOSS;
            if (a->grad) memset(x, 0, (size_t)a->cols * sizeof *x);
            continue;
        }
        float top = row_max(x, a->cols), wanted = x[target];
        double sum = row_exp(a->grad ? x : NULL, x, a->cols, top, 1.0f);
        a->losses[r] = (float)(log(sum) + ((double)top - wanted));
        if (!a->grad) continue;
        row_scale(x, a->cols, (float)(factor / sum));
        x[target] -= factor;
    }
    raise_amax_rows(team, a->grad ? a->amax : NULL, a->x, a->rows, a->cols, a->ldx);
}

static void k_target_logit(const struct cpu_team *team, const struct tt_target_logit_args *a)
{
    const int32_t *base = step_tokens(a->tokens, a->state, a->slot_stride);
    PARALLEL_FOR(team, a->rows * a->cols)
    for (int64_t r = 0; r < a->rows; r++) {
        int32_t target = target_at(base, a->first + r, a->S);
        const float *x = (const float *)a->x + r * a->cols, *w = (const float *)a->w + target * a->cols;
        double sum = 0;
        for (int64_t c = 0; target >= 0 && c < a->cols; c++) sum += (double)x[c] * (double)w[c];
        a->logits[r] = target < 0 ? INFINITY : (float)sum;
    }
}

static void k_loss_of_sums(const struct cpu_team *team, const struct tt_loss_of_sums_args *a)
{
    const int32_t *base = step_tokens(a->tokens, a->state, a->slot_stride);
    float factor = a->factor * (a->state ? a->state->loss_scale : 1.0f);
    PARALLEL_FOR(team, a->rows * a->parts)
    for (int64_t r = 0; r < a->rows; r++) {
        int32_t target = target_at(base, a->first + r, a->S);
        double sum = 0;
        for (int64_t p = 0; p < a->parts; p++) sum += (double)a->sums[p * a->rows + r];
        a->losses[r] = target < 0 ? TT_NO_LOSS : (float)log(sum);
        a->scale[r] = target < 0 ? 0 : (float)(factor / sum);
        if (target >= 0) ((float *)a->x)[r * a->cols + target] = (float)(1 - sum);
    }
}

static void k_loss_sum(const struct cpu_team *team, const struct tt_loss_sum_args *a)
{
    (void)team;
    int64_t ignored = 0;
    for (int64_t i = 0; i < a->n; i++) ignored += a->losses[i] == TT_NO_LOSS;
    double sum = 0;
    if (!ignored) sum = row_sum(a->losses, a->n);
    for (int64_t i = 0; ignored && i < a->n; i++)
        if (a->losses[i] != TT_NO_LOSS) sum += a->losses[i];
    *a->out += (float)(a->factor * sum);
    *a->ignored += (float)ignored;
}

#endif
