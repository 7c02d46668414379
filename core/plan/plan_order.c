/* Finishes a plan that uses several streams: which operation waits for which. Operations of one stream run in order. An
 * operation also waits for the last earlier one of each other stream that touches the same bytes, unless both only read
 * them. These are bytes of the arena, so an operation also waits before it reuses the memory of another buffer. */
#include <stdlib.h>

#include "core/plan/plan_ranges.h"

static bool writes(const struct range *r) { return r->access != TT_READ; }

static bool conflict(const struct ranges *a, const struct ranges *b)
{
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < b->n; j++) {
            const struct range *x = &a->r[i], *y = &b->r[j];
            if (x->space == y->space && (writes(x) || writes(y)) && x->from < y->to && y->from < x->to) return true;
        }
    return false;
}

/* The state of the pass over the operations. */
struct order {
    struct tt_plan *p;
    struct ranges *ranges;
    int *before;                      /* the operation before each on the same stream; -1: none */
    int last[TT_STREAMS];             /* the last operation so far on each stream; -1: none */
    int done[TT_STREAMS][TT_STREAMS]; /* [a][b]: the last operation of b that a has waited for; -1: none */
};

/* The last operation of that stream that conflicts with i and has not been waited for; -1: none. */
static int last_conflict(const struct order *o, int i, int stream)
{
    int known = o->done[o->p->ops[i].stream][stream];
    for (int j = o->last[stream]; j > known; j = o->before[j])
        if (conflict(&o->ranges[i], &o->ranges[j])) return j;
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

/* The first operation on another stream always waits for the main stream. So the stream runs after the previous step,
 * and it joins the capture of a graph. */
static void order_one(struct order *o, int i)
{
    int here = (int)o->p->ops[i].stream;
    for (int stream = 0; stream < TT_STREAMS; stream++) {
        if (stream == here) continue;
        int other = last_conflict(o, i, stream);
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
    tt_status st = o.ranges && o.before ? TT_OK : tt_no_memory("ordering %d operations", p->count);
    for (int i = 0; i < p->count && !st; i++) {
        o.ranges[i] = tt_op_ranges(p, &p->ops[i]);
        order_one(&o, i);
    }
    for (int i = TT_STREAM_MAIN + 1; i < TT_STREAMS && !st; i++)
        if (o.done[TT_STREAM_MAIN][i] < o.last[i]) p->join[i] = signal_of(p, o.last[i]);
    free(o.ranges);
    free(o.before);
    return st;
}
