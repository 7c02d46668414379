/* A comparison of runs: speed-ups, accuracy, what changed. */
#include "profiling/compare/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiling/disturbed.h"
#include "profiling/speedup.h"

void tt_compare_free(struct tt_comparison *c)
{
    for (int i = 0; i < c->n; i++) tt_profile_free(&c->runs[i].profile);
    free(c->groups);
    free(c->operators);
    tt_text_free(&c->warnings);
    *c = (struct tt_comparison){0};
}

/* ---- speed-ups and their intervals ---- */

static int step_times(const struct tt_profile *p, double **out)
{
    int n = 0;
    *out = calloc((size_t)p->samples_count + 1, sizeof **out);
    for (int i = 0; *out && i < p->samples_count; i++)
        if (p->samples[i].seconds > 0) (*out)[n++] = p->samples[i].seconds;
    return *out ? n : 0;
}

/* A kernel of the user's own (--own-kernel) is not part of the build, so it is compared too. */
bool tt_compare_one_build(const struct tt_compared *a, const struct tt_compared *b)
{
    const struct tt_profile_run *x = &a->profile.run, *y = &b->profile.run;
    return x->build[0] && strcmp(x->build, y->build) == 0 && strcmp(x->own_kernel_sha, y->own_kernel_sha) == 0;
}

static struct tt_speedup_side side_of(const struct tt_compared *r)
{
    struct tt_speedup_side side = {.seconds = r->seconds, .slowed = tt_step_slowed(&r->profile),
                                   .backend = r->profile.run.backend};
    side.n = step_times(&r->profile, &side.steps);
    return side;
}

tt_status tt_compare_range(const struct tt_compared *base, const struct tt_compared *r, struct tt_range *out)
{
    struct tt_speedup_side a = side_of(base), b = side_of(r);
    struct tt_control control = tt_control(&base->profile, &r->profile);
    tt_status st = a.steps && b.steps ? tt_speedup_range(&a, &b, &control, tt_compare_one_build(base, r), out)
                                      : tt_no_memory("the comparison");
    free(a.steps);
    free(b.steps);
    if (st) return st;
    /* Runs of different batches are compared by their tokens per second, not by their steps. */
    double tokens = r->seconds * r->tokens_per_second / (base->seconds * base->tokens_per_second);
    if (tokens > 0) out->low *= tokens, out->high *= tokens;
    return TT_OK;
}

static tt_status find_speedups(struct tt_comparison *c)
{
    for (int i = 0; i < c->n; i++) {
        struct tt_compared *r = &c->runs[i];
        const struct tt_compared *base = &c->runs[r->base];
        r->rows_disturbed =
            i && (tt_recorded_slowed(&c->runs[0].profile) > 1 || tt_recorded_slowed(&r->profile) > 1);
        r->in_turns = r->in_turns && i == 1; /* rows of later files were in turns with each other, not with the base */
        if (r->in_turns) continue;
        r->speedup = r->tokens_per_second > 0 && base->tokens_per_second > 0
                         ? r->tokens_per_second / base->tokens_per_second
                         : base->seconds / r->seconds;
        if (!i) continue;
        TT_TRY(tt_compare_range(base, r, &r->range));
        r->busy = r != base && fmax(tt_step_slowed(&base->profile), tt_step_slowed(&r->profile)) > 1;
        r->undecided = r->busy && !(r->range.low > 1 || r->range.high < 1);
        if (r != base) r->control = tt_control(&base->profile, &r->profile);
        r->one_build = tt_compare_one_build(base, r);
    }
    return TT_OK;
}

/* ---- accuracy ---- */

/* Where neither run knows its shape, the name of the preset decides. */
static bool same_model(const struct tt_profile_run *a, const struct tt_profile_run *b)
{
    if (!a->num_layers && !b->num_layers) return strcmp(a->preset, b->preset) == 0;
    return a->hidden_dim == b->hidden_dim && a->num_layers == b->num_layers && a->num_heads == b->num_heads &&
           a->num_kv_heads == b->num_kv_heads && a->ffn_dim == b->ffn_dim && a->vocab_size == b->vocab_size &&
           a->seq_len == b->seq_len && (a->head_dim == b->head_dim || !a->head_dim || !b->head_dim) &&
           a->qkv_bias == b->qkv_bias && a->qk_norm == b->qk_norm && strcmp(a->rope_scaling, b->rope_scaling) == 0;
}

static bool only_length_differs(const struct tt_profile_run *a, const struct tt_profile_run *b)
{
    struct tt_profile_run as_long = *a;
    as_long.seq_len = b->seq_len;
    return a->seq_len != b->seq_len && same_model(&as_long, b);
}

/* Whether two texts are equal, or one is not known. */
static bool agree(const char *a, const char *b) { return !a[0] || !b[0] || strcmp(a, b) == 0; }

static int64_t step_rows(const struct tt_profile *p)
{
    return p->run.batch_size * p->run.grad_accum * (p->job.ranks > 1 ? p->job.ranks : 1);
}

static bool same_task(const struct tt_profile *p, const struct tt_profile *q)
{
    const struct tt_profile_run *a = &p->run, *b = &q->run;
    return same_model(a, b) && a->seed == b->seed && step_rows(p) == step_rows(q) && strcmp(a->data, b->data) == 0 &&
           agree(a->documents, b->documents);
}

bool tt_compare_same_steps(const struct tt_profile *a, const struct tt_profile *b)
{
    const struct tt_profile_run *x = &a->run, *y = &b->run;
    return !x->steps || !y->steps || (x->steps == y->steps && x->warmup == y->warmup);
}

static double loss_at(const struct tt_profile *p, int64_t step, int *from)
{
    while (*from < p->samples_count && p->samples[*from].step < step) ++*from;
    return *from < p->samples_count && p->samples[*from].step == step ? p->samples[*from].loss : NAN;
}

static void compare_losses(const struct tt_compared *base, struct tt_compared *r)
{
    int from = 0;
    for (int i = 0; i < r->profile.samples_count; i++) {
        const struct tt_profile_sample *s = &r->profile.samples[i];
        double other = loss_at(&base->profile, s->step, &from), difference = fabs(s->loss - other);
        if (isfinite(s->loss) != isfinite(other) && !isnan(other)) difference = INFINITY;
        if (isnan(r->loss_difference) || difference > r->loss_difference) r->loss_difference = difference;
    }
}

static double whole_norm(const struct tt_profile *p)
{
    double sum = 0;
    for (int i = 0; i < p->gradients_count; i++)
        if (isfinite(p->gradients[i].first_norm)) sum += p->gradients[i].first_norm * p->gradients[i].first_norm;
    return sqrt(sum);
}

/* The difference of a gradient's norms in two runs, relative to the first run's norm, `base`. 1: twice as large, or one
 * of them is zero. Norms below `floor` are far below that of the whole gradient, so they are rounding noise: their
 * difference is relative to `floor`. */
static double norms_apart(double norm, double base, double floor)
{
    double scale = fmax(norm, base) < floor ? floor : base > 0 ? base : norm;
    return scale > 0 ? fabs(norm - base) / scale : 0;
}

/* Compares the gradients of the first step, for which both runs had the same weights; later, rounding alone makes them
 * differ. */
static void compare_gradients(const struct tt_compared *base, struct tt_compared *r)
{
    double floor = 1e-3 * whole_norm(&base->profile);
    for (int i = 0; i < r->profile.gradients_count; i++)
        for (int k = 0; k < base->profile.gradients_count; k++) {
            const struct tt_profile_gradient *g = &r->profile.gradients[i], *b = &base->profile.gradients[k];
            if (strcmp(g->name, b->name) != 0 || !isfinite(g->first_norm) || !isfinite(b->first_norm)) continue;
            double difference = norms_apart(g->first_norm, b->first_norm, floor);
            if (isnan(r->gradient_difference) || difference > r->gradient_difference)
                r->gradient_difference = difference;
        }
}

static void find_accuracy(struct tt_comparison *c)
{
    for (int i = 0; i < c->n; i++) {
        struct tt_compared *r = &c->runs[i];
        const struct tt_compared *base = &c->runs[r->base];
        r->same_model = same_model(&base->profile.run, &r->profile.run);
        r->other_length = !r->same_model && only_length_differs(&base->profile.run, &r->profile.run);
        r->same_task = same_task(&base->profile, &r->profile);
        r->same_steps = tt_compare_same_steps(&base->profile, &r->profile);
        if (i && r->same_task && r->same_steps) compare_losses(base, r);
        if (i && r->same_task) compare_gradients(base, r);
        tt_compare_warn(c, r, base);
    }
}

/* ---- groups and operators ---- */

static struct tt_compare_row *row_named(struct tt_comparison *c, struct tt_compare_row *rows, int *count,
                                        const char *name)
{
    for (int i = 0; i < *count; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    struct tt_compare_row *row = &rows[(*count)++];
    *row = (struct tt_compare_row){0};
    snprintf(row->name, sizeof row->name, "%s", name);
    for (int i = 0; i < c->n; i++) row->seconds[i] = c->runs[i].profile.operators_count ? 0 : NAN;
    return row;
}

static double change(const struct tt_compare_row *row, int n)
{
    double most = 0;
    for (int i = 1; i < n; i++)
        if (fabs(row->seconds[i] - row->seconds[0]) > most) most = fabs(row->seconds[i] - row->seconds[0]);
    return most;
}

/* Imports from other profilers have no phases; if there is one, operators are not told apart by phase. */
static bool all_have_phases(const struct tt_comparison *c)
{
    for (int i = 0; i < c->n; i++)
        if (c->runs[i].profile.operators_count && !c->runs[i].profile.operators[0].phase[0]) return false;
    return true;
}

/* A row that ran without a time that could be measured is not gone, and neither are gaps that cannot be seen. */
static double time_of(const struct tt_profile_row *row)
{
    if (row->seconds > 0) return row->seconds;
    return row->count > 0 || !strcmp(row->name, "gaps") ? NAN : 0;
}

static tt_status find_rows(struct tt_comparison *c)
{
    int groups = 1, operators = 1;
    bool phases = all_have_phases(c);
    char name[192];
    for (int i = 0; i < c->n; i++)
        groups += c->runs[i].profile.groups_count, operators += c->runs[i].profile.operators_count;
    c->groups = calloc((size_t)groups, sizeof *c->groups);
    c->operators = calloc((size_t)operators, sizeof *c->operators);
    if (!c->groups || !c->operators) return tt_no_memory("the comparison");
    for (int i = 0; i < c->n; i++) {
        const struct tt_profile *p = &c->runs[i].profile;
        for (int k = 0; k < p->groups_count; k++) {
            double *seconds = row_named(c, c->groups, &c->group_count, p->groups[k].name)->seconds;
            seconds[i] += time_of(&p->groups[k]);
        }
        for (int k = 0; k < p->operators_count; k++) {
            const struct tt_profile_row *op = &p->operators[k];
            snprintf(name, sizeof name, "%.47s%s%.63s in %.31s%s%.*s", op->name, op->shape[0] ? " " : "", op->shape,
                     op->group, phases && op->phase[0] ? ", " : "",
                     phases ? (int)strcspn(op->phase, "_") : 0, op->phase); /* backward_pass */
            double *seconds = row_named(c, c->operators, &c->operator_count, name)->seconds;
            seconds[i] += time_of(op);
        }
    }
    /* Sorted by how much they changed; they are few enough for insertion sort. */
    for (int i = 1; i < c->operator_count; i++) {
        struct tt_compare_row row = c->operators[i];
        int at = i;
        for (; at > 0 && change(&c->operators[at - 1], c->n) < change(&row, c->n); at--)
            c->operators[at] = c->operators[at - 1];
        c->operators[at] = row;
    }
    return TT_OK;
}

/* Cuts labels to the last part of their paths, if they still differ then. */
static void shorten_labels(struct tt_comparison *c)
{
    const char *last[TT_COMPARE_LIMIT];
    for (int i = 0; i < c->n; i++) {
        const char *slash = strchr(c->runs[i].label, '/');
        last[i] = slash ? slash + 1 : c->runs[i].label;
        for (int k = 0; k < i; k++)
            if (strcmp(last[i], last[k]) == 0) return;
    }
    for (int i = 0; i < c->n; i++) memmove(c->runs[i].label, last[i], strlen(last[i]) + 1);
}

/* Two benchmarks with a row for each size and version: a row is compared with the row of the same name in the first
 * one. */
static void pair_rows(struct tt_comparison *c, int rows)
{
    c->rows = rows > 1 && rows < c->n ? rows : 1;
    for (int i = rows; i < c->n && rows > 1; i++)
        for (int k = 0; k < rows; k++)
            if (!strcmp(c->runs[i].label, c->runs[k].label)) c->runs[i].base = k;
}

/* Where rows of several files have the same name, adds the name of the file. */
static void name_files(struct tt_comparison *c, const char *const *paths, const int *path_of)
{
    bool twice[TT_COMPARE_LIMIT] = {false};
    for (int i = 0; i < c->n; i++)
        for (int k = 0; k < c->n; k++)
            twice[i] |= path_of[i] != path_of[k] && !strcmp(c->runs[i].label, c->runs[k].label);
    for (int i = 0; i < c->n; i++) {
        char label[sizeof c->runs[i].label];
        const char *path = paths[path_of[i]], *slash = strrchr(path, '/');
        if (!twice[i]) continue;
        snprintf(label, sizeof label, "%.45s, %.45s", c->runs[i].label, slash && slash[1] ? slash + 1 : path);
        memcpy(c->runs[i].label, label, sizeof label);
    }
}

tt_status tt_compare(const char *const *paths, int n, struct tt_comparison *out)
{
    int path_of[TT_COMPARE_LIMIT], rows = 0;
    *out = (struct tt_comparison){.rows = 1};
    for (int i = 0; i < n; i++) {
        int from = out->n;
        TT_TRY(tt_compare_add(out, paths[i]));
        for (int k = from; k < out->n; k++) path_of[k] = i;
        if (!i) rows = out->n;
    }
    if (out->n < 2) return tt_fail(TT_USAGE, "a comparison needs two runs; name the folders of two profiles");
    pair_rows(out, rows);
    shorten_labels(out);
    if (out->rows > 1) name_files(out, paths, path_of);
    TT_TRY(find_speedups(out));
    find_accuracy(out);
    return find_rows(out);
}
