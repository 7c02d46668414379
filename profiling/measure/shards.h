/* What one rank has in its device's memory and sends in a step, by what is divided among the ranks (--shard). It is
 * read off the plans, before anything is allocated. What the library of the collectives takes for itself is not in
 * it. */
#ifndef TT_SHARDS_H
#define TT_SHARDS_H

#include "model/session.h"
#include "profiling/measure/cost.h"

enum { TT_SHARDINGS = TT_SHARD_WEIGHTS + 1 };

struct tt_shard_memory {
    double weights, gradients;
    double moments;     /* with master weights or lower halves, which are the optimiser's too */
    double activations; /* with the buckets that are gathered or summed at the time */
    double other;       /* tokens, tables, metrics */
    double total;       /* what will be allocated */
};

struct tt_shard_cost {
    struct tt_shard_memory memory;
    int collectives; /* in a step */
    double sent;     /* bytes, in a step */
};

struct tt_shard_memory tt_shard_memory_of(const struct tt_engine *e);

/* For a rank of a training with these options, divided as `shard` says. */
tt_status tt_shard_cost_of(struct tt_backend *b, const struct tt_config *c, enum tt_sharding shard,
                           struct tt_shard_cost *out);

#endif
