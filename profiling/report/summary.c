/* summary.md: the profile as a page of text. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/format.h"
#include "core/base/markdown.h"
#include "profiling/profile_write.h"
#include "profiling/report/advice.h"

enum { TOP = 15 };

/* A number in words, or "n/a". Several are used in one printf, so each is a value with its own room. */
struct cell {
    char s[32];
};

static struct cell number(double x, const char *format, double scale)
{
    struct cell c = {"n/a"};
    if (isfinite(x)) snprintf(c.s, sizeof c.s, format, x * scale);
    return c;
}

static struct cell ms(double seconds) { return number(seconds, "%.3f", 1e3); }
static struct cell us(double seconds) { return number(seconds, "%.2f", 1e6); }
static struct cell percent(double fraction) { return number(fraction, "%.1f", 100); }
/* A tiny model's figures keep their digits: 0.0312 and not 0.0. */
static struct cell scaled(double x, const char *format, double scale)
{
    return number(x, fabs(x * scale) < 1 ? "%.3g" : format, scale);
}
static struct cell mib(double bytes) { return scaled(bytes, "%.1f", 0x1p-20); }
static struct cell giga(double x) { return scaled(x, "%.3f", 1e-9); }
static struct cell tera(double x) { return number(x, "%.4g", 1e-12); }
static struct cell plain(double x) { return number(x, "%.2f", 1); }

/* An imported profile tells nothing of the model, its FLOPs or its memory. */
static bool knows_model(const struct tt_profile *p) { return p->run.num_layers > 0; }

static void remark(struct tt_text *t, void (*of)(const struct tt_profile *, char *), const struct tt_profile *p)
{
    char words[400];
    of(p, words);
    if (!words[0]) return;
    tt_md_text(t, words);
    tt_text_puts(t, "\n\n");
}

/* A row of a table with two columns. */
static void fact(struct tt_text *t, const char *what, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void fact(struct tt_text *t, const char *what, const char *format, ...)
{
    char words[400];
    va_list ap;
    va_start(ap, format);
    vsnprintf(words, sizeof words, format, ap);
    va_end(ap);
    tt_md_cell(t, what);
    tt_md_cell(t, words);
    tt_md_end(t);
}

static void cells(struct tt_text *t, int n, const struct cell *list)
{
    for (int i = 0; i < n; i++) tt_md_cell(t, list[i].s);
    tt_md_end(t);
}

static struct cell whole(int64_t n)
{
    struct cell c;
    snprintf(c.s, sizeof c.s, "%lld", (long long)n);
    return c;
}

#define CELLS(t, ...) cells(t, sizeof((struct cell[]){__VA_ARGS__}) / sizeof(struct cell), (struct cell[]){__VA_ARGS__})

static void head_of_import(struct tt_text *t, const struct tt_profile *p)
{
    const struct tt_profile_run *r = &p->run;
    tt_text_puts(t, "# Profile: ");
    tt_md_text(t, r->source[0] ? r->source : "imported");
    tt_text_puts(t, "\n\n");
    if (r->device[0]) tt_md_printf(t, "%s; ", r->device);
    tt_md_printf(t, "read by tt %s, %s.", r->tt, r->created);
    tt_text_puts(t, "\n\n");
    if (r->scope[0]) {
        tt_md_text(t, r->scope);
        tt_text_puts(t, "\n\n");
    }
    remark(t, tt_headline, p);
}

static void head(struct tt_text *t, const struct tt_profile *p)
{
    const struct tt_profile_run *r = &p->run;
    if (!knows_model(p)) {
        head_of_import(t, p);
        return;
    }
    tt_text_puts(t, "# Profile: ");
    tt_md_printf(t, "%s, %s, %s%s%s", r->preset, r->version, r->precision, r->fp8[0] ? " " : "", r->fp8);
    tt_text_puts(t, "\n\n");
    tt_md_printf(t, "%s (%s), %s; tt %s with backend %s, %s.", r->device, r->arch, r->library, r->tt, r->backend,
                 r->created);
    tt_text_puts(t, "\n\n");
    tt_text_printf(
        t,
        "%lld layer%s, hidden %lld, %lld head%s (%lld key/value) of %lld, ffn %lld, vocabulary %lld: %lld "
        "parameters. ",
        (long long)r->num_layers, tt_plural(r->num_layers), (long long)r->hidden_dim, (long long)r->num_heads,
        tt_plural(r->num_heads), (long long)r->num_kv_heads,
        (long long)r->head_dim, (long long)r->ffn_dim, (long long)r->vocab_size, (long long)r->parameters);
    if (p->job.ranks) tt_text_printf(t, "On each of %lld ranks a step", (long long)p->job.ranks);
    tt_text_printf(t, "%s is %lld x %lld x %lld tokens (accumulated batches, sequences, length), %s.\n\n",
                   p->job.ranks ? "" : "A step", (long long)r->grad_accum, (long long)r->batch_size,
                   (long long)r->seq_len, r->graph ? "replayed as a graph" : "launched operation by operation");
    if (r->update[0] && strcmp(r->update, "all")) {
        tt_text_puts(t, "Not all weights are updated: ");
        tt_md_printf(t, "%s. The measured step is one that chooses them.", r->update);
        tt_text_puts(t, "\n\n");
    }
    if (r->own_kernel[0]) {
        tt_text_puts(t, "`residual_norm` of ");
        tt_md_printf(t, "%s (SHA-256 %s...)", r->own_kernel, r->own_kernel_sha);
        tt_text_printf(t, " replaces the kernel `rmsnorm` where that adds a residual; it %s.\n\n",
                       r->own_kernel_scratch ? "writes to scratch" : "leaves scratch alone");
    }
    remark(t, tt_attention_remark, p);
    remark(t, tt_busy_remark, p);
}

/* For an imported profile only what its tool saw. */
static void imported_step(struct tt_text *t, const struct tt_profile *p)
{
    const struct tt_profile_step *s = &p->step;
    char gaps[100];
    tt_text_printf(t, "## %s\n\n", p->run.steps > 0 ? "The step" : "What was recorded");
    tt_md_head(t, "|");
    if (isfinite(s->seconds)) fact(t, "from the first event to the last", "%s ms", ms(s->seconds).s);
    fact(t, "sum of the kernels", "%s ms", ms(s->kernel_seconds).s);
    if (isfinite(s->gap_seconds)) fact(t, "time in which nothing ran", "%s", tt_gap_words(p, gaps));
    fact(t, "kernels", "%lld", (long long)s->kernels);
    if (isfinite(p->launch.launch_seconds))
        fact(t, "launch cost", "%s us each, %s ms together", us(p->launch.launch_seconds).s,
             ms(p->launch.total_seconds).s);
    if (isfinite(p->launch.waits)) fact(t, "host waits", "%s", plain(p->launch.waits).s);
    tt_text_puts(t, "\n");
}

static void step(struct tt_text *t, const struct tt_profile *p)
{
    if (!knows_model(p)) {
        imported_step(t, p);
        return;
    }
    const struct tt_profile_step *s = &p->step;
    const struct tt_profile_launch *l = &p->launch;
    char title[80], gaps[100], recording[TT_RECORDING_WORDS];
    tt_text_puts(t, "## The step\n\n");
    tt_md_head(t, "|");
    snprintf(title, sizeof title, "step, undisturbed (median of %lld)", (long long)p->run.steps);
    fact(t, title, "%s ms, p95 %s, fastest %s", ms(s->seconds).s, ms(s->p95).s, ms(s->fastest).s);
    if (p->run.graph) fact(t, "without a graph", "%s ms", ms(s->launched_seconds).s);
    fact(t, "sum of the kernels", "%s ms; gaps: %s", ms(s->kernel_seconds).s, tt_gap_words(p, gaps));
    fact(t, "samples/s, tokens/s", "%s, %s", plain(s->samples_per_second).s, number(s->tokens_per_second, "%.0f", 1).s);
    fact(t, "kernels per step", "%lld", (long long)s->kernels);
    fact(t, "launch cost",
         "%s us on the host, %s us for an empty kernel on the device; %lld kernels: %s ms on the host",
         us(l->launch_seconds).s, us(l->empty_kernel_seconds).s, (long long)s->kernels, ms(l->total_seconds).s);
    if (isfinite(l->graph_replay_seconds))
        fact(t, "the same as a graph", "%s us to start, %s us for an empty kernel", us(l->graph_replay_seconds).s,
             us(l->graph_kernel_seconds).s);
    fact(t, "device idle when launched one by one", "%s ms", ms(l->idle_seconds).s);
    fact(t, "host waits per step", "%s", plain(l->waits).s);
    fact(t, "overhead of recording", "%s us per event, subtracted; the recorded step took %s ms, %s",
         us(l->event_seconds).s, ms(l->recorded_seconds).s, tt_recording_words(p, recording));
    snprintf(title, sizeof title, "loss, norm of the gradients after %lld steps",
             (long long)(p->samples_count ? p->samples[p->samples_count - 1].step : 0));
    fact(t, title, "%s, %s", number(s->loss, "%.4f", 1).s, number(s->grad_norm, "%.4f", 1).s);
    tt_text_puts(t, "\n");
    remark(t, tt_gap_remark, p);
}

static void pair(struct tt_text *t, const char *what, struct cell a, struct cell b)
{
    tt_md_cell(t, what);
    CELLS(t, a, b);
}

static void efficiency(struct tt_text *t, const struct tt_profile *p)
{
    const struct tt_profile_efficiency *e = &p->efficiency;
    if (!isfinite(e->mfu_percent)) return;
    tt_text_puts(t, "## Efficiency\n\n");
    tt_md_head(t, "|causal|full");
    pair(t, "forward GFLOP", giga(e->forward_flops), giga(e->forward_flops_full));
    pair(t, "backward GFLOP", giga(e->backward_flops), giga(e->backward_flops_full));
    pair(t, "step GFLOP", giga(e->step_flops), giga(e->step_flops_full));
    pair(t, "FLOP per parameter", plain(e->flops_per_parameter), plain(e->flops_per_parameter_full));
    pair(t, "MFU against the measured matrix product, %", plain(e->mfu_percent), plain(e->mfu_full_percent));
    pair(t, "MFU against the datasheet, %", plain(e->mfu_datasheet_percent), plain(e->mfu_full_datasheet_percent));
    tt_text_puts(t, "\n");
    tt_text_puts(t, "Class: **");
    tt_md_text(t, e->mfu_class);
    tt_text_puts(
        t, "** (MFU below 20 % is low, 20 to 40 moderate, 40 to 60 good, above that high). The four classes are those "
           "of AMD's TinyTransformer workshop (HPCTrainingExamples), which calls them severely underused, "
           "memory-bound, mixed and compute-bound, after their usual causes.\n\n");
    tt_text_printf(
        t,
        "The kernels do %s GFLOP and move %s GB: %s FLOP/byte, and the roofs meet at %s (datasheet: %s). Measured "
        "roofs: %s TFLOP/s, %s TB/s (datasheet: %s, %s). The step moves %s TB/s, %s %% of the measured memory rate."
        "\n\n",
        giga(e->plan_flops).s, giga(e->plan_bytes).s, plain(e->intensity).s, plain(e->ridge).s,
        plain(e->ridge_datasheet).s, tera(e->gemm_flops_per_second).s, tera(e->copy_bytes_per_second).s,
        tera(e->datasheet_flops_per_second).s, tera(e->datasheet_bytes_per_second).s, tera(e->bytes_per_second).s,
        plain(e->bandwidth_percent).s);
    remark(t, tt_bound_remark, p);
    remark(t, tt_roof_remark, p);
}

#define FIGURES "count|total ms|median us|share %|FLOP/byte|TFLOP/s|TB/s|roof %|bound"

static void rows(struct tt_text *t, const struct tt_profile_row *rows, int n, bool operators)
{
    tt_md_head(t, operators ? "operator|group|phase|" FIGURES : "group|" FIGURES);
    for (int i = 0; i < n; i++) {
        const struct tt_profile_row *r = &rows[i];
        tt_md_cellf(t, "%s%s%s", r->name, r->shape[0] ? " " : "", r->shape);
        if (operators) tt_md_cell(t, r->group);
        if (operators) tt_md_cell(t, r->phase);
        struct cell bound = {"n/a"};
        if (r->bound[0]) snprintf(bound.s, sizeof bound.s, "%s", r->bound);
        CELLS(t, whole(r->count), ms(r->seconds), us(r->median), percent(r->share), plain(r->intensity),
              tera(r->flops_per_second), tera(r->bytes_per_second), number(r->roof_percent, "%.1f", 1), bound);
    }
    tt_text_puts(t, "\n");
}

static void phases(struct tt_text *t, const struct tt_profile *p)
{
    if (!p->phases_count) return;
    tt_text_puts(t, "## Phases\n\n");
    tt_md_head(t, "phase|kernels|wall ms|host ms|device ms");
    for (int i = 0; i < p->phases_count; i++) {
        const struct tt_profile_phase *f = &p->phases[i];
        tt_md_cell(t, f->name);
        CELLS(t, whole(f->kernels), ms(f->wall), ms(f->host), ms(f->device));
    }
    tt_text_puts(t, "\n");
    remark(t, tt_phase_remark, p);
}

static void collectives(struct tt_text *t, const struct tt_profile *p)
{
    tt_md_head(t, "collective|type|phase|count|bytes|sent MiB|ms|hidden ms|exposed ms|fastest us|bus GB/s");
    for (int i = 0; i < p->collectives_count; i++) {
        const struct tt_profile_collective *c = &p->collectives[i];
        tt_md_cell(t, c->name);
        tt_md_cell(t, c->type);
        tt_md_cell(t, c->phase);
        CELLS(t, whole(c->count), number(c->bytes, "%.0f", 1), mib(c->sent_bytes), ms(c->seconds), ms(c->hidden),
              ms(c->exposed), us(c->fastest), giga(c->bus_bandwidth));
    }
    tt_text_puts(t, "\n");
}

static void ranks(struct tt_text *t, const struct tt_profile *p)
{
    if (!p->job.ranks) return;
    tt_text_puts(t, "## Ranks and communication\n\n");
    remark(t, tt_ranks_remark, p);
    collectives(t, p);
    tt_md_head(t, "rank|host|step ms|p95 ms|computes ms|communicates ms|hidden ms|exposed ms|peak MiB|clock within us");
    for (int i = 0; i < p->ranks_count; i++) {
        const struct tt_profile_rank *r = &p->ranks[i];
        tt_md_cell(t, whole(r->rank).s);
        tt_md_cell(t, r->host);
        CELLS(t, ms(r->seconds), ms(r->p95), ms(r->own_seconds), ms(r->communication), ms(r->hidden), ms(r->exposed),
              mib(r->peak_memory_bytes), number(r->clock_within, "%.1f", 1e6));
    }
    tt_text_puts(t, "\nAll other tables show rank 0. trace.json has all ranks: ");
    tt_md_text(t, p->job.clocks);
    tt_text_puts(t, ".\n\n");
}

static void components(struct tt_text *t, const struct tt_profile *p)
{
    if (!p->components_count) return;
    tt_text_puts(t, "## Components\n\n");
    remark(t, tt_rows_remark, p);
    tt_md_head(t, "component|kernels|forward ms|backward ms|total ms|share %|GFLOP");
    for (int i = 0; i < p->components_count; i++) {
        const struct tt_profile_component *c = &p->components[i];
        tt_md_cell(t, c->name);
        CELLS(t, whole(c->kernels), ms(c->forward), ms(c->backward), ms(c->seconds), percent(c->share), giga(c->flops));
    }
    tt_text_puts(t, "\n");
}

static void memory(struct tt_text *t, const struct tt_profile *p)
{
    const struct tt_profile_memory *m = &p->memory;
    if (!p->memory_kinds_count) return;
    tt_text_printf(t, "## Memory\n\nPredicted %s MiB, measured %s MiB. Most activations are alive in the ",
                   mib(m->predicted_bytes).s, mib(m->measured_bytes).s);
    tt_md_printf(t, "%s pass, at %s", m->peak_phase, m->peak_operation);
    if (m->peak_layer >= 0) tt_text_printf(t, " of layer %lld", (long long)m->peak_layer);
    tt_text_printf(t, ": %s MiB in an arena of %s MiB.\n\n", mib(m->live_bytes).s, mib(m->arena_bytes).s);
    tt_md_head(t, "kind|predicted MiB|measured MiB");
    for (int i = 0; i < p->memory_kinds_count; i++)
        pair(t, p->memory_kinds[i].kind, mib(p->memory_kinds[i].predicted), mib(p->memory_kinds[i].measured));
    if (!p->sweeps_count) return;
    tt_text_puts(t, "\n");
    tt_md_head(t, "sweep|value|predicted MiB|activations MiB|measured MiB|step ms");
    for (int i = 0; i < p->sweeps_count; i++) {
        const struct tt_profile_sweep *w = &p->sweeps[i];
        tt_md_cell(t, w->axis);
        CELLS(t, whole(w->value), mib(w->predicted), mib(w->activations), mib(w->measured), ms(w->seconds));
    }
}

tt_status tt_profile_write_summary(const struct tt_profile *p, const char *path)
{
    struct tt_text t = {0};
    head(&t, p);
    step(&t, p);
    tt_text_puts(&t, "## Groups\n\n");
    remark(&t, tt_rows_remark, p);
    rows(&t, p->groups, p->groups_count, false);
    tt_text_printf(&t, "## Operators\n\nThe %d longest of %d; all are in operators.csv.\n\n",
                   p->operators_count < TOP ? p->operators_count : TOP, p->operators_count);
    remark(&t, tt_rows_remark, p);
    rows(&t, p->operators, p->operators_count < TOP ? p->operators_count : TOP, true);
    phases(&t, p);
    ranks(&t, p);
    components(&t, p);
    efficiency(&t, p);
    memory(&t, p);
    while (t.n && t.s[t.n - 1] == '\n') t.s[--t.n] = 0; /* saving adds the newline at the end */
    return tt_profile_save(&t, path);
}
