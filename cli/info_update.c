#include "cli/info_update.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common.h"
#include "core/base/clock.h"
#include "core/base/rng.h"

static int largest_first(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return a < b ? 1 : a > b ? -1 : 0;
}

/* Chooses groups as choose_groups does at random in the first update: the largest keys, of equal ones those with the
 * smallest index. */
static tt_status choose_at_random(const struct tt_groups *g, uint64_t seed, bool *chosen)
{
    uint64_t *keys = malloc((size_t)g->count * sizeof *keys), low = UINT32_MAX;
    if (!keys) return tt_no_memory("the groups of weights");
    for (int i = 0; i < g->count; i++) keys[i] = tt_random(seed, 1, (uint64_t)i) >> 33 << 32 | (low - (uint64_t)i);
    qsort(keys, (size_t)g->count, sizeof *keys, largest_first);
    for (int i = 0; i < g->chosen; i++) chosen[low - (keys[i] & low)] = true;
    free(keys);
    return TT_OK;
}

static int lowest_layer(const struct tt_plan *p, int layers)
{
    int lowest = layers;
    for (int i = 0; i < p->count; i++) {
        const struct tt_op *op = &p->ops[i];
        if (op->phase == TT_BACKWARD && op->layer >= 0 && op->layer < lowest) lowest = op->layer;
    }
    return lowest;
}

tt_status tt_info_update_gather(const struct tt_session *s, struct tt_info_update *out)
{
    *out = (struct tt_info_update){0};
    if (!s->between) return TT_OK;
    const struct tt_groups *g = &s->model->params.groups;
    bool *chosen = calloc((size_t)g->count, sizeof *chosen);
    if (!chosen) return tt_no_memory("the groups of weights");
    tt_status st = choose_at_random(g, (uint64_t)s->model->config.seed, chosen);
    double start = tt_seconds();
    if (!st) st = tt_between_reduce(s->model, s->between, chosen, &out->less);
    out->seconds = tt_seconds() - start;
    free(chosen);
    if (st) return st;
    out->s = s;
    out->whole = tt_cost_of_plan(s->between);
    out->left = tt_cost_of_plan(out->less);
    out->lowest = lowest_layer(out->less, (int)s->model->config.num_layers);
    return TT_OK;
}

static void print_cost(const char *what, const struct tt_plan_cost *c)
{
    char flops[32], bytes[32];
    tt_format_count(c->total.flops, flops);
    tt_format_bytes(c->total.bytes, bytes);
    printf("  %-22s %6d %16d %12s %12s\n", what, c->total.count, c->gemm.count, flops, bytes);
}

void tt_info_update_print(const struct tt_info_update *u)
{
    if (!u->s) return;
    const struct tt_config *c = &u->s->model->config;
    const struct tt_groups *g = &u->s->model->params.groups;
    printf("\nwith --update-every %lld one step in %lld chooses %d of %d groups; the steps between leave out what no "
           "chosen group needs.\nAfter the first choice of --update-by random:\n", (long long)c->update_every,
           (long long)c->update_every, g->chosen, g->count);
    printf("  %-22s %6s %16s %12s %12s\n", "", "ops", "matrix products", "FLOP", "bytes");
    print_cost("step between, whole", &u->whole);
    print_cost("step between, run", &u->left);
    if (u->lowest < c->num_layers)
        printf("  the backward pass ends in layer %d", u->lowest);
    else
        printf("  no layer has a backward pass");
    printf("; leaving out the rest takes the host %.2f ms, once in %lld steps\n", u->seconds * 1e3,
           (long long)c->update_every);
}

static bool same(const struct tt_op *a, const struct tt_op *b)
{
    return a->kind == b->kind && a->kernel == b->kernel && a->micro == b->micro &&
           !memcmp(&a->args, &b->args, sizeof a->args);
}

bool tt_info_update_has(const struct tt_info_update *u, int i, int *at)
{
    if (*at >= u->less->count || !same(&u->s->between->ops[i], &u->less->ops[*at])) return false;
    ++*at;
    return true;
}

void tt_info_update_put(const struct tt_info_update *u, struct tt_json_writer *w)
{
    if (!u->s) return;
    tt_json_begin(w, "between", '{');
    tt_json_put_int(w, "operations", u->whole.total.count);
    tt_json_put_int(w, "operations_run", u->left.total.count);
    tt_json_put_number(w, "flops", u->whole.total.flops);
    tt_json_put_number(w, "flops_run", u->left.total.flops);
    tt_json_put_number(w, "bytes", u->whole.total.bytes);
    tt_json_put_number(w, "bytes_run", u->left.total.bytes);
    tt_json_put_int(w, "lowest_layer", u->lowest);
    tt_json_put_number(w, "reduce_seconds", u->seconds);
    tt_json_end(w, '}');
}

void tt_info_update_free(struct tt_info_update *u) { tt_plan_free(u->less); }
