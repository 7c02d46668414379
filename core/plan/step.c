#include "core/plan/step.h"

static tt_status open_streams(struct tt_stepper *s)
{
    if (!s->plan->signals || s->opened) return TT_OK;
    s->opened = true;
    return tt_plan_streams_open(&s->streams, s->plan, s->backend);
}

static tt_status run_on_streams(struct tt_stepper *s)
{
    TT_TRY(open_streams(s));
    return tt_plan_run_streams(s->plan, s->backend, NULL, s->plan->signals ? &s->streams : NULL);
}

static tt_status capture(struct tt_stepper *s)
{
    const struct tt_backend_ops *ops = s->backend->ops;
    TT_TRY(open_streams(s)); /* not during the capture */
    TT_TRY(ops->graph_begin(s->backend->self, NULL));
    tt_status st = run_on_streams(s);
    tt_status end = ops->graph_end(s->backend->self, NULL, &s->graph);
    if (!st) return end;
    tt_status_free(end);
    return st;
}

static tt_status run(struct tt_stepper *s)
{
    const struct tt_backend_ops *ops = s->backend->ops;
    bool first = !s->warm, graph = s->graph_wanted && ops->graph_begin;
    s->warm = true;
    if (first || !graph)
        return s->plan->collective && !graph ? run_on_streams(s) : tt_plan_run(s->plan, s->backend, NULL);
    if (!s->graph) TT_TRY(capture(s));
    return ops->graph_replay(s->backend->self, s->graph, NULL);
}

tt_status tt_step(struct tt_stepper *s)
{
    TT_TRY(run(s));
    return s->after ? s->after(s->user, s->backend) : TT_OK;
}

static void drop_graph(struct tt_stepper *s)
{
    if (s->graph) s->backend->ops->graph_destroy(s->backend->self, s->graph);
    s->graph = NULL;
}

void tt_stepper_replan(struct tt_stepper *s, const struct tt_plan *plan)
{
    drop_graph(s);
    s->plan = plan;
    s->opened = false;
}

void tt_stepper_close(struct tt_stepper *s)
{
    drop_graph(s);
    if (s->streams.events) tt_plan_streams_close(&s->streams, s->backend);
    s->opened = false;
}
