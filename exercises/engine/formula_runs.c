/* Functions of formulas that ask about whole runs: how far their times may be off, and how far apart their results are.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/load.h"
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

/* The run that an argument names. NULL and no error where it is not there. */
static tt_status named_run(struct tt_formula_parser *p, const value *arg, const char *error, const struct tt_json **out)
{
    int place = arg->kind == TT_FORMULA_WORD ? tt_formula_place(p->scope, arg->word) : -1;
    *out = NULL;
    if (place < 0) return tt_formula_error(p, "%s", error);
    *out = tt_formula_read(p, place)->profile;
    return TT_OK;
}

/* Both NULL and no error where one of the two is not there. */
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

static void say_noise(const struct tt_json *const runs[2], value *out)
{
    double noise = tt_exercise_noise_between(runs[0], runs[1]);
    double slowed = fmax(tt_exercise_slowed(runs[0]), tt_exercise_slowed(runs[1]));
    char times[32];
    out->kind = TT_FORMULA_WORD;
    if (!tt_exercise_is_timed(runs[0]) || !tt_exercise_is_timed(runs[1]))
        snprintf(out->word, sizeof out->word, "not known, since too few steps were measured");
    else if (isinf(slowed))
        snprintf(out->word, sizeof out->word, "any factor, since the machine was busy");
    else if (slowed > 1)
        snprintf(out->word, sizeof out->word, "up to %s, since the machine was busy",
                 tt_slowed_words(1 + noise, 3, times));
    else
        snprintf(out->word, sizeof out->word, "%.3g %%", 100 * noise);
}

/* low('a', 'b') and high('a', 'b'): the interval of the quotient of the steps of two runs. interval('a', 'b'): the same
 * as a sentence says it. */
static void say_interval(const char *name, const struct tt_json *const runs[2], value *out)
{
    double low, high;
    char words[48];
    bool known = tt_exercise_range(runs[0], runs[1], &low, &high);
    if (strcmp(name, "interval")) {
        *out = tt_formula_number(strcmp(name, "low") ? high : low);
    } else if (known) {
        out->kind = TT_FORMULA_WORD;
        tt_speedup_words(low, high, words);
        snprintf(out->word, sizeof out->word, "%s", words);
    } else {
        say_noise(runs, out);
    }
}

tt_status tt_formula_two_runs(struct tt_formula_parser *p, const char *name, const value *args, value *out)
{
    const struct tt_json *runs[2];
    TT_TRY(two_runs(p, name, args, runs));
    if (!runs[0]) return TT_OK;
    if (!strcmp(name, "noise"))
        *out = tt_formula_number(tt_exercise_noise_between(runs[0], runs[1]));
    else if (!strcmp(name, "noise_words"))
        say_noise(runs, out);
    else if (!strcmp(name, "busy"))
        *out = tt_formula_truth(tt_exercise_was_busy(runs[0]) || tt_exercise_was_busy(runs[1]));
    else if (!strcmp(name, "drift"))
        *out = tt_formula_number(tt_exercise_drift(runs[0], runs[1]));
    else if (strstr(name, "_apart"))
        *out = tt_formula_number(tt_exercise_apart(runs[0], runs[1], !strcmp(name, "gradients_apart")));
    else
        say_interval(name, runs, out);
    return TT_OK;
}

/* A sentence with a space before it; "" where nothing disturbed the run. */
static void say_shares(const struct tt_json *run, value *out)
{
    double slowed = tt_exercise_shares_slowed(run);
    char times[32];
    out->kind = TT_FORMULA_WORD;
    if (slowed > 1)
        snprintf(out->word, sizeof out->word, " %s: operations may have taken %s as long as alone%s.",
                 tt_exercise_shares_busy(run) ? "The machine was busy" : "Something slowed the recording",
                 tt_slowed_words(slowed, 3, times), isfinite(slowed) ? ", short ones more" : "");
}

/* own(share, 'a'): what at least is left of a share of the recorded time of that run without what slowed it.
 * share_low(share, 'a'), share_high(share, 'a'): what part of the step it then is, if the rest was not slowed, and if
 * only the rest was. */
tt_status tt_formula_share(struct tt_formula_parser *p, const char *name, const value *args, value *out)
{
    const struct tt_json *run;
    char error[100];
    snprintf(error, sizeof error, "%s needs a share and a run: %s(0.3, 'baseline')", name, name);
    if (args[0].kind == TT_FORMULA_MISSING) return TT_OK;
    if (args[0].kind != TT_FORMULA_NUMBER) return tt_formula_error(p, "%s", error);
    TT_TRY(named_run(p, &args[1], error, &run));
    if (!run) return TT_OK;
    double x = args[0].number, own = tt_exercise_own(run, x), rest = tt_exercise_own(run, fmax(0, 1 - x));
    *out = tt_formula_number(!strcmp(name, "own")         ? own
                             : !strcmp(name, "share_low") ? (x < 1 ? own / (own + 1 - x) : x)
                                                          : (x > 0 && x < 1 ? x / (x + rest) : x));
    return TT_OK;
}

/* slowed('a'), shares_slowed('a'): how many times as long as on a quiet machine the step, and the recorded operations,
 * may have taken. shares_words('a'): the second as a sentence. scatter('a'): by what part the step may be off.
 * roof_times('a'): how many times higher its measured roof of products may be. */
tt_status tt_formula_one_run(struct tt_formula_parser *p, const char *name, const value *args, value *out)
{
    const struct tt_json *run;
    char error[100];
    snprintf(error, sizeof error, "%s needs a run: %s('baseline')", name, name);
    TT_TRY(named_run(p, &args[0], error, &run));
    if (!run) return TT_OK;
    if (!strcmp(name, "shares_words"))
        say_shares(run, out);
    else if (!strcmp(name, "roof_times"))
        *out = tt_formula_number(tt_exercise_roof_times(p->scope, run));
    else if (!strcmp(name, "scatter"))
        *out = tt_formula_number(tt_exercise_scatter(run));
    else /* 1e9: it may be anything */
        *out = tt_formula_number(
            fmin(1e9, strcmp(name, "slowed") ? tt_exercise_shares_slowed(run) : tt_exercise_slowed(run)));
    return TT_OK;
}
