/* What a reader of the marks should know about the runs: which were disturbed, which roofs may be wrong, and which
 * speed-ups show nothing. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "exercises/engine/formula_parts.h"
#include "exercises/engine/parts.h"
#include "profiling/speedup.h"

static const struct tt_json *profile_of(const struct tt_marked *m, const char *name)
{
    for (int i = 0; i < m->exercise->run_count; i++)
        if (!strcmp(m->exercise->runs[i].name, name)) return m->runs[i].profile;
    return NULL;
}

static void disturbed_runs(const struct tt_marked *m, struct tt_text *out)
{
    char words[120];
    int n = 0;
    for (int i = 0; i < m->exercise->run_count; i++) {
        if (!m->runs[i].profile) continue;
        tt_exercise_disturbed_words(m->runs[i].profile, words);
        if (!words[0]) continue;
        tt_text_printf(out, "noise: %s: %s\n", m->exercise->runs[i].name, words);
        n++;
    }
    if (n)
        tt_text_puts(out, "noise: answers are marked by what the runs show. Times of a disturbed run, and shares, "
                          "roofs and speed-ups that come of them, may be far from those of a quiet machine: measure "
                          "it again before you rely on them\n");
}

static void doubtful_roofs(const struct tt_marked *m, struct tt_text *out)
{
    int n = 0;
    for (int i = 0; i < m->exercise->run_count; i++) {
        if (!m->runs[i].profile || !tt_exercise_roof_doubtful(m->runs[i].profile)) continue;
        tt_text_printf(out, "%s %s", n++ ? "," : "noise:", m->exercise->runs[i].name);
    }
    if (n)
        tt_text_puts(out, ": the roofs may be too low, and MFU and roof % then too high; summary.md says why, and tt "
                          "profile --remeasure measures them again\n");
}

/* Names the runs of the first run's device and precision whose MFU was computed from another measured roof than the
 * first run's. */
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
                            "times instead\n", e->runs[of].name, roof / 1e12);
}

/* ---- speed-ups ---- */

/* Whether the answer is the ratio of two runs' step times, and both were taken; then `runs` are the two profiles. */
static bool read_quotient(const struct tt_marked *m, const struct tt_question *q, const struct tt_json *runs[2])
{
    char above[64], below[64];
    int end = 0;
    if (!q->answer || sscanf(q->answer, "%63[a-zA-Z0-9_]:step.seconds / %63[a-zA-Z0-9_]:step.seconds%n", above, below,
                             &end) != 2)
        return false;
    runs[0] = profile_of(m, above), runs[1] = profile_of(m, below);
    return end && !q->answer[end] && runs[0] && runs[1];
}

/* Names the right answers that are speed-ups whose interval includes 1. */
static void open_quotients(const struct tt_marked *m, struct tt_text *out)
{
    int n = 0;
    for (int i = 0; i < m->exercise->question_count; i++) {
        const struct tt_json *runs[2];
        double low, high;
        char words[48];
        bool right = m->marks[i].kind == TT_MARK_RIGHT && read_quotient(m, &m->exercise->questions[i], runs);
        if (!right) continue;
        tt_exercise_range(runs[0], runs[1], &low, &high);
        if (low > 1 || high < 1) continue;
        tt_text_printf(out, "%s %s (%s)", n++ ? "," : "noise:", m->exercise->questions[i].id,
                       tt_speedup_words(low, high, words));
    }
    if (n)
        tt_text_printf(out, ": %s right, but the interval holds 1, so that the runs show neither gain nor loss. More "
                            "steps on a quiet machine, or both in turns (tt bench --against), may show it\n",
                       n > 1 ? "these are" : "that is");
}

/* Right answers of two runs between which the machine seems to have changed. */
static void moved_quotients(const struct tt_marked *m, struct tt_text *out)
{
    for (int i = 0; i < m->exercise->question_count; i++) {
        const struct tt_json *runs[2];
        bool right = m->marks[i].kind == TT_MARK_RIGHT && read_quotient(m, &m->exercise->questions[i], runs);
        double times = right ? tt_exercise_moved(runs[0], runs[1]) : NAN;
        if (isfinite(times))
            tt_text_printf(out, "noise: %s: the operators that both runs have in common took %.2f times as long in the "
                                "second: the machine may not have been equally fast in both. Measure both again, or in "
                                "turns (tt bench --against)\n", m->exercise->questions[i].id, times);
    }
}

void tt_exercise_noise(const struct tt_marked *m, struct tt_text *out)
{
    disturbed_runs(m, out);
    doubtful_roofs(m, out);
    other_roofs(m, out);
    tt_exercise_noise_ranks(m, out);
    moved_quotients(m, out);
    open_quotients(m, out);
}
