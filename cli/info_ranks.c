#include "cli/info_ranks.h"

#include <stdio.h>

#include "cli/common.h"

tt_status tt_info_ranks_gather(struct tt_backend *b, const struct tt_config *c, struct tt_info_ranks *out)
{
    *out = (struct tt_info_ranks){.c = c};
    for (int s = 0; s < TT_SHARDINGS && c->ranks > 1; s++)
        TT_TRY(tt_shard_cost_of(b, c, (enum tt_sharding)s, &out->cost[s]));
    return TT_OK;
}

static void print_bytes(int width, double bytes)
{
    char text[32];
    tt_format_bytes(bytes, text);
    printf(" %*s", width, text);
}

void tt_info_ranks_print(const struct tt_info_ranks *r)
{
    if (r->c->ranks <= 1) return;
    printf("\ndevice memory of each of %lld ranks, and what it sends in a step\n", (long long)r->c->ranks);
    printf("  %-10s %11s %11s %11s %11s %11s %11s %11s %11s\n", "--shard", "weights", "gradients", "moments",
           "activations", "other", "total", "sent", "collectives");
    for (int s = 0; s < TT_SHARDINGS; s++) {
        const struct tt_shard_cost *cost = &r->cost[s];
        const struct tt_shard_memory *m = &cost->memory;
        printf("  %-10s", tt_shard_names[s]);
        const double bytes[] = {m->weights, m->gradients, m->moments, m->activations, m->other, m->total, cost->sent};
        for (int i = 0; i < 7; i++) print_bytes(11, bytes[i]);
        printf(" %11d\n", cost->collectives);
    }
}

void tt_info_ranks_put(const struct tt_info_ranks *r, struct tt_json_writer *w)
{
    if (r->c->ranks <= 1) return;
    tt_json_put_int(w, "ranks", r->c->ranks);
    tt_json_put_string(w, "shard", tt_shard_names[r->c->shard]);
    tt_json_begin(w, "shards", '[');
    for (int s = 0; s < TT_SHARDINGS; s++) {
        const struct tt_shard_cost *cost = &r->cost[s];
        const struct tt_shard_memory *m = &cost->memory;
        tt_json_begin(w, NULL, '{');
        tt_json_put_string(w, "shard", tt_shard_names[s]);
        tt_json_put_number(w, "weights_bytes", m->weights);
        tt_json_put_number(w, "gradients_bytes", m->gradients);
        tt_json_put_number(w, "moments_bytes", m->moments);
        tt_json_put_number(w, "activations_bytes", m->activations);
        tt_json_put_number(w, "other_bytes", m->other);
        tt_json_put_number(w, "total_bytes", m->total);
        tt_json_put_number(w, "sent_bytes", cost->sent);
        tt_json_put_int(w, "collectives", cost->collectives);
        tt_json_end(w, '}');
    }
    tt_json_end(w, ']');
}
