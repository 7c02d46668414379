/* tt info --predict: the step on paper, on chips that need not be here, next to what was measured on one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/paper.h"
#include "cli/ranks.h"
#include "core/base/json.h"
#include "core/config/batch.h"
#include "profiling/measure/cluster.h"
#include "profiling/measure/derive.h"
#include "profiling/measure/predict.h"

enum { MOST_CHIPS = 16 };

/* One item of the list, with the plan of one of its ranks. */
struct entry {
    struct tt_options o; /* as many ranks as there are GPUs, and their batch */
    struct tt_cluster on;
    struct tt_paper paper;
    struct tt_prediction p;
};

/* An item that cannot run this. */
struct left_out {
    char name[32], why[120];
    const char *instead;
};

struct forecast {
    const struct tt_options *o;
    const struct tt_info_options *own;
    struct entry *entries;
    int count;
    struct left_out left_out[MOST_CHIPS];
    int left_out_count;
    struct tt_profile measured;
    const struct entry *measured_on; /* NULL: nothing was */
};

/* ---- the list ---- */

/* A card's own name may begin like a number of them (7900xtx). */
static tt_status check_chip(const char *item)
{
    const char *name = item;
    while (!tt_chip_find(name)) {
        size_t digits = strspn(name, "0123456789");
        if (!digits || name[digits] != 'x' || !name[digits + 1]) return tt_no_card(name, "; 8xh200 are 8 of them");
        name += digits + 1;
    }
    return TT_OK;
}

tt_status tt_check_chips(const char *list)
{
    char item[64];
    while (tt_list_next(&list, ',', item, sizeof item)) TT_TRY(check_chip(item));
    return TT_OK;
}

/* ---- planning without a device ---- */

static double peak_of(const struct entry *e) { return e->on.chip->matrix[e->o.c.precision]; }

static bool cannot_run(const struct entry *e, const char *text, struct left_out *l)
{
    const char *title = e->on.chip->title;
    *l = (struct left_out){.instead = "choose another --precision"};
    snprintf(l->name, sizeof l->name, "%s", text);
    if (!peak_of(e)) {
        snprintf(l->why, sizeof l->why, "the %s has no %s", title, tt_precision_names[e->o.c.precision]);
        return true;
    }
    l->instead = "use --fp8-scaling tensor or delayed";
    snprintf(l->why, sizeof l->why, "no library has 8-bit products with scales of rows for the %s", title);
    return e->o.c.fp8_scaling == TT_SCALING_ROW && !tt_chip_fp8_rows(e->on.chip);
}

static tt_status predict(struct forecast *a, const char *text)
{
    struct entry *e = &a->entries[a->count];
    e->o = *a->o;
    TT_TRY(tt_cluster_read(text, e->o.c.ranks, &e->on));
    e->o.c.ranks = tt_cluster_ranks(&e->on);
    TT_TRY(tt_batch_fit(&e->o));
    if (cannot_run(e, text, &a->left_out[a->left_out_count])) {
        a->left_out_count++;
        return TT_OK;
    }
    a->count++;
    TT_TRY(tt_paper_plan(&e->o.c, &e->paper));
    return tt_predict(e->paper.plan, e->o.c.precision, e->on.chip, (struct tt_ring){tt_cluster_rate(&e->on), 0},
                      &e->p);
}

static bool several(const struct entry *e) { return tt_cluster_ranks(&e->on) > 1; }

static bool any_several(const struct forecast *a)
{
    for (int i = 0; i < a->count; i++)
        if (several(&a->entries[i])) return true;
    return false;
}

/* ---- what was measured ---- */

static tt_status other(const char *what, const char *there, const char *here)
{
    return tt_fail(TT_USAGE,
                   "--measured: that profile is of %s %s and this prediction of %s; give the same options to both",
                   what, there, here);
}

static tt_status same_number(const char *what, int64_t there, int64_t here)
{
    char a[32], b[32];
    snprintf(a, sizeof a, "%lld", (long long)there);
    snprintf(b, sizeof b, "%lld", (long long)here);
    return there == here ? TT_OK : other(what, a, b);
}

static tt_status same_run(const struct forecast *a)
{
    const struct tt_profile_run *r = &a->measured.run;
    const struct tt_config *c = &a->entries[0].o.c;
    const char *version = tt_version_names[c->version], *precision = tt_precision_names[c->precision];
    char update[TT_UPDATE_WORDS];
    tt_update_words(c, update);
    if (strcmp(r->version, version)) return other("version", r->version, version);
    if (strcmp(r->precision, precision)) return other("precision", r->precision, precision);
    if (c->precision == TT_PREC_FP8 && strcmp(r->fp8, tt_fp8_words(c)))
        return other("--fp8", r->fp8, tt_fp8_words(c));
    if (r->update[0] && strcmp(r->update, update)) return other("--update", r->update, update);
    if (strcmp(r->fuse, c->fuse)) return other("--fuse", r->fuse, c->fuse);
    if (r->documents[0] && strcmp(r->documents, tt_documents_names[c->documents]))
        return other("--documents", r->documents, tt_documents_names[c->documents]);
    TT_TRY(same_number("hidden-dim", r->hidden_dim, c->hidden_dim));
    TT_TRY(same_number("num-layers", r->num_layers, c->num_layers));
    TT_TRY(same_number("num-heads", r->num_heads, c->num_heads));
    TT_TRY(same_number("num-kv-heads", r->num_kv_heads, c->num_kv_heads));
    TT_TRY(same_number("head-dim", r->head_dim, tt_head_dim(c)));
    TT_TRY(same_number("qkv-bias", r->qkv_bias, c->qkv_bias));
    TT_TRY(same_number("qk-norm", r->qk_norm, c->qk_norm));
    TT_TRY(same_number("ffn-dim", r->ffn_dim, c->ffn_dim));
    TT_TRY(same_number("vocab-size", r->vocab_size, c->vocab_size));
    TT_TRY(same_number("seq-len", r->seq_len, c->seq_len));
    TT_TRY(same_number("batch-size", r->batch_size, c->batch_size));
    return same_number("grad-accum", r->grad_accum, c->grad_accum);
}

static tt_status take_measured(struct forecast *a)
{
    if (!a->own->measured[0]) return TT_OK;
    TT_TRY(tt_profile_read(a->own->measured, &a->measured));
    TT_TRY(same_run(a));
    for (int i = 0; i < a->count; i++) {
        const struct entry *e = &a->entries[i];
        if (!several(e) && e->on.chip == tt_chip_of(a->measured.run.device, 0)) a->measured_on = e;
    }
    if (a->measured_on) return TT_OK;
    return tt_fail(TT_USAGE, "--measured: the profile is of %s, none of the chips in --predict %s; a profile is of a "
                   "single chip", a->measured.run.device, a->own->predict);
}

static double measured_group(const struct forecast *a, int group)
{
    for (int i = 0; i < a->measured.groups_count; i++)
        if (!strcmp(a->measured.groups[i].name, tt_group_name((enum tt_group)group)))
            return a->measured.groups[i].seconds;
    return NAN;
}

/* ---- text ---- */

static double tokens_of(const struct entry *e) { return (double)(tt_step_rows(&e->o.c) * e->o.c.seq_len); }

static void print_chips(const struct forecast *a)
{
    printf("%-11s %9s %6s %13s %13s %11s %7s %9s  %s\n", "chip", "TFLOP/s", "TB/s", "predicted ms",
           a->measured_on ? "measured ms" : "", "tokens/s", "MFU %", "memory %", "fits");
    for (int i = 0; i < a->count; i++) {
        const struct entry *e = &a->entries[i];
        char measured[32] = "";
        if (e == a->measured_on) snprintf(measured, sizeof measured, "%.3f", 1e3 * a->measured.step.seconds);
        printf("%-11s %9.1f %6.2f %13.3f %13s %11.0f %7.1f %9.1f  %s\n", e->on.name, peak_of(e) / 1e12,
               e->on.chip->bandwidth / 1e12, 1e3 * e->p.seconds, measured, tokens_of(e) / e->p.seconds,
               100 * e->paper.step_flops / e->p.seconds / peak_of(e), 100 * e->p.memory_seconds / e->p.seconds,
               e->paper.memory < e->on.chip->memory ? "yes" : "no");
    }
    for (int i = 0; i < a->count; i++) {
        const struct tt_chip *chip = a->entries[i].on.chip;
        if (strchr(chip->title, ',')) printf("note    %s is the %s\n", chip->name, chip->title);
    }
    for (int i = 0; i < a->left_out_count; i++)
        printf("note    without %s: %s\n", a->left_out[i].name, a->left_out[i].why);
}

/* The slowest link of the ring. "InfiniBand x 8": a node has 8 network cards, which carry as many rings. */
static const char *slowest_link(const struct entry *e, char out[40])
{
    bool network = e->on.gpus == 1 || tt_cluster_rate(&e->on) < e->on.chip->link.bandwidth;
    if (network && e->on.gpus > 1)
        snprintf(out, 40, "InfiniBand x %d", e->on.gpus);
    else
        snprintf(out, 40, "%s", network ? "InfiniBand" : e->on.chip->link.name);
    return out;
}

static double hidden_percent(const struct entry *e) { return 100 * (1 - e->p.exposed / e->p.communication); }

static void print_communication(const struct forecast *a)
{
    if (!any_several(a)) return;
    printf("\n%-11s %-10s %-15s %6s %11s %11s %9s %10s %9s\n", "ranks", "shard", "slowest link", "GB/s",
           "collectives", "each sends", "ms", "exposed ms", "hidden %");
    for (int i = 0; i < a->count; i++) {
        const struct entry *e = &a->entries[i];
        char sent[32], link[40];
        if (!several(e)) continue;
        tt_format_bytes(e->paper.cost.sent, sent);
        printf("%-11s %-10s %-15s %6.1f %11d %11s %9.3f %10.3f %9.1f\n", e->on.name, tt_shard_names[e->o.c.shard],
               slowest_link(e, link), tt_cluster_rate(&e->on) / 1e9, e->paper.cost.collectives, sent,
               1e3 * e->p.communication, 1e3 * e->p.exposed, hidden_percent(e));
    }
}

/* How many operations the group has, if it is the same number in all plans; -1: it is not. */
static int operations(const struct forecast *a, int group)
{
    int n = a->entries[0].paper.cost.group[group].count;
    for (int i = 1; i < a->count; i++)
        if (a->entries[i].paper.cost.group[group].count != n) return -1;
    return n;
}

static void print_groups(const struct forecast *a)
{
    printf("\n%-18s %5s", "group, ms", "ops");
    for (int i = 0; i < a->count; i++) {
        printf(" %9s", a->entries[i].on.name);
        if (&a->entries[i] == a->measured_on) printf(" %9s %6s", "measured", "times");
    }
    putchar('\n');
    for (int g = 0; g < TT_GROUP_COUNT; g++) {
        int n = operations(a, g);
        char count[16] = "-";
        if (n == 0) continue;
        if (n > 0) snprintf(count, sizeof count, "%d", n);
        printf("%-18s %5s", tt_group_name((enum tt_group)g), count);
        for (int i = 0; i < a->count; i++) {
            const struct entry *e = &a->entries[i];
            double measured = measured_group(a, g);
            printf(" %9.4f", 1e3 * e->p.group[g]);
            if (e == a->measured_on) printf(" %9.4f %6.2f", 1e3 * measured, measured / e->p.group[g]);
        }
        putchar('\n');
    }
}

static void print_head(const struct forecast *a)
{
    printf("PREDICTION, not a measurement: each kernel's bytes or FLOPs over the chip's published rates, with nothing "
           "added for launches.\n");
    if (!any_several(a)) return;
    printf("Collectives: the bytes a rank sends around a ring over the published rate of its link, with nothing "
           "added for latency.\n");
    for (int i = 0; i < a->count; i++)
        if (a->entries[i].on.nodes > 1) {
            printf("Between nodes: " TT_NETWORK " (assumed). A node has as many rings as GPUs, and their rates "
                   "add up.\n");
            return;
        }
}

static void print_text(const struct forecast *a)
{
    const struct entry *first = &a->entries[0];
    const struct tt_config *c = &first->o.c;
    char flops[32], bytes[32], memory[32], note[160];
    tt_model_note(first->paper.model, note);
    tt_format_count(first->paper.cost.total.flops, flops);
    tt_format_bytes(first->paper.cost.total.bytes, bytes);
    tt_format_bytes(first->paper.memory, memory);
    print_head(a);
    printf("%s %s %s, %lld x %lld tokens: %d operations, %sFLOP, %s moved, %s of memory", c->preset,
           tt_version_names[c->version], tt_precision_names[c->precision], (long long)(c->batch_size * c->grad_accum),
           (long long)c->seq_len, first->paper.cost.total.count, flops, bytes, memory);
    if (any_several(a)) printf(" on each GPU of %s", first->on.name);
    putchar('\n');
    if (note[0]) printf("note    %s\n", note);
    tt_fp8_note(first->paper.model, note);
    if (note[0]) printf("note    %s\n", note);
    putchar('\n');
    print_chips(a);
    print_communication(a);
    print_groups(a);
    if (a->measured_on) printf("\nmeasured on %s, %s\n", a->measured.run.device, a->measured.run.created);
}

/* ---- JSON ---- */

static void put_communication(struct tt_json_writer *w, const struct entry *e)
{
    if (!several(e)) return;
    tt_json_put_string(w, "shard", tt_shard_names[e->o.c.shard]);
    if (e->on.gpus > 1) tt_json_put_string(w, "link", e->on.chip->link.name);
    if (e->on.nodes > 1) tt_json_put_string(w, "assumed_network", TT_NETWORK);
    tt_json_put_number(w, "link_bytes_per_second", tt_cluster_rate(&e->on));
    tt_json_put_int(w, "collectives", e->paper.cost.collectives);
    tt_json_put_number(w, "sent_bytes", e->paper.cost.sent);
    tt_json_put_number(w, "predicted_communication_seconds", e->p.communication);
    tt_json_put_number(w, "predicted_exposed_seconds", e->p.exposed);
}

static void put_groups(struct tt_json_writer *w, const struct forecast *a, const struct entry *e)
{
    tt_json_begin(w, "groups", '[');
    for (int g = 0; g < TT_GROUP_COUNT; g++) {
        if (!e->paper.cost.group[g].count) continue;
        tt_json_begin(w, NULL, '{');
        tt_json_put_string(w, "name", tt_group_name((enum tt_group)g));
        tt_json_put_number(w, "predicted_seconds", e->p.group[g]);
        tt_json_put_number(w, "measured_seconds", e == a->measured_on ? measured_group(a, g) : NAN);
        tt_json_end(w, '}');
    }
    tt_json_end(w, ']');
}

static void put_chip(struct tt_json_writer *w, const struct forecast *a, const struct entry *e)
{
    const struct tt_chip *chip = e->on.chip;
    tt_json_begin(w, NULL, '{');
    tt_json_put_string(w, "chip", chip->name);
    tt_json_put_string(w, "title", chip->title);
    tt_json_put_int(w, "nodes", e->on.nodes);
    tt_json_put_int(w, "gpus_per_node", e->on.gpus);
    tt_json_put_number(w, "flops_per_second", peak_of(e));
    tt_json_put_number(w, "vector_flops_per_second", chip->vector);
    tt_json_put_number(w, "bytes_per_second", chip->bandwidth);
    tt_json_put_number(w, "memory_bytes", chip->memory);
    tt_json_put_int(w, "wave_width", chip->wave);
    tt_json_put_int(w, "shared_kib", chip->shared_kib);
    tt_json_put_bool(w, "prediction", true);
    tt_json_put_number(w, "needed_bytes", e->paper.memory);
    tt_json_put_number(w, "predicted_seconds", e->p.seconds);
    tt_json_put_number(w, "predicted_tokens_per_second", tokens_of(e) / e->p.seconds);
    tt_json_put_number(w, "predicted_memory_bound_seconds", e->p.memory_seconds);
    tt_json_put_number(w, "predicted_mfu_percent", 100 * e->paper.step_flops / e->p.seconds / peak_of(e));
    tt_json_put_number(w, "measured_seconds", e == a->measured_on ? a->measured.step.seconds : NAN);
    put_communication(w, e);
    put_groups(w, a, e);
    tt_json_end(w, '}');
}

static void put_left_out(struct tt_json_writer *w, const struct forecast *a)
{
    if (!a->left_out_count) return;
    tt_json_begin(w, "left_out", '[');
    for (int i = 0; i < a->left_out_count; i++) {
        tt_json_begin(w, NULL, '{');
        tt_json_put_string(w, "chip", a->left_out[i].name);
        tt_json_put_string(w, "why", a->left_out[i].why);
        tt_json_end(w, '}');
    }
    tt_json_end(w, ']');
}

/* What stands outside of "chips" describes the first of them. */
static tt_status print_json(const struct forecast *a)
{
    const struct entry *first = &a->entries[0];
    const struct tt_config *c = &first->o.c;
    struct tt_json_writer w = {.pretty = true};
    tt_json_begin(&w, NULL, '{');
    tt_json_put_string(&w, "preset", c->preset);
    tt_json_put_string(&w, "version", tt_version_names[c->version]);
    tt_json_put_string(&w, "precision", tt_precision_names[c->precision]);
    tt_json_put_bool(&w, "flash_refused", first->paper.model->flash_refused);
    tt_json_put_int(&w, "operations", first->paper.cost.total.count);
    tt_json_put_number(&w, "flops", first->paper.cost.total.flops);
    tt_json_put_number(&w, "bytes", first->paper.cost.total.bytes);
    tt_json_put_number(&w, "memory_bytes", first->paper.memory);
    tt_json_begin(&w, "chips", '[');
    for (int i = 0; i < a->count; i++) put_chip(&w, a, &a->entries[i]);
    tt_json_end(&w, ']');
    put_left_out(&w, a);
    tt_json_end(&w, '}');
    return tt_json_print(&w);
}

static tt_status run(struct forecast *a)
{
    char name[32];
    const char *at = a->own->predict;
    a->entries = calloc(MOST_CHIPS, sizeof *a->entries);
    if (!a->entries) return tt_no_memory("a prediction");
    while (tt_list_next(&at, ',', name, sizeof name)) {
        if (a->count + a->left_out_count == MOST_CHIPS)
            return tt_fail(TT_USAGE, "--predict takes %d chips at most", MOST_CHIPS);
        TT_TRY(predict(a, name));
    }
    const struct left_out *l = a->left_out;
    if (!a->count) return tt_fail(TT_USAGE, "--predict %s: %s; %s", l->name, l->why, l->instead);
    TT_TRY(take_measured(a));
    if (a->o->c.json) return print_json(a);
    print_text(a);
    return TT_OK;
}

tt_status tt_info_predict(const struct tt_options *o)
{
    struct forecast a = {.o = o, .own = tt_own(o)};
    tt_status st = run(&a);
    for (int i = 0; i < a.count; i++) tt_paper_free(&a.entries[i].paper);
    free(a.entries);
    tt_profile_free(&a.measured);
    return st;
}
