/* Why a comparison may mislead: a line for each reason. */
#include <math.h>

#include "core/base/load.h"
#include "profiling/compare/compare.h"
#include "profiling/disturbed.h"

/* MFUs of different roofs cannot be compared. */
static void warn_of_roofs(struct tt_comparison *c, struct tt_compared *r, const struct tt_compared *base)
{
    double here = r->profile.efficiency.gemm_flops_per_second, there = base->profile.efficiency.gemm_flops_per_second;
    bool known = here > 0 && there > 0 && isfinite(r->mfu_percent) && isfinite(base->mfu_percent);
    r->other_roof = known && fabs(here / there - 1) > 0.01;
    if (!r->other_roof) return;
    tt_text_printf(&c->warnings,
                   "%s: its MFU is relative to a measured %.4g TFLOP/s, that of %s to %.4g: compare times, or profile "
                   "both with the same roof\n",
                   r->label, here / 1e12, base->label, there / 1e12);
}

static void warn_of_load(struct tt_comparison *c, const struct tt_compared *r)
{
    char busy[120], recorded[120], times[32];
    tt_step_busy_words(&r->profile, busy);
    tt_recorded_words(&r->profile, recorded);
    if (recorded[0] && !busy[0])
        tt_text_printf(&c->warnings,
                       "%s: its groups and operators come from disturbed steps: %s; their times may be %s%s too long. "
                       "The step time comes from other steps\n",
                       r->label, recorded, isinf(tt_recorded_slowed(&r->profile)) ? "" : "up to ",
                       tt_slowed_words(tt_recorded_slowed(&r->profile), 2, times));
    if (busy[0] && !(c->n == 2 && c->runs[1].in_turns))
        tt_text_printf(&c->warnings,
                       "%s: when it was measured, %s; its times may be too long: measure again when the machine is "
                       "quiet, or in turns (tt bench --against)\n",
                       r->label, busy);
}

/* There is no interval, or one from so few steps that its confidence is too low. */
static void warn_of_range(struct tt_comparison *c, const struct tt_compared *r, const struct tt_compared *base)
{
    if (!isfinite(r->speedup)) return;
    bool one = isfinite(r->range.confidence) && !(r->range.confidence > 0);
    if (isnan(r->range.confidence))
        tt_text_printf(&c->warnings,
                       "%s: no interval, since the times of single steps of it or of %s are not known: the speed-up "
                       "may be noise\n",
                       r->label, base->label);
    else if (one)
        tt_text_printf(&c->warnings,
                       "%s: only one step of it or of %s was timed, so it is not known how often such an interval "
                       "holds the true speed-up; time three or more of each\n",
                       r->label, base->label);
    else if (r->range.confidence < TT_GATE_CONFIDENCE)
        tt_text_printf(&c->warnings,
                       "%s: few steps were timed, so the interval holds the true speed-up in only %.0f %% of such "
                       "comparisons; time three or more of each\n",
                       r->label, 100 * r->range.confidence);
}

bool tt_compare_same_work(const struct tt_compared *r)
{
    double times = r->control.times, low = r->range.low, high = r->range.high;
    if (!r->control.all || r->in_turns || !isfinite(times)) return false;
    return r->control.moved || (!r->one_build && (low > 1 || high < 1) && low * times <= 1 && high * times >= 1);
}

bool tt_compare_other_values(const struct tt_compared *r)
{
    return r->loss_difference > 0.01 || r->gradient_difference > 0.01;
}

static void warn_of_same_work(struct tt_comparison *c, const struct tt_compared *r, const struct tt_compared *base)
{
    bool values = tt_compare_other_values(r);
    tt_text_printf(&c->warnings,
                   "%s: its %d operators do the same work as those of %s, and took %.2f times as long (median, times "
                   "as shares of the undisturbed steps). %s%s%s. Measure both again, or in turns (tt bench "
                   "--against)\n",
                   r->label, r->control.operators, base->label, r->control.times,
                   r->one_build
                       ? "Both runs are of one build: with the same options, the machine was not equally fast in both, "
                         "and the interval holds the speed-up with and without this change"
                       : "With one build and the same options, the machine was not equally fast in both; otherwise the "
                         "kernels may differ",
                   r->rows_disturbed ? ". Or the recording is the reason: their shares come from disturbed steps" : "",
                   values ? ". Or the values are the reason: losses or gradients differ, and the same operations may "
                            "take longer with other numbers" : "");
}

static void warn_of_control(struct tt_comparison *c, const struct tt_compared *r, const struct tt_compared *base)
{
    const struct tt_profile_run *here = &r->profile.run, *there = &base->profile.run;
    if (tt_is_interrupted(here->interrupted) || tt_is_interrupted(there->interrupted))
        return; /* an interrupted operation makes the shares of all others smaller */
    if (tt_compare_same_work(r)) warn_of_same_work(c, r, base);
    const struct tt_control *k = &r->control;
    bool interval = isfinite(r->range.low);
    if (k->busy && !k->moved && interval && !r->busy && !r->in_turns)
        tt_text_printf(&c->warnings,
                       "%s: whether the machine was as fast as for %s is not known, since the operators in common "
                       "were recorded while other programs used the processors: %s\n",
                       r->label, base->label,
                       isfinite(k->times) && (r->one_build || !k->all)
                           ? "the interval holds the speed-up with and without their change"
                           : "the interval comes from the steps alone");
    if (!k->moved || k->all) return;
    tt_text_printf(&c->warnings,
                   "%s: the %d operators that it has in common with %s (kernel, shape and calls) took %.2f times as "
                   "long (median, times as shares of the undisturbed steps: together %.1f %% of %.4g ms there, %.1f %% "
                   "of %.4g ms here). Either the machine was not equally fast in both, or the change affects these "
                   "operators too%s%s; measure both again, or in turns (tt bench --against)\n",
                   r->label, k->operators, base->label, k->times, 100 * k->share, 1e3 * k->seconds, 100 * k->there,
                   1e3 * k->seconds_there,
                   k->disturbed ? ", or the recording is the reason (their shares come from disturbed steps)" : "",
                   interval ? ": the interval holds the speed-up with and without their change" : "");
}

static void warn_of_gradients(struct tt_comparison *c, const struct tt_compared *r, const struct tt_compared *base)
{
    if (!r->same_task || !(r->gradient_difference > 0.1)) return;
    tt_text_printf(&c->warnings, "%s: the norm of a gradient of the first step ", r->label);
    if (r->gradient_difference > 1)
        tt_text_printf(&c->warnings, "is %.4g times as large as that of %s\n", 1 + r->gradient_difference, base->label);
    else
        tt_text_printf(&c->warnings, "differs from that of %s by %.0f %%\n", base->label,
                       100 * r->gradient_difference);
}

static void warn_of_steps(struct tt_comparison *c, const struct tt_compared *r, const struct tt_compared *base)
{
    const struct tt_profile_run *here = &r->profile.run, *there = &base->profile.run;
    bool warmup = here->steps == there->steps;
    tt_text_printf(&c->warnings,
                   "%s: it measured %lld steps after %lld of warm-up, %s %lld after %lld, so their learning rates "
                   "differ and their losses cannot be compared; measure one of them again with the other's %s\n",
                   r->label, (long long)here->steps, (long long)here->warmup, base->label, (long long)there->steps,
                   (long long)there->warmup, warmup ? "--warmup" : "--num-steps");
}

void tt_compare_warn(struct tt_comparison *c, struct tt_compared *r, const struct tt_compared *base)
{
    if (r->missing_gradients)
        tt_text_printf(
            &c->warnings,
            "%s: %d of %d tensors got no gradient, or one that is not finite: work is missing, so its speed says "
            "nothing\n",
            r->label, r->missing_gradients, r->gradients);
    warn_of_load(c, r);
    if (r == base) return;
    bool known = r->profile.run.num_layers && base->profile.run.num_layers;
    if (!r->same_model && !known && (r->profile.run.num_layers || base->profile.run.num_layers))
        tt_text_printf(&c->warnings,
                       "%s: %s does not say what shape its model has, so it is not known whether the two can be "
                       "compared\n",
                       r->label, r->profile.run.num_layers ? base->label : "it");
    else if (!r->same_model)
        tt_text_printf(&c->warnings, "%s: its %s from %s of %s, so losses, speeds and times per step cannot be "
                                     "compared\n",
                       r->label, r->other_length ? "sequences differ in length" : "model differs",
                       r->other_length ? "those" : "that", base->label);
    else if (!r->same_task)
        tt_text_printf(&c->warnings,
                       "%s: batch, data, documents or seed differ from those of %s, so losses and times per step "
                       "cannot be compared; tokens a second can\n",
                       r->label, base->label);
    else if (!r->same_steps)
        warn_of_steps(c, r, base);
    else if (r->loss_difference > 0.1)
        tt_text_printf(&c->warnings,
                       "%s: its loss differs from that of %s by up to %.3g: they do not compute the same\n", r->label,
                       base->label, r->loss_difference);
    warn_of_roofs(c, r, base);
    warn_of_range(c, r, base);
    warn_of_control(c, r, base);
    warn_of_gradients(c, r, base);
}
