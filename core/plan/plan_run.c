/* Runs a plan: enqueues operation after operation. Allocates nothing. */
#include <stdio.h>
#include <stdlib.h>

#include "core/plan/plan.h"

/* The profiler ranges that are open: a phase, and a layer in it; -1: none. */
struct marks {
    struct tt_backend *b;
    int phase, layer;
};

static void leave_layer(struct marks *m)
{
    if (m->layer >= 0) m->b->ops->range_pop(m->b->self);
    m->layer = -1;
}

static void leave(struct marks *m)
{
    leave_layer(m);
    if (m->phase >= 0) m->b->ops->range_pop(m->b->self);
    m->phase = -1;
}

static void enter(struct marks *m, const struct tt_op *op)
{
    if (m->phase != (int)op->phase) {
        leave(m);
        m->phase = (int)op->phase;
        m->b->ops->range_push(m->b->self, tt_phase_name(op->phase));
    }
    if (m->layer == op->layer) return;
    leave_layer(m);
    m->layer = op->layer;
    if (op->layer < 0) return;
    char name[32];
    snprintf(name, sizeof name, "layer_%d", op->layer);
    m->b->ops->range_push(m->b->self, name);
}

static tt_status run_op(const struct tt_op *op, struct tt_backend *b, tt_stream s)
{
    if (op->kind == TT_OP_GEMM) return b->ops->gemm(b->self, &op->args.gemm, s);
    if (op->kind == TT_OP_COLLECTIVE) return b->ops->collective(b->self, &op->args.collective, s);
    return b->ops->launch(b->self, op->kernel, &op->args, s);
}

/* ---- several streams ---- */

static bool uses(const struct tt_plan *p, enum tt_plan_stream stream)
{
    for (int i = 0; i < p->count; i++)
        if (p->ops[i].stream == stream) return true;
    return false;
}

tt_status tt_plan_streams_open(struct tt_plan_streams *a, const struct tt_plan *p, struct tt_backend *b)
{
    int room = p->signals > a->count ? p->signals : a->count;
    tt_event *events = realloc(a->events, ((size_t)room + 1) * sizeof *events);
    if (events) a->events = events;
    tt_status st = events ? TT_OK : tt_no_memory("the events of a plan's streams");
    for (int i = TT_STREAM_MAIN + 1; i < TT_STREAMS && !st; i++)
        if (!a->streams[i] && uses(p, (enum tt_plan_stream)i)) st = b->ops->stream_create(b->self, &a->streams[i]);
    for (; a->count < p->signals && !st; a->count++) st = b->ops->event_create(b->self, &a->events[a->count]);
    if (st) tt_plan_streams_close(a, b);
    return st;
}

void tt_plan_streams_close(struct tt_plan_streams *a, struct tt_backend *b)
{
    for (int i = 0; i < a->count; i++) b->ops->event_destroy(b->self, a->events[i]);
    for (int i = 0; i < TT_STREAMS; i++)
        if (a->streams[i]) b->ops->stream_destroy(b->self, a->streams[i]);
    free(a->events);
    *a = (struct tt_plan_streams){0};
}

static tt_status wait_for(const int signals[TT_STREAMS], struct tt_backend *b, tt_stream s,
                          const struct tt_plan_streams *a)
{
    for (int i = 0; i < TT_STREAMS; i++)
        if (signals[i] >= 0) TT_TRY(b->ops->stream_wait(b->self, s, a->events[signals[i]]));
    return TT_OK;
}

static tt_status run_on_stream(const struct tt_op *op, struct tt_backend *b, tt_stream s,
                               const struct tt_plan_streams *a)
{
    tt_stream here = op->stream == TT_STREAM_MAIN ? s : a->streams[op->stream];
    TT_TRY(wait_for(op->wait, b, here, a));
    TT_TRY(run_op(op, b, here));
    return op->signal >= 0 ? b->ops->event_record(b->self, a->events[op->signal], here) : TT_OK;
}

/* ---- the whole plan ---- */

tt_status tt_plan_run_streams(const struct tt_plan *p, struct tt_backend *b, tt_stream s,
                              const struct tt_plan_streams *a)
{
    struct marks marks = {b, -1, -1};
    bool marked = b->ops->range_push != NULL;
    tt_status st = TT_OK;
    for (int i = 0; i < p->count && !st; i++) {
        const struct tt_op *op = &p->ops[i];
        if (marked) {
            enter(&marks, op);
            b->ops->range_push(b->self, tt_op_name(op));
        }
        st = a ? run_on_stream(op, b, s, a) : run_op(op, b, s);
        if (marked) b->ops->range_pop(b->self);
        if (st) st = tt_context(st, "%s in %s, operation %d", tt_op_name(op), tt_phase_name(op->phase), i);
    }
    if (marked) leave(&marks);
    return !st && a ? wait_for(p->join, b, s, a) : st;
}

tt_status tt_plan_run(const struct tt_plan *p, struct tt_backend *b, tt_stream s)
{
    return tt_plan_run_streams(p, b, s, NULL);
}
