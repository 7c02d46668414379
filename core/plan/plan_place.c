/* Finishes a plan: the lifetime of each buffer and its offset in the arena. Buffers whose lifetimes do not overlap may
 * share bytes. Greedy by size: the largest first, each at the lowest offset that is free during its whole lifetime. */
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan.h"

enum { SIDE_SLACK = 8 }; /* operations; about half of the backward pass of a block */

static void touch(struct tt_plan *p, int buffer, int op, int until)
{
    struct tt_buffer *b = &p->buffers[buffer];
    if (b->first < 0) b->first = op;
    if (b->last < until) b->last = until;
}

/* Whether an operation on another stream may still run during operation i: on the side stream for SIDE_SLACK
 * operations, a collective until the end of the next layer. */
static bool may_overlap(const struct tt_op *op, int at, const struct tt_op *other, int i)
{
    if (other->micro != op->micro) return false;
    if (op->stream == TT_STREAM_SIDE) return i <= at + SIDE_SLACK;
    return other->layer >= op->layer - 1 && other->layer <= op->layer + 1;
}

/* An operation on another stream may run later than its position in the list. If its operands' memory were reused at
 * once, the main stream would have to wait for it at once. So its operands live somewhat longer. */
static int used_until(const struct tt_plan *p, int op)
{
    int last = op;
    if (p->ops[op].stream == TT_STREAM_MAIN) return op;
    while (last + 1 < p->count && may_overlap(&p->ops[op], op, &p->ops[last + 1], last + 1)) last++;
    return last;
}

static void find_lifetimes(struct tt_plan *p)
{
    struct tt_operand operands[TT_MAX_OPERANDS];
    for (int i = 0; i < p->count; i++) {
        int n = tt_op_operands(&p->ops[i], operands);
        for (int j = 0; j < n; j++) {
            size_t offset;
            int owner = tt_plan_owner(tt_op_pointer(&p->ops[i], &operands[j]), &offset);
            if (owner >= 0) touch(p, owner, i, used_until(p, i));
        }
    }
}

static size_t aligned(size_t n) { return (n + TT_ALIGN - 1) / TT_ALIGN * TT_ALIGN; }

static int larger_first(const void *x, const void *y)
{
    const struct tt_buffer *a = *(struct tt_buffer *const *)x, *b = *(struct tt_buffer *const *)y;
    if (a->bytes != b->bytes) return a->bytes < b->bytes ? 1 : -1;
    return a < b ? -1 : a > b;
}

static int lower_first(const void *x, const void *y)
{
    const struct tt_buffer *a = *(struct tt_buffer *const *)x, *b = *(struct tt_buffer *const *)y;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* The lowest gap between the already placed buffers that live at the same time. */
static size_t lowest_gap(struct tt_buffer **placed, int n, struct tt_buffer **near, const struct tt_buffer *b)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        if (placed[i]->first <= b->last && b->first <= placed[i]->last) near[count++] = placed[i];
    qsort(near, (size_t)count, sizeof *near, lower_first);
    size_t at = 0;
    for (int i = 0; i < count; i++) {
        if (near[i]->offset >= at + aligned(b->bytes)) break;
        size_t end = near[i]->offset + aligned(near[i]->bytes);
        if (end > at) at = end;
    }
    return at;
}

static tt_status place(struct tt_plan *p)
{
    struct tt_buffer **order = malloc((size_t)(p->buffer_count + 1) * 2 * sizeof *order);
    if (!order) return tt_no_memory("placing %d buffers", p->buffer_count);
    struct tt_buffer **near = order + p->buffer_count + 1;
    int n = 0;
    for (int i = 0; i < p->buffer_count; i++)
        if (p->buffers[i].twin < 0 && p->buffers[i].first >= 0) order[n++] = &p->buffers[i];
    qsort(order, (size_t)n, sizeof *order, larger_first);
    for (int i = 0; i < n; i++) {
        order[i]->offset = lowest_gap(order, i, near, order[i]);
        size_t end = order[i]->offset + aligned(order[i]->bytes);
        if (end > p->arena_bytes) p->arena_bytes = end;
    }
    free(order);
    for (int i = 0; i < p->buffer_count; i++)
        if (p->buffers[i].twin >= 0) p->buffers[i].offset = p->buffers[p->buffers[i].twin].offset;
    return TT_OK;
}

/* Micro-batches share memory, so no buffer may be used by two of them. */
static tt_status check_twins(const struct tt_plan *p)
{
    if (!p->micro_buffers) return TT_OK;
    for (int i = 0; i < p->buffer_count; i++) {
        const struct tt_buffer *b = &p->buffers[i];
        if (b->first >= 0 && p->ops[b->first].micro != p->ops[b->last].micro)
            return tt_fail(TT_FAILED, "plan: buffer %s is used by two micro-batches", b->name);
    }
    return TT_OK;
}

tt_status tt_plan_finish(struct tt_plan *p)
{
    tt_status st = p->status;
    p->status = TT_OK;
    if (st) return st;
    find_lifetimes(p);
    TT_TRY(check_twins(p));
    TT_TRY(place(p));
    return tt_plan_order(p);
}
