/* Selective updates: what the optimiser does when a step changes only the groups of weights with the largest gradients.
 * The norms of the groups come from the pass that makes the norm of all gradients, and AdamW goes over the chosen
 * groups alone. Of P parameters, a step moves
 *
 *   all      4·P bytes for the norm, 28·P for AdamW (30·P in fp16)
 *   top-k    4·P bytes for the norms, 28·share·P for AdamW: with a share of 0.1, 6.8 bytes per parameter instead of 32
 *   relative and 4·P (2·P in 16 bits) for the norms of the weights
 *
 * With ranks that divide the moments, the norms of their parts are summed with the squares that make the norm, so that
 * all ranks choose alike.
 *
 * Between two choices of --update-every the chosen groups stay the same, and only their gradients are there: norm and
 * clipping are those of the chosen groups, 4·share·P bytes. */
#include "model/update.h"

#include <stdlib.h>
#include <string.h>

#include "core/checkpoint/arena.h"
#include "model/build.h"

/* ---- tables ---- */

struct tt_update_tables {
    struct tt_update_span *spans, *tiles;
    int32_t *first, *order, *begin; /* (slices, parts + 1), (span_count), (groups + 1) */
    float *size;                    /* (groups) */
    int64_t span_count, tile_count;
    int slices;
    int64_t parts, *span_at, *tile_at; /* the first of each slice, and behind the last */
};

static int slices_of(const struct tt_params *p) { return p->sharded[TT_X_MOMENT1] ? p->bucket_count : 1; }

static struct tt_part part_of_slice(const struct tt_params *p, int slice)
{
    return p->sharded[TT_X_MOMENT1] ? tt_part_of(p, slice) : (struct tt_part){.count = p->total};
}

/* Cuts [from, to) of one group into pieces that do not cross a multiple of `unit` after `origin`. NULL: counts them. */
static int64_t cut_pieces(int64_t from, int64_t to, int64_t origin, int64_t unit, int group, struct tt_update_span *out)
{
    int64_t n = 0;
    while (from < to) {
        int64_t end = origin + ((from - origin) / unit + 1) * unit;
        if (end > to) end = to;
        if (out) out[n] = (struct tt_update_span){from, (int32_t)(end - from), group};
        n++;
        from = end;
    }
    return n;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* The weights of a slice, group by group, as spans of runs or as tiles, counted from where the slice begins. */
static int64_t cut_slice(const struct tt_params *p, struct tt_part part, int64_t run, struct tt_update_span *out)
{
    int64_t n = 0;
    for (int i = 0; i < p->n; i++) {
        const struct tt_param *t = &p->items[i];
        int64_t width = t->shape[1] ? t->shape[1] : 1, block = t->group_rows * width;
        int64_t skip = larger(0, part.begin - t->offset) / block; /* blocks of it before this slice */
        for (int64_t at = skip * block; at < t->count; at += block) {
            int64_t from = larger(t->offset + at - part.begin, 0);
            int64_t to = smaller(t->offset + smaller(at + block, t->count) - part.begin, part.count);
            if (t->offset + at >= part.begin + part.count) break;
            int64_t origin = run ? 0 : from, unit = run ? run : TT_UPDATE_TILE;
            n += cut_pieces(from, to, origin, unit, t->group + (int)(at / block), out ? out + n : NULL);
        }
    }
    return n;
}

/* Spans are sorted, so those of a run follow those of the run before. */
static void find_runs(const struct tt_update_span *spans, int64_t n, int64_t run, int64_t parts, int32_t *first)
{
    int64_t at = 0;
    for (int64_t r = 0; r < parts; r++) {
        while (at < n && spans[at].begin < r * run) at++;
        first[r] = (int32_t)at;
    }
    first[parts] = (int32_t)n;
}

/* The spans of group g are order[begin[g]] .. order[begin[g+1] - 1]. */
static void sort_spans(struct tt_update_tables *t, int groups)
{
    for (int64_t s = 0; s < t->span_count; s++) t->begin[t->spans[s].group + 1]++;
    for (int g = 0; g < groups; g++) t->begin[g + 1] += t->begin[g];
    for (int64_t s = 0; s < t->span_count; s++) t->order[t->begin[t->spans[s].group]++] = (int32_t)s;
    for (int g = groups; g > 0; g--) t->begin[g] = t->begin[g - 1]; /* each had moved on to where the next begins */
    t->begin[0] = 0;
}

static int64_t run_of(struct tt_part part, int64_t parts) { return (part.count + parts - 1) / parts; }

static tt_status count_pieces(const struct tt_params *p, struct tt_update_tables *t)
{
    t->slices = slices_of(p);
    t->parts = norm_partials(t->slices);
    t->span_at = calloc((size_t)t->slices + 1, sizeof *t->span_at);
    t->tile_at = calloc((size_t)t->slices + 1, sizeof *t->tile_at);
    if (!t->span_at || !t->tile_at) return tt_no_memory("the groups of weights");
    for (int i = 0; i < t->slices; i++) {
        struct tt_part part = part_of_slice(p, i);
        t->span_at[i + 1] = t->span_at[i] + cut_slice(p, part, run_of(part, t->parts), NULL);
        t->tile_at[i + 1] = t->tile_at[i] + cut_slice(p, part, 0, NULL);
    }
    t->span_count = t->span_at[t->slices];
    t->tile_count = t->tile_at[t->slices];
    return TT_OK;
}

static size_t table_bytes(const struct tt_update_tables *t, int groups)
{
    int64_t words = (t->parts + 1) * t->slices + t->span_count + groups + 1 + groups;
    return (size_t)(t->span_count + t->tile_count) * sizeof *t->spans + (size_t)words * sizeof *t->first;
}

/* All of them in one piece of table_bytes, the spans first. */
static void lay_out(struct tt_update_tables *t, int groups, char *at)
{
#define PLACE(field, n) t->field = (void *)at, at += (size_t)(n) * sizeof *t->field
    PLACE(spans, t->span_count);
    PLACE(tiles, t->tile_count);
    PLACE(first, (t->parts + 1) * t->slices);
    PLACE(order, t->span_count);
    PLACE(begin, groups + 1);
    PLACE(size, groups);
#undef PLACE
}

static void fill_tables(const struct tt_params *p, struct tt_update_tables *t)
{
    for (int i = 0; i < t->slices; i++) {
        struct tt_part part = part_of_slice(p, i);
        int64_t run = run_of(part, t->parts);
        struct tt_update_span *spans = t->spans + t->span_at[i];
        int64_t n = cut_slice(p, part, run, spans);
        cut_slice(p, part, 0, t->tiles + t->tile_at[i]);
        find_runs(spans, n, run, t->parts, t->first + i * (t->parts + 1));
    }
    sort_spans(t, p->groups.count);
    for (int g = 0; g < p->groups.count; g++) t->size[g] = (float)p->groups.size[g];
}

static void free_counts(struct tt_update_tables *t)
{
    free(t->span_at);
    free(t->tile_at);
}

/* ---- their memory ---- */

tt_status tt_update_upload(const struct tt_params *p, struct tt_engine *e)
{
    struct tt_update_tables t = {0};
    size_t bytes = e->bytes[TT_X_GROUPS];
    if (!bytes) return TT_OK;
    tt_status st = count_pieces(p, &t);
    char *host = st ? NULL : calloc(1, bytes);
    if (!st && !host) st = tt_no_memory("the groups of weights");
    if (!st) {
        lay_out(&t, p->groups.count, host);
        fill_tables(p, &t);
        st = tt_engine_upload(e, TT_X_GROUPS, 0, host, bytes);
    }
    free(host);
    free_counts(&t);
    return st;
}

tt_status tt_update_begin(const struct tt_params *p, struct tt_engine *e, const struct tt_update_group *from)
{
    size_t bytes = e->bytes[TT_X_UPDATES];
    if (!bytes) return TT_OK;
    struct tt_update_group *none = calloc((size_t)p->groups.count + 1, sizeof *none);
    tt_status st = none ? tt_engine_upload(e, TT_X_UPDATES, 0, from ? from : none, bytes)
                        : tt_no_memory("the groups of weights");
    free(none);
    return st;
}

/* ---- the plan ---- */

static const void *weights_of(const struct slice *s) { return s->copy ? s->copy : s->w; }

static void sum_groups(struct build *b, const struct tt_update_tables *t, const float *square, float *sums)
{
    LAUNCH(b->p, group_sums, .square = square, .order = t->order, .begin = t->begin, .sum = sums,
           .groups = b->m->params.groups.count, .count = t->span_count);
}

/* sums[g] = squares of the group's gradients, those of this rank; partial as it is without groups. */
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

/* Elements of a slice in chosen groups, if these are like the others. */
static int64_t expected_in(const struct build *b, const struct slice *s)
{
    const struct tt_groups *g = &b->m->params.groups;
    return s->n * g->chosen / g->count;
}

/* sums[g] = squares of the group's gradients, those of this rank; 0 for groups that the update before left alone. */
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

/* The norm of all gradients; returns the squares of each group. */
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

/* The same of the chosen groups alone: there may be no gradients of the others. */
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
    tt_status st = count_pieces(p, &t);
    if (!st) {
        size_t bytes = table_bytes(&t, p->groups.count);
        lay_out(&t, p->groups.count, tt_plan_external(b->p, TT_X_GROUPS, bytes));
        write_chosen(b, &t);
    }
    free_counts(&t);
    if (st && !b->p->status)
        b->p->status = st;
    else
        tt_status_free(st);
}
