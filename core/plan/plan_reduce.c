/* A finished plan without the operations whose results nobody needs, for the steps between two choices of
 * --update-every. They are found from the end of the list to its beginning. An operation is needed if it writes
 * something that outlives the step, or something that a later needed operation reads. Gradients are the exception: only
 * those of weights that will be changed are needed. */
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/plan/plan_ranges.h"

/* What the needed operations after the current one read. */
struct needs {
    const struct tt_plan *p;
    enum tt_external x;
    bool *buffers;
    struct tt_bytes *of_x;
    int count;
    size_t room;
};

static bool overlaps(const struct needs *n, const struct range *r)
{
    for (int i = 0; i < n->count; i++)
        if (r->from < n->of_x[i].to && n->of_x[i].from < r->to) return true;
    return false;
}

static bool is_needed(const struct needs *n, const struct ranges *op)
{
    for (int i = 0; i < op->n; i++) {
        const struct range *r = &op->r[i];
        if (!(r->access & TT_WRITE)) continue;
        if (r->space < 0 ? n->buffers[r->buffer] : r->space != (int)n->x || overlaps(n, r)) return true;
    }
    return false;
}

static bool writes_external(const struct ranges *op, enum tt_external x)
{
    for (int i = 0; i < op->n; i++)
        if (op->r[i].space == (int)x && op->r[i].access & TT_WRITE) return true;
    return false;
}

static bool add(struct needs *n, struct tt_bytes bytes)
{
    if (!tt_grow(&n->of_x, sizeof *n->of_x, (size_t)n->count, &n->room)) return false;
    n->of_x[n->count++] = bytes;
    return true;
}

static bool add_reads(struct needs *n, const struct ranges *op)
{
    bool adds_to_x = writes_external(op, n->x);
    for (int i = 0; i < op->n; i++) {
        const struct range *r = &op->r[i];
        if (!(r->access & TT_READ)) continue;
        if (r->space < 0) n->buffers[r->buffer] = true;
        if (r->space == (int)n->x && adds_to_x && !add(n, (struct tt_bytes){r->from, r->to})) return false;
    }
    return true;
}

static bool find_needed(struct needs *n, bool *needed)
{
    for (int i = n->p->count - 1; i >= 0; i--) {
        struct ranges op = tt_op_ranges(n->p, &n->p->ops[i]);
        needed[i] = is_needed(n, &op);
        if (needed[i] && !add_reads(n, &op)) return false;
    }
    return true;
}

static void keep(struct tt_plan *to, const struct tt_plan *from, const bool *needed)
{
    to->count = 0;
    to->collective = false;
    for (int i = 0; i < from->count; i++) {
        if (!needed[i]) continue;
        struct tt_op *op = &to->ops[to->count++];
        *op = from->ops[i];
        for (int s = 0; s < TT_STREAMS; s++) op->wait[s] = -1;
        op->signal = -1;
        to->collective = to->collective || op->kind == TT_OP_COLLECTIVE;
    }
    to->signals = 0;
}

static tt_status copy_plan(const struct tt_plan *p, struct tt_plan **out)
{
    struct tt_plan *copy = malloc(sizeof *copy);
    struct tt_op *ops = malloc(((size_t)p->count + 1) * sizeof *ops);
    struct tt_buffer *buffers = malloc(((size_t)p->buffer_count + 1) * sizeof *buffers);
    if (!copy || !ops || !buffers) {
        free(copy), free(ops), free(buffers);
        return tt_no_memory("a plan of %d operations", p->count);
    }
    *copy = *p;
    copy->ops = ops;
    copy->buffers = buffers;
    memcpy(buffers, p->buffers, (size_t)p->buffer_count * sizeof *buffers);
    *out = copy;
    return TT_OK;
}

tt_status tt_plan_reduce(const struct tt_plan *p, enum tt_external x, const struct tt_bytes *wanted, int n,
                         struct tt_plan **out)
{
    struct needs needs = {.p = p, .x = x, .buffers = calloc((size_t)p->buffer_count + 1, sizeof *needs.buffers)};
    bool *needed = calloc((size_t)p->count + 1, sizeof *needed), good = needs.buffers && needed;
    for (int i = 0; i < n && good; i++) good = add(&needs, wanted[i]);
    good = good && find_needed(&needs, needed);
    struct tt_plan *less = NULL;
    tt_status st = good ? copy_plan(p, &less) : tt_no_memory("a part of %d operations", p->count);
    if (!st) {
        keep(less, p, needed);
        st = tt_plan_order(less);
    }
    free(needs.buffers);
    free(needs.of_x);
    free(needed);
    if (st)
        tt_plan_free(less);
    else
        *out = less;
    return st;
}
