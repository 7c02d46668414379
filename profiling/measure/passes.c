#include "profiling/measure/passes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/stats.h"
#include "core/config/hooks.h"
#include "core/plan/step.h"
#include "profiling/measure/derive.h"
#include "profiling/measure/overlap.h"

/* ---- opening ---- */

static tt_status make_room(struct tt_times *t, int steps, int ops, bool collective)
{
    size_t n = (size_t)steps;
    t->steps = steps;
    t->ops = ops;
    t->step = calloc(n, sizeof *t->step);
    t->launched = calloc(n, sizeof *t->launched);
    t->op = calloc(n * (size_t)ops, sizeof *t->op);
    t->recorded = calloc(n, sizeof *t->recorded);
    t->copy = calloc(n, sizeof *t->copy);
    t->data_host = calloc(n, sizeof *t->data_host);
    t->scratch = calloc(n, sizeof *t->scratch);
    t->number = calloc(n, sizeof *t->number);
    t->one = calloc((size_t)ops, sizeof *t->one);
    t->median = calloc((size_t)ops, sizeof *t->median);
    t->phase = calloc(n, sizeof *t->phase);
    if (collective) t->beside = calloc(n * (size_t)ops, sizeof *t->beside);
    if (collective) t->spans = calloc((size_t)ops, sizeof *t->spans);
    bool whole = t->step && t->launched && t->op && t->recorded && t->copy && t->data_host && t->scratch && t->number &&
                 t->one && t->median && t->phase && !collective == !t->beside && !collective == !t->spans;
    return whole ? TT_OK : tt_no_memory("the times of %d steps of %d operations", steps, ops);
}

tt_status tt_passes_open(struct tt_passes *r)
{
    const struct tt_backend *real = r->o->backend;
    struct tt_config *c = &r->config;
    r->backend = tt_relay_open(&r->relay, real);
    TT_TRY(real->ops->info(real->self, &r->before));
    r->serial = r->before.shares_memory;
    real->ops->reset_peak(real->self);
    TT_TRY(tt_session_open(&r->session, &r->backend, c, TT_USE_TRAIN | (tt_hooks_validate(c) ? TT_USE_EVAL : 0)));
    TT_TRY(r->o->open_data(c, &r->data));
    TT_TRY(tt_session_run(&r->session, c, (struct tt_origin){0}, r->data, &r->run));
    /* What a guest of the run does beside the step is not in the plan, so the recorder does not see it. */
    r->run.backend = &r->relay.real;
    TT_TRY(tt_run_start(&r->run, TT_TOKENS_FED));
    r->graph = r->run.graph && real->ops->graph_begin;
    TT_TRY(make_room(&r->t, (int)r->o->steps, r->session.step->count, r->session.step->collective));
    return tt_recorder_open(&r->recorder, &r->relay, r->session.step, &r->hold);
}

void tt_passes_close(struct tt_passes *r)
{
    struct tt_times *t = &r->t;
    tt_recorder_close(&r->recorder);
    tt_hold_close(&r->hold);
    tt_run_close(&r->run);
    if (r->data) tt_data_close(r->data);
    r->data = NULL;
    tt_session_close(&r->session);
    free(r->first_gradients);
    r->first_gradients = NULL;
    free(t->step);
    free(t->launched);
    free(t->op);
    free(t->beside);
    free(t->spans);
    free(t->recorded);
    free(t->copy);
    free(t->data_host);
    free(t->scratch);
    free(t->number);
    free(t->one);
    free(t->median);
    free(t->phase);
    *t = (struct tt_times){0};
}

double tt_passes_median(struct tt_passes *r, const double *row)
{
    memcpy(r->t.scratch, row, (size_t)r->t.steps * sizeof *row);
    return tt_quantile(r->t.scratch, r->t.steps, 0.5);
}

/* ---- steps ---- */

static void say(const struct tt_passes *r, const char *what)
{
    if (r->o->say) r->o->say(what);
}

static tt_status real_sync(struct tt_passes *r) { return r->relay.real.ops->stream_sync(r->relay.real.self, NULL); }

static tt_status free_memory(struct tt_passes *r, double *bytes)
{
    struct tt_device_info info;
    TT_TRY(real_sync(r));
    TT_TRY(r->relay.real.ops->info(r->relay.real.self, &info));
    *bytes = (double)info.memory_free;
    return TT_OK;
}

/* The first step runs operation by operation, the second is captured; the device memory that capturing takes is the
 * graph's pool. Without a graph there are two as well, or the losses of two profiles would be of different steps. */
static tt_status warm_up(struct tt_passes *r, struct tt_stepper *s, bool record)
{
    double before, after;
    int64_t least = 2, n = r->o->warmup > least ? r->o->warmup : least;
    say(r, "warming up");
    TT_TRY(tt_run_step_by(&r->run, s));
    if (record) TT_TRY(tt_take_first_gradients(r));
    r->t.graph_pool = NAN;
    if (r->graph) {
        TT_TRY(free_memory(r, &before));
        TT_TRY(tt_run_step_by(&r->run, s));
        TT_TRY(free_memory(r, &after));
        r->t.graph_pool = before > after ? before - after : 0;
    }
    while (r->run.progress.step < n) TT_TRY(tt_run_step_by(&r->run, s));
    r->warmed = r->run.progress.step;
    return real_sync(r);
}

/* A pass runs `count` steps and leaves their times from index `from` on. */
struct span {
    int from, count;
};

/* With a late update each step makes that of the step before, and the first may have none to make. Then the update that
 * the last step leaves, which is made by itself, counts as the first one's. */
static tt_status time_undisturbed(struct tt_passes *r, struct tt_stepper *s, struct span span)
{
    const struct tt_backend *b = &r->relay.real;
    bool lacks_update = r->run.late_plan && !r->run.late.due;
    double update;
    TT_TRY(tt_recorder_mode(&r->recorder, TT_RECORD_NOTHING, span.count + 1));
    tt_event *events = r->recorder.events;
    TT_TRY(real_sync(r));
    struct tt_turns before = tt_turns_now();
    double start = tt_seconds();
    TT_TRY(b->ops->event_record(b->self, r->recorder.origin, NULL));
    for (int i = 0; i < span.count; i++) {
        r->t.number[span.from + i] = r->run.progress.step;
        TT_TRY(tt_run_step_by(&r->run, s));
        TT_TRY(b->ops->event_record(b->self, events[i], NULL));
    }
    TT_TRY(tt_engine_settle(r->run.engine));
    TT_TRY(b->ops->event_record(b->self, events[span.count], NULL));
    TT_TRY(real_sync(r));
    r->t.wall += tt_seconds() - start;
    struct tt_turns after = tt_turns_now();
    tt_turns_add(&r->t.turns, &before, &after);
    for (int i = 0; i < span.count; i++)
        TT_TRY(b->ops->event_elapsed(b->self, i ? events[i - 1] : r->recorder.origin, events[i],
                                     &r->t.step[span.from + i]));
    TT_TRY(b->ops->event_elapsed(b->self, events[span.count - 1], events[span.count], &update));
    if (lacks_update) r->t.step[span.from] += update;
    return TT_OK;
}

/* Steps launched operation by operation, with an event where the phase changes: few enough not to disturb. What follows
 * a step, such as a validation, counts in the next step's time. A single step has no next one, so it ends when
 * everything is done. */
static tt_status time_phases(struct tt_passes *r, struct tt_stepper *s, struct span span)
{
    struct tt_recorder *rec = &r->recorder;
    const struct tt_backend *b = &r->relay.real;
    TT_TRY(tt_recorder_mode(rec, TT_RECORD_PHASES, span.count));
    TT_TRY(real_sync(r));
    int64_t waits = r->relay.waits;
    TT_TRY(b->ops->event_record(b->self, rec->origin, NULL));
    for (int i = 0; i < span.count; i++) {
        tt_recorder_step(rec, i, r->run.progress.step);
        TT_TRY(tt_run_step_by(&r->run, s));
        r->t.data_host[span.from + i] = r->run.data_seconds;
    }
    r->t.waits += (double)(r->relay.waits - waits);
    TT_TRY(b->ops->event_record(b->self, rec->end, NULL));
    for (int i = 0; i < span.count; i++) {
        tt_event from = i ? tt_recorder_last_event(rec, i - 1) : rec->origin;
        tt_event to = span.count > 1 ? tt_recorder_last_event(rec, i) : rec->end;
        TT_TRY(b->ops->event_elapsed(b->self, from, to, &r->t.launched[span.from + i]));
        TT_TRY(tt_recorder_phases(rec, i, &r->t.phase[span.from + i]));
    }
    return TT_OK;
}

static tt_status read_operations(struct tt_passes *r, int at)
{
    struct tt_times *t = &r->t;
    double event = r->launch.event_seconds;
    if (!t->beside) {
        TT_TRY(tt_recorder_ops(&r->recorder, t->one, &t->recorded[at]));
        for (int i = 0; i < t->ops; i++) t->op[i * t->steps + at] = fmax(0, t->one[i] - event);
        return TT_OK;
    }
    TT_TRY(tt_recorder_spans(&r->recorder, t->spans, &t->recorded[at]));
    tt_exposed(r->session.step, t->spans, t->one);
    for (int i = 0; i < t->ops; i++) {
        double seconds = fmax(0, t->spans[i].end - t->spans[i].start - event);
        bool communicates = tt_op_communicates(&r->session.step->ops[i]);
        t->op[i * t->steps + at] = communicates ? fmin(t->one[i], seconds) : seconds;
        t->beside[i * t->steps + at] = communicates ? seconds : 0;
    }
    return TT_OK;
}

static tt_status recorded_step(struct tt_passes *r, struct tt_stepper *s, int at, double *host)
{
    struct tt_times *t = &r->t;
    tt_recorder_step(&r->recorder, 0, r->run.progress.step);
    double start = tt_seconds();
    TT_TRY(tt_run_step_by(&r->run, s));
    *host = tt_seconds() - start;
    TT_TRY(real_sync(r));
    TT_TRY(read_operations(r, at));
    return tt_recorder_copies(&r->recorder, &t->copy[at], &t->copy_bytes, &t->copy_count);
}

/* A first step only tells how long the host needs to enqueue a step with all its events. The device is held up for that
 * long before each recorded step, so that the host stays ahead. */
static tt_status time_operations(struct tt_passes *r, struct tt_stepper *s, struct span span)
{
    double host;
    TT_TRY(tt_recorder_mode(&r->recorder, TT_RECORD_OPS, 1));
    if (!r->serial && span.from == 0) {
        TT_TRY(recorded_step(r, s, 0, &host));
        r->recorder.hold_seconds = 1.3 * host;
    }
    struct tt_turns before = tt_turns_now();
    for (int i = 0; i < span.count; i++) TT_TRY(recorded_step(r, s, span.from + i, &host));
    struct tt_turns after = tt_turns_now();
    tt_turns_add(&r->t.recorded_turns, &before, &after);
    return TT_OK;
}

enum { TRACE_STEPS = 2 };

/* A step of many operations is traced once, others twice. The number of steps that run is the same, so that the losses
 * of profiles can be compared. */
static tt_status trace(struct tt_passes *r, struct tt_stepper *s)
{
    struct tt_recorder *rec = &r->recorder;
    say(r, "tracing");
    r->traced = r->t.ops <= 500 ? TRACE_STEPS : 1;
    TT_TRY(tt_recorder_mode(rec, TT_RECORD_TRACE, 1));
    for (int i = 0; i < r->traced; i++) {
        tt_recorder_step(rec, 0, r->run.progress.step);
        tt_recorder_push(rec, "step");
        tt_status st = tt_run_step_by(&r->run, s);
        tt_recorder_pop(rec);
        TT_TRY(st);
        TT_TRY(real_sync(r));
        TT_TRY(tt_recorder_trace(rec));
    }
    TT_TRY(tt_recorder_mode(rec, TT_RECORD_NOTHING, 0));
    for (int i = r->traced; i < TRACE_STEPS; i++) TT_TRY(tt_run_step_by(&r->run, s));
    return real_sync(r);
}

enum { TURN = 5 };

/* The passes take turns, so that a machine that grows busier, or a clock that falls when the device is hot, slows all
 * of them alike. A GPU is given a few steps in a row each time. */
static tt_status time_all(struct tt_passes *r, struct tt_stepper *configured, struct tt_stepper *launched)
{
    int n = r->t.steps, turn = r->serial ? 1 : TURN;
    for (struct span span = {0}; span.from < n; span.from += span.count) {
        span.count = n - span.from < turn ? n - span.from : turn;
        say(r, "timing steps");
        TT_TRY(time_undisturbed(r, configured, span));
        if (!launched) continue;
        say(r, "timing phases");
        TT_TRY(time_phases(r, launched, span));
        say(r, "timing operations");
        TT_TRY(time_operations(r, launched, span));
    }
    r->t.wall /= n;
    r->t.waits /= n;
    return TT_OK;
}

/* When launched operation by operation, only communication runs beside the rest, and there is no side stream: two
 * kernels at a time would both seem to take longer. */
static tt_status open_side(struct tt_stepper *s)
{
    tt_stream *side = &s->streams.streams[TT_STREAM_SIDE];
    if (!s->plan->collective || !s->plan->signals) return TT_OK;
    TT_TRY(tt_plan_streams_open(&s->streams, s->plan, s->backend));
    s->opened = true;
    if (*side) s->backend->ops->stream_destroy(s->backend->self, *side);
    *side = NULL;
    return TT_OK;
}

tt_status tt_passes_run(struct tt_passes *r, bool record)
{
    const struct tt_backend *b = &r->relay.real;
    struct tt_stepper *configured = &r->run.stepper;
    struct tt_stepper launched = {.backend = &r->backend, .plan = r->session.step, .warm = true,
                                  .after = configured->after, .user = configured->user};
    tt_status st = warm_up(r, configured, record);
    if (!st) st = b->ops->info(b->self, &r->after);
    if (!st && record) {
        say(r, "timing launches");
        st = tt_hold_open(&r->hold, &r->relay.real);
        if (!st) st = tt_measure_launch(&r->hold, r->session.step->count, r->o->launches, &r->launch);
    }
    if (!st && record) st = open_side(&launched);
    if (!st) st = time_all(r, configured, record ? &launched : NULL);
    if (!st && record) st = trace(r, &launched);
    tt_stepper_close(&launched);
    return st;
}
