/* tt info --ranks: what each rank holds in memory and sends, for every --shard. */
#ifndef TT_CLI_INFO_RANKS_H
#define TT_CLI_INFO_RANKS_H

#include "core/base/json.h"
#include "profiling/measure/shards.h"

struct tt_info_ranks {
    const struct tt_config *c;
    struct tt_shard_cost cost[TT_SHARDINGS];
};

tt_status tt_info_ranks_gather(struct tt_backend *b, const struct tt_config *c, struct tt_info_ranks *out);
void tt_info_ranks_print(const struct tt_info_ranks *r);
void tt_info_ranks_put(const struct tt_info_ranks *r, struct tt_json_writer *w);

#endif
