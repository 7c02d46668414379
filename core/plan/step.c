#include "core/plan/step.h"

static tt_status run_beside(struct tt_stepper *s)
{
    if (s->plan->signals && !s->side.events) TT_TRY(tt_side_open(&s->side, s->plan, s->backend));
    return tt_plan_run_beside(s->plan, s->backend, NULL, s->side.events ? &s->side : NULL);
}

static tt_status capture(struct tt_stepper *s)
{
    const struct tt_backend_ops *ops = s->backend->ops;
    if (s->plan->signals && !s->side.events) TT_TRY(tt_side_open(&s->side, s->plan, s->backend));
    TT_TRY(ops->graph_begin(s->backend->self, NULL));
    tt_status st = run_beside(s);
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
        return s->plan->collective && !graph ? run_beside(s) : tt_plan_run(s->plan, s->backend, NULL);
    if (!s->graph) TT_TRY(capture(s));
    return ops->graph_replay(s->backend->self, s->graph, NULL);
}

tt_status tt_step(struct tt_stepper *s)
{
    TT_TRY(run(s));
    return s->after ? s->after(s->user, s->backend) : TT_OK;
}

void tt_stepper_close(struct tt_stepper *s)
{
    if (s->graph) s->backend->ops->graph_destroy(s->backend->self, s->graph);
    if (s->side.events) tt_side_close(&s->side, s->backend);
    s->graph = NULL;
}
