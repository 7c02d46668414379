/* Functions of formulas that ask about whole runs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "exercises/engine/formula_parts.h"
#include "profiling/speedup.h"

typedef struct tt_formula_value value;

int tt_formula_place(const struct tt_formula_scope *scope, const char *name)
{
    if (!name) name = scope->run;
    for (int i = 0; i < scope->count; i++)
        if (!name || !strcmp(scope->runs[i].name, name)) return i;
    return -1;
}

const struct tt_formula_run *tt_formula_read(struct tt_formula_parser *p, int place)
{
    struct tt_formula_scope *scope = p->scope;
    const struct tt_formula_run *run = &scope->runs[place == scope->from ? scope->to : place];
    scope->used = true;
    if (!run->profile) scope->lacking = run->name;
    return run;
}

unsigned tt_formula_reads(const char *text, const struct tt_formula_scope *scope)
{
    struct tt_formula_scope own = *scope;
    struct tt_formula_value v;
    own.reads = 0;
    tt_status_free(tt_formula(text, &own, &v));
    tt_formula_free(&v);
    return own.reads;
}

double tt_formula_instead(const char *text, const struct tt_formula_scope *scope, int from, int to)
{
    struct tt_formula_scope own = *scope;
    struct tt_formula_value v;
    own.from = from, own.to = to;
    tt_status st = tt_formula(text, &own, &v);
    double x = !st && v.kind == TT_FORMULA_NUMBER ? v.number : NAN;
    tt_status_free(st); /* a figure that a run does not have */
    tt_formula_free(&v);
    return x;
}

/* The profile of the run that an argument names. If that run has none, *out is NULL, without an error. */
static tt_status named_run(struct tt_formula_parser *p, const value *arg, const char *error, const struct tt_json **out)
{
    int place = arg->kind == TT_FORMULA_WORD ? tt_formula_place(p->scope, arg->word) : -1;
    *out = NULL;
    if (place < 0) return tt_formula_error(p, "%s", error);
    *out = tt_formula_read(p, place)->profile;
    return TT_OK;
}

/* The profiles of two runs. If one of them has none, both are NULL, without an error. */
static tt_status two_runs(struct tt_formula_parser *p, const char *name, const value *args,
                          const struct tt_json *out[2])
{
    char error[100];
    snprintf(error, sizeof error, "%s needs two runs: %s('baseline', 'fused')", name, name);
    TT_TRY(named_run(p, &args[0], error, &out[0]));
    TT_TRY(named_run(p, &args[1], error, &out[1]));
    if (!out[0] || !out[1]) out[0] = out[1] = NULL;
    return TT_OK;
}

/* low('a', 'b') and high('a', 'b'): the ends of the interval of the ratio of two runs' step times. interval('a', 'b'):
 * the interval in words. */
static void say_interval(const char *name, const struct tt_json *const runs[2], value *out)
{
    double low, high;
    char words[48];
    tt_exercise_range(runs[0], runs[1], &low, &high);
    if (strcmp(name, "interval")) {
        *out = tt_formula_number(strcmp(name, "low") ? high : low);
        return;
    }
    out->kind = TT_FORMULA_WORD;
    snprintf(out->word, sizeof out->word, "%s", tt_speedup_words(low, high, words));
}

tt_status tt_formula_two_runs(struct tt_formula_parser *p, const char *name, const value *args, value *out)
{
    const struct tt_json *runs[2];
    TT_TRY(two_runs(p, name, args, runs));
    if (!runs[0]) return TT_OK;
    if (strstr(name, "_apart"))
        *out = tt_formula_number(tt_exercise_apart(runs[0], runs[1], !strcmp(name, "gradients_apart")));
    else
        say_interval(name, runs, out);
    return TT_OK;
}

/* disturbed('a'): whether other programs disturbed the run. */
tt_status tt_formula_one_run(struct tt_formula_parser *p, const char *name, const value *args, value *out)
{
    const struct tt_json *run;
    char error[100];
    snprintf(error, sizeof error, "%s needs a run: %s('baseline')", name, name);
    TT_TRY(named_run(p, &args[0], error, &run));
    if (run) *out = tt_formula_truth(tt_exercise_disturbed(run));
    return TT_OK;
}
