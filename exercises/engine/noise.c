/* Speed-ups that the scatter of the steps could have made by itself. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/load.h"
#include "core/base/range.h"
#include "exercises/engine/formula_parts.h"
#include "exercises/engine/parts.h"
#include "profiling/disturbed.h"
#include "profiling/bound.h"
#include "profiling/speedup.h"

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

static const char *backend_of(const struct tt_json *profile)
{
    return tt_json_string(tt_json_get(profile, "run"), "backend", "");
}

bool tt_exercise_is_timed(const struct tt_json *profile) { return isfinite(error_squared(profile)); }

double tt_exercise_scatter(const struct tt_json *profile)
{
    double error = 2 * sqrt(error_squared(profile)), differ = tt_runs_differ(backend_of(profile));
    if (!isfinite(error)) return 1e9;
    return tt_exercise_slowed(profile) > 1 ? differ : fmax(error, differ); /* longer steps are what others took */
}

int tt_exercise_busy_figures(const struct tt_json *profile, struct tt_figure out[3])
{
    const struct tt_figure part = {.unit = tt_exercise_unit("%")};
    int n = 0;
    if (!profile) return 0;
    if (tt_is_interrupted(tt_exercise_interrupted(profile))) {
        out[n].value = tt_exercise_interrupted(profile);
        out[n++].name = "how many times their medians the operations or steps of a run took";
        return n;
    }
    double waited = tt_exercise_waited(profile), recorded = tt_exercise_recorded_waited(profile);
    double load = tt_exercise_load(profile);
    bool busy = tt_exercise_was_busy(profile);
    if (busy && isfinite(waited)) {
        out[n] = part, out[n].value = 100 * waited;
        out[n++].name = "what the threads of a run waited for a processor";
    }
    if (tt_was_busy(NAN, recorded) && recorded != waited) {
        out[n] = part, out[n].value = 100 * recorded;
        out[n++].name = "what the threads of a run waited for a processor in its recorded steps";
    }
    if (busy && isfinite(load))
        out[n++] = (struct tt_figure){.value = load, .name = "the load per processor before a run"};
    return n;
}

double tt_exercise_noise_of(const struct tt_json *profile)
{
    double scatter = tt_exercise_scatter(profile), slowed = tt_exercise_slowed(profile);
    return slowed > 1 ? fmin(1e9, slowed - 1) : fmin(scatter, 1);
}

/* ---- the interval of a quotient ---- */

static struct tt_speedup_side side_of(const struct tt_json *profile)
{
    struct tt_speedup_side side = {.seconds = tt_json_number(tt_json_get(profile, "step"), "seconds", NAN),
                                   .slowed = tt_exercise_slowed(profile), .backend = backend_of(profile)};
    const struct tt_json *samples = tt_json_get(profile, "samples");
    int most = 0;
    for (const struct tt_json *s = samples ? samples->first : NULL; s; s = s->next) most++;
    side.steps = calloc((size_t)most + 1, sizeof *side.steps);
    for (const struct tt_json *s = samples ? samples->first : NULL; s && side.steps; s = s->next)
        if (tt_json_number(s, "seconds", NAN) > 0) side.steps[side.n++] = tt_json_number(s, "seconds", NAN);
    return side;
}

static double quotient_of(const struct tt_json *above, const struct tt_json *below)
{
    double seconds = tt_json_number(tt_json_get(above, "step"), "seconds", NAN);
    return seconds / tt_json_number(tt_json_get(below, "step"), "seconds", NAN);
}

/* Where single steps are not known: what those of such runs scatter by. */
static void range_of_scatter(const struct tt_json *above, const struct tt_json *below,
                             const struct tt_control *control, struct tt_range *out)
{
    double x = quotient_of(above, below);
    double noise = fmin(hypot(tt_exercise_scatter(above), tt_exercise_scatter(below)), 0.99);
    out->low = x * (1 - noise), out->high = x * (1 + noise);
    tt_speedup_widen(out, x, control, true, backend_of(above), backend_of(below));
    out->low /= tt_exercise_slowed(above), out->high *= tt_exercise_slowed(below);
}

/* As tt compare has it, of runs of one build. */
bool tt_exercise_range(const struct tt_json *above, const struct tt_json *below, double *low, double *high)
{
    struct tt_control control = tt_exercise_control(above, below);
    struct tt_range range = {NAN, NAN, NAN};
    *low = 0, *high = 1e9;
    if (!isfinite(quotient_of(above, below))) return false;
    if (!tt_exercise_is_timed(above) || !tt_exercise_is_timed(below)) return false;
    struct tt_speedup_side a = side_of(above), b = side_of(below);
    if (a.steps && b.steps && a.n && b.n) tt_status_free(tt_speedup_range(&a, &b, &control, true, &range));
    free(a.steps);
    free(b.steps);
    if (isnan(range.low) || isnan(range.high)) range_of_scatter(above, below, &control, &range);
    *low = range.low, *high = fmin(range.high, TT_ANY_SPEEDUP);
    return true;
}

/* Two runs whose steps an answer divides. */
struct quotient {
    const struct tt_json *above, *below;
};

static bool read_quotient(const struct tt_marked *m, const struct tt_question *q, struct quotient *out)
{
    char above[64], below[64];
    int end = 0;
    if (!q->answer || sscanf(q->answer, "%63[a-zA-Z0-9_]:step.seconds / %63[a-zA-Z0-9_]:step.seconds%n", above, below,
                             &end) != 2)
        return false;
    *out = (struct quotient){profile_of(m, above), profile_of(m, below)};
    return end && !q->answer[end] && out->above && out->below;
}

static bool is_busy(const struct quotient *q)
{
    return tt_exercise_was_busy(q->above) || tt_exercise_was_busy(q->below);
}

/* What it may be off by towards 1 where its interval holds 1; else 0. */
static double noise_of(const struct quotient *q)
{
    double x = quotient_of(q->above, q->below), low, high;
    if (!tt_exercise_range(q->above, q->below, &low, &high) || low > 1 || high < 1) return 0;
    return x > 1 ? 1 - low / x : high / x - 1;
}

/* A run whose undisturbed or recorded steps were disturbed, by how much its step and its shares may be off. */
static void disturbed_run(const char *name, const struct tt_json *profile, struct tt_text *out)
{
    char busy[120], times[32];
    double waited, step = tt_exercise_slowed_by(profile, &waited);
    double shares = tt_json_get(profile, "groups") ? tt_exercise_shares_slowed(profile) : 1;
    tt_exercise_busy_words(profile, waited, busy);
    if (!busy[0] && !(shares > 1)) return;
    tt_text_printf(out, "noise: %s: ", name);
    if (busy[0] && tt_json_get(profile, "rows")) /* of ranks: links take time too, which nobody waits for */
        tt_text_printf(out, "when it was measured, %s; its steps may have taken longer than on a quiet one", busy);
    else if (busy[0])
        tt_text_printf(out, "when it was measured, %s; its step may have taken %s as long as on a quiet "
                            "one", busy, tt_slowed_words(step, 3, times));
    else
        tt_text_puts(out, "something disturbed the steps that were recorded");
    if (shares > 1)
        tt_text_printf(out, "%s operations may have taken %s as long as alone%s: shares and roofs may be off",
                       busy[0] ? ", and" : ":", tt_slowed_words(shares, 3, times),
                       isfinite(shares) ? ", short ones more" : "");
    tt_text_puts(out, "\n");
}

/* Runs of one device and precision whose MFU is of another roof than the first's. */
static void other_roofs(const struct tt_marked *m, struct tt_text *out)
{
    const struct tt_exercise *e = m->exercise;
    const struct tt_json *first = NULL;
    double roof = NAN;
    int n = 0, of = 0;
    for (int i = 0; i < e->run_count; i++) {
        const struct tt_json *p = m->runs[i].profile;
        double here = p ? tt_exercise_roof(p) : NAN;
        if (!(here > 0)) continue;
        if (!first) first = p, roof = here, of = i;
        if (!tt_exercise_same_roof(first, p) || !(fabs(here / roof - 1) > 0.01)) continue;
        tt_text_printf(out, "%s %s (%.4g TFLOP/s)", n++ ? "," : "noise:", e->runs[i].name, here / 1e12);
    }
    if (n)
        tt_text_printf(out, ": MFU and roof %% are of another measured roof than those of %s (%.4g TFLOP/s): compare "
                            "times, or measure the runs of the lower roof again\n", e->runs[of].name, roof / 1e12);
}

/* Runs whose shares of a roof rest on one that was measured under load, or by samples that lay far apart. */
static void doubtful_roofs(const struct tt_marked *m, struct tt_text *out)
{
    int n = 0;
    for (int i = 0; i < m->exercise->run_count; i++) {
        if (!m->runs[i].profile || !tt_exercise_roof_doubtful(m->runs[i].profile)) continue;
        tt_text_printf(out, "%s %s", n++ ? "," : "noise:", m->exercise->runs[i].name);
    }
    if (n)
        tt_text_puts(out, ": the roofs may be too low, and MFU and roof % then too high: the machine was busy when "
                          "they were measured, or their samples lay more than a quarter apart; tt profile --remeasure "
                          "measures them again when it is quiet\n");
}

/* Right answers of runs that something else disturbed. */
static void busy_quotients(const struct tt_marked *m, struct tt_text *out)
{
    for (int i = 0; i < m->exercise->question_count; i++) {
        struct quotient q;
        double low, high;
        char words[48];
        bool right = m->marks[i].kind == TT_MARK_RIGHT && read_quotient(m, &m->exercise->questions[i], &q);
        if (!right || !is_busy(&q) || !tt_exercise_range(q.above, q.below, &low, &high)) continue;
        tt_text_printf(out, "noise: %s: the machine was busy during a run of this, so that on a quiet one it may be "
                            "%s; the answer is right\n",
                       m->exercise->questions[i].id, tt_speedup_words(low, high, words));
    }
}

static const char *interval_words(double low, double high, char out[48])
{
    if (!(low > 0) || !(high < TT_ANY_SPEEDUP)) return tt_speedup_words(low, high, out);
    snprintf(out, 48, "%.3g to %.3g", low, high);
    return out;
}

/* Quotients of which a part may be what both runs have alike and what changed by itself. */
static void moved_controls(const struct tt_marked *m, struct tt_text *out)
{
    for (int i = 0; i < m->exercise->question_count; i++) {
        const struct tt_question *question = &m->exercise->questions[i];
        struct quotient q;
        bool right = m->marks[i].kind == TT_MARK_RIGHT && read_quotient(m, question, &q);
        struct tt_control c = right ? tt_exercise_control(q.above, q.below) : (struct tt_control){0};
        double low, high;
        char words[48];
        if (right && is_busy(&q) && !c.busy) continue; /* the steps that were not recorded tell of others */
        if (c.busy && !c.moved && !is_busy(&q))
            tt_text_printf(out, "noise: %s: whether the machine was the same in both runs is not known, since what "
                                "both have alike was recorded while other programs had the processors\n",
                           question->id);
        if (!c.moved || !tt_exercise_range(q.above, q.below, &low, &high)) continue;
        tt_text_printf(out, "noise: %s: the %d operators that the two runs have alike took %.2f times as long in the "
                            "second, by the median of their shares of the steps that were not recorded (together "
                            "%.1f %% of %.4g ms, then %.1f %% of %.4g ms). Either the machine was not the same in all "
                            "of these steps, or the change affects them too%s. The answer is right, but with and "
                            "without that the interval is %s%s: measure both again\n",
                       question->id, c.operators, c.times, 100 * c.share, 1e3 * c.seconds,
                       100 * c.there, 1e3 * c.seconds_there,
                       c.disturbed ? ", or it is the recording, which something slowed" : "",
                       interval_words(low, high, words),
                       noise_of(&q) > 0 ? ", which shows neither gain nor loss"
                                        : ", and how much of it is the change is open");
    }
}

/* Why an interval holds 1. */
enum reason { STEPS, PROGRAMS, MACHINE };

/* What the steps alone leave open towards 1. */
static double scatter_between(const struct quotient *q)
{
    double x = quotient_of(q->above, q->below);
    struct tt_range range = {NAN, NAN, NAN};
    struct tt_speedup_side a = side_of(q->above), b = side_of(q->below);
    if (a.steps && b.steps && a.n && b.n) tt_status_free(tt_ratio_range(a.steps, a.n, b.steps, b.n, &range));
    free(a.steps);
    free(b.steps);
    if (!isfinite(range.low) || !isfinite(range.high))
        return hypot(tt_exercise_scatter(q->above), tt_exercise_scatter(q->below));
    return x > 1 ? 1 - range.low / x : range.high / x - 1;
}

/* The largest of the three: the steps scatter, two runs of one program differ, or what both have alike moved. */
static enum reason reason_of(const struct quotient *q)
{
    double differ = hypot(tt_runs_differ(backend_of(q->above)), tt_runs_differ(backend_of(q->below)));
    double steps = scatter_between(q), drift = tt_exercise_drift(q->above, q->below);
    return drift > fmax(steps, differ) ? MACHINE : steps > differ ? STEPS : PROGRAMS;
}

static void say_reason(enum reason why, const struct quotient *q, struct tt_text *out)
{
    if (why == MACHINE && tt_exercise_control(q->above, q->below).busy)
        tt_text_puts(out, "what both runs have alike was recorded while other programs had the processors, and may be "
                          "off by as much. Measure both again\n");
    else if (why == MACHINE)
        tt_text_puts(out, "the times of the operators that both runs have alike changed too. Measure each of them "
                          "several times\n");
    else if (why == PROGRAMS)
        tt_text_printf(out, "runs of one program differ by about %.0f %% each even on a quiet machine, and more steps "
                            "do not change that. Measure each of them several times\n",
                       100 * tt_runs_differ(backend_of(q->above)));
    else
        tt_text_puts(out, "your steps vary. Measure with STEPS=30 on a machine of your own\n");
}

/* Of quiet runs, those whose interval holds 1 for that reason. */
static void scattered_quotients(const struct tt_marked *m, enum reason why, struct tt_text *out)
{
    struct quotient last = {0};
    double most = 0;
    int n = 0;
    for (int i = 0; i < m->exercise->question_count; i++) {
        struct quotient q;
        bool right = m->marks[i].kind == TT_MARK_RIGHT && read_quotient(m, &m->exercise->questions[i], &q);
        bool plain = right && !is_busy(&q) && !tt_exercise_control(q.above, q.below).moved; /* else it is said above */
        double noise = plain ? noise_of(&q) : 0;
        if (!(noise > 0) || reason_of(&q) != why) continue;
        tt_text_printf(out, "%s %s", n++ ? "," : "noise:", m->exercise->questions[i].id);
        most = fmax(most, noise);
        last = q;
    }
    if (!n) return;
    tt_text_printf(out, ": a quotient of two runs may be off by %s%.1f %% towards 1 here, and %s closer to 1 than "
                        "that. %s neither gain nor loss: ",
                   n > 1 ? "up to " : "", 100 * most, n > 1 ? "these are" : "this is",
                   n > 1 ? "The answers are right, but show" : "The answer is right, but shows");
    say_reason(why, &last, out);
}

void tt_exercise_noise(const struct tt_marked *m, struct tt_text *out)
{
    for (int i = 0; i < m->exercise->run_count; i++)
        if (m->runs[i].profile) disturbed_run(m->exercise->runs[i].name, m->runs[i].profile, out);
    doubtful_roofs(m, out);
    other_roofs(m, out);
    tt_exercise_noise_ranks(m, out);
    busy_quotients(m, out);
    moved_controls(m, out);
    for (int why = STEPS; why <= MACHINE; why++) scattered_quotients(m, (enum reason)why, out);
}
