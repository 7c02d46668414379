#include "profiling/measure/steps.h"

#include <math.h>
#include <stdlib.h>

#include "backend/relay.h"
#include "core/base/stats.h"
#include "profiling/measure/cost.h"

/* ---- whole steps ---- */

tt_status tt_step_times_open(struct tt_step_times *t, struct tt_backend *b, int warmup, int repeats)
{
    *t = (struct tt_step_times){warmup, repeats, calloc((size_t)repeats, sizeof *t->seconds),
                                calloc((size_t)repeats + 1, sizeof *t->events)};
    if (!t->seconds || !t->events) return tt_no_memory("%d repeats", repeats);
    for (int i = 0; i <= repeats; i++) TT_TRY(b->ops->event_create(b->self, &t->events[i]));
    return TT_OK;
}

void tt_step_times_close(struct tt_step_times *t, struct tt_backend *b)
{
    for (int i = 0; t->events && i <= t->repeats; i++)
        if (t->events[i]) b->ops->event_destroy(b->self, t->events[i]);
    free(t->seconds);
    free(t->events);
    *t = (struct tt_step_times){0};
}

tt_status tt_step_times_take(struct tt_step_times *t, struct tt_backend *b, struct tt_run *run)
{
    const struct tt_backend_ops *ops = b->ops;
    for (int i = 0; i < t->warmup; i++) TT_TRY(tt_run_step(run));
    TT_TRY(ops->event_record(b->self, t->events[0], NULL));
    for (int i = 0; i < t->repeats; i++) {
        TT_TRY(tt_run_step(run));
        TT_TRY(ops->event_record(b->self, t->events[i + 1], NULL));
    }
    for (int i = 0; i < t->repeats; i++)
        TT_TRY(ops->event_elapsed(b->self, t->events[i], t->events[i + 1], &t->seconds[i]));
    return TT_OK;
}

/* ---- collectives ---- */

struct timed {
    struct tt_relay relay; /* first: it is the `self` of the calls */
    tt_event *events;      /* before and after each collective; then of the step */
    int count, n;          /* of collectives; of this step so far */
};

static tt_status timed_collective(void *self, const struct tt_collective *c, tt_stream s)
{
    struct timed *t = self;
    struct tt_backend *real = &t->relay.real;
    TT_TRY(real->ops->event_record(real->self, t->events[t->n++], s));
    TT_TRY(real->ops->collective(real->self, c, s));
    return real->ops->event_record(real->self, t->events[t->n++], s);
}

static tt_status timed_step(struct timed *t, struct tt_backend *through, const struct tt_plan *plan, double *together,
                            double *alone)
{
    struct tt_backend *real = &t->relay.real;
    tt_event *step = t->events + t->count;
    double one;
    t->n = 0;
    *together = 0;
    TT_TRY(real->ops->event_record(real->self, step[0], NULL));
    TT_TRY(tt_plan_run(plan, through, NULL));
    TT_TRY(real->ops->event_record(real->self, step[1], NULL));
    for (int i = 0; i < t->n; i += 2) {
        TT_TRY(real->ops->event_elapsed(real->self, t->events[i], t->events[i + 1], &one));
        *together += one;
    }
    TT_TRY(real->ops->event_elapsed(real->self, step[0], step[1], &one));
    *alone = fmax(0, one - *together);
    return TT_OK;
}

static tt_status time_steps(struct tt_step_times *steps, struct timed *t, struct tt_backend *through,
                            const struct tt_plan *plan, struct tt_overlap *out)
{
    double *alone = calloc((size_t)steps->repeats, sizeof *alone);
    tt_status st = alone ? TT_OK : tt_no_memory("%d repeats", steps->repeats);
    for (int i = 0; i < steps->repeats && !st; i++)
        st = timed_step(t, through, plan, &steps->seconds[i], &alone[i]);
    if (!st) out->communication = tt_quantile(steps->seconds, steps->repeats, 0.5);
    if (!st) out->kernels = tt_quantile(alone, steps->repeats, 0.5);
    free(alone);
    return st;
}

static tt_status time_collectives(struct tt_step_times *steps, struct tt_backend *b, const struct tt_plan *plan,
                                  struct tt_overlap *out)
{
    struct timed t = {.count = 2 * tt_cost_of_plan(plan).collectives};
    struct tt_backend through = tt_relay_open(&t.relay, b);
    int events = t.count + 2;
    t.relay.ops.collective = timed_collective;
    t.events = calloc((size_t)events, sizeof *t.events);
    tt_status st = t.events ? TT_OK : tt_no_memory("the events of %d collectives", t.count / 2);
    for (int i = 0; i < events && !st; i++) st = b->ops->event_create(b->self, &t.events[i]);
    if (!st) st = time_steps(steps, &t, &through, plan, out);
    for (int i = 0; t.events && i < events; i++)
        if (t.events[i]) b->ops->event_destroy(b->self, t.events[i]);
    free(t.events);
    return st;
}

/* ---- what is hidden ---- */

/* The interval of a median of n is 1.57 x its interquartile range / sqrt(n), as in the notches of box plots. This is
 * its square: the squares of two medians add up. */
static double noise_squared(const struct tt_step_times *t)
{
    double quartiles = tt_quantile(t->seconds, t->repeats, 0.75) - tt_quantile(t->seconds, t->repeats, 0.25);
    return 1.57 * 1.57 * quartiles * quartiles / t->repeats;
}

/* The plan keeps its waits; on one stream they are always met. */
static void put_on_one_stream(struct tt_plan *plan)
{
    for (int i = 0; i < plan->count; i++)
        if (plan->ops[i].stream == TT_STREAM_COMM) plan->ops[i].stream = TT_STREAM_MAIN;
}

tt_status tt_measure_overlap(struct tt_step_times *t, struct tt_backend *b, struct tt_run *run, struct tt_plan *plan,
                             struct tt_overlap *out)
{
    *out = (struct tt_overlap){0};
    TT_TRY(tt_step_times_take(t, b, run));
    out->median = out->one_stream = out->kernels = tt_quantile(t->seconds, t->repeats, 0.5);
    out->p95 = tt_quantile(t->seconds, t->repeats, 0.95);
    if (!plan->collective) return TT_OK;
    double noise = noise_squared(t);
    tt_stepper_close(&run->stepper); /* its graph has communication on a stream of its own */
    put_on_one_stream(plan);
    TT_TRY(tt_step_times_take(t, b, run));
    out->one_stream = tt_quantile(t->seconds, t->repeats, 0.5);
    out->noise = sqrt(noise + noise_squared(t));
    TT_TRY(time_collectives(t, b, plan, out));
    out->hidden = fmin(fmax(out->one_stream - out->median, 0), out->communication);
    return TT_OK;
}
