/* Remarks beside the figures of a profile, in the same words wherever these are shown. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/load.h"
#include "model/model.h"
#include "profiling/bound.h"
#include "profiling/report/advice.h"
#include "profiling/report/svg.h"

/* A group with this share of the step is too large for all of its bytes to be in a cache. */
static const double large = 0.05;

/* Whether a group is faster than memory allows. Most likely its bytes came from a cache, which says nothing of the
 * roofs. */
static bool from_a_cache(const struct tt_profile_row *g)
{
    return !strcmp(g->bound, "memory") && g->roof_percent > 102;
}

/* Whether the step, a group or a product is faster than the compute roof, as measure.c asks of single operations. Only
 * products count that are long enough for that to be no error of the clock. */
static bool over_the_roof(const struct tt_profile *p)
{
    const double tolerance = 1.05, shortest = 1e-4;
    double most = p->efficiency.gemm_flops_per_second * tolerance;
    for (int i = 0; i < p->groups_count; i++)
        if (p->groups[i].flops_per_second > most && !(from_a_cache(&p->groups[i]) && p->groups[i].share < large))
            return true;
    for (int i = 0; i < p->operators_count; i++) {
        const struct tt_profile_row *op = &p->operators[i];
        if (!strcmp(op->name, "gemm") && op->median > shortest && op->flops_per_second > most) return true;
    }
    return p->efficiency.flops_per_second > most;
}

/* A running number for the day of "2025-01-31T12:00:00Z"; 0 where that is no such time. */
static int day_of(const char *time)
{
    int y, m, d;
    if (sscanf(time, "%4d-%2d-%2d", &y, &m, &d) != 3) return 0;
    y -= m <= 2; /* a year from March on ends with its leap day */
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d;
}

/* How many days old the roofs were when the run used them; 0 if that is too few for a device to have changed. */
static int days_old(const struct tt_profile *p)
{
    enum { LONG_AGO = 14 };
    int then = day_of(p->efficiency.roofs_measured), now = day_of(p->run.created);
    return then && now - then >= LONG_AGO ? now - then : 0;
}

/* When the roofs were measured, and by which run. Returns the number of characters written. */
static int roofs_age(const struct tt_profile *p, char out[400])
{
    const struct tt_profile_efficiency *e = &p->efficiency;
    int n = 0, days = days_old(p);
    if (e->roofs_kept)
        n = snprintf(out, 400, "The roofs were measured %s%s", e->roofs_measured[0] ? "at " : "by an earlier run",
                     e->roofs_measured);
    if (e->roofs_kept && days) n += snprintf(out + n, 400 - (size_t)n, ", %d days before this run,", days);
    if (e->roofs_kept) n += snprintf(out + n, 400 - (size_t)n, " and kept; --remeasure measures them again.");
    if (!e->roofs_kept && e->roofs_measured[0])
        n = snprintf(out, 400, "The roofs were measured at %s, by this run%s.", e->roofs_measured,
                     e->roofs_earlier ? "; another measurement gave a higher rate, which is used instead" : "");
    return n;
}

/* Adds a sentence about the largest group that is faster than memory allows, if there is room for it. */
static void add_cache(const struct tt_profile *p, char out[400])
{
    const struct tt_profile_row *most = NULL;
    char words[512];
    size_t n = strlen(out);
    for (int i = 0; i < p->groups_count; i++)
        if (from_a_cache(&p->groups[i]) && (!most || p->groups[i].share > most->share)) most = &p->groups[i];
    if (!most) return;
    snprintf(words, sizeof words, "%s%s, %.2g %% of the step, reaches %.0f %% of the memory roof: its bytes came "
                                  "from a cache, or that roof is too low.",
             n ? " " : "", most->name, 100 * most->share, most->roof_percent);
    if (n + strlen(words) < 400) strcpy(out + n, words);
}

void tt_roof_remark(const struct tt_profile *p, char out[400])
{
    const struct tt_profile_efficiency *e = &p->efficiency;
    out[0] = 0;
    if (!isfinite(e->gemm_flops_per_second)) return;
    int n = roofs_age(p, out);
    bool over = over_the_roof(p);
    if (over)
        snprintf(out + n, 400 - (size_t)n,
                 "%sThe step, a group or a matrix product is faster than the measured roof allows, so the roof is too "
                 "low (perhaps the device was busy when it was measured), and MFU and roof %% are too high. Use "
                 "--remeasure when the device is idle.",
                 n ? " " : "");
    else if (tt_was_busy(NAN, tt_roofs_waited(e, &p->run)))
        snprintf(out + n, 400 - (size_t)n,
                 "%sThey may be far too low, even if their samples agree: threads waited %.0f %% of their time for a "
                 "processor during that measurement. In that case MFU and roof %% are too high. Use --remeasure when "
                 "the machine is quiet.",
                 n ? " " : "", 100 * tt_roofs_waited(e, &p->run));
    else if (tt_profile_roofs_doubtful(p))
        snprintf(out + n, 400 - (size_t)n,
                 "%sThey may be too low: the load was %.1f per processor then, and half of the samples fell short "
                 "of the best by %.0f %% (products) and %.0f %% (copies) or more.",
                 n ? " " : "", e->roofs_load, 100 * e->gemm_spread, 100 * e->copy_spread);
    else if (n && e->roofs_load >= 0)
        snprintf(out + n, 400 - (size_t)n, " The load was %.1f per processor then.", e->roofs_load);
    if (!over) add_cache(p, out);
}

/* How many times too long the times of operators may be: a factor, or any. */
static const char *off_by(const struct tt_profile *p, char out[80])
{
    char times[32];
    double slowed = tt_recorded_slowed(p);
    if (isinf(slowed)) return strcpy(out, "too long by an unknown factor");
    snprintf(out, 80, "up to %s too long, short ones even more", tt_slowed_words(slowed, 2, times));
    return out;
}

/* The step's time comes from the undisturbed steps; shares, roofs and bounds come from the recorded ones. */
void tt_busy_remark(const struct tt_profile *p, char out[400])
{
    char busy[120], recorded[120], times[80];
    tt_step_busy_words(p, busy);
    tt_recorded_words(p, recorded);
    const char *help = tt_fewer_threads(busy[0] || tt_recorded_busy(p) ? tt_profile_threads(p) : 1);
    out[0] = 0;
    if (busy[0] && (recorded[0] || !tt_host_computes(p)))
        snprintf(out, 400,
                 "When this was measured, %s. Times may be too long and differ from run to run%s. Measure again when "
                 "the machine is quiet%s.",
                 busy, recorded[0] ? ", and shares, roof % and bounds may be wrong" : "", help);
    else if (busy[0])
        snprintf(out, 400,
                 "When the step was timed, %s: its time may be too long, and tokens/s and MFU too low%s. Shares, "
                 "roof %% and bounds come from the recorded steps, of which no disturbance was seen.",
                 busy, help);
    else if (recorded[0])
        snprintf(out, 400,
                 "Shares, roof %%, bounds and the times of groups and operators come from disturbed steps: %s. "
                 "They may be wrong, times %s. Measure again when it is quiet%s. Step time, tokens/s and MFU come "
                 "from other steps.",
                 recorded, off_by(p, times), help);
}

void tt_rows_remark(const struct tt_profile *p, char out[400])
{
    char recorded[120], times[32];
    double slowed = tt_recorded_slowed(p);
    tt_recorded_words(p, recorded);
    out[0] = 0;
    if (recorded[0] && isfinite(slowed))
        snprintf(out, 400, "These come from disturbed steps: %s. Shares may be wrong, times up to %s too long (short "
                 "ones even more), and roof %% too low.",
                 recorded, tt_slowed_words(slowed, 2, times));
    else if (recorded[0])
        snprintf(out, 400, "These come from disturbed steps: %s. Shares may be wrong, times too long by an unknown "
                 "factor, and roof %% far too low.",
                 recorded);
}

void tt_attention_remark(const struct tt_profile *p, char out[400])
{
    out[0] = 0;
    if (!p->run.flash_refused) return;
    char note[160];
    tt_flash_refused_note(p->run.head_dim, note);
    snprintf(out, 400, "Not everything was computed as requested: %s.", note);
}

/* Whether other programs may be why a step takes more than its kernels: where the host computes, they share its
 * processors. */
static bool others_took(const struct tt_profile *p)
{
    return tt_host_computes(p) && tt_was_busy(p->run.load, p->run.waited);
}

/* Lists the phases whose wall time is more than `times` their device time, or the other way round. Returns how many. */
static int phases_apart(const struct tt_profile *p, bool wall_longer, double times, char out[120])
{
    int count = 0;
    out[0] = 0;
    for (int i = 0; i < p->phases_count; i++) {
        const struct tt_profile_phase *f = &p->phases[i];
        double longer = wall_longer ? f->wall : f->device, shorter = wall_longer ? f->device : f->wall;
        size_t n = strlen(out);
        bool worth = !wall_longer || (f->kernels && longer - shorter > 0.02 * p->step.seconds);
        if (!(shorter > 0 && longer > times * shorter) || !worth) continue;
        snprintf(out + n, 120 - n, "%s%s", count++ ? " and " : "", f->name);
    }
    return count;
}

/* Where the host computes, its time is no overhead. A GPU runs kernels beside each other; a CPU does not. The few
 * percent by which steps differ anyway are not worth a word. */
void tt_phase_remark(const struct tt_profile *p, char out[400])
{
    char longer[120], slower[120];
    out[0] = 0;
    if (!tt_host_computes(p) || !p->phases_count) return;
    int count = phases_apart(p, false, 1.03, longer), slow = phases_apart(p, true, 1.15, slower);
    int n = snprintf(out, 400, "On a CPU the host runs the kernels: its time is not spent launching them.");
    if (!count && !slow) return;
    n += snprintf(out + n, 400 - (size_t)n, " Wall and device times come from different steps%s",
                  tt_recorded_busy(p) || others_took(p) ? ", on a busy machine"
                  : tt_recorded_slowed(p) > 1 ? ", of which something slowed the recorded ones"
                                              : "");
    if (count)
        n += snprintf(out + n, 400 - (size_t)n, ", so the kernels of %s seem to take longer than %s", longer,
                      count > 1 ? "these phases" : "the phase");
    if (slow)
        n += snprintf(out + n, 400 - (size_t)n,
                      "%s %s took longer than %s kernels, which may be how much steps vary",
                      count ? ";" : ":", slower, slow > 1 ? "their" : "its");
    snprintf(out + n, 400 - (size_t)n, ".");
}

double tt_between_steps(const struct tt_profile *p)
{
    for (int i = 0; i < p->phases_count; i++)
        if (!strcmp(p->phases[i].name, "other") && p->phases[i].wall > 0) return p->phases[i].wall;
    return 0;
}

/* A graph can be faster: it runs kernels beside each other, and with less between them than launching leaves. */
static bool graph_is_faster(const struct tt_profile *p)
{
    return p->run.graph && p->step.seconds < p->step.launched_seconds;
}

/* Gaps below zero are put in words: there is no such time. */
const char *tt_gap_words(const struct tt_profile *p, char out[100])
{
    const struct tt_profile_step *s = &p->step;
    if (!isfinite(s->gap_seconds))
        snprintf(out, 100, "n/a");
    else if (s->gap_seconds < 0)
        snprintf(out, 100, "none%s kernels take %.1f %% more time than the %s",
                 graph_is_faster(p) ? ": run one after the other, the" : " visible: the recorded",
                 -100 * s->gap_fraction, graph_is_faster(p) ? "graph" : "step");
    else
        snprintf(out, 100, "%.3f ms, %.1f %% of the step", 1e3 * s->gap_seconds, 100 * s->gap_fraction);
    return out;
}

/* Says how the recorded steps differ, where neither the events nor the usual spread of steps explain it. */
static const char *unexplained(const struct tt_profile *p, double events, char out[160])
{
    double apart = tt_steps_apart(p);
    bool less = p->launch.recorded_overhead < 0;
    if (isnan(apart))
        snprintf(out, 160, "; the events cost %.1f %%, and a single step does not show how much steps vary",
                 100 * events);
    else if (less)
        snprintf(out, 160, "; the other steps vary by only %.1f %%, so the machine was faster in the recorded ones",
                 100 * apart);
    else
        snprintf(out, 160,
                 "; the events cost only %.1f %% and the other steps vary by only %.1f %%, so something else "
                 "slowed the recorded ones",
                 100 * events, 100 * apart);
    return out;
}

/* A recorded step can be shorter than others: it leaves out the host's work between steps, and in it a device does not
 * wait for launches. It is longer by the events, whose cost is known. A few percent are no more than steps differ by
 * anyway, however alike three of them were. */
const char *tt_recording_words(const struct tt_profile *p, char out[TT_RECORDING_WORDS])
{
    const struct tt_profile_launch *l = &p->launch;
    double events = (double)p->step.kernels * l->event_seconds / p->step.launched_seconds, few = 0.03;
    bool less = l->recorded_overhead < 0, waits = !tt_host_computes(p);
    bool busy = less ? others_took(p) : tt_recorded_busy(p); /* in those steps that took longer */
    bool outside = tt_between_steps(p) > -0.5 * l->recorded_overhead * p->step.launched_seconds;
    bool noise = less || l->recorded_overhead > 3 * events + few;
    bool within = fabs(l->recorded_overhead) <= fmax(few, tt_steps_apart(p));
    char figures[160];
    const char *why = less && outside   ? ": the host's work between steps is not in it"
                      : noise && busy   ? ": the machine was busy, so this is noise"
                      : less && waits   ? ": its kernels do not wait for their launches"
                      : noise && within && !less && tt_recorded_slowed(p) > 1
                          ? ": within the spread of the other steps, but shares come from these"
                      : noise && within ? ": within the noise"
                      : noise           ? unexplained(p, events, figures)
                                        : "";
    if (isfinite(l->recorded_overhead))
        snprintf(out, TT_RECORDING_WORDS, "%.1f %% %s%s", 100 * fabs(l->recorded_overhead), less ? "less" : "more",
                 why);
    else
        snprintf(out, TT_RECORDING_WORDS, "n/a");
    return out;
}

/* The kernels add up to more than the step. */
static void overlap_remark(const struct tt_profile *p, char out[400])
{
    char more[32];
    tt_si_time(-p->step.gap_seconds, more);
    if (graph_is_faster(p))
        snprintf(out, 400,
                 "The kernels were recorded one after the other, without the graph, and add up to %s (%.1f %%) more "
                 "than the step: the graph runs some of them at the same time and leaves less time between them%s. "
                 "Shares are relative to the recorded sum.",
                 more, -100 * p->step.gap_fraction,
                 tt_recorded_slowed(p) > 1 ? ", and the recorded steps were disturbed" : "");
    else
        snprintf(out, 400,
                 "The recorded steps were slower than the undisturbed ones: their operations add up to %s (%.1f %%) "
                 "more than the step. So no gaps are visible, and shares are relative to the recorded sum.",
                 more, -100 * p->step.gap_fraction);
}

/* Names what the step takes beyond its kernels, where that is more than the usual time between kernels. */
void tt_gap_remark(const struct tt_profile *p, char out[400])
{
    const struct tt_profile_step *s = &p->step;
    double rest = s->seconds - s->kernel_seconds, slower = s->seconds - s->launched_seconds;
    double between = tt_between_steps(p);
    char one[32], two[32];
    out[0] = 0;
    if (s->gap_seconds < 0)
        overlap_remark(p, out);
    else if (between > 0.5 * s->gap_seconds && between > 0.02 * s->seconds)
        snprintf(out, 400,
                 "Most of the time that the step takes beyond its kernels is the host's work between steps, such as "
                 "validation or copies that it waits for%s: %s in a step launched one by one (the phase other).",
                 others_took(p) ? ", or time that other programs took, since the machine was busy" : "",
                 tt_si_time(between, one));
    else if (p->run.graph && slower > 0.02 * s->seconds)
        snprintf(out, 400,
                 "The graph is no gain here: launched one by one the step takes %s less. Kernels that the graph runs "
                 "at the same time can slow each other down; try --graph off or --fuse no-overlap.",
                 tt_si_time(slower, one));
    else if (tt_host_computes(p) && rest - s->gap_seconds > 0.02 * s->seconds)
        snprintf(out, 400,
                 "The undisturbed steps took %s longer than the recorded ones with their gaps of %s. That is noise of "
                 "this machine; shares are relative to the recorded sum.",
                 tt_si_time(rest - s->gap_seconds, one), tt_si_time(s->gap_seconds, two));
}

/* The roof that the step lies under by its arithmetic intensity. Times play no part, so no load changes it; only roofs
 * that may be too low can. */
static const char *roof_above(const struct tt_profile *p)
{
    const char *above = tt_roof_above(tt_profile_roofs_doubtful(p), p->efficiency.intensity, p->efficiency.ridge);
    return above[0] ? above : "uncertain";
}

/* The class (mfu_class) depends on the rate alone, so what limits the step has to be said. */
void tt_bound_remark(const struct tt_profile *p, char out[400])
{
    const struct tt_profile_efficiency *e = &p->efficiency;
    const char *above = roof_above(p);
    out[0] = 0;
    if (!e->bound[0]) return;
    char where[200];
    if (strcmp(e->bound, "latency") == 0)
        snprintf(where, sizeof where, "The step reaches less than a fifth of what either roof allows, so neither "
                                      "bounds it: latency or overhead does.");
    else if (strcmp(e->bound, "uncertain") != 0)
        snprintf(where, sizeof where, "By its arithmetic intensity the step lies under the %s roof.", e->bound);
    else if (strcmp(above, "uncertain") == 0)
        snprintf(where, sizeof where, "Which roof the step lies under is uncertain: the roofs may be too low.");
    else
        snprintf(where, sizeof where, "By its arithmetic intensity the step lies under the %s roof. It reaches less "
                                      "than a fifth of it; whether latency or other programs are the reason is "
                                      "uncertain.",
                 above);
    snprintf(out, 400,
             "%s The class follows from MFU alone and does not say what limits the step; the column bound says that "
             "for each group%s.",
             where, tt_recorded_busy(p) ? ". Where it is uncertain, other programs may be the reason" : "");
}

void tt_ranks_remark(const struct tt_profile *p, char out[400])
{
    const struct tt_profile_job *j = &p->job;
    out[0] = 0;
    if (!j->ranks || j->slowest < 0 || j->slowest >= p->ranks_count) return;
    int n = snprintf(out, 400,
                     "%lld ranks through %s, shard %s; each sends %.2f MiB in a step. On rank 0 that takes %.3f ms, of "
                     "which %.3f ms are hidden behind computation and %.3f ms exposed.",
                     (long long)j->ranks, j->collectives, j->shard, j->sent_bytes / 0x1p20, 1e3 * j->communication,
                     1e3 * j->hidden, 1e3 * j->exposed);
    if (n < 0 || n >= 400) return;
    snprintf(out + n, 400 - (size_t)n,
             " The slowest is rank %lld on %s: it computes for %.1f %% longer in a step than the ranks do on average.",
             (long long)j->slowest, p->ranks[j->slowest].host, j->slowest_percent);
}
