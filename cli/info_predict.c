/* tt info --predict: the step on paper, on chips that need not be here, beside what was measured on one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "core/base/json.h"
#include "profiling/measure/cost.h"
#include "profiling/measure/derive.h"
#include "profiling/measure/predict.h"

enum { MOST_CHIPS = 16 };

struct paper {
    const struct tt_config *c;
    struct tt_model *model;
    struct tt_plan *plan;
    struct tt_plan_cost cost;
    double step_flops; /* causal */
    double memory;     /* bytes that training takes */
    const struct tt_info_options *own;
    struct tt_prediction p[MOST_CHIPS];
    int count;
    struct tt_profile measured;
    const struct tt_chip *measured_on; /* NULL: nothing was */
};

/* ---- planning without a device ---- */

static double plan_memory(const struct paper *a)
{
    double sum = (double)a->plan->arena_bytes;
    for (int x = 0; x < TT_EXTERNAL_COUNT; x++) sum += (double)a->plan->external_bytes[x];
    return sum;
}

/* A prediction may be in any precision, whatever this build computes in. */
static tt_status plan_step(struct paper *a)
{
    struct tt_config *here;
    TT_TRY(tt_config_copy(a->c, &here));
    here->precision = TT_FP32;
    tt_status st = tt_model_create(here, &a->model);
    free(here);
    TT_TRY(st);
    a->model->config.precision = a->c->precision;
    tt_model_fit(a->model, &(struct tt_device_info){.flash_head = TT_GPU_FLASH_HEAD});
    TT_TRY(tt_model_plan_train(a->model, &a->plan));
    a->cost = tt_cost_of_plan(a->plan);
    a->step_flops = 3 * tt_model_work(a->model).forward;
    a->memory = plan_memory(a);
    return TT_OK;
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

static tt_status same_run(const struct paper *a)
{
    const struct tt_profile_run *r = &a->measured.run;
    const struct tt_config *c = a->c;
    const char *version = tt_version_names[c->version], *precision = tt_precision_names[c->precision];
    if (strcmp(r->version, version)) return other("version", r->version, version);
    if (strcmp(r->precision, precision)) return other("precision", r->precision, precision);
    if (strcmp(r->fuse, c->fuse)) return other("--fuse", r->fuse, c->fuse);
    TT_TRY(same_number("hidden-dim", r->hidden_dim, c->hidden_dim));
    TT_TRY(same_number("num-layers", r->num_layers, c->num_layers));
    TT_TRY(same_number("num-heads", r->num_heads, c->num_heads));
    TT_TRY(same_number("num-kv-heads", r->num_kv_heads, c->num_kv_heads));
    TT_TRY(same_number("ffn-dim", r->ffn_dim, c->ffn_dim));
    TT_TRY(same_number("vocab-size", r->vocab_size, c->vocab_size));
    TT_TRY(same_number("seq-len", r->seq_len, c->seq_len));
    TT_TRY(same_number("batch-size", r->batch_size, c->batch_size));
    return same_number("grad-accum", r->grad_accum, c->grad_accum);
}

static tt_status take_measured(struct paper *a)
{
    if (!a->own->measured[0]) return TT_OK;
    TT_TRY(tt_profile_read(a->own->measured, &a->measured));
    TT_TRY(same_run(a));
    for (int i = 0; i < a->count; i++)
        if (a->p[i].chip == tt_chip_of(a->measured.run.device, 0)) a->measured_on = a->p[i].chip;
    if (a->measured_on) return TT_OK;
    return tt_fail(TT_USAGE, "--measured: %s is none of the chips in --predict %s", a->measured.run.device,
                   a->own->predict);
}

static double measured_group(const struct paper *a, int group)
{
    for (int i = 0; i < a->measured.groups_count; i++)
        if (!strcmp(a->measured.groups[i].name, tt_group_name((enum tt_group)group)))
            return a->measured.groups[i].seconds;
    return NAN;
}

/* ---- text ---- */

static void print_chips(const struct paper *a)
{
    const struct tt_config *c = a->c;
    double tokens = (double)(c->batch_size * c->grad_accum * c->seq_len);
    printf("%-8s %9s %6s %13s %13s %11s %7s %9s  %s\n", "chip", "TFLOP/s", "TB/s", "predicted ms",
           a->measured_on ? "measured ms" : "", "tokens/s", "MFU %", "memory %", "fits");
    for (int i = 0; i < a->count; i++) {
        const struct tt_prediction *p = &a->p[i];
        double peak = p->chip->matrix[c->precision];
        char measured[32] = "";
        if (p->chip == a->measured_on) snprintf(measured, sizeof measured, "%.3f", 1e3 * a->measured.step.seconds);
        printf("%-8s %9.1f %6.2f %13.3f %13s %11.0f %7.1f %9.1f  %s\n", p->chip->name, peak / 1e12,
               p->chip->bandwidth / 1e12, 1e3 * p->seconds, measured, tokens / p->seconds,
               100 * a->step_flops / p->seconds / peak, 100 * p->memory_seconds / p->seconds,
               a->memory < p->chip->memory ? "yes" : "no");
    }
    for (int i = 0; i < a->count; i++)
        if (strchr(a->p[i].chip->title, ',')) printf("note    %s is the %s\n", a->p[i].chip->name, a->p[i].chip->title);
}

static void print_groups(const struct paper *a)
{
    printf("\n%-18s %5s", "group, ms", "ops");
    for (int i = 0; i < a->count; i++) {
        printf(" %9s", a->p[i].chip->name);
        if (a->p[i].chip == a->measured_on) printf(" %9s %6s", "measured", "times");
    }
    putchar('\n');
    for (int g = 0; g < TT_GROUP_COUNT; g++) {
        if (!a->cost.group[g].count) continue;
        printf("%-18s %5d", tt_group_name((enum tt_group)g), a->cost.group[g].count);
        for (int i = 0; i < a->count; i++) {
            printf(" %9.4f", 1e3 * a->p[i].group[g]);
            double measured = measured_group(a, g);
            if (a->p[i].chip == a->measured_on) printf(" %9.4f %6.2f", 1e3 * measured, measured / a->p[i].group[g]);
        }
        putchar('\n');
    }
}

static void print_text(const struct paper *a)
{
    const struct tt_config *c = a->c;
    char flops[32], bytes[32], memory[32], note[160];
    tt_model_note(a->model, note);
    tt_format_count(a->cost.total.flops, flops);
    tt_format_bytes(a->cost.total.bytes, bytes);
    tt_format_bytes(a->memory, memory);
    printf("PREDICTION, not a measurement: each kernel's bytes or FLOPs over the chip's published rates, with nothing "
           "added for launches.\n");
    printf("%s %s %s, %lld x %lld tokens: %d operations, %sFLOP, %s moved, %s of memory\n", c->preset,
           tt_version_names[c->version], tt_precision_names[c->precision], (long long)(c->batch_size * c->grad_accum),
           (long long)c->seq_len, a->cost.total.count, flops, bytes, memory);
    if (note[0]) printf("note    %s\n", note);
    putchar('\n');
    print_chips(a);
    print_groups(a);
    if (a->measured_on) printf("\nmeasured on %s, %s\n", a->measured.run.device, a->measured.run.created);
}

/* ---- JSON ---- */

static void put_chip(struct tt_json_writer *w, const struct paper *a, const struct tt_prediction *p)
{
    tt_json_begin(w, NULL, '{');
    tt_json_put_string(w, "chip", p->chip->name);
    tt_json_put_string(w, "title", p->chip->title);
    tt_json_put_number(w, "flops_per_second", p->chip->matrix[a->c->precision]);
    tt_json_put_number(w, "vector_flops_per_second", p->chip->vector);
    tt_json_put_number(w, "bytes_per_second", p->chip->bandwidth);
    tt_json_put_number(w, "memory_bytes", p->chip->memory);
    tt_json_put_int(w, "wave_width", p->chip->wave);
    tt_json_put_int(w, "shared_kib", p->chip->shared_kib);
    tt_json_put_bool(w, "prediction", true);
    tt_json_put_number(w, "predicted_seconds", p->seconds);
    tt_json_put_number(w, "predicted_memory_bound_seconds", p->memory_seconds);
    tt_json_put_number(w, "predicted_mfu_percent", 100 * a->step_flops / p->seconds / p->chip->matrix[a->c->precision]);
    tt_json_put_number(w, "measured_seconds", p->chip == a->measured_on ? a->measured.step.seconds : NAN);
    tt_json_begin(w, "groups", '[');
    for (int g = 0; g < TT_GROUP_COUNT; g++) {
        if (!a->cost.group[g].count) continue;
        tt_json_begin(w, NULL, '{');
        tt_json_put_string(w, "name", tt_group_name((enum tt_group)g));
        tt_json_put_number(w, "predicted_seconds", p->group[g]);
        tt_json_put_number(w, "measured_seconds", p->chip == a->measured_on ? measured_group(a, g) : NAN);
        tt_json_end(w, '}');
    }
    tt_json_end(w, ']');
    tt_json_end(w, '}');
}

static tt_status print_json(const struct paper *a)
{
    struct tt_json_writer w = {.pretty = true};
    tt_json_begin(&w, NULL, '{');
    tt_json_put_string(&w, "preset", a->c->preset);
    tt_json_put_string(&w, "version", tt_version_names[a->c->version]);
    tt_json_put_string(&w, "precision", tt_precision_names[a->c->precision]);
    tt_json_put_bool(&w, "flash_refused", a->model->flash_refused);
    tt_json_put_int(&w, "operations", a->cost.total.count);
    tt_json_put_number(&w, "flops", a->cost.total.flops);
    tt_json_put_number(&w, "bytes", a->cost.total.bytes);
    tt_json_put_number(&w, "memory_bytes", a->memory);
    tt_json_begin(&w, "chips", '[');
    for (int i = 0; i < a->count; i++) put_chip(&w, a, &a->p[i]);
    tt_json_end(&w, ']');
    tt_json_end(&w, '}');
    tt_status st = tt_text_status(&w.text);
    if (!st) puts(w.text.s);
    tt_text_free(&w.text);
    return st;
}

static tt_status run(struct paper *a)
{
    char name[32];
    TT_TRY(plan_step(a));
    for (const char *at = a->own->predict; a->count < MOST_CHIPS && tt_list_next(&at, ',', name, sizeof name);)
        a->p[a->count++] = tt_predict(a->plan, a->c->precision, tt_chip_find(name));
    TT_TRY(take_measured(a));
    if (a->c->json) return print_json(a);
    print_text(a);
    return TT_OK;
}

tt_status tt_info_predict(const struct tt_config *c, const struct tt_info_options *own)
{
    struct paper a = {.c = c, .own = own};
    tt_status st = run(&a);
    tt_plan_free(a.plan);
    tt_model_free(a.model);
    tt_profile_free(&a.measured);
    return st;
}
