/* The arguments of the optimiser's kernels, with their formulas: AdamW on all weights, and on chosen groups of them.
 * Part of kernels.h. */
#ifndef TT_KERNELS_OPTIMIZER_H
#define TT_KERNELS_OPTIMIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/run_state.h"
#include "core/base/types.h"

/* ---- optimiser: AdamW with decoupled decay, clip and learning rate read from the state ---- */

/* partial[0..parts) = sums of squares of the p-th of `parts` equal runs of ceil(n/parts) elements. */
struct tt_sum_squares_args {
    enum tt_dtype dtype;
    const float *x;
    float *partial;
    int64_t n, parts;
};

/* The whole update over the arena: g = clip·grad; m, v; w -= lr·(m/bias1 / (sqrt(v/bias2) + eps) + decay·w), decay only
 * for elements below decay_end; copy = w in the activation type. It does nothing when !state->apply.
 * With `low` there is no w: copy, in bf16, and low are the two halves of a float (core/base/half.h), which are read and
 * written instead. Moments in bf16 are rounded at random (tt_to_bf16_drawn of half.h): m by the lower half of the draw,
 * v by the upper half. */
struct tt_adamw_args {
    enum tt_dtype dtype;
    const struct tt_state *state;
    float *w;
    void *m, *v;
    const float *grad;
    void *copy;            /* or NULL */
    uint16_t *low;         /* or NULL; GPUs only */
    enum tt_dtype moments; /* of m and v: float or bf16 */
    int64_t n, decay_end;
    int64_t first; /* which parameter of the model the first one is */
    float beta1, beta2, eps, decay;
    int32_t units; /* multiprocessors of a GPU that it may use, beside other kernels; 0: all. The bits stay the same */
};

/* The same, a kernel per step and tensor; each does nothing when !state->apply. */
struct tt_clip_grad_args { /* g *= clip */
    enum tt_dtype dtype;
    const struct tt_state *state;
    float *g;
    int64_t n;
};
struct tt_adam_m_args { /* m = beta1·m + (1-beta1)·g */
    enum tt_dtype dtype;
    const struct tt_state *state;
    float *m;
    const float *g;
    int64_t n;
    float beta1;
};
struct tt_adam_v_args { /* v = beta2·v + (1-beta2)·g² */
    enum tt_dtype dtype;
    const struct tt_state *state;
    float *v;
    const float *g;
    int64_t n;
    float beta2;
};
struct tt_weight_decay_args { /* w -= lr·decay·w */
    enum tt_dtype dtype;
    const struct tt_state *state;
    float *w;
    int64_t n;
    float decay;
};
struct tt_adam_update_args { /* w -= lr·m/bias1 / (sqrt(v/bias2) + eps) */
    enum tt_dtype dtype;
    const struct tt_state *state;
    float *w;
    const float *m, *v;
    int64_t n;
    float eps;
};

/* ---- selective updates: the weights are divided into groups, and a step changes the chosen groups alone ---- */

/* `count` elements of one group from `begin` on. The spans of an array do not overlap and are sorted by begin. */
struct tt_update_span {
    int64_t begin;
    int32_t count, group;
};

/* The updates of a group so far. They are counted from 1; skipped steps do not count. An array of these has one more
 * element after the groups, for the choice itself: the number of choices so far, and the step of the latest. */
struct tt_update_group {
    int64_t updates, last; /* in how many it was chosen; the latest of those */
};

/* What AdamW needs to know of a group in this step. */
struct tt_update_step {
    int32_t chosen;
    float bias1, bias2; /* 1 - beta^t, t updates that its moments have seen */
    float keep1, keep2; /* factors on its moments before they see this one */
};

/* partial as sum_squares computes it, with the same bits. In the same pass, square[s] = sum of squares of span s. The
 * spans of run p are first[p] .. first[p+1]-1; no span lies in two runs. */
struct tt_group_squares_args {
    enum tt_dtype dtype;
    const float *x;
    const struct tt_update_span *spans;
    const int32_t *first;   /* (parts + 1) */
    float *partial, *square; /* (parts), (count) */
    int64_t n, parts, count;
};

/* square[s] = sum of squares of span s. With `group`, only spans of groups that the previous update changed are read;
 * the squares of the others are 0. It must then run before clip_scale. */
struct tt_span_squares_args {
    enum tt_dtype dtype;
    const void *x;
    const struct tt_update_span *spans;
    const struct tt_state *state;        /* with group, else NULL */
    const struct tt_update_group *group; /* (groups + 1), or NULL */
    float *square;
    int64_t n, count, groups;
    int64_t expected; /* elements of spans that are read; only for the cost */
};

/* sum[g] = sum of square[order[i]], begin[g] <= i < begin[g+1]. */
struct tt_group_sums_args {
    enum tt_dtype dtype;
    const float *square;  /* (count) */
    const int32_t *order; /* (count) */
    const int32_t *begin; /* (groups + 1) */
    float *sum;
    int64_t groups, count;
};

/* Chooses the groups of this step. With `anew`, these are the `chosen` groups with the largest keys, of equal ones
 * those with the smallest index. The key is
 *   - by norm: square[g];
 *   - by rms: square[g] / size[g];
 *   - relative to the weights: square[g] / max(weight_square[g], least normal float);
 *   - at random: the upper 31 bits of tt_random(seed, update, g).
 * Quotients are taken in double and rounded to float. Without `anew`, the groups that the previous update changed are
 * chosen again, and keys are not looked at.
 *
 * group[g] counts the update, and steps[g] tells AdamW what to do. With `decays`, the moments become what they would be
 * if the group had got gradients of 0 in the updates in between: keep = beta^(updates in between), bias counts all
 * updates. Else they are as the group's own last update left them: keep = 1, bias counts the group's updates.
 *
 * Bit g of choices[(step-1) % entries] (words of 32 bits, TT_CHOICE_WORDS of them) says whether g is chosen. When
 * !state->apply nothing is chosen: no bit is set, and group stays as it is. */
enum tt_update_by { TT_BY_NORM, TT_BY_RMS, TT_BY_RELATIVE, TT_BY_RANDOM };
#define TT_CHOICE_WORDS(groups) (((groups) + 31) / 32)
struct tt_choose_groups_args {
    enum tt_dtype dtype;
    const struct tt_state *state;
    const float *square, *weight_square, *size; /* (groups); weight_square or NULL, size or NULL */
    struct tt_update_group *group;               /* (groups + 1) */
    struct tt_update_step *steps;                /* (groups) */
    uint32_t *choices;                          /* (entries, words) */
    uint32_t *keys;                             /* (groups) scratch */
    int64_t groups, chosen, entries;
    uint64_t seed;
    enum tt_update_by by;
    bool anew, decays;
    float beta1, beta2;
};

/* adamw on the tiles of chosen groups, by steps[group]: m and v are first multiplied by keep1 and keep2, and the bias
 * is the group's. Other elements are neither read nor written. No tile has more than TT_UPDATE_TILE elements. */
enum { TT_UPDATE_TILE = 8192 };
struct tt_adamw_chosen_args {
    enum tt_dtype dtype;
    struct tt_adamw_args all;
    const struct tt_update_span *tiles;
    const struct tt_update_step *steps; /* (groups) */
    int64_t count, groups;
    int64_t expected; /* elements in chosen groups, if these are like the others; only for the cost */
};

#endif
