/* The roadmap of the course: what each step was predicted to gain, what it gained, and whether the result may be
 * kept. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/load.h"
#include "exercises/engine/exercise.h"
#include "profiling/compare/compare.h"
#include "profiling/disturbed.h"
#include "profiling/speedup.h"

enum { STEPS = TT_COMPARE_LIMIT };

struct step {
    const char *name, *run, *again;
    double predicted; /* NaN: not given */
};

struct roadmap {
    char folder[1024];
    struct step steps[STEPS]; /* the first is where it began */
    int n;
    double throughput, loss, memory; /* limits of the gates: fractions, and a difference of losses */
};

/* ---- roadmap.yaml ---- */

static tt_status number(const struct tt_yaml *map, const char *key, double otherwise, double *out)
{
    const struct tt_yaml *y = map ? tt_yaml_get(map, key) : NULL;
    *out = otherwise;
    if (!y || y->kind == TT_YAML_NULL || (y->text && !y->text[0])) return TT_OK;
    char *end = NULL;
    if (y->text) *out = strtod(y->text, &end);
    return end && !*end && isfinite(*out) ? TT_OK : tt_fail(TT_USAGE, "line %d: %s is not a number", y->line, key);
}

static const char *text(const struct tt_yaml *map, const char *key, const char *otherwise)
{
    const struct tt_yaml *y = tt_yaml_get(map, key);
    return y && y->text && y->text[0] ? y->text : otherwise;
}

static tt_status read_step(const struct tt_yaml *y, struct step *s)
{
    s->run = text(y, "run", NULL);
    if (!s->run) return tt_fail(TT_USAGE, "line %d: run, the folder of a profile, is missing", y->line);
    s->name = text(y, "name", s->run);
    s->again = text(y, "again", NULL);
    TT_TRY(number(y, "predicted", NAN, &s->predicted));
    if (s->predicted <= 0 || s->predicted > 10)
        return tt_fail(TT_USAGE, "line %d: predicted is how many times as fast as the step before, 0 to 10: 1.2 is 20 "
                                 "%% faster", y->line);
    return TT_OK;
}

static tt_status read_steps(const struct tt_yaml *tree, struct roadmap *r)
{
    const struct tt_yaml *list = tt_yaml_get(tree, "steps"), *gates = tt_yaml_get(tree, "gates");
    if (!list || list->kind != TT_YAML_LIST || list->count < 2 || list->count > STEPS)
        return tt_fail(TT_USAGE, "steps: has to be a list of 2 to %d, the first of them where it began", STEPS);
    for (const struct tt_yaml *y = list->first; y; y = y->next) TT_TRY(read_step(y, &r->steps[r->n++]));
    TT_TRY(number(gates, "throughput", 0.3, &r->throughput));
    TT_TRY(number(gates, "loss", 0.02, &r->loss));
    return number(gates, "memory", 0, &r->memory);
}

/* ---- the table ---- */

static void put_number(struct tt_text *out, double x)
{
    if (isfinite(x))
        tt_text_printf(out, " %10.2f", x);
    else
        tt_text_printf(out, " %10s", "n/a");
}

static tt_status put_range(struct tt_text *out, const struct tt_compared *before, const struct tt_compared *r)
{
    struct tt_range range;
    char words[64] = "unknown", ends[48];
    TT_TRY(tt_compare_range(before, r, &range));
    if (isfinite(range.low) && !(range.low > 0 && isfinite(range.high)))
        snprintf(words, sizeof words, "%s (busy)", tt_speedup_words(range.low, range.high, ends));
    else if (isfinite(range.low))
        snprintf(words, sizeof words, "%.2f-%.2f (%.0f %%)", range.low, range.high, 100 * range.confidence);
    tt_text_printf(out, " %18s", words);
    return TT_OK;
}

static tt_status put_table(const struct roadmap *r, const struct tt_comparison *c, struct tt_text *out)
{
    double together = 1;
    tt_text_printf(out, "%-24s %10s %10s %18s %10s %10s %10s\n", "step", "predicted", "measured", "interval",
                   "together", "predicted", "MiB");
    for (int i = 0; i < r->n; i++) {
        const struct tt_compared *before = &c->runs[i ? i - 1 : 0];
        double predicted = i ? r->steps[i].predicted : 1;
        together *= predicted;
        tt_text_printf(out, "%-24.24s", r->steps[i].name);
        put_number(out, predicted);
        put_number(out, c->runs[i].tokens_per_second / before->tokens_per_second);
        if (i)
            TT_TRY(put_range(out, before, &c->runs[i]));
        else
            tt_text_printf(out, " %18s", "");
        put_number(out, c->runs[i].tokens_per_second / c->runs[0].tokens_per_second);
        put_number(out, together);
        put_number(out, c->runs[i].memory_bytes / 0x1p20);
        tt_text_puts(out, "\n");
    }
    return TT_OK;
}

/* Appends a line for everything that makes the table less reliable than it looks. */
static tt_status put_noise(const struct roadmap *r, const struct tt_comparison *c, struct tt_text *out)
{
    for (int i = 0; i < r->n; i++) {
        char busy[120];
        struct tt_range range = {NAN, NAN, NAN};
        tt_step_busy_words(&c->runs[i].profile, busy);
        if (busy[0])
            tt_text_printf(out, "noise: %s: when it was measured, %s; measure again when it is quiet\n",
                           r->steps[i].name, busy);
        if (i) TT_TRY(tt_compare_range(&c->runs[i - 1], &c->runs[i], &range));
        if (range.low < 1 && range.high > 1)
            tt_text_printf(out, "noise: %s: the interval includes 1, so neither gain nor loss is shown; measure more "
                                "steps, or in turns (tt bench --against)\n", r->steps[i].name);
    }
    return TT_OK;
}

/* ---- the gates, with the last step against the first ---- */

enum verdict { HOLDS, FAILS, UNKNOWN, UNDECIDED };

static void put_gate(struct tt_text *out, bool *passed, const char *name, enum verdict v, const char *why)
{
    static const char *const words[] = {"holds", "fails", "not known", "undecided"};
    *passed &= v == HOLDS;
    tt_text_printf(out, "gate %-14s %-10s %s\n", name, words[v], why);
}

/* The code of tt compare --fail-if decides, so that a script can ask the same. */
static enum verdict gate(const struct tt_comparison *c, const char *condition, double limit, const char *unit,
                         char *why, size_t size)
{
    struct tt_comparison *two = malloc(sizeof *two);
    char text[64];
    if (!two) return UNKNOWN;
    *two = *c;
    two->runs[1] = c->runs[c->n - 1];
    two->n = 2;
    snprintf(text, sizeof text, "%s:%g%s", condition, limit, unit);
    tt_status st = tt_compare_gate(two, text, NULL);
    free(two);
    snprintf(why, size, "tt compare --fail-if %s%s%.200s", text, st ? ": " : "", st ? st->text : "");
    enum verdict v = !st ? HOLDS : st->code == TT_GATE ? FAILS : UNKNOWN;
    tt_status_free(st);
    return v;
}

static void throughput_gate(const struct roadmap *r, const struct tt_comparison *c, struct tt_text *out, bool *passed)
{
    char why[300];
    const struct tt_compared *last = &c->runs[c->n - 1];
    double gain = last->tokens_per_second / c->runs[0].tokens_per_second - 1;
    bool noise = last->range.low - 1 < r->throughput && last->range.high - 1 > r->throughput;
    enum verdict v = !isfinite(gain) ? UNKNOWN : noise ? UNDECIDED : gain > r->throughput ? HOLDS : FAILS;
    int n = snprintf(why, sizeof why, "%.1f %% more tokens a second; %.0f %% are needed", 100 * gain,
                     100 * r->throughput);
    if (noise && !isfinite(last->range.high))
        snprintf(why + n, sizeof why - (size_t)n, ", and on a busy machine it may be more or less: measure again");
    else if (noise)
        snprintf(why + n, sizeof why - (size_t)n,
                 ", and the interval %.1f to %.1f %% holds both more and less: measure more steps",
                 100 * (last->range.low - 1), 100 * (last->range.high - 1));
    put_gate(out, passed, "throughput", v, why);
}

static bool same_losses(const struct tt_profile *a, const struct tt_profile *b)
{
    bool same = a->samples_count > 0 && a->samples_count == b->samples_count;
    for (int i = 0; same && i < a->samples_count; i++) same = a->samples[i].loss == b->samples[i].loss;
    return same;
}

static tt_status determinism_gate(const struct roadmap *r, const struct tt_comparison *c, struct tt_text *out,
                                  bool *passed)
{
    const struct step *last = &r->steps[r->n - 1];
    char path[2100];
    struct tt_profile again;
    if (!last->again) {
        put_gate(out, passed, "deterministic", UNKNOWN,
                 "measure the last step twice, and name the second profile with again:");
        return TT_OK;
    }
    snprintf(path, sizeof path, "%s/%s", r->folder, last->again);
    if (!tt_is_dir(path)) {
        char why[300];
        snprintf(why, sizeof why, "%.60s is not there yet: measure %.60s a second time, with --out %.60s", last->again,
                 last->run, last->again);
        put_gate(out, passed, "deterministic", UNKNOWN, why);
        return TT_OK;
    }
    tt_status st = tt_profile_read(path, &again);
    const struct tt_profile *own = &c->runs[c->n - 1].profile;
    bool twice = !st && (strcmp(own->run.created, again.run.created) || own->step.mean != again.step.mean);
    bool same = !st && same_losses(own, &again);
    if (!st && !twice)
        put_gate(out, passed, "deterministic", UNKNOWN, "again: is the same profile; measure a second one");
    else if (!st && !tt_compare_same_steps(own, &again))
        put_gate(out, passed, "deterministic", UNKNOWN,
                 "again: measured another number of steps, and so with other learning rates; measure it as often");
    else if (!st)
        put_gate(out, passed, "deterministic", same ? HOLDS : FAILS,
                 same ? "every loss has the same bits in both runs" : "the losses of the two runs differ");
    tt_profile_free(&again);
    return st;
}

static tt_status put_gates(const struct roadmap *r, const struct tt_comparison *c, struct tt_text *out, bool *passed)
{
    char why[400];
    const struct tt_compared *last = &c->runs[c->n - 1];
    *passed = true;
    throughput_gate(r, c, out, passed);
    enum verdict v = gate(c, "loss", r->loss, "", why, sizeof why);
    if (!last->same_task)
        snprintf(why, sizeof why, "shape, data or seed differ, so that the losses cannot be compared");
    put_gate(out, passed, "accuracy", last->same_task ? v : UNKNOWN, why);
    TT_TRY(determinism_gate(r, c, out, passed));
    v = gate(c, "memory", 100 * r->memory, "%", why, sizeof why);
    put_gate(out, passed, "memory", v, why);
    return TT_OK;
}

static tt_status measure(const struct roadmap *r, struct tt_text *out, bool *passed)
{
    char(*paths)[2100] = calloc(STEPS, sizeof *paths);
    struct tt_comparison *c = calloc(1, sizeof *c);
    const char *list[STEPS];
    tt_status st = paths && c ? TT_OK : tt_no_memory("the roadmap");
    for (int i = 0; i < r->n && !st; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%s", r->folder, r->steps[i].run);
        list[i] = paths[i];
        if (!tt_is_dir(paths[i]))
            st = tt_fail(TT_USAGE, "the run %s is not there yet: tt profile ... --out %s; or take the step out of "
                                   "roadmap.yaml", r->steps[i].run, paths[i]);
    }
    if (!st) st = tt_compare(list, r->n, c);
    if (!st && c->n != r->n) st = tt_fail(TT_USAGE, "every run has to be the folder of one profile");
    if (!st) st = put_table(r, c, out);
    if (!st) st = put_noise(r, c, out);
    if (!st) st = put_gates(r, c, out, passed);
    if (c) tt_compare_free(c);
    free(c);
    free(paths);
    return st;
}

tt_status tt_roadmap(const char *folder, struct tt_text *out, bool *passed)
{
    char path[1100];
    struct tt_yaml *tree;
    struct roadmap r = {0};
    snprintf(r.folder, sizeof r.folder, "%s", folder);
    snprintf(path, sizeof path, "%s/roadmap.yaml", folder);
    TT_TRY(tt_exercise_yaml(path, &tree));
    tt_status st = tt_context(read_steps(tree, &r), "%s", path);
    if (!st) st = measure(&r, out, passed);
    tt_yaml_free(tree);
    return st;
}
