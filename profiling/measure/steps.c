#include "profiling/measure/steps.h"

#include <math.h>
#include <stdlib.h>

#include "backend/relay.h"
#include "core/base/load.h"
#include "core/base/range.h"
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
    tt_event *events;      /* before and after each collective; then before and after the step */
    int count, n;          /* events of collectives in a step; in this step so far */
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

/* Steps with communication beside the kernels and steps on one stream take turns. What drifts meanwhile, a clock or
 * other work, then slows both alike, and each pair of neighbours gives a difference. */
struct turns {
    struct tt_stepper *beside, one;
    struct tt_plan plan; /* of `one`: it keeps its waits, which on one stream are always met */
    int pairs;
    tt_event *events;                     /* 2 pairs + 1 */
    double *with, *without, *differences; /* seconds of each pair */
};

enum { LEAST_PAIRS = 6 }; /* fewer have no interval of 95 % */

static tt_status open_turns(struct turns *t, struct tt_backend *b, struct tt_run *run, const struct tt_plan *plan)
{
    size_t n = (size_t)t->pairs;
    t->beside = &run->stepper;
    t->plan = *plan;
    t->plan.ops = malloc((size_t)plan->count * sizeof *plan->ops);
    t->events = calloc(2 * n + 1, sizeof *t->events);
    t->with = calloc(3 * n, sizeof *t->with);
    if (!t->plan.ops || !t->events || !t->with) return tt_no_memory("%d pairs of steps", t->pairs);
    t->without = t->with + n;
    t->differences = t->without + n;
    for (int i = 0; i < plan->count; i++) {
        t->plan.ops[i] = plan->ops[i];
        if (plan->ops[i].stream == TT_STREAM_COMM) t->plan.ops[i].stream = TT_STREAM_MAIN;
    }
    t->one = (struct tt_stepper){.backend = t->beside->backend, .plan = &t->plan, .warm = true,
                                 .graph_wanted = t->beside->graph_wanted, .after = t->beside->after,
                                 .user = t->beside->user};
    for (int i = 0; i <= 2 * t->pairs; i++) TT_TRY(b->ops->event_create(b->self, &t->events[i]));
    return TT_OK;
}

static void close_turns(struct turns *t, struct tt_backend *b)
{
    for (int i = 0; t->events && i <= 2 * t->pairs; i++)
        if (t->events[i]) b->ops->event_destroy(b->self, t->events[i]);
    if (t->one.backend) tt_stepper_close(&t->one);
    free(t->events);
    free(t->with);
    free(t->plan.ops);
}

/* Which of the two comes first changes from pair to pair. */
static tt_status take_turns(struct turns *t, struct tt_backend *b, struct tt_run *run)
{
    double seconds[2];
    TT_TRY(b->ops->event_record(b->self, t->events[0], NULL));
    for (int i = 0; i < 2 * t->pairs; i++) {
        bool beside = i % 2 == i / 2 % 2;
        TT_TRY(tt_run_step_by(run, beside ? t->beside : &t->one));
        TT_TRY(b->ops->event_record(b->self, t->events[i + 1], NULL));
    }
    for (int i = 0; i < t->pairs; i++) {
        for (int k = 0; k < 2; k++)
            TT_TRY(b->ops->event_elapsed(b->self, t->events[2 * i + k], t->events[2 * i + k + 1], &seconds[k]));
        t->with[i] = seconds[i % 2];
        t->without[i] = seconds[1 - i % 2];
        t->differences[i] = t->without[i] - t->with[i];
    }
    return TT_OK;
}

tt_status tt_hidden_of(double *differences, int n, struct tt_overlap *out)
{
    struct tt_range range;
    TT_TRY(tt_median_range(differences, n, &range));
    out->hidden = fmin(fmax(tt_quantile(differences, n, 0.5), 0), out->communication);
    out->noise = fmax(out->hidden - range.low, range.high - out->hidden);
    return TT_OK;
}

/* ---- all of it ---- */

static tt_status take_alone(struct tt_step_times *t, struct tt_backend *b, struct tt_run *run, struct tt_overlap *out)
{
    struct tt_turns before = tt_turns_now();
    TT_TRY(tt_step_times_take(t, b, run));
    out->waited = tt_waited_since(&before);
    out->median = out->one_stream = out->kernels = tt_quantile(t->seconds, t->repeats, 0.5);
    out->p95 = tt_quantile(t->seconds, t->repeats, 0.95);
    return TT_OK;
}

/* Captures both graphs. The memory is read after the first, since training has only that one. */
static tt_status warm_up(int steps, struct turns *t, struct tt_backend *b, struct tt_run *run, struct tt_overlap *out)
{
    struct tt_device_info info;
    for (int i = 0; i < 2 || i < steps; i++) TT_TRY(tt_run_step_by(run, t->beside));
    TT_TRY(b->ops->info(b->self, &info));
    out->memory = (double)info.memory_peak;
    for (int i = 0; i < 1 || i < steps; i++) TT_TRY(tt_run_step_by(run, &t->one));
    return TT_OK;
}

static tt_status measure_turns(struct tt_step_times *steps, struct turns *t, struct tt_backend *b, struct tt_run *run,
                               struct tt_overlap *out)
{
    TT_TRY(warm_up(steps->warmup, t, b, run, out));
    struct tt_turns before = tt_turns_now();
    TT_TRY(take_turns(t, b, run));
    out->waited = tt_waited_since(&before);
    out->median = tt_quantile(t->with, t->pairs, 0.5);
    out->p95 = tt_quantile(t->with, t->pairs, 0.95);
    out->one_stream = tt_quantile(t->without, t->pairs, 0.5);
    TT_TRY(time_collectives(steps, b, &t->plan, out));
    return tt_hidden_of(t->differences, t->pairs, out);
}

static tt_status measure_ranks(struct tt_step_times *steps, struct tt_backend *b, struct tt_run *run,
                               const struct tt_plan *plan, struct tt_overlap *out)
{
    struct turns t = {.pairs = steps->repeats > LEAST_PAIRS ? steps->repeats : LEAST_PAIRS};
    tt_status st = open_turns(&t, b, run, plan);
    if (!st) st = measure_turns(steps, &t, b, run, out);
    close_turns(&t, b);
    return st;
}

/* Where some steps have another plan (run->plan_of), steps are timed as they come; what is hidden is measured with
 * `plan`, that of the whole step. */
tt_status tt_measure_overlap(struct tt_step_times *steps, struct tt_backend *b, struct tt_run *run,
                             const struct tt_plan *plan, struct tt_overlap *out)
{
    struct tt_device_info info;
    struct tt_overlap alone = {0};
    *out = (struct tt_overlap){0};
    if (!plan->collective || run->plan_of) TT_TRY(take_alone(steps, b, run, &alone));
    TT_TRY(b->ops->info(b->self, &info));
    *out = alone;
    out->memory = (double)info.memory_peak;
    if (!plan->collective) return TT_OK;
    TT_TRY(measure_ranks(steps, b, run, plan, out));
    if (run->plan_of) out->median = alone.median, out->p95 = alone.p95;
    return TT_OK;
}
