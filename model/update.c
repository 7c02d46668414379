/* Selective updates: what the optimiser does when a step changes only the groups of weights with the largest gradients.
 * The norms of the groups come from the pass that makes the norm of all gradients, and AdamW goes over the chosen
 * groups alone. Of P parameters, a step moves
 *
 *   all        4·P bytes for the norm, 28·P for AdamW (30·P in fp16)
 *   top-k      4·P bytes for the norms, 28·share·P for AdamW: 6.8·P with a share of 0.1, instead of 32·P
 *   relative   4·P more (2·P in 16 bits) for the norms of the weights, with --update-by relative
 *
 * With ranks that divide the moments, the norms of their parts are summed with the squares that make the norm, so that
 * all ranks choose the same groups.
 *
 * Between two choices of --update-every the chosen groups stay the same, and gradients of the others may not be
 * computed. Norm and clipping are then those of the chosen groups, 4·share·P bytes. */
#include "model/build.h"
#include "model/update_tables.h"

static const void *weights_of(const struct slice *s) { return s->copy ? s->copy : s->w; }

static void sum_groups(struct build *b, const struct tt_update_tables *t, const float *square, float *sums)
{
    LAUNCH(b->p, group_sums, .square = square, .order = t->order, .begin = t->begin, .sum = sums,
           .groups = b->m->params.groups.count, .count = t->span_count);
}

/* sums[g] = sum of squares of the group's gradients on this rank. `partial` is the same as without groups. */
static void group_norms(struct build *b, const struct tt_update_tables *t, float *partial, float *sums)
{
    float *square = floats(b, "span_squares", t->span_count);
    for (int i = 0; i < t->slices; i++) {
        struct slice s = slice_of(b, i);
        LAUNCH(b->p, group_squares, .x = s.grad, .spans = t->spans + t->span_at[i],
               .first = t->first + i * (t->parts + 1), .partial = partial + i * t->parts,
               .square = square + t->span_at[i], .n = s.n, .parts = t->parts,
               .count = t->span_at[i + 1] - t->span_at[i]);
    }
    sum_groups(b, t, square, sums);
}

static void weight_norms(struct build *b, const struct tt_update_tables *t, float *sums)
{
    float *square = floats(b, "weight_squares", t->span_count);
    for (int i = 0; i < t->slices; i++) {
        struct slice s = slice_of(b, i);
        LAUNCH(b->p, span_squares, .x = weights_of(&s), .spans = t->spans + t->span_at[i],
               .square = square + t->span_at[i], .n = s.n, .expected = s.n,
               .count = t->span_at[i + 1] - t->span_at[i]);
    }
    sum_groups(b, t, square, sums);
}

static struct tt_update_group *updates_of(struct build *b)
{
    return tt_plan_external(b->p, TT_X_UPDATES,
                            ((size_t)b->m->params.groups.count + 1) * sizeof(struct tt_update_group));
}

/* Expected elements of a slice in chosen groups, if these are as large as the others. */
static int64_t expected_in(const struct build *b, const struct slice *s)
{
    const struct tt_groups *g = &b->m->params.groups;
    return s->n * g->chosen / g->count;
}

/* sums[g] = sum of squares of the group's gradients on this rank; 0 for groups that the update before did not
 * change. */
static void chosen_norms(struct build *b, const struct tt_update_tables *t, float *sums)
{
    float *square = floats(b, "span_squares", t->span_count);
    for (int i = 0; i < t->slices; i++) {
        struct slice s = slice_of(b, i);
        struct tt_span_squares_args a = {.dtype = TT_F32, .x = s.grad, .spans = t->spans + t->span_at[i],
                                         .state = b->state, .group = updates_of(b), .square = square + t->span_at[i],
                                         .n = s.n, .count = t->span_at[i + 1] - t->span_at[i],
                                         .groups = b->m->params.groups.count, .expected = expected_in(b, &s)};
        tt_plan_launch(b->p, TT_K_span_squares, &a);
    }
    sum_groups(b, t, square, sums);
}

static void choose(struct build *b, const struct tt_update_tables *t, const float *sums, struct tt_update_step *steps)
{
    const struct tt_config *c = b->c;
    const struct tt_groups *g = &b->m->params.groups;
    size_t words = TT_CHOICE_WORDS((size_t)g->count);
    uint32_t *choices = tt_plan_external(b->p, TT_X_CHOICES, TT_RING_ENTRIES * words * sizeof *choices);
    uint32_t *keys = tt_plan_buffer(b->p, "group_keys", (size_t)g->count * sizeof *keys);
    LAUNCH(b->p, choose_groups, .state = b->state, .square = sums,
           .weight_square = !b->between && c->update_by == TT_BY_RELATIVE ? sums + g->count : NULL,
           .size = c->update_by == TT_BY_RMS ? t->size : NULL, .group = updates_of(b), .steps = steps,
           .choices = choices, .keys = keys, .groups = g->count, .chosen = g->chosen, .entries = TT_RING_ENTRIES,
           .seed = (uint64_t)c->seed, .by = c->update_by, .anew = !b->between,
           .decays = c->update_rest == TT_REST_DECAY, .beta1 = (float)c->beta1, .beta2 = (float)c->beta2);
}

static void update_slice(struct build *b, const struct tt_update_tables *t, const struct slice *s, int i,
                         const struct tt_update_step *steps)
{
    LAUNCH(b->p, adamw_chosen, .all = adamw_args(b, s), .tiles = t->tiles + t->tile_at[i], .steps = steps,
           .count = t->tile_at[i + 1] - t->tile_at[i], .groups = b->m->params.groups.count,
           .expected = expected_in(b, s));
}

/* Clips by the norm of all gradients; returns the sum of squares of each group. */
static const float *clip_by_all(struct build *b, const struct tt_update_tables *t)
{
    int groups = b->m->params.groups.count;
    bool relative = b->c->update_by == TT_BY_RELATIVE;
    int64_t partials = t->slices * t->parts, shared = partials + (relative ? 2 : 1) * groups;
    float *partial = floats(b, "grad_norm_partial", shared), *sums = partial + partials;
    group_norms(b, t, partial, sums);
    if (relative) weight_norms(b, t, sums + groups);
    sum_partials(b, partial, shared);
    clip(b, partial, partials);
    return sums;
}

/* The same with the norm of the chosen groups alone: there may be no gradients of the others. */
static const float *clip_by_chosen(struct build *b, const struct tt_update_tables *t)
{
    int groups = b->m->params.groups.count;
    float *sums = floats(b, "group_squares", groups);
    chosen_norms(b, t, sums);
    sum_partials(b, sums, groups);
    clip(b, sums, groups);
    return sums;
}

static void write_chosen(struct build *b, const struct tt_update_tables *t)
{
    int groups = b->m->params.groups.count;
    struct tt_update_step *steps = tt_plan_buffer(b->p, "group_steps", (size_t)groups * sizeof *steps);
    b->p->group = TT_G_CLIP;
    const float *sums = (b->between ? clip_by_chosen : clip_by_all)(b, t);
    b->p->group = TT_G_OPTIMIZER;
    choose(b, t, sums, steps);
    for (int i = 0; i < t->slices; i++) {
        struct slice s = slice_of(b, i);
        update_slice(b, t, &s, i, steps);
        share_slice(b, &s);
    }
}

void optimizer_chosen(struct build *b)
{
    const struct tt_params *p = &b->m->params;
    struct tt_update_tables t = {0};
    tt_status st = tt_update_count(p, &t);
    if (!st) {
        size_t bytes = tt_update_bytes(&t, p->groups.count);
        tt_update_place(&t, p->groups.count, tt_plan_external(b->p, TT_X_GROUPS, bytes));
        write_chosen(b, &t);
    }
    tt_update_free(&t);
    if (st && !b->p->status)
        b->p->status = st;
    else
        tt_status_free(st);
}
