/* Why a comparison may mislead: a line for each reason. */
#include <math.h>

#include "core/base/load.h"
#include "profiling/compare/compare.h"
#include "profiling/disturbed.h"

/* A share of another roof cannot be compared. */
static void warn_of_roofs(struct tt_comparison *c, struct tt_compared *r, const struct tt_compared *base)
{
    double here = r->profile.efficiency.gemm_flops_per_second, there = base->profile.efficiency.gemm_flops_per_second;
    bool known = here > 0 && there > 0 && isfinite(r->mfu_percent) && isfinite(base->mfu_percent);
    r->other_roof = known && fabs(here / there - 1) > 0.01;
    if (!r->other_roof) return;
    tt_text_printf(&c->warnings,
                   "%s: its MFU is of a measured %.4g TFLOP/s, that of %s of %.4g: compare times, or profile both with "
                   "the same roof\n",
                   r->label, here / 1e12, base->label, there / 1e12);
}

static void warn_of_load(struct tt_comparison *c, const struct tt_compared *r)
{
    char busy[120], recorded[120], times[32];
    tt_step_busy_words(&r->profile, busy);
    tt_recorded_words(&r->profile, recorded);
    if (recorded[0] && !busy[0])
        tt_text_printf(&c->warnings,
                       "%s: its groups and operators are of disturbed steps: %s; their times may be %s too "
                       "long; the step is of other ones\n",
                       r->label, recorded, tt_slowed_words(tt_recorded_slowed(&r->profile), 2, times));
    if (busy[0] && !(c->n == 2 && c->runs[1].in_turns))
        tt_text_printf(&c->warnings,
                       "%s: when it was measured, %s; its times may be too long: measure again when it is quiet, or in "
                       "turns (tt bench --against)\n",
                       r->label, busy);
}

/* No interval, or one from so few steps that it holds the truth too seldom. */
static void warn_of_range(struct tt_comparison *c, const struct tt_compared *r, const struct tt_compared *base)
{
    if (!isfinite(r->speedup)) return;
    bool one = isfinite(r->range.confidence) && !(r->range.confidence > 0);
    if (isnan(r->range.confidence))
        tt_text_printf(&c->warnings,
                       "%s: no interval, since the times of single steps are not known of it and %s: the speed-up may "
                       "be noise\n",
                       r->label, base->label);
    else if (one)
        tt_text_printf(&c->warnings,
                       "%s: a single step was timed of it or of %s, so that nobody knows how often such an interval "
                       "holds the true speed-up; time three or more of each\n",
                       r->label, base->label);
    else if (r->range.confidence < TT_GATE_CONFIDENCE)
        tt_text_printf(&c->warnings,
                       "%s: few steps were timed, so that the interval holds the true speed-up in only %.0f %% of such "
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
                   "%s: its %d operators are those of %s, with the same work, and took %.2f times as long by the "
                   "median of their time, as shares of the undisturbed steps. %s%s%s. Measure both again, or in turns "
                   "(tt bench --against)\n",
                   r->label, r->control.operators, base->label, r->control.times,
                   r->one_build
                       ? "Both are of one build: with the same options that is the machine, which was not the same in "
                         "both, and the interval holds the speed-up with and without it"
                       : "With one build and the same options that is the machine, which was not the same in both; "
                         "else it may be the kernels",
                   r->rows_disturbed ? ". Or it is the recording: their shares are of disturbed steps" : "",
                   values ? ". Or it is the values: losses or gradients differ, and the same operations may take "
                            "longer with other numbers" : "");
}

static void warn_of_control(struct tt_comparison *c, const struct tt_compared *r, const struct tt_compared *base)
{
    const struct tt_profile_run *here = &r->profile.run, *there = &base->profile.run;
    if (tt_is_interrupted(here->interrupted) || tt_is_interrupted(there->interrupted))
        return; /* one operation that was shrinks the shares of all others */
    if (tt_compare_same_work(r)) warn_of_same_work(c, r, base);
    const struct tt_control *k = &r->control;
    bool interval = isfinite(r->range.low);
    if (k->busy && !k->moved && interval && !r->busy && !r->in_turns)
        tt_text_printf(&c->warnings,
                       "%s: whether the machine was the same as in %s is not known, since what both have alike was "
                       "recorded while other programs had the processors: %s\n",
                       r->label, base->label,
                       isfinite(k->times) && (r->one_build || !k->all)
                           ? "the interval holds the speed-up with and without what that changed by"
                           : "the interval is of the steps alone");
    if (!k->moved || k->all) return;
    tt_text_printf(&c->warnings,
                   "%s: the %d operators that it has alike with %s (kernel, shape and calls) took %.2f times as long "
                   "by the median of their shares of the steps that were not recorded (together %.1f %% of %.4g ms "
                   "there, %.1f %% of %.4g ms here). Either the machine was not the same in all of these steps, or the "
                   "change affects them too%s%s; "
                   "measure both again, or in turns (tt bench --against)\n",
                   r->label, k->operators, base->label, k->times, 100 * k->share, 1e3 * k->seconds, 100 * k->there,
                   1e3 * k->seconds_there,
                   k->disturbed ? ", or it is the recording: their shares are of disturbed steps" : "",
                   interval ? ": the interval holds the speed-up with and without that" : "");
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
                   "%s: it measured %lld steps after %lld of warm-up, %s %lld after %lld, so that their learning rates "
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
