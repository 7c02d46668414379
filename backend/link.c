#include "backend/link.h"

#include <stdio.h>
#include <string.h>

double tt_link_seconds(const struct tt_link *l, double bytes)
{
    double n = l->ranks;
    return (n - 1) / n * bytes / l->bytes_per_second + (n - 1) * l->seconds_latency;
}

static tt_status wait_for(struct tt_link *l, int rounds, size_t count, enum tt_dtype type, tt_stream s)
{
    double seconds = rounds * tt_link_seconds(l, (double)(count * tt_dtype_size(type)));
    return l->relay.real.ops->delay(l->relay.real.self, seconds, s);
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

static tt_status link_all_reduce(void *self, void *buf, size_t count, enum tt_dtype type, tt_stream s)
{
    struct tt_link *l = self;
    if (l->joined) TT_TRY(l->relay.real.ops->all_reduce(l->relay.real.self, buf, count, type, s));
    return wait_for(l, 2, count, type, s);
}

static tt_status link_reduce_scatter(void *self, void *buf, size_t count, enum tt_dtype type, tt_stream s)
{
    struct tt_link *l = self;
    if (l->joined) TT_TRY(l->relay.real.ops->reduce_scatter(l->relay.real.self, buf, count, type, s));
    return wait_for(l, 1, count, type, s);
}

static tt_status link_all_gather(void *self, void *buf, size_t count, enum tt_dtype type, tt_stream s)
{
    struct tt_link *l = self;
    if (l->joined) TT_TRY(l->relay.real.ops->all_gather(l->relay.real.self, buf, count, type, s));
    return wait_for(l, 1, count, type, s);
}

static tt_status link_info(void *self, struct tt_device_info *out)
{
    struct tt_link *l = self;
    TT_TRY(l->relay.real.ops->info(l->relay.real.self, out));
    snprintf(out->collectives, sizeof out->collectives, "simulated: %d ranks, %.4g GB/s, %.4g us", l->ranks,
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
    l->relay.ops.all_reduce = link_all_reduce;
    l->relay.ops.reduce_scatter = link_reduce_scatter;
    l->relay.ops.all_gather = link_all_gather;
    return TT_OK;
}
