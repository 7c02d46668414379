/* Faults that only several ranks feel. They compute what a run without them computes, to the last bit. */
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

/* A product that does not add to its own result has the same result when it is made again. */
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

/* A sum of gradients, or what follows it on its stream: adding it to those of the micro-batches before. */
static bool sums_gradients(const struct tt_op *op)
{
    bool gathers = op->kind == TT_OP_COLLECTIVE && op->args.collective.kind == TT_ALL_GATHER;
    return op->stream == TT_STREAM_COMM && op->phase == TT_BACKWARD && !gathers;
}

/* The end of a micro-batch's backward pass that begins at `first`. */
static int end_of_backward(const struct tt_plan *p, int first)
{
    int end = first;
    while (end < p->count && p->ops[end].phase == TT_BACKWARD && p->ops[end].micro == p->ops[first].micro) end++;
    return end;
}

/* Keeps the order among the sums and among the others. The sums go to the stream of the kernels, where they begin when
 * those before have ended, however far ahead the host is. */
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
