#include "profiling/disturbed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/load.h"
#include "profiling/bound.h"

bool tt_host_computes(const struct tt_profile *p) { return !strcmp(p->run.backend, "cpu"); }

/* Ranks wait for each other too. */
int tt_profile_threads(const struct tt_profile *p)
{
    int ranks = p->job.ranks > 1 && p->job.ranks < 10000 ? (int)p->job.ranks : 1;
    int threads = tt_threads_of(p->run.backend, p->run.device);
    return tt_host_computes(p) && threads < 10000 ? threads * ranks : threads;
}

bool tt_is_interrupted(double interrupted) { return interrupted > 1.15; }

double tt_interrupted_slowed(double interrupted) { return tt_is_interrupted(interrupted) ? 2 * interrupted : 1; }

void tt_interrupted_words(double interrupted, char out[120])
{
    snprintf(out, 120, "the device was interrupted, perhaps by other programs: operations or steps took %.1f times "
                       "their medians", interrupted);
}

double tt_step_slowed(const struct tt_profile *p)
{
    double waits = tt_slowed(p->run.load, p->run.waited, tt_profile_threads(p));
    return fmax(waits, tt_interrupted_slowed(p->run.interrupted));
}

bool tt_step_busy(const struct tt_profile *p)
{
    return tt_is_interrupted(p->run.interrupted) || tt_was_busy(p->run.load, p->run.waited);
}

void tt_step_busy_words(const struct tt_profile *p, char out[120])
{
    if (tt_is_interrupted(p->run.interrupted))
        tt_interrupted_words(p->run.interrupted, out);
    else
        tt_was_busy_words(p->run.load, p->run.waited, out);
}

double tt_recorded_waited(const struct tt_profile *p)
{
    if (tt_is_interrupted(p->run.interrupted)) return 1 - 1 / p->run.interrupted;
    return isnan(p->run.recorded_waited) ? p->run.waited : p->run.recorded_waited;
}

bool tt_recorded_busy(const struct tt_profile *p)
{
    bool waited = tt_host_computes(p) && tt_was_busy(p->run.load, tt_recorded_waited(p));
    return waited || tt_is_interrupted(p->run.interrupted);
}

double tt_roofs_waited(const struct tt_profile_efficiency *e, const struct tt_profile_run *run)
{
    if (!isnan(e->roofs_waited)) return e->roofs_waited;
    bool own = e->roofs_measured[0] && !e->roofs_kept && !strcmp(run->backend, "cpu");
    return own ? run->waited : NAN;
}

bool tt_profile_roofs_doubtful(const struct tt_profile *p)
{
    const struct tt_profile_efficiency *e = &p->efficiency;
    double waited = tt_roofs_waited(e, &p->run);
    return tt_roofs_doubtful(&(struct tt_roofs_measured){e->roofs_load, waited, e->gemm_spread, e->copy_spread});
}

double tt_steps_apart(const struct tt_profile *p)
{
    const struct tt_profile_step *s = &p->step;
    return isfinite(s->deviation) ? (s->p95 - s->fastest) / s->seconds : NAN;
}

double tt_recorded_slowed(const struct tt_profile *p)
{
    double events = (double)p->step.kernels * p->launch.event_seconds / p->step.launched_seconds;
    double more = p->launch.recorded_overhead - 3 * events;
    double apart = tt_steps_apart(p), scatter = apart > 0.25 ? 0.25 : apart; /* a larger spread explains no more */
    double waits = tt_host_computes(p) ? tt_slowed(p->run.load, tt_recorded_waited(p), tt_profile_threads(p))
                                       : tt_interrupted_slowed(p->run.interrupted);
    return fmax(waits, more > fmax(0.1, scatter) ? 2 * (1 + more) : 1);
}

void tt_recorded_words(const struct tt_profile *p, char out[120])
{
    out[0] = 0;
    if (!(tt_recorded_slowed(p) > 1)) return;
    if (tt_is_interrupted(p->run.interrupted))
        tt_interrupted_words(p->run.interrupted, out);
    else if (!tt_recorded_busy(p))
        snprintf(out, 120, "the recorded steps took %.0f %% more time than the others",
                 100 * p->launch.recorded_overhead);
    else if (isnan(tt_recorded_waited(p)))
        snprintf(out, 120, "the load was %.1f per processor in the minute before", p->run.load);
    else
        snprintf(out, 120, "threads waited %.0f %% of their time for a processor in the recorded steps",
                 100 * tt_recorded_waited(p));
}
