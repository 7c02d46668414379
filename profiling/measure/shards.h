/* What one rank holds in device memory and sends in a step, for each --shard. It follows from the plans, before
 * anything is allocated. What NCCL, RCCL or MPI take for themselves is not included. */
#ifndef TT_SHARDS_H
#define TT_SHARDS_H

#include "model/session.h"
#include "profiling/measure/cost.h"

enum { TT_SHARDINGS = TT_SHARD_WEIGHTS + 1 };

struct tt_shard_memory {
    double weights, gradients;
    double moments;     /* with master weights or lower halves, which are the optimiser's too */
    double activations; /* with the buckets that are being gathered or summed */
    double other;       /* tokens, tables, metrics */
    double total;       /* what will be allocated */
};

struct tt_shard_cost {
    struct tt_shard_memory memory;
    int collectives; /* in a step */
    double sent;     /* bytes, in a step */
};

struct tt_shard_memory tt_shard_memory_of(const struct tt_engine *e);

/* For one rank of a run with these options, but with this `shard`. */
tt_status tt_shard_cost_of(struct tt_backend *b, const struct tt_config *c, enum tt_sharding shard,
                           struct tt_shard_cost *out);

#endif
