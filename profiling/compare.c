/* Reading the runs, and what follows from them. */
#include "profiling/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/json.h"
#include "core/rng.h"
#include "profiling/stats.h"

static const size_t largest = (size_t)1 << 28;

static tt_status no_memory(void) { return tt_fail(TT_FAILED, "out of memory for the comparison"); }

void tt_compare_free(struct tt_comparison *c)
{
    for (int i = 0; i < c->n; i++) tt_profile_free(&c->runs[i].profile);
    free(c->groups);
    free(c->operators);
    tt_text_free(&c->warnings);
    *c = (struct tt_comparison){0};
}

static tt_status new_run(struct tt_comparison *c, struct tt_compared **out)
{
    if (c->n == TT_COMPARE_LIMIT) return tt_fail(TT_USAGE, "more than %d runs to compare; leave some out", TT_COMPARE_LIMIT);
    *out = &c->runs[c->n++];
    **out = (struct tt_compared){.seconds = NAN, .tokens_per_second = NAN, .mfu_percent = NAN, .memory_bytes = NAN, .kernels = NAN,
                                 .loss = NAN, .speedup = NAN, .speedup_low = NAN, .speedup_high = NAN, .loss_difference = NAN,
                                 .gradient_difference = NAN};
    return TT_OK;
}

/* ---- the three kinds of run ---- */

/* The last two parts of a path name it well enough. */
static void label_by_path(struct tt_compared *r, const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    if (n > 13 && strncmp(path + n - 13, "/profile.json", 13) == 0) n -= 13;
    const char *begin = path + n;
    for (int parts = 0; begin > path; begin--)
        if (begin[-1] == '/' && ++parts == 2) break;
    snprintf(r->label, sizeof r->label, "%.*s", (int)(path + n - begin), begin);
}

static tt_status add_profile(struct tt_comparison *c, const char *path)
{
    struct tt_compared *r;
    TT_TRY(new_run(c, &r));
    TT_TRY(tt_profile_read(path, &r->profile));
    const struct tt_profile *p = &r->profile;
    label_by_path(r, path);
    r->seconds = p->step.seconds;
    r->tokens_per_second = p->step.tokens_per_second;
    r->mfu_percent = p->efficiency.mfu_percent;
    r->memory_bytes = p->step.peak_memory_bytes;
    r->kernels = p->step.kernels > 0 ? (double)p->step.kernels : NAN;
    r->loss = p->step.loss;
    r->gradients = p->gradients_count;
    for (int i = 0; i < p->gradients_count; i++)
        r->missing_gradients += p->gradients[i].zeros == p->gradients[i].count || p->gradients[i].nonfinite > 0;
    return TT_OK;
}

static tt_status add_bench_rows(struct tt_comparison *c, const struct tt_json *root)
{
    const struct tt_json *rows = tt_json_get(root, "rows");
    if (!rows || rows->type != TT_JSON_ARRAY || !rows->first) return tt_fail(TT_FAILED, "it has no rows");
    for (const struct tt_json *row = rows->first; row; row = row->next) {
        struct tt_compared *r;
        TT_TRY(new_run(c, &r));
        snprintf(r->label, sizeof r->label, "%.30s %.30s %.20s", tt_json_string(row, "size", "?"), tt_json_string(row, "version", "?"),
                 tt_json_string(root, "precision", ""));
        snprintf(r->profile.run.device, sizeof r->profile.run.device, "%.127s", tt_json_string(root, "device", ""));
        snprintf(r->profile.run.backend, sizeof r->profile.run.backend, "%.15s", tt_json_string(root, "backend", ""));
        snprintf(r->profile.run.precision, sizeof r->profile.run.precision, "%.15s", tt_json_string(root, "precision", ""));
        snprintf(r->profile.run.version, sizeof r->profile.run.version, "%.15s", tt_json_string(row, "version", ""));
        snprintf(r->profile.run.preset, sizeof r->profile.run.preset, "%.31s", tt_json_string(row, "size", ""));
        r->seconds = 1e-3 * tt_json_number(row, "median_ms", NAN);
        r->tokens_per_second = tt_json_number(row, "tokens_per_second", NAN);
        r->mfu_percent = tt_json_number(row, "mfu_percent", NAN);
        r->memory_bytes = tt_json_number(row, "peak_memory_bytes", NAN);
        r->kernels = tt_json_number(row, "operations_per_step", NAN);
    }
    return TT_OK;
}

static tt_status add_sample(struct tt_profile *p, int *cap, const struct tt_json *line)
{
    struct tt_profile_sample s = {.seconds = NAN};
    if (!tt_json_get(line, "loss") || !tt_json_int(line, "step", 0, INT64_MAX, &s.step)) return TT_OK; /* a validation */
    s.loss = tt_json_number(line, "loss", NAN);
    s.grad_norm = tt_json_number(line, "grad_norm", NAN);
    if (p->samples_count == *cap) {
        *cap = *cap ? 2 * *cap : 256;
        struct tt_profile_sample *grown = realloc(p->samples, (size_t)*cap * sizeof *grown);
        if (!grown) return no_memory();
        p->samples = grown;
    }
    p->samples[p->samples_count++] = s;
    return TT_OK;
}

/* metrics.jsonl of a training run: a line per step. */
static tt_status add_training(struct tt_comparison *c, const char *folder, const char *text, size_t n)
{
    struct tt_compared *r;
    int cap = 0, number = 0;
    double speed = 0, speeds = 0;
    TT_TRY(new_run(c, &r));
    label_by_path(r, folder);
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t length = end ? (size_t)(end - text) - at : n - at;
        struct tt_json *line;
        number++;
        if (length) {
            tt_status st = tt_json_parse(text + at, length, &line);
            if (st) return tt_context(st, "line %d of metrics.jsonl", number);
            st = add_sample(&r->profile, &cap, line);
            double here = tt_json_number(line, "tokens_per_second", NAN);
            if (here > 0) speed += here, speeds++;
            tt_json_free(line);
            TT_TRY(st);
        }
        at += length + 1;
    }
    if (!r->profile.samples_count) return tt_fail(TT_FAILED, "metrics.jsonl has no step");
    r->tokens_per_second = speeds > 0 ? speed / speeds : NAN;
    r->loss = r->profile.samples[r->profile.samples_count - 1].loss;
    return TT_OK;
}

static tt_status add_path(struct tt_comparison *c, const char *path)
{
    char inside[1200], *text = NULL;
    size_t n;
    tt_status st;
    bool folder = tt_is_dir(path);
    snprintf(inside, sizeof inside, "%s/profile.json", path);
    if (folder && tt_is_file(inside)) return add_profile(c, inside);
    snprintf(inside, sizeof inside, "%s/%s", path, "metrics.jsonl");
    bool training = folder && tt_is_file(inside);
    if (folder && !training) snprintf(inside, sizeof inside, "%s/bench.json", path);
    if (folder && !training && !tt_is_file(inside))
        return tt_fail(TT_FAILED, "%s holds neither profile.json nor bench.json nor metrics.jsonl; make one with tt profile --out %s", path, path);
    TT_TRY(tt_file_read(folder ? inside : path, largest, &text, &n));
    if (training) {
        st = add_training(c, path, text, n);
    } else {
        struct tt_json *root = NULL;
        st = tt_json_parse(text, n, &root);
        if (!st && tt_json_get(root, "operators"))
            st = add_profile(c, path);
        else if (!st)
            st = add_bench_rows(c, root);
        if (root) tt_json_free(root);
    }
    free(text);
    return st ? tt_context(st, "%s", path) : TT_OK;
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

static double resampled_median(const double *x, int n, double *room, uint64_t stream, uint64_t *draw)
{
    for (int i = 0; i < n; i++) room[i] = x[(int)(tt_uniform(20, stream, (*draw)++) * n) % n];
    return tt_quantile(room, n, 0.5);
}

/* Medians of samples drawn from the measured steps, again and again: where 95 % of their ratios lie. */
static tt_status interval(const struct tt_compared *base, struct tt_compared *r)
{
    enum { ROUNDS = 1000, FEWEST = 4 };
    double *a, *b, *ratios = calloc(ROUNDS, sizeof *ratios);
    int na = step_times(&base->profile, &a), nb = step_times(&r->profile, &b), most = na > nb ? na : nb;
    double *room = calloc((size_t)most + 1, sizeof *room);
    tt_status st = a && b && room && ratios ? TT_OK : no_memory();
    if (!st && na >= FEWEST && nb >= FEWEST) {
        uint64_t draw = 0;
        for (int i = 0; i < ROUNDS; i++) ratios[i] = resampled_median(a, na, room, 1, &draw) / resampled_median(b, nb, room, 2, &draw);
        r->speedup_low = tt_quantile(ratios, ROUNDS, 0.025);
        r->speedup_high = tt_quantile(ratios, ROUNDS, 0.975);
    }
    free(a);
    free(b);
    free(room);
    free(ratios);
    return st;
}

static tt_status find_speedups(struct tt_comparison *c)
{
    const struct tt_compared *base = &c->runs[0];
    for (int i = 0; i < c->n; i++) {
        struct tt_compared *r = &c->runs[i];
        /* Of different batches the tokens are compared, not the steps. */
        r->speedup = r->tokens_per_second > 0 && base->tokens_per_second > 0 ? r->tokens_per_second / base->tokens_per_second
                                                                              : base->seconds / r->seconds;
        if (i) TT_TRY(interval(base, r));
        double tokens = r->seconds * r->tokens_per_second / (base->seconds * base->tokens_per_second); /* of a step, against the first's */
        if (tokens > 0) r->speedup_low *= tokens, r->speedup_high *= tokens;
    }
    return TT_OK;
}

/* ---- accuracy ---- */

static bool same_task(const struct tt_profile_run *a, const struct tt_profile_run *b)
{
    return a->seed == b->seed && a->hidden_dim == b->hidden_dim && a->num_layers == b->num_layers && a->num_heads == b->num_heads &&
           a->num_kv_heads == b->num_kv_heads && a->ffn_dim == b->ffn_dim && a->vocab_size == b->vocab_size && a->seq_len == b->seq_len &&
           a->batch_size == b->batch_size && a->grad_accum == b->grad_accum && strcmp(a->data, b->data) == 0;
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

static void compare_gradients(const struct tt_compared *base, struct tt_compared *r)
{
    for (int i = 0; i < r->profile.gradients_count; i++)
        for (int k = 0; k < base->profile.gradients_count; k++) {
            const struct tt_profile_gradient *g = &r->profile.gradients[i], *b = &base->profile.gradients[k];
            if (strcmp(g->name, b->name) != 0) continue;
            double scale = fmax(fabs(g->norm), fabs(b->norm)), difference = scale > 0 ? fabs(g->norm - b->norm) / scale : 0;
            if (isnan(r->gradient_difference) || difference > r->gradient_difference) r->gradient_difference = difference;
        }
}

static void warn_of(struct tt_comparison *c, const struct tt_compared *r, const struct tt_compared *base)
{
    if (r->missing_gradients)
        tt_text_printf(&c->warnings, "%s: %d of %d tensors got no gradient, or one that is not finite: its speed is that of missing work\n",
                       r->label, r->missing_gradients, r->gradients);
    if (r == base) return;
    if (r->profile.operators_count && base->profile.operators_count && !r->same_task)
        tt_text_printf(&c->warnings, "%s: another shape, data or seed than %s: losses and times per step do not compare\n", r->label, base->label);
    else if (r->loss_difference > 0.1)
        tt_text_printf(&c->warnings, "%s: its loss differs from that of %s by up to %.3g: they do not compute the same\n", r->label,
                       base->label, r->loss_difference);
    if (r->same_task && r->gradient_difference > 0.1)
        tt_text_printf(&c->warnings, "%s: the norm of a gradient differs from that of %s by %.0f %%\n", r->label, base->label,
                       100 * r->gradient_difference);
}

static void find_accuracy(struct tt_comparison *c)
{
    struct tt_compared *base = &c->runs[0];
    for (int i = 0; i < c->n; i++) {
        struct tt_compared *r = &c->runs[i];
        r->same_task = same_task(&base->profile.run, &r->profile.run);
        if (i && r->same_task) compare_losses(base, r);
        if (i && r->same_task) compare_gradients(base, r);
        warn_of(c, r, base);
    }
}

/* ---- groups and operators ---- */

static struct tt_compare_row *row_named(struct tt_comparison *c, struct tt_compare_row *rows, int *count, const char *name)
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

/* Other profilers do not tell phases; beside such a run, none are told apart. */
static bool all_have_phases(const struct tt_comparison *c)
{
    for (int i = 0; i < c->n; i++)
        if (c->runs[i].profile.operators_count && !c->runs[i].profile.operators[0].phase[0]) return false;
    return true;
}

static tt_status find_rows(struct tt_comparison *c)
{
    int groups = 1, operators = 1;
    bool phases = all_have_phases(c);
    char name[120];
    for (int i = 0; i < c->n; i++) groups += c->runs[i].profile.groups_count, operators += c->runs[i].profile.operators_count;
    c->groups = calloc((size_t)groups, sizeof *c->groups);
    c->operators = calloc((size_t)operators, sizeof *c->operators);
    if (!c->groups || !c->operators) return no_memory();
    for (int i = 0; i < c->n; i++) {
        const struct tt_profile *p = &c->runs[i].profile;
        for (int k = 0; k < p->groups_count; k++) {
            double *seconds = row_named(c, c->groups, &c->group_count, p->groups[k].name)->seconds;
            if (isfinite(p->groups[k].seconds)) seconds[i] += p->groups[k].seconds;
        }
        for (int k = 0; k < p->operators_count; k++) {
            const struct tt_profile_row *op = &p->operators[k];
            snprintf(name, sizeof name, "%.47s in %.31s%s%.31s", op->name, op->group, phases && op->phase[0] ? ", " : "", phases ? op->phase : "");
            double *seconds = row_named(c, c->operators, &c->operator_count, name)->seconds;
            if (isfinite(op->seconds)) seconds[i] += op->seconds;
        }
    }
    /* By how much they changed: few enough for the plain way. */
    for (int i = 1; i < c->operator_count; i++) {
        struct tt_compare_row row = c->operators[i];
        int at = i;
        for (; at > 0 && change(&c->operators[at - 1], c->n) < change(&row, c->n); at--) c->operators[at] = c->operators[at - 1];
        c->operators[at] = row;
    }
    return TT_OK;
}

/* The last part of the paths alone, where that tells them apart. */
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

tt_status tt_compare(const char *const *paths, int n, struct tt_comparison *out)
{
    *out = (struct tt_comparison){0};
    for (int i = 0; i < n; i++) TT_TRY(add_path(out, paths[i]));
    if (out->n < 2) return tt_fail(TT_USAGE, "a comparison needs two runs; name the folders of two profiles");
    shorten_labels(out);
    TT_TRY(find_speedups(out));
    find_accuracy(out);
    return find_rows(out);
}
