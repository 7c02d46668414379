/* tt info: what this build and machine can do, and what a run would be, before it takes any memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/chips.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/info_plan.h"
#include "cli/info_ranks.h"
#include "cli/info_update.h"
#include "cli/ranks.h"
#include "core/base/allowance.h"
#include "core/base/json.h"
#include "core/config/batch.h"
#include "core/train/feed.h"
#include "core/train/usage.h"
#include "profiling/measure/cost.h"

/* ---- options ---- */

#define AT(field) TT_FIELD(TT_OF_COMMAND, struct tt_info_options, field)
// clang-format off
static const struct tt_option rows[] = {
    {"plan", AT(plan), "What to show", 1 << TT_CMD_INFO, "false", NULL, NULL,
     .help = "list every operation of a step with its shapes, FLOPs, bytes and stream"},
    {"predict", AT(predict), "What to show", 1 << TT_CMD_INFO, "", NULL, "LIST",
     .help = "predict a step on these chips, from each kernel's bytes and FLOPs and the chip's published rates; "
             "8xh200 = 8 in one node, 4x8xh200 = 4 nodes of 8",
     .choices = tt_chip_names, .list = ',', .check = tt_check_chips},
    {"measured", AT(measured), "What to show", 1 << TT_CMD_INFO, "", NULL, "DIR",
     .help = "a profile measured on one of the chips of --predict, to show beside its prediction", .here = true},
};
// clang-format on
const struct tt_rows tt_info_rows = TT_ROWS(rows);
TT_OWN_FITS(struct tt_info_options);

/* Beside what is allocated: the program, its libraries and their buffers, as measured on an idle `tt`. */
static const double process_bytes = 8 << 20;

struct info {
    const struct tt_config *c;
    const struct tt_info_options *own;
    struct tt_backend backend;
    struct tt_device_info device;
    struct tt_session session;
    struct tt_plan_cost cost;
    struct tt_info_ranks ranks;
    struct tt_info_update update;
    double total; /* bytes of memory that training will take */
};

static double host_bytes(const struct info *n)
{
    const struct tt_config *c = n->c;
    double tokens = (double)(c->batch_size * c->grad_accum * (c->seq_len + 1)) * sizeof(int32_t);
    return tokens * TT_FEED_BUFFERS + (double)n->session.engine.bytes[TT_X_RING];
}

static tt_status gather(struct info *n)
{
    TT_TRY(tt_config_check_shape(n->c));
    TT_TRY(tt_open_backend(n->c, &n->backend));
    if (n->backend.ops->join) tt_status_free(n->backend.ops->join(n->backend.self, NULL));
    TT_TRY(n->backend.ops->info(n->backend.self, &n->device));
    TT_TRY(tt_session_plan(&n->session, &n->backend, n->c, TT_USE_TRAIN | TT_USE_EVAL | TT_USE_PREDICT));
    TT_TRY(tt_info_ranks_gather(&n->backend, n->c, &n->ranks));
    TT_TRY(tt_info_update_gather(&n->session, &n->update));
    n->cost = tt_cost_of_plan(n->session.step);
    n->total = (double)tt_engine_total(&n->session.engine) + (double)n->device.memory_used + host_bytes(n) +
               process_bytes;
    return TT_OK;
}

/* ---- text ---- */

static void line(const char *what, double bytes)
{
    char text[32];
    tt_format_bytes(bytes, text);
    if (bytes > 0) printf("  %-22s %12s\n", what, text);
}

/* Where tt train gets the utilisation of the device from, or why it is not known. */
static void print_usage(const struct tt_backend *b)
{
    struct tt_usage usage;
    char others[80];
    if (!b->ops->usage) return;
    tt_status st = b->ops->usage(b->self, &usage);
    if (st)
        printf("utilisation not shown by tt train: %s\n", st->text);
    else
        printf("utilisation by %s\n", usage.source);
    tt_usage_others_words(st ? 0 : usage.others, others);
    if (others[0]) printf("shared      %s\n", others);
    tt_status_free(st);
}

static void print_device(const struct info *n)
{
    char total[32], available[32];
    tt_format_bytes((double)n->device.memory_total, total);
    tt_format_bytes((double)n->device.memory_free, available);
    printf("build       tt %s, backend %s, precisions", TT_VERSION_STRING, n->backend.ops->name);
    for (int p = 0; p < TT_PRECISIONS; p++)
        if (n->device.has[p]) printf(" %s", tt_precision_names[p]);
    /* of a CPU, `units` counts only those in use */
    int cores = strcmp(n->backend.ops->name, "cpu") ? n->device.units : tt_cores();
    printf("\ndevice      %s (%s), %d core%s\n", n->device.name, n->device.arch, cores, tt_plural(cores));
    printf("matrices    %s\n", n->device.library);
    if (n->device.kernels[0]) printf("kernels     %s\n", n->device.kernels);
    printf("memory      %s, %s free\n", total, available);
    printf("offers      graph capture: %s, ranges for a profiler: %s, collectives: %s\n",
           n->backend.ops->graph_begin ? "yes" : "no", n->backend.ops->range_push ? "yes" : "no",
           n->device.collectives[0] ? n->device.collectives : "no");
    print_usage(&n->backend);
}

static void print_step(const struct info *n)
{
    char model_flops[32], flops[32], bytes[32];
    tt_format_count(tt_model_step_flops(n->session.model), model_flops);
    tt_format_count(n->cost.total.flops, flops);
    tt_format_bytes(n->cost.total.bytes, bytes);
    printf("a step      %d operations (%d matrix products), %sFLOP, %s moved, %.1f FLOP/byte\n", n->cost.total.count,
           n->cost.gemm.count, flops, bytes, n->cost.total.flops / n->cost.total.bytes);
    printf("            tokens x (6 x parameters + 6 x layers x S x hidden) = %sFLOP\n", model_flops);
    printf("\n  %-20s %6s %12s %12s %10s\n", "group", "ops", "FLOP", "bytes", "FLOP/byte");
    for (int g = 0; g < TT_GROUP_COUNT; g++) {
        const struct tt_cost *c = &n->cost.group[g];
        if (!c->count) continue;
        tt_format_count(c->flops, flops);
        tt_format_bytes(c->bytes, bytes);
        printf("  %-20s %6d %12s %12s %10.2f\n", tt_group_name((enum tt_group)g), c->count, flops, bytes,
               c->flops / c->bytes);
    }
}

/* Suggests only what is not chosen already. */
static void print_smaller(const struct tt_config *c)
{
    const char *changes[6];
    int n = 0;
    if (c->ranks > 1 && c->shard != TT_SHARD_WEIGHTS) changes[n++] = "--shard weights";
    if (c->batch_size > 1) changes[n++] = "a smaller --batch-size";
    if (c->recompute != TT_RECOMPUTE_BLOCK) changes[n++] = "--recompute block";
    if (c->version != TT_FLASH) changes[n++] = "--version flash";
    changes[n++] = "a shorter --seq-len";
    changes[n++] = "a smaller model";
    printf("That is more than is free here; ");
    for (int i = 0; i < n; i++) printf("%s%s", i == 0 ? "" : i < n - 1 ? ", " : " or ", changes[i]);
    printf(" needs less.\n");
}

/* Ranks on a CPU share the memory of this machine, and each GPU has its own. */
static double total_here(const struct info *n)
{
    return n->c->ranks > 1 && n->device.shares_memory ? (double)n->c->ranks * n->total : n->total;
}

static void print_memory(const struct info *n)
{
    const struct tt_engine *e = &n->session.engine;
    char total[32];
    tt_format_bytes(n->total, total);
    if (n->c->ranks > 1)
        printf("\nmemory that training takes on each of %lld ranks with --shard %s: %s\n", (long long)n->c->ranks,
               tt_shard_names[n->c->shard], total);
    else
        printf("\nmemory that training takes: %s\n", total);
    for (int x = 0; x < TT_EXTERNAL_COUNT; x++) line(tt_external_name((enum tt_external)x), (double)e->bytes[x]);
    line("activations", (double)e->arena_bytes);
    line("8-bit factors as fp32", (double)e->wide_bytes);
    line("workspace", (double)n->device.memory_used);
    line("batches ahead", host_bytes(n));
    line("program, libraries", process_bytes);
    if (n->c->ranks > 1 && n->device.shares_memory) {
        char all[32], there[32];
        tt_format_bytes(total_here(n), all);
        tt_format_bytes((double)n->device.memory_free, there);
        printf("All %lld ranks on this machine take %s; %s are free.\n", (long long)n->c->ranks, all, there);
    }
    if (n->device.memory_free && total_here(n) > (double)n->device.memory_free)
        print_smaller(&n->session.model->config);
}

/* ---- JSON ---- */

static void put_cost(struct tt_json_writer *w, const char *key, const struct tt_cost *c)
{
    tt_json_begin(w, key, '{');
    tt_json_put_int(w, "operations", c->count);
    tt_json_put_number(w, "flops", c->flops);
    tt_json_put_number(w, "bytes", c->bytes);
    tt_json_end(w, '}');
}

static void put_memory(struct tt_json_writer *w, const struct info *n)
{
    const struct tt_engine *e = &n->session.engine;
    tt_json_begin(w, "memory", '{');
    tt_json_put_number(w, "total", n->total);
    if (n->c->ranks > 1) tt_json_put_number(w, "total_here", total_here(n));
    tt_json_put_number(w, "device", (double)tt_engine_total(e));
    for (int x = 0; x < TT_EXTERNAL_COUNT; x++)
        if (e->bytes[x]) tt_json_put_number(w, tt_external_name((enum tt_external)x), (double)e->bytes[x]);
    tt_json_put_number(w, "activations", (double)e->arena_bytes);
    if (e->wide_bytes) tt_json_put_number(w, "widened", (double)e->wide_bytes);
    tt_json_end(w, '}');
}

static tt_status print_json(const struct info *n)
{
    struct tt_json_writer w = {.pretty = true};
    tt_json_begin(&w, NULL, '{');
    tt_json_put_string(&w, "tt", TT_VERSION_STRING);
    tt_json_put_string(&w, "backend", n->backend.ops->name);
    tt_json_put_string(&w, "device", n->device.name);
    tt_json_put_string(&w, "library", n->device.library);
    if (n->device.kernels[0]) tt_json_put_string(&w, "kernels", n->device.kernels);
    tt_json_put_int(&w, "parameters", tt_model_param_count(n->session.model));
    tt_json_put_bool(&w, "flash_refused", n->session.model->flash_refused);
    tt_json_put_number(&w, "model_flops_per_step", tt_model_step_flops(n->session.model));
    put_cost(&w, "step", &n->cost.total);
    tt_json_begin(&w, "groups", '{');
    for (int g = 0; g < TT_GROUP_COUNT; g++)
        if (n->cost.group[g].count) put_cost(&w, tt_group_name((enum tt_group)g), &n->cost.group[g]);
    tt_json_end(&w, '}');
    put_memory(&w, n);
    tt_info_ranks_put(&n->ranks, &w);
    tt_info_update_put(&n->update, &w);
    if (n->own->plan) tt_info_plan_put(n->session.step, &w);
    tt_json_end(&w, '}');
    return tt_json_print(&w);
}

static tt_status run(struct info *n)
{
    TT_TRY(gather(n));
    if (n->c->json) return print_json(n);
    print_device(n);
    putchar('\n');
    if (!n->device.has[n->c->precision])
        printf("note    this device has no %s; what follows is the plan of a step in it, without a GPU's workspace and "
               "second stream\n", tt_precision_names[n->c->precision]);
    tt_print_model(&n->session);
    print_step(n);
    print_memory(n);
    tt_info_ranks_print(&n->ranks);
    tt_info_update_print(&n->update);
    if (n->own->plan) tt_info_plan_print(n->session.step);
    if (n->own->plan && n->update.s) tt_info_plan_print_between(&n->update);
    return TT_OK;
}

static tt_status show(const struct tt_options *o)
{
    const struct tt_info_options *own = tt_own(o);
    struct info n = {.c = &o->c, .own = own};
    if (own->measured[0])
        return tt_fail(TT_USAGE, "--measured goes with a prediction; add --predict with the chip's name");
    tt_status st = run(&n);
    tt_info_update_free(&n.update);
    tt_session_close(&n.session);
    if (n.backend.ops) tt_backend_close(&n.backend);
    return st;
}

tt_status tt_cmd_info(const struct tt_options *o)
{
    const struct tt_info_options *own = tt_own(o);
    if (own->predict[0]) return tt_info_predict(o);
    struct tt_options *fitted = malloc(sizeof *fitted);
    if (!fitted) return tt_no_memory("the command");
    *fitted = *o;
    tt_status st = tt_batch_fit(fitted);
    if (!st) st = show(fitted);
    free(fitted);
    return st;
}
