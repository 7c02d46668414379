/* Speed-ups that the scatter of the steps could have made by itself. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/load.h"
#include "exercises/engine/formula_parts.h"
#include "exercises/engine/parts.h"

static const struct tt_json *profile_of(const struct tt_marked *m, const char *name)
{
    for (int i = 0; i < m->exercise->run_count; i++)
        if (!strcmp(m->exercise->runs[i].name, name)) return m->runs[i].profile;
    return NULL;
}

/* The square of the relative error of a run's mean step; NaN when one step was all. */
static double error_squared(const struct tt_json *profile)
{
    const struct tt_json *step = tt_json_get(profile, "step");
    double n = tt_json_number(tt_json_get(profile, "run"), "steps", 0), x = tt_json_number(step, "deviation", NAN);
    double relative = x / tt_json_number(step, "seconds", NAN);
    return n > 1 ? relative * relative / n : NAN;
}

/* Runs of the same program differ by about so much on a quiet machine, however little the steps of each scatter. */
static const double between_runs = 0.01;

/* Two errors of the mean, and no less than runs differ by; NaN when one step was all. */
static double scatter_of(const struct tt_json *profile)
{
    double error = 2 * sqrt(error_squared(profile));
    return isfinite(error) ? fmax(error, between_runs) : NAN;
}

/* ranks.json has it beside the run, not in it. */
static double load_of(const struct tt_json *profile)
{
    return tt_json_number(tt_json_get(profile, "run"), "load", tt_json_number(profile, "load", NAN));
}

static double waited_of(const struct tt_json *profile)
{
    return tt_json_number(tt_json_get(profile, "run"), "waited", NAN);
}

bool tt_exercise_was_busy(const struct tt_json *profile) { return tt_was_busy(load_of(profile), waited_of(profile)); }

/* The same as formulas have it. A busy machine is not the same in two runs, whatever the scatter within one says, and
 * of a single step nothing is known: neither decides anything. */
double tt_exercise_noise_of(const struct tt_json *profile)
{
    double scatter = scatter_of(profile);
    return !isfinite(scatter) || tt_exercise_was_busy(profile) ? 1 : fmin(scatter, 1);
}

/* What the quotient may be off by, when the answer is one of two steps and lies within them; else 0. */
static double noise_of(const struct tt_marked *m, const struct tt_question *q)
{
    char above[64], below[64];
    int end = 0;
    if (!q->answer || sscanf(q->answer, "%63[a-zA-Z0-9_]:step.seconds / %63[a-zA-Z0-9_]:step.seconds%n", above, below,
                             &end) != 2)
        return 0;
    const struct tt_json *a = profile_of(m, above), *b = profile_of(m, below);
    if (!end || q->answer[end] || !a || !b) return 0;
    double x = tt_json_number(tt_json_get(a, "step"), "seconds",
                              NAN) / tt_json_number(tt_json_get(b, "step"), "seconds", NAN);
    double noise = hypot(scatter_of(a), scatter_of(b));
    return isfinite(x) && isfinite(noise) && fabs(x - 1) < noise ? noise : 0;
}

/* Ranks cannot be faster than one alone with the same work: a run where they are tells of the machine, not of them. */
static void impossible_ranks(const char *name, const struct tt_json *profile, struct tt_text *out)
{
    const struct tt_json *rows = profile ? tt_json_get(profile, "rows") : NULL;
    for (const struct tt_json *r = rows && rows->type == TT_JSON_ARRAY ? rows->first : NULL; r; r = r->next) {
        double percent = tt_json_number(r, "efficiency_percent", NAN);
        if (!(percent > 110)) continue;
        tt_text_printf(out, "noise: %s: an efficiency of %.0f %% on %g ranks cannot be; something else used the "
                            "machine while one rank alone was measured. Its figures say nothing about scaling: "
                            "measure it again\n", name, percent, tt_json_number(r, "ranks", 0));
    }
}

/* Each run that was measured on a busy machine. */
static void busy_runs(const struct tt_marked *m, struct tt_text *out)
{
    for (int i = 0; i < m->exercise->run_count; i++) {
        char busy[100];
        const struct tt_json *profile = m->runs[i].profile;
        tt_was_busy_words(profile ? load_of(profile) : NAN, profile ? waited_of(profile) : NAN, busy);
        if (busy[0])
            tt_text_printf(out, "noise: %s: when it was measured, %s; its times say little\n",
                           m->exercise->runs[i].name, busy);
        impossible_ranks(m->exercise->runs[i].name, profile, out);
    }
}

void tt_exercise_noise(const struct tt_marked *m, struct tt_text *out)
{
    double most = 0;
    int n = 0;
    busy_runs(m, out);
    for (int i = 0; i < m->exercise->question_count; i++) {
        double noise = m->marks[i].kind == TT_MARK_RIGHT ? noise_of(m, &m->exercise->questions[i]) : 0;
        if (!(noise > 0)) continue;
        tt_text_printf(out, "%s %s", n++ ? "," : "noise:", m->exercise->questions[i].id);
        most = fmax(most, noise);
    }
    if (!n) return;
    tt_text_printf(out, ": a quotient of two runs may be off by %.1f %% here, and %s closer to 1 than that. The answer "
                        "is right, but shows neither gain nor loss: ", 100 * most, n > 1 ? "these are" : "this is");
    tt_text_puts(out, most <= hypot(between_runs, between_runs) * 1.0001
                          ? "runs of one program differ by about 1 % each even on a quiet machine, and more steps do "
                            "not change that. Measure each of them several times\n"
                          : "your steps vary. Measure with STEPS=30 on a machine of your own\n");
}
