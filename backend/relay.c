#include "backend/relay.h"

#define REAL struct tt_backend *b = &((struct tt_relay *)self)->real

static tt_status before(struct tt_relay *r, enum tt_relay_call call, size_t bytes, tt_stream s)
{
    return r->hooks.before ? r->hooks.before(r->user, call, bytes, s) : TT_OK;
}

static tt_status after(struct tt_relay *r, enum tt_relay_call call, size_t bytes, tt_stream s)
{
    return r->hooks.after ? r->hooks.after(r->user, call, bytes, s) : TT_OK;
}

/* ---- calls with hooks ---- */

static tt_status relay_gemm(void *self, const struct tt_gemm *g, tt_stream s)
{
    struct tt_relay *r = self;
    TT_TRY(before(r, TT_RELAY_WORK, 0, s));
    TT_TRY(r->real.ops->gemm(r->real.self, g, s));
    r->work++;
    return after(r, TT_RELAY_WORK, 0, s);
}

static tt_status relay_launch(void *self, enum tt_kernel kernel, const void *args, tt_stream s)
{
    struct tt_relay *r = self;
    TT_TRY(before(r, TT_RELAY_WORK, 0, s));
    TT_TRY(r->real.ops->launch(r->real.self, kernel, args, s));
    r->work++;
    return after(r, TT_RELAY_WORK, 0, s);
}

static tt_status relay_collective(void *self, const struct tt_collective *c, tt_stream s)
{
    struct tt_relay *r = self;
    TT_TRY(before(r, TT_RELAY_WORK, 0, s));
    TT_TRY(r->real.ops->collective(r->real.self, c, s));
    r->work++;
    return after(r, TT_RELAY_WORK, 0, s);
}

static tt_status relay_copy(void *self, void *dst, const void *src, size_t bytes, enum tt_direction dir, tt_stream s)
{
    struct tt_relay *r = self;
    TT_TRY(before(r, TT_RELAY_COPY, bytes, s));
    TT_TRY(r->real.ops->copy(r->real.self, dst, src, bytes, dir, s));
    r->copies++;
    return after(r, TT_RELAY_COPY, bytes, s);
}

static tt_status relay_stream_sync(void *self, tt_stream s)
{
    struct tt_relay *r = self;
    TT_TRY(before(r, TT_RELAY_WAIT, 0, s));
    TT_TRY(r->real.ops->stream_sync(r->real.self, s));
    r->waits++;
    return after(r, TT_RELAY_WAIT, 0, s);
}

static tt_status relay_event_sync(void *self, tt_event e)
{
    struct tt_relay *r = self;
    TT_TRY(before(r, TT_RELAY_WAIT, 0, NULL));
    TT_TRY(r->real.ops->event_sync(r->real.self, e));
    r->waits++;
    return after(r, TT_RELAY_WAIT, 0, NULL);
}

static tt_status relay_event_elapsed(void *self, tt_event from, tt_event to, double *seconds)
{
    struct tt_relay *r = self;
    TT_TRY(before(r, TT_RELAY_WAIT, 0, NULL));
    TT_TRY(r->real.ops->event_elapsed(r->real.self, from, to, seconds));
    r->waits++;
    return after(r, TT_RELAY_WAIT, 0, NULL);
}

static void relay_range_push(void *self, const char *name)
{
    struct tt_relay *r = self;
    if (r->hooks.push) r->hooks.push(r->user, name);
    if (r->real.ops->range_push) r->real.ops->range_push(r->real.self, name);
}

static void relay_range_pop(void *self)
{
    struct tt_relay *r = self;
    if (r->real.ops->range_pop) r->real.ops->range_pop(r->real.self);
    if (r->hooks.pop) r->hooks.pop(r->user);
}

/* ---- calls that are only forwarded ---- */

// clang-format off
static void relay_close(void *self) { (void)self; }
static tt_status relay_info(void *self, struct tt_device_info *out) { REAL; return b->ops->info(b->self, out); }
static void relay_reset_peak(void *self) { REAL; b->ops->reset_peak(b->self); }
static tt_status relay_alloc(void *self, size_t n, void **out) { REAL; return b->ops->alloc(b->self, n, out); }
static void relay_free(void *self, void *p) { REAL; b->ops->free(b->self, p); }
static tt_status relay_host_alloc(void *self, size_t n, void **out) { REAL; return b->ops->host_alloc(b->self, n, out); }
static void relay_host_free(void *self, void *p) { REAL; b->ops->host_free(b->self, p); }
static tt_status relay_fill(void *self, void *dst, int byte, size_t n, tt_stream s)
{
    REAL;
    return b->ops->fill(b->self, dst, byte, n, s);
}
static tt_status relay_stream_create(void *self, tt_stream *out) { REAL; return b->ops->stream_create(b->self, out); }
static void relay_stream_destroy(void *self, tt_stream s) { REAL; b->ops->stream_destroy(b->self, s); }
static tt_status relay_stream_wait(void *self, tt_stream s, tt_event e) { REAL; return b->ops->stream_wait(b->self, s, e); }
static tt_status relay_event_create(void *self, tt_event *out) { REAL; return b->ops->event_create(b->self, out); }
static void relay_event_destroy(void *self, tt_event e) { REAL; b->ops->event_destroy(b->self, e); }
static tt_status relay_event_record(void *self, tt_event e, tt_stream s) { REAL; return b->ops->event_record(b->self, e, s); }
static tt_status relay_event_query(void *self, tt_event e, bool *done) { REAL; return b->ops->event_query(b->self, e, done); }
static tt_status relay_graph_begin(void *self, tt_stream s) { REAL; return b->ops->graph_begin(b->self, s); }
static tt_status relay_graph_end(void *self, tt_stream s, tt_graph *out) { REAL; return b->ops->graph_end(b->self, s, out); }
static tt_status relay_graph_replay(void *self, tt_graph g, tt_stream s) { REAL; return b->ops->graph_replay(b->self, g, s); }
static void relay_graph_destroy(void *self, tt_graph g) { REAL; b->ops->graph_destroy(b->self, g); }
static tt_status relay_delay(void *self, double seconds, tt_stream s) { REAL; return b->ops->delay(b->self, seconds, s); }
static tt_status relay_split(void *self, int group) { REAL; return b->ops->split(b->self, group); }
static tt_status relay_usage(void *self, struct tt_usage *out) { REAL; return b->ops->usage(b->self, out); }
static tt_status relay_join(void *self, const struct tt_ranks *r) { REAL; return b->ops->join(b->self, r); }
// clang-format on

/* Optional calls that the real backend has. */
static void add_optional(struct tt_backend_ops *ops, const struct tt_backend_ops *real)
{
    if (real->graph_begin) {
        ops->graph_begin = relay_graph_begin;
        ops->graph_end = relay_graph_end;
        ops->graph_replay = relay_graph_replay;
        ops->graph_destroy = relay_graph_destroy;
    }
    if (real->delay) ops->delay = relay_delay;
    if (real->usage) ops->usage = relay_usage;
    if (real->join) {
        ops->join = relay_join;
        ops->collective = relay_collective;
    }
    if (real->split) ops->split = relay_split;
}

void tt_relay_watch(struct tt_relay *r, const struct tt_relay_hooks *hooks, void *user)
{
    r->hooks = hooks ? *hooks : (struct tt_relay_hooks){0};
    r->user = user;
    bool ranges = r->hooks.push || r->real.ops->range_push;
    r->ops.range_push = ranges ? relay_range_push : NULL;
    r->ops.range_pop = ranges ? relay_range_pop : NULL;
}

struct tt_backend tt_relay_open(struct tt_relay *r, const struct tt_backend *real)
{
    *r = (struct tt_relay){.real = *real};
    r->ops = (struct tt_backend_ops){
        .name = real->ops->name,
        .close = relay_close,
        .info = relay_info,
        .reset_peak = relay_reset_peak,
        .alloc = relay_alloc,
        .free = relay_free,
        .host_alloc = relay_host_alloc,
        .host_free = relay_host_free,
        .copy = relay_copy,
        .fill = relay_fill,
        .gemm = relay_gemm,
        .launch = relay_launch,
        .stream_create = relay_stream_create,
        .stream_destroy = relay_stream_destroy,
        .stream_sync = relay_stream_sync,
        .stream_wait = relay_stream_wait,
        .event_create = relay_event_create,
        .event_destroy = relay_event_destroy,
        .event_record = relay_event_record,
        .event_query = relay_event_query,
        .event_sync = relay_event_sync,
        .event_elapsed = relay_event_elapsed,
    };
    add_optional(&r->ops, real->ops);
    tt_relay_watch(r, NULL, NULL);
    return (struct tt_backend){&r->ops, r};
}
