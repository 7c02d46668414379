#include "profiling/measure/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_GPUS = 65536, NODE_GPUS = 8 };

/* Reads the "8x" of "8xh200" and moves *text past it. 0: there is no count, or it is too large. */
static int count_before(const char **text)
{
    size_t digits = strspn(*text, "0123456789");
    long n = strtol(*text, NULL, 10);
    if (!digits || (*text)[digits] != 'x' || n > MOST_GPUS) return 0;
    *text += digits + 1;
    return (int)n;
}

static tt_status bad(const char *text)
{
    return tt_fail(TT_USAGE, "--predict %s: write a chip, GPUs x chip (8xh200), or nodes x GPUs x chip (4x8xh200), of "
                             "at most %d GPUs", text, MOST_GPUS);
}

/* The name of a chip may itself begin with a number (7900xtx), so the whole text is tried as a name first. */
static tt_status split(const char *text, struct tt_cluster *out)
{
    int counts[2] = {0}, n = 0;
    const char *at = text;
    while (!tt_chip_find(at)) {
        if (n == 2) return bad(text);
        counts[n] = count_before(&at);
        if (!counts[n++]) return bad(text);
    }
    out->chip = tt_chip_find(at);
    out->nodes = n == 2 ? counts[0] : 1;
    out->gpus = n == 2 ? counts[1] : counts[0];
    return (int64_t)out->nodes * out->gpus > MOST_GPUS ? bad(text) : TT_OK;
}

static tt_status take_ranks(const char *text, int64_t ranks, struct tt_cluster *c)
{
    if (c->gpus && ranks > 1 && tt_cluster_ranks(c) != ranks)
        return tt_fail(TT_USAGE, "--predict %s means %d GPUs, but --ranks says %lld; leave --ranks out", text,
                       tt_cluster_ranks(c), (long long)ranks);
    if (!c->gpus && ranks > NODE_GPUS)
        return tt_fail(TT_USAGE, "--predict %s --ranks %lld: more than %d GPUs; say how many nodes they are in, for "
                                 "example 2x8x%s", text, (long long)ranks, NODE_GPUS, text);
    if (!c->gpus) c->gpus = (int)ranks;
    return TT_OK;
}

static void name(struct tt_cluster *c)
{
    const char *chip = c->chip->name;
    if (c->nodes > 1)
        snprintf(c->name, sizeof c->name, "%dx%dx%s", c->nodes, c->gpus, chip);
    else if (c->gpus > 1)
        snprintf(c->name, sizeof c->name, "%dx%s", c->gpus, chip);
    else
        snprintf(c->name, sizeof c->name, "%s", chip);
}

tt_status tt_cluster_read(const char *text, int64_t ranks, struct tt_cluster *out)
{
    *out = (struct tt_cluster){0};
    TT_TRY(split(text, out));
    TT_TRY(take_ranks(text, ranks, out));
    if (out->gpus > 1 && !out->chip->link.name)
        return tt_fail(TT_USAGE, "--predict %s: how fast the link between several %s is depends on the machine, so "
                                 "only one GPU can be predicted", text, out->chip->name);
    name(out);
    return TT_OK;
}

double tt_cluster_rate(const struct tt_cluster *c)
{
    double link = c->chip->link.bandwidth, network = c->gpus * tt_network_bandwidth;
    if (tt_cluster_ranks(c) == 1) return 0;
    if (c->nodes == 1) return link;
    return c->gpus == 1 || network < link ? network : link;
}
