/* Cross-entropy, in steps and whole. */
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
    for (int64_t r = 0; r < a->rows; r++)
        a->losses[r] = -((const float *)a->x)[r * a->cols + target_at(base, a->first + r, a->S)];
}

static void k_sub_target(const struct cpu_team *team, const struct tt_sub_target_args *a)
{
    const int32_t *base = step_tokens(a->tokens, a->state, a->slot_stride);
    PARALLEL_FOR(team, a->rows)
    for (int64_t r = 0; r < a->rows; r++)
        ((float *)a->x)[r * a->cols + target_at(base, a->first + r, a->S)] -= 1.0f;
}

static void k_cross_entropy(const struct cpu_team *team, const struct tt_cross_entropy_args *a)
{
    const int32_t *base = step_tokens(a->tokens, a->state, a->slot_stride);
    float factor = a->factor * (a->state ? a->state->loss_scale : 1.0f);
    PARALLEL_FOR(team, a->rows * a->cols)
    for (int64_t r = 0; r < a->rows; r++) {
        float *x = (float *)a->x + r * a->cols;
        int32_t target = target_at(base, a->first + r, a->S);
        float top = row_max(x, a->cols), wanted = x[target];
        double sum = row_exp(a->grad ? x : NULL, x, a->cols, top, 1.0f);
        a->losses[r] = (float)(log(sum) + ((double)top - wanted));
        if (!a->grad) continue;
        row_scale(x, a->cols, (float)(factor / sum));
        x[target] -= factor;
    }
}

static void k_loss_sum(const struct cpu_team *team, const struct tt_loss_sum_args *a)
{
    (void)team;
    *a->out += (float)(a->factor * row_sum(a->losses, a->n));
}

#endif
