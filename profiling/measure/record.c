#include "profiling/measure/record.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "profiling/measure/trace.h"

static tt_status record(struct tt_recorder *r, tt_event e, tt_stream s)
{
    return r->relay->real.ops->event_record(r->relay->real.self, e, s);
}

static tt_status elapsed(struct tt_recorder *r, tt_event from, tt_event to, double *seconds)
{
    return r->relay->real.ops->event_elapsed(r->relay->real.self, from, to, seconds);
}

static tt_status next_event(struct tt_recorder *r, tt_stream s)
{
    int i = r->first + r->used++;
    if (r->clock) r->clock[i] = tt_seconds();
    return record(r, r->events[i], s);
}

/* ---- what the relay calls ---- */

static bool phase_begins(const struct tt_recorder *r)
{
    return r->at == 0 || r->plan->ops[r->at].phase != r->plan->ops[r->at - 1].phase;
}

/* Phases are timed on the compute stream, also where one begins with a collective on another stream. */
static tt_status before_work(struct tt_recorder *r, tt_stream s)
{
    switch (r->mode) {
    case TT_RECORD_PHASES:
        return phase_begins(r) ? next_event(r, NULL) : TT_OK;
    case TT_RECORD_OPS:
        if (r->at == 0) TT_TRY(tt_hold_enqueue(r->hold, r->hold_seconds));
        return r->at == 0 || r->plan->collective ? next_event(r, s) : TT_OK;
    case TT_RECORD_TRACE:
        return next_event(r, s);
    default:
        return TT_OK;
    }
}

static tt_status after_work(struct tt_recorder *r, tt_stream s)
{
    r->at++;
    switch (r->mode) {
    case TT_RECORD_PHASES:
        return r->at == r->plan->count ? next_event(r, NULL) : TT_OK;
    case TT_RECORD_OPS:
    case TT_RECORD_TRACE:
        return next_event(r, s);
    default:
        return TT_OK;
    }
}

static bool wants_copies(const struct tt_recorder *r) { return r->mode == TT_RECORD_OPS || r->mode == TT_RECORD_TRACE; }

/* Provides events for one more copy of this step; those of earlier steps are used again. */
static tt_status want_copy(struct tt_recorder *r)
{
    const struct tt_backend *b = &r->relay->real;
    if (r->copies < r->copy_room) return TT_OK;
    struct tt_copy_events *events = realloc(r->copy_events, (size_t)(r->copies + 1) * sizeof *events);
    if (!events) return tt_no_memory("%d copies", r->copies + 1);
    r->copy_events = events;
    events[r->copy_room++] = (struct tt_copy_events){0};
    TT_TRY(b->ops->event_create(b->self, &events[r->copies].start));
    return b->ops->event_create(b->self, &events[r->copies].end);
}

/* Kernels that a guest of the run launches after the plan's own are not part of the step. */
static bool is_of_plan(const struct tt_recorder *r) { return r->at < r->plan->count; }

static tt_status before(void *user, enum tt_relay_call call, size_t bytes, tt_stream s)
{
    struct tt_recorder *r = user;
    if (call == TT_RELAY_WORK) return is_of_plan(r) ? before_work(r, s) : TT_OK;
    if (call == TT_RELAY_WAIT) r->wait_start = tt_seconds();
    if (call != TT_RELAY_COPY || !wants_copies(r)) return TT_OK;
    TT_TRY(want_copy(r));
    r->copy_events[r->copies].bytes = (double)bytes;
    return record(r, r->copy_events[r->copies].start, s);
}

static tt_status after(void *user, enum tt_relay_call call, size_t bytes, tt_stream s)
{
    (void)bytes;
    struct tt_recorder *r = user;
    if (call == TT_RELAY_WORK) return is_of_plan(r) ? after_work(r, s) : TT_OK;
    if (call == TT_RELAY_WAIT && r->mode == TT_RECORD_TRACE)
        tt_trace_add(r, "host", "wait", "wait", "", -1, r->wait_start - r->zero, tt_seconds() - r->zero);
    if (call != TT_RELAY_COPY || !wants_copies(r)) return TT_OK;
    return record(r, r->copy_events[r->copies++].end, s);
}

static void push(void *user, const char *name) { tt_recorder_push(user, name); }
static void pop(void *user) { tt_recorder_pop(user); }

/* ---- opening ---- */

tt_status tt_recorder_open(struct tt_recorder *r, struct tt_relay *relay, const struct tt_plan *plan,
                           struct tt_hold *hold)
{
    const struct tt_backend *b = &relay->real;
    *r = (struct tt_recorder){.relay = relay, .plan = plan, .hold = hold, .segments = 1};
    for (int i = 1; i < plan->count; i++) r->segments += plan->ops[i].phase != plan->ops[i - 1].phase;
    TT_TRY(b->ops->event_create(b->self, &r->origin));
    return b->ops->event_create(b->self, &r->end);
}

static tt_status want_events(struct tt_recorder *r, int64_t wanted)
{
    const struct tt_backend *b = &r->relay->real;
    if (wanted <= r->event_room) return TT_OK;
    if (wanted > 1 << 20)
        return tt_fail(TT_USAGE, "%lld events are too many; use fewer --num-steps", (long long)wanted);
    tt_event *events = realloc(r->events, (size_t)wanted * sizeof *events);
    if (!events) return tt_no_memory("%lld events", (long long)wanted);
    r->events = events;
    for (; r->event_room < wanted; r->event_room++) TT_TRY(b->ops->event_create(b->self, &events[r->event_room]));
    return TT_OK;
}

static int64_t events_of(const struct tt_recorder *r, enum tt_record_mode mode)
{
    switch (mode) {
    case TT_RECORD_PHASES:
        return r->segments + 1;
    case TT_RECORD_OPS:
        return r->plan->collective ? 2 * r->plan->count : r->plan->count + 1;
    case TT_RECORD_TRACE:
        return 2 * r->plan->count;
    default:
        return 1; /* the caller's own */
    }
}

tt_status tt_recorder_mode(struct tt_recorder *r, enum tt_record_mode mode, int steps)
{
    int64_t wanted = events_of(r, mode) * steps;
    TT_TRY(want_events(r, wanted));
    free(r->clock);
    r->clock = NULL;
    if (mode == TT_RECORD_PHASES) {
        r->clock = calloc((size_t)wanted, sizeof *r->clock);
        if (!r->clock) return tt_no_memory("%d steps", steps);
    }
    r->mode = mode;
    bool traces = mode == TT_RECORD_TRACE;
    struct tt_relay_hooks hooks = {before, after, traces ? push : NULL, traces ? pop : NULL};
    tt_relay_watch(r->relay, mode == TT_RECORD_NOTHING ? NULL : &hooks, r);
    if (traces) {
        TT_TRY(r->relay->real.ops->stream_sync(r->relay->real.self, NULL));
        r->zero = tt_seconds();
        TT_TRY(record(r, r->origin, NULL));
        /* so that no copy on another stream comes before it */
        return r->relay->real.ops->stream_sync(r->relay->real.self, NULL);
    }
    return TT_OK;
}

void tt_recorder_close(struct tt_recorder *r)
{
    if (!r->relay) return;
    const struct tt_backend *b = &r->relay->real;
    for (int i = 0; i < r->event_room; i++) b->ops->event_destroy(b->self, r->events[i]);
    for (int i = 0; i < r->copy_room; i++) {
        if (r->copy_events[i].start) b->ops->event_destroy(b->self, r->copy_events[i].start);
        if (r->copy_events[i].end) b->ops->event_destroy(b->self, r->copy_events[i].end);
    }
    if (r->origin) b->ops->event_destroy(b->self, r->origin);
    if (r->end) b->ops->event_destroy(b->self, r->end);
    tt_relay_watch(r->relay, NULL, NULL);
    free(r->events);
    free(r->copy_events);
    free(r->clock);
    free(r->trace);
    *r = (struct tt_recorder){0};
}

void tt_recorder_step(struct tt_recorder *r, int index, int64_t step)
{
    r->at = r->used = r->copies = 0;
    r->first = r->mode == TT_RECORD_PHASES ? index * (r->segments + 1) : 0;
    r->step = step;
}

/* ---- reading ---- */

tt_event tt_recorder_last_event(const struct tt_recorder *r, int index)
{
    return r->events[(index + 1) * (r->segments + 1) - 1];
}

tt_status tt_recorder_phases(struct tt_recorder *r, int index, struct tt_phase_times *out)
{
    const struct tt_op *ops = r->plan->ops;
    int e = index * (r->segments + 1);
    *out = (struct tt_phase_times){0};
    for (int i = 0; i < r->plan->count; i++) {
        if (i > 0 && ops[i].phase == ops[i - 1].phase) continue;
        double seconds;
        TT_TRY(elapsed(r, r->events[e], r->events[e + 1], &seconds));
        out->wall[ops[i].phase] += seconds;
        out->host[ops[i].phase] += r->clock[e + 1] - r->clock[e];
        e++;
    }
    return TT_OK;
}

tt_status tt_recorder_ops(struct tt_recorder *r, double *seconds, double *whole)
{
    for (int i = 0; i < r->plan->count; i++) TT_TRY(elapsed(r, r->events[i], r->events[i + 1], &seconds[i]));
    return elapsed(r, r->events[0], r->events[r->plan->count], whole);
}

tt_status tt_recorder_spans(struct tt_recorder *r, struct tt_op_time *spans, double *whole)
{
    *whole = 0;
    for (int i = 0; i < r->plan->count; i++) {
        TT_TRY(elapsed(r, r->events[0], r->events[2 * i], &spans[i].start));
        TT_TRY(elapsed(r, r->events[0], r->events[2 * i + 1], &spans[i].end));
        if (spans[i].end > *whole) *whole = spans[i].end;
    }
    return TT_OK;
}

tt_status tt_recorder_copies(struct tt_recorder *r, double *seconds, double *bytes, int *count)
{
    *seconds = *bytes = 0;
    *count = r->copies;
    for (int i = 0; i < r->copies; i++) {
        double one;
        TT_TRY(elapsed(r, r->copy_events[i].start, r->copy_events[i].end, &one));
        *seconds += one;
        *bytes += r->copy_events[i].bytes;
    }
    return TT_OK;
}

/* ---- the trace ---- */

void tt_recorder_push(struct tt_recorder *r, const char *name)
{
    if (r->depth < (int)(sizeof r->open / sizeof *r->open)) {
        strncpy(r->open[r->depth].name, name, sizeof r->open[0].name - 1);
        r->open[r->depth].start = tt_seconds() - r->zero;
    }
    r->depth++;
}

static const char *kind_of_range(const char *name)
{
    if (!strcmp(name, "step")) return "step";
    if (!strcmp(name, "data_loading")) return "range";
    for (int p = 0; p < TT_PHASES; p++)
        if (!strcmp(name, tt_phase_name((enum tt_phase)p))) return "phase";
    return strncmp(name, "layer_", 6) ? "launch" : "layer";
}

void tt_recorder_pop(struct tt_recorder *r)
{
    if (r->depth-- > (int)(sizeof r->open / sizeof *r->open)) return;
    const char *name = r->open[r->depth].name, *kind = kind_of_range(name);
    int layer = strcmp(kind, "layer") ? -1 : atoi(name + 6);
    tt_trace_add(r, "host", name, kind, "", layer, r->open[r->depth].start, tt_seconds() - r->zero);
}

static tt_status since_origin(struct tt_recorder *r, tt_event e, double *seconds)
{
    return elapsed(r, r->origin, e, seconds);
}

tt_status tt_recorder_trace(struct tt_recorder *r)
{
    for (int i = 0; i < r->copies; i++) {
        double start, end;
        TT_TRY(since_origin(r, r->copy_events[i].start, &start));
        TT_TRY(since_origin(r, r->copy_events[i].end, &end));
        tt_trace_add(r, "copy", "copy", "copy", "copies", -1, start, end);
    }
    struct tt_trace_ranges ranges = {.layer = -2, .phase = -1};
    for (int i = 0; i < r->plan->count; i++) {
        double start, end;
        TT_TRY(since_origin(r, r->events[2 * i], &start));
        TT_TRY(since_origin(r, r->events[2 * i + 1], &end));
        tt_trace_kernel(r, &ranges, &r->plan->ops[i], start, end);
    }
    tt_trace_close(r, &ranges);
    return r->failed ? tt_no_memory("the trace") : TT_OK;
}
