/* Graphs for a backend that has none, so that tests of captured steps run anywhere. A capture records the operations in
 * the order in which they are enqueued; a replay runs them on the main stream. */
#ifndef TT_GRAPH_BACKEND_H
#define TT_GRAPH_BACKEND_H

#include "backend/relay.h"
#include "core/plan/plan.h"
#include "tests/test.h"

struct graph_backend {
    struct tt_relay relay; /* first member: `self` of the calls points to it */
    struct kept *captured; /* NULL: not capturing */
    int replays;
};

struct kept {
    struct tt_op *ops; /* only kind, kernel and args are set */
    int count;
};

static tt_status graph_keep(struct kept *k, const struct tt_op *op)
{
    struct tt_op *more = realloc(k->ops, (size_t)(k->count + 1) * sizeof *more);
    if (!more) return tt_no_memory("a captured operation");
    k->ops = more;
    k->ops[k->count++] = *op;
    return TT_OK;
}

static tt_status graph_gemm(void *self, const struct tt_gemm *g, tt_stream s)
{
    struct graph_backend *b = self;
    if (!b->captured) return b->relay.real.ops->gemm(b->relay.real.self, g, s);
    return graph_keep(b->captured, &(struct tt_op){.kind = TT_OP_GEMM, .args.gemm = *g});
}

static tt_status graph_launch(void *self, enum tt_kernel k, const void *args, tt_stream s)
{
    struct graph_backend *b = self;
    if (!b->captured) return b->relay.real.ops->launch(b->relay.real.self, k, args, s);
    struct tt_op op = {.kernel = k};
    memcpy(&op.args, args, tt_kernel_args_size(k));
    return graph_keep(b->captured, &op);
}

static tt_status graph_wait(void *self, tt_stream s, tt_event e)
{
    struct graph_backend *b = self;
    return b->captured ? TT_OK : b->relay.real.ops->stream_wait(b->relay.real.self, s, e);
}

static tt_status graph_record(void *self, tt_event e, tt_stream s)
{
    struct graph_backend *b = self;
    return b->captured ? TT_OK : b->relay.real.ops->event_record(b->relay.real.self, e, s);
}

static tt_status graph_begin(void *self, tt_stream s)
{
    struct graph_backend *b = self;
    (void)s;
    b->captured = calloc(1, sizeof *b->captured);
    return b->captured ? TT_OK : tt_no_memory("a graph");
}

static tt_status graph_end(void *self, tt_stream s, tt_graph *out)
{
    struct graph_backend *b = self;
    (void)s;
    *out = (tt_graph)(void *)b->captured;
    b->captured = NULL;
    return TT_OK;
}

static tt_status graph_replay(void *self, tt_graph g, tt_stream s)
{
    struct graph_backend *b = self;
    const struct tt_backend *real = &b->relay.real;
    const struct kept *k = (const struct kept *)(const void *)g;
    b->replays++;
    for (int i = 0; i < k->count; i++) {
        const struct tt_op *op = &k->ops[i];
        TT_TRY(op->kind == TT_OP_GEMM ? real->ops->gemm(real->self, &op->args.gemm, s)
                                      : real->ops->launch(real->self, op->kernel, &op->args, s));
    }
    return TT_OK;
}

static void graph_destroy(void *self, tt_graph g)
{
    struct kept *k = (struct kept *)(void *)g;
    (void)self;
    free(k->ops);
    free(k);
}

/* Returns a backend that has graphs unchanged. *b must not move while the result is in use. */
static inline struct tt_backend graph_wrap(struct graph_backend *b, const struct tt_backend *real)
{
    *b = (struct graph_backend){0};
    if (real->ops->graph_begin) return *real;
    struct tt_backend out = tt_relay_open(&b->relay, real);
    b->relay.ops.gemm = graph_gemm;
    b->relay.ops.launch = graph_launch;
    b->relay.ops.stream_wait = graph_wait;
    b->relay.ops.event_record = graph_record;
    b->relay.ops.graph_begin = graph_begin;
    b->relay.ops.graph_end = graph_end;
    b->relay.ops.graph_replay = graph_replay;
    b->relay.ops.graph_destroy = graph_destroy;
    return out;
}

#endif
