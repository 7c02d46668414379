#include "profiling/measure/cost.h"

static void add(struct tt_cost *c, double flops, double bytes)
{
    c->count++;
    c->flops += flops;
    c->bytes += bytes;
}

struct tt_plan_cost tt_cost_of_plan(const struct tt_plan *p)
{
    struct tt_plan_cost cost = {0};
    for (int i = 0; i < p->count; i++) {
        const struct tt_op *op = &p->ops[i];
        double flops = tt_op_flops(op), bytes = tt_op_bytes(op);
        add(&cost.total, flops, bytes);
        add(&cost.phase[op->phase], flops, bytes);
        add(&cost.group[op->group], flops, bytes);
        if (op->kind == TT_OP_GEMM) add(&cost.gemm, flops, bytes);
        if (op->kind != TT_OP_COLLECTIVE) continue;
        cost.collectives++;
        cost.sent += tt_collective_sent(&op->args.collective);
    }
    return cost;
}
