/* A comparison as a gate: conditions that must not hold, and the verdict on each. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/csv.h"
#include "core/base/load.h"
#include "core/config/config.h"
#include "profiling/compare/compare.h"
#include "profiling/disturbed.h"
#include "profiling/speedup.h"

enum condition { SLOWER, MEMORY, LOSS, GRADIENTS };

static tt_status unreadable(const char *text)
{
    return tt_fail(TT_USAGE, "%.60s: the conditions are slower:5%%, memory:10%%, loss:0.02 and gradients", text);
}

static tt_status read_condition(const char *text, enum condition *what, double *limit)
{
    static const char *const names[] = {"slower", "memory", "loss", "gradients"};
    char number[40];
    size_t word = strcspn(text, ":");
    *limit = 0;
    for (int i = 0; i < 4; i++) {
        if (strlen(names[i]) != word || strncmp(names[i], text, word) != 0) continue;
        *what = (enum condition)i;
        if (i == GRADIENTS && !text[word]) return TT_OK;
        if (i == GRADIENTS || text[word] != ':') break;
        snprintf(number, sizeof number, "%s", text + word + 1);
        size_t n = strlen(number);
        bool percent = n && number[n - 1] == '%';
        if (percent) number[n - 1] = 0;
        if (!tt_csv_number(number, limit) || *limit < 0) break;
        if (percent) *limit /= 100;
        if (!percent && i != LOSS)
            return tt_fail(TT_USAGE, "%.60s: its limit is a percentage; write %.60s%%", text, text);
        return TT_OK;
    }
    return unreadable(text);
}

tt_status tt_compare_gate_check(const char *conditions)
{
    char one[80];
    enum condition what;
    double limit;
    while (tt_list_next(&conditions, ',', one, sizeof one)) TT_TRY(read_condition(one, &what, &limit));
    return TT_OK;
}

/* ", but when a was measured, threads waited 18 % of their time for a processor": for each run that was busy. */
static void busy_words(const struct tt_compared *base, const struct tt_compared *r, struct tt_text *out)
{
    const struct tt_compared *runs[] = {base, r};
    for (int i = 0, n = 0; i < 2; i++) {
        char busy[120];
        if (!(tt_step_slowed(&runs[i]->profile) > 1)) continue;
        tt_step_busy_words(&runs[i]->profile, busy);
        tt_text_printf(out, "%s when %s was measured, %s", n++ ? ", and" : ", but", runs[i]->label, busy);
    }
}

/* On a busy machine a step may take many times as long, so a run that is slower then need not be a regression. */
static tt_status undecided_by_load(const struct tt_compared *base, const struct tt_compared *r, double slower)
{
    char words[48];
    struct tt_text busy = {0};
    busy_words(base, r, &busy);
    tt_status st = tt_fail(TT_UNDECIDED,
                           "%s takes %.1f %% %s time than %s%s: the speed-up may be %s. Measure again when the "
                           "machine is quiet, or in turns (tt bench --against)",
                           r->label, 100 * fabs(slower), slower > 0 ? "more" : "less", base->label,
                           busy.s ? busy.s : "", tt_speedup_words(r->range.low, r->range.high, words));
    tt_text_free(&busy);
    return st;
}

/* The operators in common, which should have stayed as they were, did not. */
static tt_status undecided_by_control(const struct tt_compared *base, const struct tt_compared *r, double slower)
{
    return tt_fail(TT_UNDECIDED,
                   "%s takes %.1f %% %s time than %s, but the operators in common took %.2f times as long (median, "
                   "times as shares of the undisturbed steps): either the machine was not equally fast in both, or the "
                   "change affects these operators too. Measure both again, or in turns (tt bench --against)",
                   r->label, 100 * fabs(slower), slower > 0 ? "more" : "less", base->label, r->control.times);
}

/* A hint that the machine may be the reason, which an interval of single steps cannot show. */
static const char *drift_words(const struct tt_compared *r, double slower, char out[320])
{
    double each = tt_runs_differ(r->profile.run.backend);
    out[0] = 0;
    if (tt_compare_same_work(r))
        snprintf(out, 320, ". All operators do the same work in both and took %.2f times as long (median, times as "
                           "shares of the undisturbed steps): with one build and the same options, the reason is the "
                           "machine%s. Time them in turns (tt bench --against)", r->control.times,
                 tt_compare_other_values(r) ? ", or other values, since losses or gradients differ" : "");
    else if (slower < 2 * each && !r->in_turns)
        snprintf(out, 320, ". Runs of one program differ by about %.0f %% each even on a quiet %s: time them in turns "
                           "(tt bench --against)", 100 * each, strcmp(r->profile.run.backend, "cpu") ? "GPU" : "CPU");
    return out;
}

static tt_status judge_speed(const struct tt_compared *base, const struct tt_compared *r, double limit,
                             struct tt_text *why)
{
    double slower = 1 / r->speedup - 1;
    if (isnan(slower))
        return tt_fail(TT_UNDECIDED, "%s: its speed is not known, so the gate cannot judge it", r->label);
    if (!r->same_model)
        return tt_fail(
            TT_UNDECIDED,
            "%s: its model, or the length of its sequences, differs from that of %s or is not known, so the gate "
            "cannot judge its speed", r->label, base->label);
    if (!(r->range.confidence >= TT_GATE_CONFIDENCE))
        return tt_fail(TT_UNDECIDED,
                       "%s takes %.1f %% %s time than %s, but fewer than three single steps of each are known, so the "
                       "gate cannot judge whether that is noise",
                       r->label, 100 * fabs(slower), slower > 0 ? "more" : "less", base->label);
    bool beyond = r->busy ? 1 / r->range.high - 1 > limit : slower > limit && r->range.high < 1;
    if (r->busy && !beyond && 1 / r->range.low - 1 > limit) return undecided_by_load(base, r, slower);
    if (beyond) {
        char drift[320];
        return tt_fail(TT_GATE, "%s takes %.1f %% more time than %s; the limit is %.3g %%%s", r->label, 100 * slower,
                       base->label, 100 * limit, drift_words(r, slower, drift));
    }
    bool control = r->control.moved && !r->control.all;
    if (control && 1 / r->range.low - 1 > limit) return undecided_by_control(base, r, slower);
    if (1 / r->range.low - 1 > limit)
        return tt_fail(TT_UNDECIDED,
                       "%s takes %.1f %% %s time than %s, and the interval of the speed-up, %.2f to %.2f, does not "
                       "exclude a slowdown beyond the limit of %.3g %%: time more %s",
                       r->label, 100 * fabs(slower), slower > 0 ? "more" : "less", base->label, r->range.low,
                       r->range.high, 100 * limit, r->in_turns ? "turns" : "steps, or in turns (tt bench --against)");
    tt_text_printf(why, "%.1f %% %s than %s", 100 * (slower > 0 ? slower : r->speedup - 1),
                   slower > 0 ? "more time" : "faster", base->label);
    return TT_OK;
}

static tt_status judge_memory(const struct tt_compared *base, const struct tt_compared *r, double limit,
                              struct tt_text *why)
{
    double more = r->memory_bytes / base->memory_bytes - 1;
    if (isnan(more))
        return tt_fail(TT_UNDECIDED, "%s: its memory is not known, so the gate cannot judge it", r->label);
    if (more > limit)
        return tt_fail(TT_GATE, "%s takes %.1f %% more memory than %s; the limit is %.3g %%", r->label, 100 * more,
                       base->label, 100 * limit);
    tt_text_printf(why, "%.1f %% %s memory than %s", 100 * fabs(more), more > 0 ? "more" : "less", base->label);
    return TT_OK;
}

static tt_status judge_loss(const struct tt_compared *base, const struct tt_compared *r, double limit,
                            struct tt_text *why)
{
    if (r->same_task && !r->same_steps)
        return tt_fail(TT_UNDECIDED,
                       "%s: its losses cannot be compared with those of %s, since the two measured different numbers "
                       "of steps (%lld after %lld of warm-up, and %lld after %lld), so their learning rates differ",
                       r->label, base->label, (long long)r->profile.run.steps, (long long)r->profile.run.warmup,
                       (long long)base->profile.run.steps, (long long)base->profile.run.warmup);
    if (isnan(r->loss_difference))
        return tt_fail(TT_UNDECIDED,
                       "%s: its losses cannot be compared with those of %s, so the gate cannot judge them",
                       r->label, base->label);
    if (r->loss_difference > limit)
        return tt_fail(TT_GATE, "%s: its loss differs from that of %s by %.3g; the limit is %.3g", r->label,
                       base->label, r->loss_difference, limit);
    tt_text_printf(why, "losses differ from those of %s by at most %.3g", base->label, r->loss_difference);
    return TT_OK;
}

static tt_status judge_gradients(const struct tt_compared *base, const struct tt_compared *r, double limit,
                                 struct tt_text *why)
{
    (void)base, (void)limit;
    if (!r->gradients)
        return tt_fail(TT_UNDECIDED,
                       "%s: its gradients are not known, so the gate cannot judge them; tt profile records them",
                       r->label);
    if (r->missing_gradients)
        return tt_fail(TT_GATE, "%s: %d of %d tensors got no gradient", r->label, r->missing_gradients, r->gradients);
    tt_text_printf(why, "all %d tensors have a gradient", r->gradients);
    return TT_OK;
}

/* A condition that holds counts more than one that cannot be decided; of equals the first is kept. */
static tt_status worse(tt_status first, tt_status second)
{
    bool swap = first && second && first->code != TT_GATE && second->code == TT_GATE;
    tt_status kept = !first || swap ? second : first;
    if (first && first != kept) tt_status_free(first);
    if (second && second != kept) tt_status_free(second);
    return kept;
}

/* A line for each verdict, so that undecided conditions show beside those that passed or failed. */
static void say_verdict(struct tt_text *said, const char *condition, const struct tt_compared *r, tt_status st,
                        const char *why)
{
    if (!said) return;
    if (st)
        tt_text_printf(said, "gate     %s %s: %s\n", condition, st->code == TT_GATE ? "failed" : "undecided", st->text);
    else
        tt_text_printf(said, "gate     %s passed: %s: %s\n", condition, r->label, why ? why : "");
}

tt_status tt_compare_gate(const struct tt_comparison *c, const char *conditions, struct tt_text *said)
{
    static tt_status (*const judges[])(const struct tt_compared *, const struct tt_compared *, double,
                                       struct tt_text *) = {judge_speed, judge_memory, judge_loss, judge_gradients};
    char one[80];
    tt_status worst = TT_OK;
    while (tt_list_next(&conditions, ',', one, sizeof one)) {
        enum condition what;
        double limit;
        tt_status st = read_condition(one, &what, &limit);
        for (int i = c->rows; !st && i < c->n; i++) {
            struct tt_text why = {0};
            tt_status here = judges[what](&c->runs[c->runs[i].base], &c->runs[i], limit, &why);
            say_verdict(said, one, &c->runs[i], here, why.s);
            tt_text_free(&why);
            worst = worse(worst, here);
        }
        worst = worse(worst, st);
    }
    return worst;
}
