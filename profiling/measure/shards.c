#include "profiling/measure/shards.h"

#include <stdlib.h>

struct tt_shard_memory tt_shard_memory_of(const struct tt_engine *e)
{
    const size_t *x = e->bytes;
    struct tt_shard_memory m = {
        .weights = (double)x[TT_X_WEIGHTS], .gradients = (double)x[TT_X_GRADS],
        .moments = (double)(x[TT_X_MOMENT1] + x[TT_X_MOMENT2] + x[TT_X_MASTER] + x[TT_X_LOW]),
        .activations = (double)e->arena_bytes, .total = (double)tt_engine_total(e)};
    m.other = m.total - m.weights - m.gradients - m.moments - m.activations;
    return m;
}

tt_status tt_shard_cost_of(struct tt_backend *b, const struct tt_config *c, enum tt_sharding shard,
                           struct tt_shard_cost *out)
{
    struct tt_config *divided;
    struct tt_session s = {0};
    TT_TRY(tt_config_copy(c, &divided));
    divided->shard = shard;
    tt_status st = tt_session_plan(&s, b, divided, TT_USE_TRAIN | TT_USE_EVAL | TT_USE_PREDICT);
    if (!st) {
        struct tt_plan_cost cost = tt_cost_of_plan(s.step);
        *out = (struct tt_shard_cost){tt_shard_memory_of(&s.engine), cost.collectives, cost.sent};
    }
    tt_session_close(&s);
    free(divided);
    return st;
}
