/* Where the memory goes and how it grows; and the losses and gradients of the training. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiling/report/html_parts.h"
#include "profiling/report/html_sections.h"
#include "profiling/report/svg.h"

enum { SAMPLES_IN_TABLE = 200, ACTIVATIONS_IN_TABLE = 200 };

void html_memory_chart(struct tt_text *t, const struct tt_profile *p)
{
    static const char *const series[] = {"predicted", "measured"};
    int n = p->memory_kinds_count;
    const char **rows = calloc((size_t)n + 1, sizeof *rows);
    double *values = calloc((size_t)n * 2 + 1, sizeof *values);
    for (int i = 0; rows && values && i < n; i++) {
        rows[i] = p->memory_kinds[i].kind;
        values[2 * i] = p->memory_kinds[i].predicted;
        values[2 * i + 1] = p->memory_kinds[i].measured;
    }
    if (n && rows && values)
        tt_svg_grouped(t, &(struct tt_stack){"Memory by kind", TT_IN_BYTES, rows, series, n, 2, values, 0});
    free(rows);
    free(values);
}

static void memory_kinds(struct tt_text *t, const struct tt_profile *p)
{
    int n = p->memory_kinds_count;
    char a[32];
    html_memory_chart(t, p);
    if (n) html_table(t, "kind|#predicted|#measured");
    for (int i = 0; i < n; i++) {
        html_row(t);
        html_cell(t, "%s", p->memory_kinds[i].kind);
        html_number(t, p->memory_kinds[i].predicted, tt_si_bytes(p->memory_kinds[i].predicted, a));
        html_number(t, p->memory_kinds[i].measured, tt_si_bytes(p->memory_kinds[i].measured, a));
        html_row_end(t);
    }
    if (n) html_table_end(t);
}

/* A bar for each kind, summed over layers and names; and a table by name and layer. */
static void activations(struct tt_text *t, const struct tt_profile *p)
{
    int n = p->activations_count, kinds = 0, shown = n < ACTIVATIONS_IN_TABLE ? n : ACTIVATIONS_IN_TABLE;
    struct tt_bar *bars = calloc((size_t)n + 1, sizeof *bars);
    char a[32];
    for (int i = 0; bars && i < n; i++) {
        const struct tt_profile_activation *x = &p->activations[i];
        int k = 0;
        while (k < kinds && strcmp(bars[k].label, x->kind) != 0) k++;
        if (k == kinds) bars[kinds++] = (struct tt_bar){.label = x->kind, .color = 0};
        if (x->peak_bytes > 0) bars[k].value += x->peak_bytes;
    }
    for (int k = 0; k < kinds; k++) snprintf(bars[k].note, sizeof bars[k].note, "%s", tt_si_bytes(bars[k].value, a));
    if (kinds) tt_svg_bars(t, "Activations alive at the peak, by the group that writes them", bars, kinds);
    if (n) {
        html_fold(t, "Activations by name and layer", false);
        html_table(t, "name|written by|#layer|#buffers|#bytes|#at the peak|#first operation|#last");
        for (int i = 0; i < shown; i++) {
            const struct tt_profile_activation *x = &p->activations[i];
            html_row(t);
            html_cell(t, "%s", x->name);
            html_cell(t, "%s", x->kind);
            html_number(t, (double)x->layer, x->layer < 0 ? "none" : html_fixed((double)x->layer, 0, a));
            html_number(t, (double)x->count, html_fixed((double)x->count, 0, a));
            html_number(t, x->bytes, tt_si_bytes(x->bytes, a));
            html_number(t, x->peak_bytes, tt_si_bytes(x->peak_bytes, a));
            html_number(t, (double)x->first, html_fixed((double)x->first, 0, a));
            html_number(t, (double)x->last, html_fixed((double)x->last, 0, a));
            html_row_end(t);
        }
        html_table_end(t);
        if (shown < n) html_note(t, "%d more are in memory.json.", n - shown);
        html_fold_end(t);
    }
    free(bars);
}

static void sweep(struct tt_text *t, const struct tt_profile *p, const char *axis, const char *title, const char *label)
{
    enum { PREDICTED, ACTIVATIONS, MEASURED, LINES };
    static const char *const names[LINES] = {"predicted, all", "predicted, activations", "measured"};
    int n = 0;
    double *at = calloc((size_t)p->sweeps_count * (LINES + 1) + 1, sizeof *at);
    char a[32];
    for (int i = 0; at && i < p->sweeps_count; i++) {
        const struct tt_profile_sweep *s = &p->sweeps[i];
        if (strcmp(s->axis, axis) != 0) continue;
        double *x = at + n++ * (LINES + 1);
        x[0] = (double)s->value;
        x[1] = s->predicted / 0x1p20, x[2] = s->activations / 0x1p20, x[3] = s->measured / 0x1p20;
    }
    double *columns = calloc((size_t)n * (LINES + 1) + 1, sizeof *columns);
    struct tt_line lines[LINES];
    bool any = false;
    for (int k = 0; columns && k <= LINES; k++)
        for (int i = 0; i < n; i++) columns[k * n + i] = at[i * (LINES + 1) + k];
    for (int k = 0; columns && k < LINES; k++)
        lines[k] = (struct tt_line){names[k], columns, columns + (k + 1) * n, n, true};
    for (int i = 0; columns && i < n; i++) any |= isfinite(columns[(MEASURED + 1) * n + i]);
    if (n && columns) {
        tt_svg_lines(t, &(struct tt_lines){title, label, "MiB", lines, any ? LINES : LINES - 1, true, true, false});
        html_table(t, "#value|#predicted|#activations|#measured|#step");
        for (int i = 0; i < p->sweeps_count; i++) {
            const struct tt_profile_sweep *s = &p->sweeps[i];
            if (strcmp(s->axis, axis) != 0) continue;
            html_row(t);
            html_number(t, (double)s->value, html_fixed((double)s->value, 0, a));
            html_number(t, s->predicted, tt_si_bytes(s->predicted, a));
            html_number(t, s->activations, tt_si_bytes(s->activations, a));
            html_number(t, s->measured, tt_si_bytes(s->measured, a));
            html_number(t, s->seconds, tt_si_time(s->seconds, a));
            html_row_end(t);
        }
        html_table_end(t);
    }
    free(at);
    free(columns);
}

void html_memory(struct tt_text *t, const struct tt_profile *p)
{
    const struct tt_profile_memory *m = &p->memory;
    char a[32], b[32], c[32], where[48] = "";
    html_section(t, "memory", "Memory");
    if (isfinite(m->predicted_bytes)) {
        html_paragraph(
            t, "The plan predicts %s; the measured peak is %s. Activations live in one arena of %s.",
            tt_si_bytes(m->predicted_bytes, a), tt_si_bytes(m->measured_bytes, b), tt_si_bytes(m->arena_bytes, c));
        if (m->peak_layer >= 0) snprintf(where, sizeof where, " of layer %lld", (long long)m->peak_layer);
        if (m->peak_phase[0])
            html_paragraph(t, "Most activations, %s, are alive in %s, at %s%s.", tt_si_bytes(m->live_bytes, a),
                           m->peak_phase, m->peak_operation, where);
        memory_kinds(t, p);
        activations(t, p);
        sweep(t, p, "batch", "Memory over batch size", "sequences in a batch");
        sweep(t, p, "seq", "Memory over sequence length", "tokens in a sequence");
    } else {
        html_paragraph(t, "n/a: an imported profile says nothing about memory.");
    }
    html_section_end(t);
}

/* ---- losses and gradients ---- */

static void losses(struct tt_text *t, const struct tt_profile *p)
{
    int n = p->samples_count, shown = n < SAMPLES_IN_TABLE ? n : SAMPLES_IN_TABLE;
    double *x = calloc((size_t)n * 2 + 1, sizeof *x), *y = x + n;
    char a[32];
    for (int i = 0; x && i < n; i++) x[i] = (double)p->samples[i].step, y[i] = p->samples[i].loss;
    struct tt_line line = {"loss", x, y, n, n <= 60};
    if (x && n) tt_svg_lines(t, &(struct tt_lines){"Loss", "step", "nats per token", &line, 1, false, false, false});
    html_fold(t, "The same as a table", false);
    html_table(t, "#step|#time|#loss|#norm of the gradient");
    for (int i = n - shown; i < n; i++) {
        const struct tt_profile_sample *s = &p->samples[i];
        html_row(t);
        html_number(t, (double)s->step, html_fixed((double)s->step, 0, a));
        html_number(t, s->seconds, tt_si_time(s->seconds, a));
        html_number(t, s->loss, html_fixed(s->loss, 4, a));
        html_number(t, s->grad_norm, html_fixed(s->grad_norm, 4, a));
        html_row_end(t);
    }
    html_table_end(t);
    html_fold_end(t);
    free(x);
}

static void gradients(struct tt_text *t, const struct tt_profile *p)
{
    int missing = 0;
    char a[32];
    for (int i = 0; i < p->gradients_count; i++)
        missing += p->gradients[i].zeros == p->gradients[i].count || p->gradients[i].nonfinite > 0;
    if (missing)
        tt_text_printf(t,
                       "<p class=\"warn\">%d of %d tensors got no gradient, or one that is not finite. Work is "
                       "missing, so the speed of this run says nothing.</p>\n",
                       missing, p->gradients_count);
    else
        html_paragraph(t, "All %d tensors got a gradient.", p->gradients_count);
    html_fold(t, "Gradients by tensor", missing > 0);
    html_table(t, "tensor|#elements|#norm|#zeros|#not finite");
    for (int i = 0; i < p->gradients_count; i++) {
        const struct tt_profile_gradient *g = &p->gradients[i];
        html_row(t);
        html_cell(t, "%s", g->name);
        html_number(t, (double)g->count, html_fixed((double)g->count, 0, a));
        html_number(t, g->norm, tt_si(g->norm, a));
        html_number(t, (double)g->zeros, html_fixed((double)g->zeros, 0, a));
        html_number(t, (double)g->nonfinite, html_fixed((double)g->nonfinite, 0, a));
        html_row_end(t);
    }
    html_table_end(t);
    html_fold_end(t);
}

void html_training(struct tt_text *t, const struct tt_profile *p)
{
    html_section(t, "training", "Loss and gradients");
    if (p->samples_count)
        losses(t, p);
    else
        html_paragraph(t, "n/a: no losses were recorded.");
    if (p->gradients_count) gradients(t, p);
    html_section_end(t);
}
