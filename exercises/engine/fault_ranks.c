/* Faults that only show with several ranks. They do not change a bit of what a run computes. */
#include <stdlib.h>

#include "core/base/rng.h"
#include "exercises/engine/fault.h"

/* ---- slow-rank ---- */

enum { TIMES = 3 };

int tt_fault_slow_rank(const struct tt_config *c)
{
    enum { STREAM = 13 };
    if (c->ranks < 2) return -1;
    return (int)(tt_random((uint64_t)c->seed, STREAM, (uint64_t)c->ranks) % (uint64_t)c->ranks);
}

/* How often to make a product. One that does not add to its own result can be repeated: the result is the same. */
static int times(const struct tt_op *op)
{
    bool again = op->kind == TT_OP_GEMM && op->phase == TT_FORWARD &&
                 (op->args.gemm.beta == 0 || op->args.gemm.from);
    return again ? TIMES : 1;
}

static tt_status repeat_products(struct tt_plan *p)
{
    int total = 0, n = 0;
    for (int i = 0; i < p->count; i++) total += times(&p->ops[i]);
    struct tt_op *ops = malloc((size_t)total * sizeof *ops);
    if (!ops) return tt_no_memory("a plan of %d operations", total);
    for (int i = 0; i < p->count; i++)
        for (int k = 0; k < times(&p->ops[i]); k++) ops[n++] = p->ops[i];
    free(p->ops);
    p->ops = ops;
    p->count = total;
    p->op_room = (size_t)total;
    return TT_OK;
}

/* ---- late-bucket ---- */

/* Whether the operation sums gradients over ranks, or follows such a sum on its stream: adding the sums to those of
 * earlier micro-batches. */
static bool sums_gradients(const struct tt_op *op)
{
    bool gathers = op->kind == TT_OP_COLLECTIVE && op->args.collective.kind == TT_ALL_GATHER;
    return op->stream == TT_STREAM_COMM && op->phase == TT_BACKWARD && !gathers;
}

/* The index behind the backward pass of a micro-batch that begins at `first`; `first` if none begins there. */
static int end_of_backward(const struct tt_plan *p, int first)
{
    int end = first;
    while (end < p->count && p->ops[end].phase == TT_BACKWARD && p->ops[end].micro == p->ops[first].micro) end++;
    return end;
}

/* Moves the sums behind the other operations; the order within each of the two stays. The sums go to the main stream:
 * there they begin only when the kernels before them have ended, however far ahead the host is. */
static void sums_last(struct tt_op *ops, int count, struct tt_op *late)
{
    int kept = 0, moved = 0;
    for (int i = 0; i < count; i++) {
        if (sums_gradients(&ops[i]))
            late[moved++] = ops[i];
        else
            ops[kept++] = ops[i];
    }
    for (int i = 0; i < moved; i++) {
        late[i].stream = TT_STREAM_MAIN;
        ops[kept++] = late[i];
    }
}

static tt_status delay_sums(struct tt_plan *p)
{
    struct tt_op *late = malloc((size_t)p->count * sizeof *late);
    if (!late) return tt_no_memory("a plan of %d operations", p->count);
    for (int i = 0; i < p->count;) {
        int end = end_of_backward(p, i);
        sums_last(p->ops + i, end - i, late);
        i = end > i ? end : i + 1;
    }
    free(late);
    return TT_OK;
}

tt_status tt_fault_edit_ranks(const struct tt_config *c, struct tt_plan *p)
{
    if (c->ranks < 2) return TT_OK;
    if (tt_fault_of(c) == TT_FAULT_LATE_BUCKET) return delay_sums(p);
    return c->rank == tt_fault_slow_rank(c) ? repeat_products(p) : TT_OK;
}
