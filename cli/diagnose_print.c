/* tt diagnose in words and as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/diagnose.h"
#include "core/base/format.h"
#include "core/base/json.h"
#include "core/base/load.h"
#include "core/base/terminal.h"

static const char *const level_names[] = {"advice", "warning", "failure"};

/* The version of the kernel's driver, where there is one: the first line of a file, without its end. */
static void driver_version(const char *path, char *out, size_t size)
{
    FILE *f = fopen(path, "r");
    out[0] = 0;
    if (f && fgets(out, (int)size, f)) out[strcspn(out, "\n")] = 0;
    if (f) fclose(f);
}

static void print_device(const struct tt_diagnosis *d)
{
    char driver[64];
    printf("device    %s: %s (%s)\n", d->backend.ops->name, d->device.name, d->device.arch);
    printf("software  tt %s, %s, %s", TT_VERSION_STRING, d->device.library, d->device.versions);
    driver_version(strcmp(d->backend.ops->name, "cuda") ? "/sys/module/amdgpu/version" : "/sys/module/nvidia/version",
                   driver, sizeof driver);
    if (strcmp(d->backend.ops->name, "cpu") && driver[0]) printf(", kernel driver %s", driver);
    printf("\nprecision this run computes in %s; the device has", tt_precision_names[d->c->precision]);
    for (int p = 0; p < TT_PRECISIONS; p++) printf(" %s%s", d->device.has[p] ? "" : "no ", tt_precision_names[p]);
    putchar('\n');
}

static void print_sizes(const struct tt_diagnosis *d)
{
    const struct tt_config *c = d->c;
    char a[32], b[32], n[32];
    tt_format_count((double)d->parameters, n);
    printf("model     %s parameters, %lld x %lld tokens %s%s, version %s\n", n, (long long)c->batch_size,
           (long long)c->seq_len, c->grad_accum > 1 ? "a micro-batch" : "a step", d->member.job ? " of each rank" : "",
           tt_version_names[c->version]);
    tt_format_bytes(d->need, a);
    tt_format_bytes(d->room, b);
    printf("memory    %s takes %s, %s are free%s\n", d->member.job ? "each rank" : "the run", a, b,
           d->member.job ? " for it" : "");
    tt_format_bytes(d->pinned, a);
    tt_format_bytes(d->pinned_limit, b);
    printf("pinned    %s, the limit (ulimit -l) is %s%s\n", a, isinf(d->pinned_limit) ? "none" : b,
           d->device.shares_memory ? "; nothing is pinned on this device" : "");
    tt_format_bytes(d->checkpoint_bytes, a);
    tt_format_bytes(d->disk_free, b);
    if (d->disk_free >= 0) printf("disk      %s a checkpoint, %s are free at %s\n", a, b, c->out);
    tt_format_count((double)c->num_steps * (double)(tt_step_rows(c) * c->seq_len), n);
    printf("data      %s\n", tt_data_describe(d->data));
    printf("          %lld step%s %s %s tokens: ", (long long)c->num_steps, tt_plural(c->num_steps),
           c->num_steps == 1 ? "sees" : "see", n);
    if (d->epochs > 0)
        printf("%.2f times through the data\n", d->epochs);
    else
        printf("the data never repeat\n");
}

/* Whether the machine was busy during the step or during a row of the sweep. */
static bool is_busy(const struct tt_diagnosis *d)
{
    bool busy = tt_was_busy(d->load, d->step.waited);
    for (int i = 0; i < d->row_count; i++)
        busy |= d->rows[i].fits && tt_was_busy(d->load, d->rows[i].t.waited);
    return busy;
}

static void print_sweep(const struct tt_diagnosis *d)
{
    if (!d->row_count) return;
    printf("\n  %10s %10s %10s %12s\n", "batch-size", "ms/step", "tokens/s", "memory");
    for (int i = 0; i < d->row_count; i++) {
        const struct tt_sweep_row *r = &d->rows[i];
        char memory[32];
        tt_format_bytes(r->t.memory, memory);
        if (r->fits)
            printf("  %10lld %10.2f %10.0f %12s%s%s\n", (long long)r->batch_size, 1e3 * r->t.median,
                   r->t.tokens_per_second, memory, r->batch_size == d->c->batch_size ? "  this run" : "",
                   i == d->sweet ? "  sweet spot" : "");
        else
            printf("  %10lld %10s %10s %12s  does not fit\n", (long long)r->batch_size, "-", "-", memory);
    }
    if (d->sweet < 0 && is_busy(d)) printf("  no sweet spot named: on a busy machine these rows cannot decide it\n");
    putchar('\n');
}

static void print_speed(const struct tt_diagnosis *d)
{
    char total[32], steps[32], validation[32], rate[32];
    if (!d->step.steps) return;
    tt_format_count(d->step.tokens_per_second, rate);
    const char *busy = tt_was_busy(d->load, d->step.waited) ? " (busy machine)" : "";
    printf("speed     %.2f ms a step (median of %d), %s tokens/s; its data take %.2f ms, %.1f %% of that%s\n",
           1e3 * d->step.median, d->step.steps, rate, 1e3 * d->data_seconds, 100 * d->data_seconds / d->step.median,
           busy);
    print_sweep(d);
    tt_format_duration(d->total_time, total);
    tt_format_duration(d->step_time, steps);
    tt_format_duration(d->validation_time, validation);
    printf("time      %s for the whole run: %lld step%s %s, validation %s, saving not counted%s\n", total,
           (long long)(d->c->num_steps - d->done), tt_plural(d->c->num_steps - d->done), steps, validation, busy);
}

static void print_findings(const struct tt_diagnosis *d)
{
    static const enum tt_colour colours[] = {TT_BOLD, TT_WARNING, TT_BAD};
    for (int level = TT_FATAL; level >= TT_ADVICE; level--)
        for (int i = 0; i < d->count; i++) {
            const struct tt_finding *f = &d->findings[i];
            if ((int)f->level != level) continue;
            printf("%s%-9s%s %s\n          -> %s\n", tt_colour(stdout, colours[level]), level_names[level],
                   tt_colour(stdout, TT_PLAIN), f->what, f->change);
        }
    if (!d->count) printf("%sfine%s      nothing to change\n", tt_colour(stdout, TT_GOOD), tt_colour(stdout, TT_PLAIN));
}

void tt_diagnose_text(const struct tt_diagnosis *d)
{
    if (!d->c->quiet) {
        print_device(d);
        print_sizes(d);
        print_speed(d);
        tt_diagnose_print_ranks(d);
    }
    print_findings(d);
}

/* ---- JSON ---- */

static void put_timing(struct tt_json_writer *w, const struct tt_timing *t)
{
    tt_json_put_number(w, "median_ms", 1e3 * t->median);
    tt_json_put_number(w, "p95_ms", 1e3 * t->slow);
    tt_json_put_number(w, "tokens_per_second", t->tokens_per_second);
    tt_json_put_int(w, "steps", t->steps);
    tt_json_put_number(w, "waited", t->waited);
}

static void put_device(struct tt_json_writer *w, const struct tt_diagnosis *d)
{
    tt_json_begin(w, "device", '{');
    tt_json_put_string(w, "backend", d->backend.ops->name);
    tt_json_put_string(w, "name", d->device.name);
    tt_json_put_string(w, "arch", d->device.arch);
    tt_json_put_string(w, "library", d->device.library);
    tt_json_put_string(w, "versions", d->device.versions);
    tt_json_begin(w, "precisions", '[');
    for (int p = 0; p < TT_PRECISIONS; p++)
        if (d->device.has[p]) tt_json_put_string(w, NULL, tt_precision_names[p]);
    tt_json_end(w, ']');
    tt_json_end(w, '}');
}

static void put_sizes(struct tt_json_writer *w, const struct tt_diagnosis *d)
{
    tt_json_put_int(w, "parameters", d->parameters);
    tt_json_begin(w, "memory", '{');
    tt_json_put_number(w, "needed", d->need);
    tt_json_put_number(w, "free", d->room);
    tt_json_put_number(w, "pinned", d->pinned);
    tt_json_put_number(w, "pinned_limit", d->pinned_limit); /* null: none */
    tt_json_end(w, '}');
    tt_json_begin(w, "disk", '{');
    tt_json_put_number(w, "checkpoint", d->checkpoint_bytes);
    tt_json_put_number(w, "needed", d->disk_need);
    tt_json_put_number(w, "free", d->disk_free >= 0 ? d->disk_free : NAN);
    tt_json_end(w, '}');
    tt_json_put_number(w, "epochs", d->epochs > 0 ? d->epochs : NAN);
}

static void put_speed(struct tt_json_writer *w, const struct tt_diagnosis *d)
{
    tt_json_begin(w, "step", '{');
    put_timing(w, &d->step);
    tt_json_put_number(w, "data_ms", 1e3 * d->data_seconds);
    tt_json_end(w, '}');
    tt_json_begin(w, "sweep", '[');
    for (int i = 0; i < d->row_count; i++) {
        tt_json_begin(w, NULL, '{');
        tt_json_put_int(w, "batch_size", d->rows[i].batch_size);
        tt_json_put_bool(w, "fits", d->rows[i].fits);
        tt_json_put_number(w, "memory", d->rows[i].t.memory);
        if (d->rows[i].fits) put_timing(w, &d->rows[i].t);
        tt_json_put_bool(w, "sweet_spot", i == d->sweet);
        tt_json_end(w, '}');
    }
    tt_json_end(w, ']');
    tt_json_begin(w, "time", '{');
    tt_json_put_number(w, "seconds", d->total_time);
    tt_json_put_number(w, "steps_seconds", d->step_time);
    tt_json_put_number(w, "validation_seconds", d->validation_time);
    tt_json_end(w, '}');
}

tt_status tt_diagnose_json(const struct tt_diagnosis *d)
{
    struct tt_json_writer w = {.pretty = true};
    tt_json_begin(&w, NULL, '{');
    put_device(&w, d);
    put_sizes(&w, d);
    if (d->step.steps) put_speed(&w, d);
    tt_diagnose_put_ranks(&w, d);
    tt_json_begin(&w, "findings", '[');
    for (int i = 0; i < d->count; i++) {
        tt_json_begin(&w, NULL, '{');
        tt_json_put_string(&w, "level", level_names[d->findings[i].level]);
        tt_json_put_string(&w, "what", d->findings[i].what);
        tt_json_put_string(&w, "change", d->findings[i].change);
        tt_json_end(&w, '}');
    }
    tt_json_end(&w, ']');
    tt_json_put_string(&w, "verdict", d->count ? level_names[tt_diagnose_worst(d)] : "fine");
    tt_json_end(&w, '}');
    return tt_json_print(&w);
}
