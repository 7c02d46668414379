/* report.html: the order of the page, and where the time goes. */
#include "profiling/report/html.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/format.h"
#include "profiling/report/advice.h"
#include "profiling/report/html_parts.h"
#include "profiling/report/html_sections.h"
#include "profiling/report/svg.h"

enum { TOP = 10, ROWS_SHOWN = 300 };

/* ---- the head of the page ---- */

static void facts(struct tt_text *t, const struct tt_profile *p)
{
    const struct tt_profile_run *r = &p->run;
    char line[400], a[32], b[32];
    html_facts(t);
    html_fact(t, "step", tt_si_time(p->step.seconds, a));
    snprintf(line, sizeof line, "%s tokens/s, %s samples/s", tt_si(p->step.tokens_per_second, a),
             tt_si(p->step.samples_per_second, b));
    if (isfinite(p->step.tokens_per_second)) html_fact(t, "speed", line);
    snprintf(line, sizeof line, "%s %% (%s)", html_fixed(p->efficiency.mfu_percent, 1, a), p->efficiency.mfu_class);
    if (isfinite(p->efficiency.mfu_percent)) html_fact(t, "model FLOP utilisation", line);
    if (isfinite(p->step.peak_memory_bytes)) html_fact(t, "peak memory", tt_si_bytes(p->step.peak_memory_bytes, a));
    snprintf(line, sizeof line, "%lld", (long long)p->step.kernels);
    html_fact(t, "kernels a step", line);
    html_fact(t, "device", r->device);
    html_fact(t, "library", r->library);
    snprintf(line, sizeof line, "%s%s%s, %s%s%s%s", r->version, r->fuse[0] ? " " : "", r->fuse, r->precision,
             r->fp8[0] ? " " : "", r->fp8, r->graph ? ", as a graph" : "");
    if (r->version[0]) html_fact(t, "version", line);
    if (r->update[0] && strcmp(r->update, "all")) html_fact(t, "update", r->update);
    snprintf(line, sizeof line,
             "%lld layer%s, hidden %lld, %lld head%s (%lld key/value), ffn %lld, vocabulary %lld: %s parameters",
             (long long)r->num_layers, tt_plural(r->num_layers), (long long)r->hidden_dim, (long long)r->num_heads,
             tt_plural(r->num_heads), (long long)r->num_kv_heads,
             (long long)r->ffn_dim, (long long)r->vocab_size, tt_si((double)r->parameters, a));
    if (r->num_layers) html_fact(t, r->preset[0] ? r->preset : "model", line);
    snprintf(line, sizeof line, "%lld × %lld tokens%s", (long long)r->batch_size, (long long)r->seq_len,
             r->grad_accum > 1 ? ", accumulated" : "");
    if (r->batch_size) html_fact(t, p->job.ranks ? "batch of a rank" : "batch", line);
    snprintf(line, sizeof line, "%lld measured, after %lld of warm-up", (long long)r->steps, (long long)r->warmup);
    html_fact(t, "steps", line);
    html_fact(t, "recorded by", r->source);
    html_fact(t, "written", r->created);
    html_facts_end(t);
}

static void head(struct tt_text *t, const struct tt_profile *p, bool imported)
{
    char title[200], line[400];
    snprintf(title, sizeof title, "Profile: %s%s%s%s%s", p->run.preset[0] ? p->run.preset : p->run.source,
             p->run.version[0] ? ", " : "", p->run.version, p->run.device[0] ? " on " : "", p->run.device);
    html_begin(t, title);
    tt_text_puts(t, "<header><h1>");
    tt_escape(t, title);
    tt_headline(p, line);
    tt_text_puts(t, "</h1>\n<p class=\"lead\">");
    tt_escape(t, line);
    tt_text_puts(
        t,
        "</p>\n<nav><a href=\"#time\">Time</a> <a href=\"#operators\">Operators</a> <a href=\"#phases\">Phases</a> "
        "<a href=\"#timeline\">Timeline</a> <a href=\"#roofline\">Roofline</a> <a href=\"#efficiency\">Efficiency</a> "
        "<a href=\"#memory\">Memory</a> <a href=\"#components\">Components</a> <a href=\"#training\">Training</a> "
        "<a href=\"#next\">What to try next</a>");
    if (p->job.ranks) tt_text_puts(t, " <a href=\"#ranks\">Ranks</a>");
    if (imported) tt_text_puts(t, " <a href=\"#imported\">Imported</a>");
    tt_text_puts(t, "</nav></header>\n");
    facts(t, p);
    if (p->run.scope[0]) html_paragraph(t, "%s", p->run.scope);
    tt_attention_remark(p, line);
    if (line[0]) html_paragraph(t, "%s", line);
    tt_busy_remark(p, line);
    if (line[0]) html_paragraph(t, "%s", line);
}

/* ---- groups and operators ---- */

/* Whether any row has a time of the host: none has one where the host computes itself or was not traced. */
static bool host_is_known(const struct tt_profile *p)
{
    bool known = false;
    for (int i = 0; i < p->operators_count; i++) known |= p->operators[i].host_seconds > 0;
    return known;
}

static void row_cells(struct tt_text *t, const struct tt_profile_row *r, bool with_host)
{
    char a[32];
    html_number(t, (double)r->count, html_fixed((double)r->count, 0, a));
    html_number(t, r->seconds, tt_si_time(r->seconds, a));
    html_number(t, r->median, tt_si_time(r->median, a));
    double host = r->host_seconds > 0 ? r->host_seconds : NAN;
    if (with_host) html_number(t, host, tt_si_time(host, a));
    html_number(t, r->share, html_fixed(100 * r->share, 1, a));
    html_number(t, r->roof_percent, html_fixed(r->roof_percent, 0, a));
    html_cell(t, "%s", r->bound[0] ? r->bound : "n/a");
    html_number(t, r->flops, tt_si(r->flops, a));
    html_number(t, r->bytes, tt_si_bytes(r->bytes, a));
    html_number(t, r->intensity, tt_si(r->intensity, a));
    html_number(t, r->flops_per_second, tt_si(r->flops_per_second, a));
    html_number(t, r->bytes_per_second, tt_si(r->bytes_per_second, a));
}

/* The column "bound by" is far enough to the left to be seen in a narrow window. */
static void row_table(struct tt_text *t, const char *first, bool with_host)
{
    char columns[300];
    snprintf(columns, sizeof columns, "%s|#count|#a step|#median%s|#share %%|#roof %%|bound by|#FLOPs|#bytes|"
             "#FLOP per byte|#FLOP/s|#B/s", first, with_host ? "|#host a step" : "");
    html_table(t, columns);
}

void html_rows_remark(struct tt_text *t, const struct tt_profile *p)
{
    char words[400];
    tt_rows_remark(p, words);
    if (words[0]) html_note(t, "%s", words);
}

void html_group_chart(struct tt_text *t, const struct tt_profile *p)
{
    struct tt_bar *bars = calloc((size_t)p->groups_count + 1, sizeof *bars);
    char time[32];
    int n = 0;
    for (int i = 0; bars && i < p->groups_count; i++) {
        const struct tt_profile_row *g = &p->groups[i];
        if (!(g->seconds > 0)) continue;
        bars[n] = (struct tt_bar){.label = g->name, .value = g->seconds, .color = (int)tt_family_of(g->name)};
        snprintf(bars[n].note, sizeof bars[n].note, "%s, %.1f %%", tt_si_time(g->seconds, time), 100 * g->share);
        n++;
    }
    tt_svg_bars(t, "Time of a step by group", bars, n);
    html_rows_remark(t, p);
    free(bars);
}

static void groups(struct tt_text *t, const struct tt_profile *p)
{
    char words[400];
    html_section(t, "time", "Where the time goes");
    html_group_chart(t, p);
    html_note(t, "Device time of one step: its kernels and copies. Gaps are the time of the step beyond them. Shares "
                 "add up to 100 %%.");
    tt_gap_remark(p, words);
    if (words[0]) html_paragraph(t, "%s", words);
    html_fold(t, "The same as a table", true);
    bool with_host = host_is_known(p);
    row_table(t, "group", with_host);
    for (int i = 0; i < p->groups_count; i++) {
        html_row(t);
        html_cell(t, "%s", p->groups[i].name);
        row_cells(t, &p->groups[i], with_host);
        html_row_end(t);
    }
    html_table_end(t);
    html_fold_end(t);
    html_section_end(t);
}

static void operator_table(struct tt_text *t, const struct tt_profile *p, int from, int to)
{
    bool with_host = host_is_known(p);
    row_table(t, "operator|shape|group|phase", with_host);
    for (int i = from; i < to; i++) {
        const struct tt_profile_row *r = &p->operators[i];
        html_row(t);
        html_cell(t, "%s", r->name);
        html_cell(t, "%s", r->shape);
        html_cell(t, "%s", r->group);
        html_cell(t, "%.*s", (int)strcspn(r->phase, "_"), r->phase); /* backward_pass */
        row_cells(t, r, with_host);
        html_row_end(t);
    }
    html_table_end(t);
}

static void operator_bars(struct tt_text *t, const struct tt_profile *p, int n)
{
    struct tt_bar bars[TOP];
    char labels[TOP][160], time[32];
    for (int i = 0; i < n; i++) {
        const struct tt_profile_row *r = &p->operators[i];
        int phase = (int)strcspn(r->phase, "_"); /* backward_pass */
        snprintf(labels[i], sizeof labels[i], "%.47s%s%.63s%s%.*s", r->name, r->shape[0] ? " " : "", r->shape,
                 r->shape[0] && phase ? ", " : "", r->shape[0] ? phase : 0, r->phase);
        bars[i] = (struct tt_bar){.label = labels[i], .value = r->seconds, .color = (int)tt_family_of(r->group)};
        snprintf(bars[i].note, sizeof bars[i].note, "%s, %.1f %%", tt_si_time(r->seconds, time), 100 * r->share);
    }
    tt_svg_bars(t, "The operators that take longest", bars, n);
}

static void operators(struct tt_text *t, const struct tt_profile *p)
{
    int top = p->operators_count < TOP ? p->operators_count : TOP,
        shown = p->operators_count < ROWS_SHOWN ? p->operators_count : ROWS_SHOWN;
    double share = 0;
    char summary[100];
    for (int i = 0; i < top; i++) share += p->operators[i].share > 0 ? p->operators[i].share : 0;
    html_section(t, "operators", "Top operators");
    html_paragraph(t,
                   "The first %d of %d operators take %.0f %% of the step. An operator is all launches of a kernel "
                   "with the same shape, group and phase.",
                   top, p->operators_count, 100 * share);
    html_rows_remark(t, p);
    operator_bars(t, p, top);
    operator_table(t, p, 0, top);
    if (p->operators_count > top) {
        snprintf(summary, sizeof summary, "The other %d", p->operators_count - top);
        html_fold(t, summary, false);
        operator_table(t, p, top, shown);
        if (shown < p->operators_count) html_note(t, "%d more are in operators.csv.", p->operators_count - shown);
        html_fold_end(t);
    }
    html_section_end(t);
}

/* ---- phases ---- */

void html_phase_chart(struct tt_text *t, const struct tt_profile *p)
{
    const char *const series[] = {"wall", tt_host_computes(p) ? "host computes" : "host enqueues", "device"};
    const char **rows = calloc((size_t)p->phases_count + 1, sizeof *rows);
    double *values = calloc((size_t)p->phases_count * 3 + 1, sizeof *values);
    for (int i = 0; rows && values && i < p->phases_count; i++) {
        rows[i] = p->phases[i].name;
        values[3 * i] = p->phases[i].wall;
        values[3 * i + 1] = p->phases[i].host;
        values[3 * i + 2] = p->phases[i].device;
    }
    if (rows && values)
        tt_svg_grouped(t, &(struct tt_stack){"Phases of a step", TT_IN_SECONDS, rows, series, p->phases_count, 3,
                                             values, 0});
    free(rows);
    free(values);
    char words[400];
    tt_phase_remark(p, words);
    if (words[0]) html_note(t, "%s", words);
}

static void phases(struct tt_text *t, const struct tt_profile *p)
{
    const struct tt_profile_launch *l = &p->launch;
    char a[32], recording[TT_RECORDING_WORDS];
    html_section(t, "phases", "Phases, launches and gaps");
    if (p->phases_count) {
        html_phase_chart(t, p);
        html_table(t, "phase|#kernels|#wall|#host|#device|#FLOPs|#bytes");
        for (int i = 0; i < p->phases_count; i++) {
            const struct tt_profile_phase *f = &p->phases[i];
            html_row(t);
            html_cell(t, "%s", f->name);
            html_number(t, (double)f->kernels, html_fixed((double)f->kernels, 0, a));
            html_number(t, f->wall, tt_si_time(f->wall, a));
            html_number(t, f->host, tt_si_time(f->host, a));
            html_number(t, f->device, tt_si_time(f->device, a));
            html_number(t, f->flops, tt_si(f->flops, a));
            html_number(t, f->bytes, tt_si_bytes(f->bytes, a));
            html_row_end(t);
        }
        html_table_end(t);
        html_note(t, "Wall: from the first to the last operation of the phase. Host: the time to %s it. Device: "
                     "the sum of its kernels.", tt_host_computes(p) ? "compute" : "enqueue");
    }
    html_table(t, "launches and gaps|#figure");
    const struct {
        const char *name;
        double seconds;
    } rows[] = {{"to launch a kernel, on the host", l->launch_seconds},
                {"an empty kernel, on the device", l->empty_kernel_seconds},
                {"kernels a step × launch", l->total_seconds},
                {"device idle when launched one by one", l->idle_seconds},
                {"gaps in the step as configured", p->step.gap_seconds},
                {"step as configured", p->step.seconds},
                {"step launched one by one", p->step.launched_seconds},
                {"to enqueue the step as a graph", l->graph_replay_seconds},
                {"an empty kernel in a graph", l->graph_kernel_seconds},
                {"an event, subtracted from every operation", l->event_seconds}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        html_row(t);
        html_cell(t, "%s", rows[i].name);
        if (rows[i].seconds < 0) /* a time below zero is noise */
            html_number(t, 0, "none, within noise");
        else
            html_number(t, rows[i].seconds, tt_si_time(rows[i].seconds, a));
        html_row_end(t);
    }
    html_row(t);
    html_cell(t, "host waits for the device per step");
    html_number(t, l->waits, html_fixed(l->waits, 2, a));
    html_row_end(t);
    html_row(t);
    html_cell(t, "the recorded step took");
    html_number(t, l->recorded_overhead, tt_recording_words(p, recording));
    html_row_end(t);
    html_table_end(t);
    html_section_end(t);
}

/* ---- what to try ---- */

static void next_steps(struct tt_text *t, const struct tt_profile *p)
{
    struct tt_advice advice[TT_ADVICE_LIMIT];
    int n = tt_advise(p, advice);
    html_section(t, "next", "What to try next");
    if (!n)
        html_paragraph(t, "Nothing stands out: no part of the step is large, slow for its kind and easy to change.");
    tt_text_puts(t, n ? "<ol class=\"try\">\n" : "");
    for (int i = 0; i < n; i++) {
        tt_text_puts(t, "<li><strong>");
        tt_escape(t, advice[i].what);
        tt_text_puts(t, "</strong><br>");
        tt_escape(t, advice[i].reason);
        if (isfinite(advice[i].gain))
            tt_text_printf(t, ". By Amdahl's law that alone makes the step about %.2f× as fast.", advice[i].gain);
        tt_text_puts(t, "</li>\n");
    }
    tt_text_puts(t, n ? "</ol>\n" : "");
    html_section_end(t);
}

static void imported_section(struct tt_text *t, const struct tt_profile *p)
{
    char line[400];
    int n = p->operators_count < 50 ? p->operators_count : 50;
    html_section(t, "imported", "What another profiler saw");
    tt_headline(p, line);
    html_paragraph(t, "%s: %s", p->run.source, line);
    if (p->run.scope[0]) html_paragraph(t, "%s", p->run.scope);
    html_group_chart(t, p);
    operator_table(t, p, 0, n);
    html_section_end(t);
}

tt_status tt_profile_write_html(const struct tt_profile *p, const struct tt_profile *imported, const char *path)
{
    struct tt_text t = {0};
    head(&t, p, imported != NULL);
    next_steps(&t, p);
    groups(&t, p);
    operators(&t, p);
    phases(&t, p);
    html_ranks(&t, p);
    html_timeline(&t, p);
    html_roofline(&t, p);
    html_efficiency(&t, p);
    html_memory(&t, p);
    html_components(&t, p);
    html_training(&t, p);
    if (imported) imported_section(&t, imported);
    html_note(&t,
              "Made by tt %s. FLOPs and bytes come from the formulas of backend/kernels.def; times from device events; "
              "n/a is a figure that is not available.",
              p->run.tt);
    return html_end(&t, path);
}
