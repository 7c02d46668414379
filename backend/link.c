#include "backend/link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double tt_link_seconds(const struct tt_link *l, double bytes)
{
    double n = l->ranks;
    return (n - 1) / n * bytes / l->bytes_per_second + (n - 1) * l->seconds_latency;
}

static tt_status link_join(void *self, const struct tt_ranks *ranks)
{
    struct tt_link *l = self;
    struct tt_backend *real = &l->relay.real;
    if (!ranks || ranks->count < 2) return TT_OK;
    if (!real->ops->join) return tt_fail(TT_UNSUPPORTED, "join: this build has no collectives");
    TT_TRY(real->ops->join(real->self, ranks));
    l->joined = true;
    return TT_OK;
}

/* Without a job there is nothing to reduce: `to`, if it differs from `from`, gets this rank's own data. */
static tt_status pretend(struct tt_link *l, const struct tt_collective *c)
{
    struct tt_backend *real = &l->relay.real;
    size_t bytes = (size_t)c->count * tt_dtype_size(c->type);
    if (c->kind != TT_ALL_REDUCE) bytes /= (size_t)c->ranks;
    return c->from == c->to ? TT_OK : real->ops->copy(real->self, c->to, c->from, bytes, TT_ON_DEVICE, NULL);
}

static tt_status link_collective(void *self, const struct tt_collective *c, tt_stream s)
{
    struct tt_link *l = self;
    struct tt_backend *real = &l->relay.real;
    double bytes = (double)c->count * (double)tt_dtype_size(c->type);
    TT_TRY(l->joined ? real->ops->collective(real->self, c, s) : pretend(l, c));
    return real->ops->delay(real->self, (c->kind == TT_ALL_REDUCE ? 2 : 1) * tt_link_seconds(l, bytes), s);
}

static tt_status link_info(void *self, struct tt_device_info *out)
{
    struct tt_link *l = self;
    TT_TRY(l->relay.real.ops->info(l->relay.real.self, out));
    snprintf(out->collectives, sizeof out->collectives, "simulated links: %d ranks, %.4g GB/s, %.4g us", l->ranks,
             1e-9 * l->bytes_per_second, 1e6 * l->seconds_latency);
    return TT_OK;
}

tt_status tt_link_open(struct tt_link *l, const struct tt_backend *real, int ranks, double bytes_per_second,
                       double seconds_latency, struct tt_backend *out)
{
    if (ranks < 1 || !(bytes_per_second > 0) || !(seconds_latency >= 0))
        return tt_fail(TT_USAGE, "a simulated link needs ranks, a speed and a latency, not %d, %g B/s and %g s", ranks,
                       bytes_per_second, seconds_latency);
    if (!real->ops->delay)
        return tt_fail(TT_UNSUPPORTED, "links are simulated on the CPU only, not by the backend %s", real->ops->name);
    memset(l, 0, sizeof *l);
    *out = tt_relay_open(&l->relay, real);
    l->ranks = ranks;
    l->bytes_per_second = bytes_per_second;
    l->seconds_latency = seconds_latency;
    l->relay.ops.info = link_info;
    l->relay.ops.join = link_join;
    l->relay.ops.collective = link_collective;
    l->relay.ops.split = NULL; /* the simulated links are those between all ranks */
    return TT_OK;
}

static void close_both(void *self)
{
    struct tt_link *l = self;
    l->relay.real.ops->close(l->relay.real.self);
    free(l);
}

tt_status tt_link_wrap(struct tt_backend *b, int ranks, double bytes_per_second, double seconds_latency)
{
    struct tt_link *l = malloc(sizeof *l);
    if (!l) return tt_no_memory("a simulated link");
    tt_status st = tt_link_open(l, b, ranks, bytes_per_second, seconds_latency, b);
    if (st)
        free(l);
    else
        l->relay.ops.close = close_both;
    return st;
}
