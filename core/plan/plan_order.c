/* Finishing a plan whose operations run on two streams: which must wait for which. Operations of one stream follow each
 * other anyway; one waits for the last of the other stream's before it that touches the same bytes, unless both only
 * read them. Bytes are those of the places, so a buffer that takes another's place waits too. */
#include <stdlib.h>

#include "core/plan/plan.h"

struct range {
    int space; /* -1: the arena, else an external */
    size_t from, to;
    bool writes;
};

struct ranges {
    struct range r[TT_MAX_OPERANDS];
    int n;
};

/* From the first to behind the last byte of a GEMM's result or operand of `rows` rows of `cols`. */
static size_t extent(int64_t rows, int64_t cols, int64_t ld, int64_t batch, int64_t stride, enum tt_dtype type)
{
    return (size_t)((batch - 1) * stride + (rows - 1) * ld + cols) * tt_dtype_size(type);
}

static size_t gemm_extent(const struct tt_gemm *g, size_t field)
{
    if (field == offsetof(struct tt_gemm, a))
        return g->trans_a ? extent(g->k, g->m, g->lda, g->batch, g->stride_a, g->type_a)
                          : extent(g->m, g->k, g->lda, g->batch, g->stride_a, g->type_a);
    if (field == offsetof(struct tt_gemm, b))
        return g->trans_b ? extent(g->n, g->k, g->ldb, g->batch, g->stride_b, g->type_b)
                          : extent(g->k, g->n, g->ldb, g->batch, g->stride_b, g->type_b);
    return extent(g->m, g->n, g->ldc, g->batch, g->stride_c, g->type_c);
}

/* A buffer counts whole. Of an external, a kernel may touch all from where it points. */
static struct ranges ranges_of(const struct tt_plan *p, const struct tt_op *op)
{
    struct tt_operand operands[TT_MAX_OPERANDS];
    struct ranges out = {.n = tt_op_operands(op, operands)};
    for (int i = 0; i < out.n; i++) {
        size_t offset;
        int owner = tt_plan_owner(tt_op_pointer(op, &operands[i]), &offset);
        struct range *r = &out.r[i];
        r->writes = operands[i].access != TT_READ;
        if (owner >= 0) {
            r->space = -1;
            r->from = p->buffers[owner].offset;
            r->to = r->from + p->buffers[owner].bytes;
        } else {
            r->space = -1 - owner;
            r->from = offset;
            r->to = op->is_gemm ? offset + gemm_extent(&op->args.gemm, operands[i].field) : SIZE_MAX;
        }
    }
    return out;
}

static bool meet(const struct ranges *a, const struct ranges *b)
{
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < b->n; j++) {
            const struct range *x = &a->r[i], *y = &b->r[j];
            if (x->space == y->space && (x->writes || y->writes) && x->from < y->to && y->from < x->to) return true;
        }
    return false;
}

/* The last operation in (after, i) of the other stream that i must not run beside; -1: none. */
static int last_meeting(const struct tt_plan *p, const struct ranges *ranges, int i, int after)
{
    for (int j = i - 1; j > after; j--)
        if (p->ops[j].stream != p->ops[i].stream && meet(&ranges[i], &ranges[j])) return j;
    return -1;
}

static int signal_of(struct tt_plan *p, int op)
{
    if (p->ops[op].signal < 0) p->ops[op].signal = p->signals++;
    return p->ops[op].signal;
}

tt_status tt_plan_order(struct tt_plan *p)
{
    int done[2] = {-1, -1}; /* up to which operation of the other stream each stream has waited */
    int last = -1;          /* the last one on the side stream */
    p->join = -1;
    for (int i = 0; i < p->count; i++)
        if (p->ops[i].stream) last = i;
    if (last < 0) return TT_OK;
    struct ranges *ranges = malloc((size_t)p->count * sizeof *ranges);
    if (!ranges) return tt_no_memory("ordering %d operations", p->count);
    for (int i = 0; i < p->count; i++) ranges[i] = ranges_of(p, &p->ops[i]);
    for (int i = 0; i < p->count; i++) {
        int *known = &done[p->ops[i].stream], other = last_meeting(p, ranges, i, *known);
        if (other < 0) continue;
        p->ops[i].wait = signal_of(p, other);
        *known = other;
    }
    if (done[0] < last) p->join = signal_of(p, last);
    free(ranges);
    return TT_OK;
}
