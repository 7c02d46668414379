/* Running a plan: entry after entry to the backend. Decides nothing, allocates nothing. */
#include <stdio.h>

#include "core/plan.h"

/* The nested ranges that are open now: a phase, and a layer in it. */
struct marks {
    struct tt_backend *b;
    int phase, layer;
};

static void leave(struct marks *m)
{
    if (m->layer >= 0) m->b->ops->range_pop(m->b->self);
    if (m->phase >= 0) m->b->ops->range_pop(m->b->self);
    m->phase = m->layer = -1;
}

static void enter(struct marks *m, const struct tt_op *op)
{
    if (m->phase == (int)op->phase && m->layer == op->layer) return;
    leave(m);
    m->phase = (int)op->phase;
    m->layer = op->layer;
    m->b->ops->range_push(m->b->self, tt_phase_name(op->phase));
    if (op->layer < 0) return;
    char name[32];
    snprintf(name, sizeof name, "layer_%d", op->layer);
    m->b->ops->range_push(m->b->self, name);
}

static tt_status run_op(const struct tt_op *op, struct tt_backend *b, tt_stream s)
{
    if (op->is_gemm) return b->ops->gemm(b->self, &op->args.gemm, s);
    return b->ops->launch(b->self, op->kernel, &op->args, s);
}

tt_status tt_plan_run(const struct tt_plan *p, struct tt_backend *b, tt_stream s)
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
        st = run_op(op, b, s);
        if (marked) b->ops->range_pop(b->self);
        if (st) st = tt_context(st, "%s in %s, operation %d", tt_op_name(op), tt_phase_name(op->phase), i);
    }
    if (marked) leave(&marks);
    return st;
}
