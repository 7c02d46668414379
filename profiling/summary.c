/* summary.md: the profile as a page of text. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profiling/advice.h"
#include "profiling/profile_write.h"

enum { TOP = 15 };

/* Numbers that may be n/a. Several are used in one printf, so each has its own place. */
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

/* What another profiler recorded tells nothing of the model, its FLOPs or its memory. */
static bool knows_model(const struct tt_profile *p) { return p->run.num_layers > 0; }

static void remark(struct tt_text *t, void (*of)(const struct tt_profile *, char *), const struct tt_profile *p)
{
    char words[400];
    of(p, words);
    if (words[0]) tt_text_printf(t, "%s\n\n", words);
}

static void head_of_import(struct tt_text *t, const struct tt_profile *p)
{
    const struct tt_profile_run *r = &p->run;
    tt_text_printf(t, "# Profile: %s\n\n", r->source[0] ? r->source : "imported");
    if (r->device[0]) tt_text_printf(t, "%s; ", r->device);
    tt_text_printf(t, "read by tt %s, %s.\n\n", r->tt, r->created);
    remark(t, tt_headline, p);
}

static void head(struct tt_text *t, const struct tt_profile *p)
{
    const struct tt_profile_run *r = &p->run;
    if (!knows_model(p)) {
        head_of_import(t, p);
        return;
    }
    tt_text_printf(t, "# Profile: %s, %s, %s\n\n", r->preset, r->version, r->precision);
    tt_text_printf(t, "%s (%s), %s; tt %s with backend %s, %s.\n\n", r->device, r->arch, r->library, r->tt, r->backend,
                   r->created);
    tt_text_printf(
        t,
        "%lld layers, hidden %lld, %lld heads (%lld key/value) of %lld, ffn %lld, vocabulary %lld: %lld parameters. ",
        (long long)r->num_layers, (long long)r->hidden_dim, (long long)r->num_heads, (long long)r->num_kv_heads,
        (long long)r->head_dim, (long long)r->ffn_dim, (long long)r->vocab_size, (long long)r->parameters);
    tt_text_printf(t, "A step is %lld x %lld x %lld tokens (accumulated, sequences, length), %s.\n\n",
                   (long long)r->grad_accum, (long long)r->batch_size, (long long)r->seq_len,
                   r->graph ? "replayed as a graph" : "launched operation by operation");
    if (r->own_kernel[0])
        tt_text_printf(t, "`residual_norm` of %s (SHA-256 %s...) stands for the kernel `rmsnorm` where that adds a residual; it %s.\n\n",
                       r->own_kernel, r->own_kernel_sha, r->own_kernel_scratch ? "writes to scratch" : "leaves scratch alone");
    if (r->flash_refused)
        tt_text_puts(t, "Its heads are too large for this device's flash attention; the fused one ran.\n\n");
}

/* Of a recording only what its tool saw. */
static void recorded_step(struct tt_text *t, const struct tt_profile *p)
{
    const struct tt_profile_step *s = &p->step;
    tt_text_printf(t, "## %s\n\n| | |\n|---|---|\n", p->run.steps > 1 ? "The step" : "What was recorded");
    if (isfinite(s->seconds)) tt_text_printf(t, "| from the first to the last | %s ms |\n", ms(s->seconds).s);
    tt_text_printf(t, "| sum of the kernels | %s ms |\n", ms(s->kernel_seconds).s);
    if (isfinite(s->gap_seconds))
        tt_text_printf(t, "| nothing ran | %s ms, %s %% |\n", ms(s->gap_seconds).s, percent(s->gap_fraction).s);
    tt_text_printf(t, "| kernels | %lld |\n", (long long)s->kernels);
    if (isfinite(p->launch.launch_seconds))
        tt_text_printf(t, "| launch cost | %s us each, %s ms together |\n", us(p->launch.launch_seconds).s,
                       ms(p->launch.total_seconds).s);
    if (isfinite(p->launch.waits)) tt_text_printf(t, "| host waits | %s |\n", plain(p->launch.waits).s);
    tt_text_puts(t, "\n");
}

static void step(struct tt_text *t, const struct tt_profile *p)
{
    if (!knows_model(p)) {
        recorded_step(t, p);
        return;
    }
    const struct tt_profile_step *s = &p->step;
    const struct tt_profile_launch *l = &p->launch;
    tt_text_printf(t, "## The step\n\n| | |\n|---|---|\n");
    tt_text_printf(t, "| step, undisturbed (median of %lld) | %s ms, p95 %s, fastest %s |\n", (long long)p->run.steps,
                   ms(s->seconds).s, ms(s->p95).s, ms(s->fastest).s);
    if (p->run.graph) tt_text_printf(t, "| without a graph | %s ms |\n", ms(s->launched_seconds).s);
    tt_text_printf(t, "| sum of the kernels | %s ms; gaps %s ms, %s %% of the step |\n", ms(s->kernel_seconds).s,
                   ms(s->gap_seconds).s, percent(s->gap_fraction).s);
    tt_text_printf(t, "| samples/s, tokens/s | %s, %s |\n", plain(s->samples_per_second).s,
                   number(s->tokens_per_second, "%.0f", 1).s);
    tt_text_printf(t, "| kernels per step | %lld |\n", (long long)s->kernels);
    tt_text_printf(
        t,
        "| launch cost | %s us on the host, %s us an empty kernel on the device; %lld kernels: %s ms of the host |\n",
        us(l->launch_seconds).s, us(l->empty_kernel_seconds).s, (long long)s->kernels, ms(l->total_seconds).s);
    if (isfinite(l->graph_replay_seconds))
        tt_text_printf(t, "| the same as a graph | %s us to start, %s us an empty kernel |\n",
                       us(l->graph_replay_seconds).s, us(l->graph_kernel_seconds).s);
    tt_text_printf(t, "| device idle when launched one by one | %s ms |\n", ms(l->idle_seconds).s);
    tt_text_printf(t, "| host waits per step | %s |\n", plain(l->waits).s);
    tt_text_printf(t,
                   "| overhead of recording | %s us per event, subtracted; the recorded step took %s ms, %s %% %s |\n",
                   us(l->event_seconds).s, ms(l->recorded_seconds).s, percent(fabs(l->recorded_overhead)).s,
                   l->recorded_overhead < 0 ? "less: within the noise" : "more");
    tt_text_printf(t, "| loss, norm of the gradients after %lld steps | %s, %s |\n\n",
                   (long long)(p->samples_count ? p->samples[p->samples_count - 1].step : 0),
                   number(s->loss, "%.4f", 1).s, number(s->grad_norm, "%.4f", 1).s);
    remark(t, tt_gap_remark, p);
}

static void efficiency(struct tt_text *t, const struct tt_profile *p)
{
    const struct tt_profile_efficiency *e = &p->efficiency;
    if (!isfinite(e->mfu_percent)) return;
    tt_text_printf(t, "## Efficiency\n\n| | causal | full |\n|---|---|---|\n");
    tt_text_printf(t, "| forward GFLOP | %s | %s |\n", giga(e->forward_flops).s, giga(e->forward_flops_full).s);
    tt_text_printf(t, "| backward GFLOP | %s | %s |\n", giga(e->backward_flops).s, giga(e->backward_flops_full).s);
    tt_text_printf(t, "| step GFLOP | %s | %s |\n", giga(e->step_flops).s, giga(e->step_flops_full).s);
    tt_text_printf(t, "| FLOP per parameter | %s | %s |\n", plain(e->flops_per_parameter).s,
                   plain(e->flops_per_parameter_full).s);
    tt_text_printf(t, "| MFU against the measured matrix product, %% | %s | %s |\n", plain(e->mfu_percent).s,
                   plain(e->mfu_full_percent).s);
    tt_text_printf(t, "| MFU against the datasheet, %% | %s | %s |\n\n", plain(e->mfu_datasheet_percent).s,
                   plain(e->mfu_full_datasheet_percent).s);
    tt_text_printf(t,
                   "Class: **%s** (below 20 %% low, 20 to 40 moderate, 40 to 60 good, above high: the workshop's four, which it "
                   "calls severely underused, memory-bound, mixed and compute-bound after what is often behind them).\n\n",
                   e->mfu_class);
    tt_text_printf(
        t,
        "The kernels do %s GFLOP and move %s GB: %s FLOP/byte, and the roofs meet at %s (datasheet %s). Measured "
        "roofs: %s TFLOP/s, %s TB/s; datasheet %s, %s. The step moves %s TB/s, %s %% of the copy.\n\n",
        giga(e->plan_flops).s, giga(e->plan_bytes).s, plain(e->intensity).s, plain(e->ridge).s,
        plain(e->ridge_datasheet).s, tera(e->gemm_flops_per_second).s, tera(e->copy_bytes_per_second).s,
        tera(e->datasheet_flops_per_second).s, tera(e->datasheet_bytes_per_second).s, tera(e->bytes_per_second).s,
        plain(e->bandwidth_percent).s);
    remark(t, tt_bound_remark, p);
    remark(t, tt_roof_remark, p);
}

static void rows(struct tt_text *t, const struct tt_profile_row *rows, int n, bool operators)
{
    tt_text_printf(t,
                   "| %s | count | total ms | median us | share %% | FLOP/byte | TFLOP/s | TB/s | roof %% | bound |\n",
                   operators ? "operator | group | phase" : "group");
    tt_text_printf(t, "|%s---|---|---|---|---|---|---|---|---|---|\n", operators ? "---|---|" : "");
    for (int i = 0; i < n; i++) {
        const struct tt_profile_row *r = &rows[i];
        tt_text_printf(t, "| %s%s%s |", r->name, r->shape[0] ? " " : "", r->shape);
        if (operators) tt_text_printf(t, " %s | %s |", r->group, r->phase);
        tt_text_printf(t, " %lld | %s | %s | %s | %s | %s | %s | %s | %s |\n", (long long)r->count, ms(r->seconds).s,
                       us(r->median).s, percent(r->share).s, plain(r->intensity).s, tera(r->flops_per_second).s,
                       tera(r->bytes_per_second).s, number(r->roof_percent, "%.1f", 1).s,
                       r->bound[0] ? r->bound : "n/a");
    }
    tt_text_puts(t, "\n");
}

static void phases(struct tt_text *t, const struct tt_profile *p)
{
    if (!p->phases_count) return;
    tt_text_puts(t, "## Phases\n\n| phase | kernels | wall ms | host ms | device ms |\n|---|---|---|---|---|\n");
    for (int i = 0; i < p->phases_count; i++) {
        const struct tt_profile_phase *f = &p->phases[i];
        tt_text_printf(t, "| %s | %lld | %s | %s | %s |\n", f->name, (long long)f->kernels, ms(f->wall).s,
                       ms(f->host).s, ms(f->device).s);
    }
    tt_text_puts(t, "\n");
}

static void components(struct tt_text *t, const struct tt_profile *p)
{
    if (!p->components_count) return;
    tt_text_puts(t,
                 "## Components\n\n| component | kernels | forward ms | backward ms | total ms | share % | GFLOP |\n"
                 "|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < p->components_count; i++) {
        const struct tt_profile_component *c = &p->components[i];
        tt_text_printf(t, "| %s | %lld | %s | %s | %s | %s | %s |\n", c->name, (long long)c->kernels, ms(c->forward).s,
                       ms(c->backward).s, ms(c->seconds).s, percent(c->share).s, giga(c->flops).s);
    }
    tt_text_puts(t, "\n");
}

static void memory(struct tt_text *t, const struct tt_profile *p)
{
    const struct tt_profile_memory *m = &p->memory;
    if (!p->memory_kinds_count) return;
    tt_text_printf(t,
                   "## Memory\n\nPredicted %s MiB, measured %s MiB. Most activations are alive in the %s pass, at `%s`",
                   mib(m->predicted_bytes).s, mib(m->measured_bytes).s, m->peak_phase, m->peak_operation);
    if (m->peak_layer >= 0) tt_text_printf(t, " of layer %lld", (long long)m->peak_layer);
    tt_text_printf(t, ": %s MiB in an arena of %s MiB.\n\n| kind | predicted MiB | measured MiB |\n|---|---|---|\n",
                   mib(m->live_bytes).s, mib(m->arena_bytes).s);
    for (int i = 0; i < p->memory_kinds_count; i++)
        tt_text_printf(t, "| %s | %s | %s |\n", p->memory_kinds[i].kind, mib(p->memory_kinds[i].predicted).s,
                       mib(p->memory_kinds[i].measured).s);
    if (!p->sweeps_count) return;
    tt_text_puts(
        t,
        "\n| sweep | value | predicted MiB | activations MiB | measured MiB | step ms |\n|---|---|---|---|---|---|\n");
    for (int i = 0; i < p->sweeps_count; i++) {
        const struct tt_profile_sweep *w = &p->sweeps[i];
        tt_text_printf(t, "| %s | %lld | %s | %s | %s | %s |\n", w->axis, (long long)w->value, mib(w->predicted).s,
                       mib(w->activations).s, mib(w->measured).s, ms(w->seconds).s);
    }
}

tt_status tt_profile_write_summary(const struct tt_profile *p, const char *path)
{
    struct tt_text t = {0};
    head(&t, p);
    step(&t, p);
    tt_text_puts(&t, "## Groups\n\n");
    rows(&t, p->groups, p->groups_count, false);
    tt_text_printf(&t, "## Operators\n\nThe %d longest of %d; all are in operators.csv.\n\n",
                   p->operators_count < TOP ? p->operators_count : TOP, p->operators_count);
    rows(&t, p->operators, p->operators_count < TOP ? p->operators_count : TOP, true);
    phases(&t, p);
    components(&t, p);
    efficiency(&t, p);
    memory(&t, p);
    while (t.n && t.s[t.n - 1] == '\n') t.s[--t.n] = 0; /* the newline at the end comes with saving */
    return tt_profile_save(&t, path);
}
