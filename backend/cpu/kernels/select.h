/* Selective updates: the norms of groups, the choice of the largest, and AdamW on what was chosen. */
#ifndef TT_CPU_SELECT_H
#define TT_CPU_SELECT_H

#include <float.h>

#include "core/base/rng.h"

/* ---- norms ---- */

static void k_group_squares(const struct cpu_team *team, const struct tt_group_squares_args *a)
{
    int64_t run = divide_up(a->n, a->parts);
    PARALLEL_FOR(team, a->n)
    for (int64_t p = 0; p < a->parts; p++) {
        int64_t from = smaller(p * run, a->n), n = smaller(run, a->n - from);
        a->partial[p] = (float)row_dot(a->x + from, a->x + from, n);
        for (int32_t i = a->first[p]; i < a->first[p + 1]; i++) {
            const float *x = a->x + a->spans[i].begin;
            a->square[i] = (float)row_dot(x, x, a->spans[i].count);
        }
    }
}

static void k_span_squares(const struct cpu_team *team, const struct tt_span_squares_args *a)
{
    int64_t latest = a->group ? a->state->step - a->state->skipped - 1 : 0; /* update before this one */
    PARALLEL_FOR(team, a->n)
    for (int64_t i = 0; i < a->count; i++) {
        const struct tt_update_span *span = &a->spans[i];
        const float *x = (const float *)a->x + span->begin;
        bool counts = !a->group || a->group[span->group].last == latest;
        a->square[i] = counts ? (float)row_dot(x, x, span->count) : 0;
    }
}

static void k_group_sums(const struct cpu_team *team, const struct tt_group_sums_args *a)
{
    (void)team;
    for (int64_t g = 0; g < a->groups; g++) {
        double sum = 0;
        for (int32_t i = a->begin[g]; i < a->begin[g + 1]; i++) sum += a->square[a->order[i]];
        a->sum[g] = (float)sum;
    }
}

/* ---- the choice ---- */

/* Floats that are not negative compare like their bits. */
static uint32_t group_key(const struct tt_choose_groups_args *a, int64_t g, int64_t update)
{
    if (a->by == TT_BY_RANDOM) return (uint32_t)(tt_random(a->seed, (uint64_t)update, (uint64_t)g) >> 33);
    double by = 1;
    if (a->by == TT_BY_RMS) by = a->size[g];
    if (a->by == TT_BY_RELATIVE) by = fmaxf(a->weight_square[g], FLT_MIN);
    float key = (float)(a->square[g] / by);
    uint32_t bits;
    memcpy(&bits, &key, sizeof bits);
    return bits & 0x7fffffffu;
}

static int64_t keys_from(const struct tt_choose_groups_args *a, uint32_t least)
{
    int64_t count = 0;
    for (int64_t g = 0; g < a->groups; g++) count += a->keys[g] >= least;
    return count;
}

/* The smallest chosen key is the largest value that at least `chosen` keys reach; found bit by bit from the top. */
static void choose_by_key(const struct tt_choose_groups_args *a)
{
    uint32_t least = 0;
    for (int bit = 30; bit >= 0; bit--)
        if (keys_from(a, least | 1u << bit) >= a->chosen) least |= 1u << bit;
    int64_t wanted = a->chosen - keys_from(a, least + 1); /* of those equal to it, the first ones */
    for (int64_t g = 0; g < a->groups; g++)
        a->steps[g].chosen = a->keys[g] > least || (a->keys[g] == least && wanted-- > 0);
}

static float bias_of(float beta, int64_t updates) { return (float)(1.0 - pow(beta, (double)updates)); }

static void count_update(const struct tt_choose_groups_args *a, int64_t g, int64_t update)
{
    struct tt_update_group *group = &a->group[g];
    struct tt_update_step step = {.chosen = 1, .keep1 = 1, .keep2 = 1};
    int64_t between = update - group->last - 1;
    *group = (struct tt_update_group){group->updates + 1, update};
    step.bias1 = bias_of(a->beta1, a->decays ? update : group->updates);
    step.bias2 = bias_of(a->beta2, a->decays ? update : group->updates);
    if (a->decays && between > 0) {
        step.keep1 = (float)pow(a->beta1, (double)between);
        step.keep2 = (float)pow(a->beta2, (double)between);
    }
    a->steps[g] = step;
}

static void k_choose_groups(const struct cpu_team *team, const struct tt_choose_groups_args *a)
{
    (void)team;
    const struct tt_state *s = a->state;
    struct tt_update_group *choice = &a->group[a->groups];
    int64_t update = s->step - s->skipped, words = TT_CHOICE_WORDS(a->groups);
    uint32_t *bits = a->choices + (s->step - 1) % a->entries * words;
    bool apply = s->apply != 0, anew = a->anew;
    memset(bits, 0, (size_t)words * sizeof *bits);
    if (apply && anew) {
        for (int64_t g = 0; g < a->groups; g++) a->keys[g] = group_key(a, g, update);
        choose_by_key(a);
        *choice = (struct tt_update_group){choice->updates + 1, s->step};
    }
    for (int64_t g = 0; g < a->groups; g++) {
        bool chosen = apply && (anew ? a->steps[g].chosen != 0 : a->group[g].last == update - 1);
        a->steps[g] = (struct tt_update_step){0, 1, 1, 1, 1};
        if (!chosen) continue;
        count_update(a, g, update);
        bits[g / 32] |= 1u << g % 32;
    }
}

/* ---- AdamW ---- */

static void k_adamw_chosen(const struct cpu_team *team, const struct tt_adamw_chosen_args *c)
{
    const struct tt_adamw_args *a = &c->all;
    if (!a->state->apply) return;
    PARALLEL_FOR_UNEVEN(team, a->n)
    for (int64_t t = 0; t < c->count; t++) {
        const struct tt_update_step *step = &c->steps[c->tiles[t].group];
        if (!step->chosen) continue;
        int64_t from = c->tiles[t].begin, to = from + c->tiles[t].count;
        adamw_piece(a, from, to, step);
    }
}

#endif
