/* Finishing a plan whose operations run on several streams: which must wait for which. Operations of one stream follow
 * each other anyway; one waits for the last of each other stream's before it that touches the same bytes, unless both
 * only read them. Bytes are those of the places, so a buffer that takes another's place waits too. */
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

/* Arenas of parameters, of which a kernel touches what it says. Of another external it may touch all. */
static bool is_arena(int space)
{
    return space == TT_X_WEIGHTS || space == TT_X_MASTER || space == TT_X_LOW || space == TT_X_GRADS ||
           space == TT_X_MOMENT1 || space == TT_X_MOMENT2;
}

static size_t reach(const struct tt_op *op, const struct tt_operand *o, int space)
{
    if (op->kind == TT_OP_GEMM) return gemm_extent(&op->args.gemm, o->field);
    if (op->kind == TT_OP_KERNEL && !is_arena(space)) return SIZE_MAX / 2;
    return (size_t)(o->reach > 0 ? o->reach : o->bytes);
}

/* A buffer counts whole. */
static struct ranges ranges_of(const struct tt_plan *p, const struct tt_op *op)
{
    struct tt_operand operands[TT_MAX_OPERANDS];
    struct ranges out = {.n = tt_op_operands(op, operands)};
    for (int i = 0; i < out.n; i++) {
        size_t offset;
        int owner = tt_plan_owner(tt_op_pointer(op, &operands[i]), &offset);
        struct range *r = &out.r[i];
        r->writes = operands[i].access != TT_READ;
        r->space = owner >= 0 ? -1 : -1 - owner;
        r->from = owner >= 0 ? p->buffers[owner].offset : offset;
        r->to = r->from + (owner >= 0 ? p->buffers[owner].bytes : reach(op, &operands[i], r->space));
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

/* What is known while the operations are gone through in order. */
struct order {
    struct tt_plan *p;
    struct ranges *ranges;
    int *before;                       /* the operation before each on the same stream; -1: none */
    int last[TT_STREAMS];              /* so far on each stream; -1: none */
    int done[TT_STREAMS][TT_STREAMS];  /* [a][b]: up to which operation of b those on a have waited */
};

/* The last operation of that stream, behind those waited for already, that i must not run beside; -1: none. */
static int last_meeting(const struct order *o, int i, int stream)
{
    int known = o->done[o->p->ops[i].stream][stream];
    for (int j = o->last[stream]; j > known; j = o->before[j])
        if (meet(&o->ranges[i], &o->ranges[j])) return j;
    return -1;
}

static int signal_of(struct tt_plan *p, int op)
{
    if (p->ops[op].signal < 0) p->ops[op].signal = p->signals++;
    return p->ops[op].signal;
}

static void wait_for(struct order *o, int i, int stream, int other)
{
    struct tt_op *op = &o->p->ops[i];
    op->wait[stream] = signal_of(o->p, other);
    o->done[op->stream][stream] = other;
}

/* The first one on a stream waits for the main one in any case: with it, the stream becomes a part of the step, behind
 * the step before and inside the graph that is captured. */
static void order_one(struct order *o, int i)
{
    int here = (int)o->p->ops[i].stream;
    for (int stream = 0; stream < TT_STREAMS; stream++) {
        if (stream == here) continue;
        int other = last_meeting(o, i, stream);
        if (other < 0 && stream == TT_STREAM_MAIN && o->last[here] < 0) other = o->last[TT_STREAM_MAIN];
        if (other >= 0) wait_for(o, i, stream, other);
    }
    o->before[i] = o->last[here];
    o->last[here] = i;
}

static bool has_one_stream(const struct tt_plan *p)
{
    for (int i = 0; i < p->count; i++)
        if (p->ops[i].stream != TT_STREAM_MAIN) return false;
    return true;
}

tt_status tt_plan_order(struct tt_plan *p)
{
    struct order o = {.p = p};
    for (int a = 0; a < TT_STREAMS; a++) {
        p->join[a] = o.last[a] = -1;
        for (int b = 0; b < TT_STREAMS; b++) o.done[a][b] = -1;
    }
    if (has_one_stream(p)) return TT_OK;
    o.ranges = malloc((size_t)p->count * sizeof *o.ranges);
    o.before = malloc((size_t)p->count * sizeof *o.before);
    tt_status st = o.ranges && o.before ? TT_OK
                                        : tt_no_memory("ordering %d operations", p->count);
    for (int i = 0; i < p->count && !st; i++) {
        o.ranges[i] = ranges_of(p, &p->ops[i]);
        order_one(&o, i);
    }
    for (int i = TT_STREAM_MAIN + 1; i < TT_STREAMS && !st; i++)
        if (o.done[TT_STREAM_MAIN][i] < o.last[i]) p->join[i] = signal_of(p, o.last[i]);
    free(o.ranges);
    free(o.before);
    return st;
}
