/* How near the step comes to the roofs: the roofline plot, the efficiency table, the parts of the model. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiling/report/advice.h"
#include "profiling/report/html_parts.h"
#include "profiling/report/html_sections.h"
#include "profiling/report/svg.h"

/* A circle for each operator, in the colour that its group has in the bars. `names` holds their names. */
static int operator_points(const struct tt_profile *p, struct tt_roof_point *out, char (*names)[160])
{
    int n = 0;
    for (int i = 0; i < p->operators_count; i++) {
        const struct tt_profile_row *r = &p->operators[i];
        if (!(r->intensity > 0) || !(r->flops_per_second > 0)) continue;
        snprintf(names[n], sizeof names[n], "%s%s%s%s%s", r->name, r->shape[0] ? " " : "", r->shape,
                 r->group[0] && strcmp(r->group, r->name) ? ", " : "", strcmp(r->group, r->name) ? r->group : "");
        out[n] = (struct tt_roof_point){names[n], r->intensity, r->flops_per_second, r->share,
                                        (int)tt_family_of(r->group)};
        n++;
    }
    return n;
}

static void chart_of(struct tt_text *t, const struct tt_profile *p, const struct tt_roof_point *points, int n)
{
    const struct tt_profile_efficiency *e = &p->efficiency;
    int colors[TT_FAMILIES];
    tt_svg_roofline(t, &(struct tt_roof){"FLOP/s of every operator under the roofs of the device",
                                         e->gemm_flops_per_second, e->copy_bytes_per_second,
                                         e->datasheet_flops_per_second, e->datasheet_bytes_per_second, points, n});
    for (int i = 0; i < TT_FAMILIES; i++) colors[i] = i;
    tt_legend(t, tt_family_names, colors, TT_FAMILIES);
}

void html_roofline_chart(struct tt_text *t, const struct tt_profile *p)
{
    struct tt_roof_point *points = calloc((size_t)p->operators_count + 1, sizeof *points);
    char(*names)[160] = calloc((size_t)p->operators_count + 1, sizeof *names);
    int n = points && names ? operator_points(p, points, names) : 0;
    if (n) chart_of(t, p, points, n);
    if (n) html_rows_remark(t, p);
    free(points);
    free(names);
}

void html_roofline(struct tt_text *t, const struct tt_profile *p)
{
    struct tt_roof_point *points = calloc((size_t)p->operators_count + 1, sizeof *points);
    char(*names)[160] = calloc((size_t)p->operators_count + 1, sizeof *names);
    int n = points && names ? operator_points(p, points, names) : 0;
    char a[32], b[32];
    html_section(t, "roofline", "Roofline");
    if (n) {
        chart_of(t, p, points, n);
        html_note(t, "Each circle is an operator; larger circles take more time. Under the slope, memory is the limit; "
                     "under the flat part, arithmetic. A circle far below both waits for something else. Bytes are "
                     "what a perfect kernel would move, so caches can lift a circle above the slope. The dashed line "
                     "is the datasheet's, where one is published.");
        html_rows_remark(t, p);
        html_fold(t, "The same as a table", false);
        html_table(t, "operator|#FLOP/byte|#FLOP/s|#share %");
        for (int i = 0; i < n; i++) {
            html_row(t);
            html_cell(t, "%s", points[i].name);
            html_number(t, points[i].intensity, tt_si(points[i].intensity, a));
            html_number(t, points[i].rate, tt_si(points[i].rate, b));
            html_number(t, points[i].weight, html_fixed(100 * points[i].weight, 1, a));
            html_row_end(t);
        }
        html_table_end(t);
        html_fold_end(t);
    } else {
        html_paragraph(t, "n/a: without FLOPs and bytes there is no roofline; ncu counts them.");
    }
    if (p->roofs_count) {
        html_table(t, "roof|kind|source|#rate");
        for (int i = 0; i < p->roofs_count; i++) {
            const struct tt_profile_roof *r = &p->roofs[i];
            html_row(t);
            html_cell(t, "%s", r->name);
            html_cell(t, "%s", r->kind);
            html_cell(t, "%s", r->source);
            snprintf(b, sizeof b, "%.20s%s", tt_si(r->rate, a), strcmp(r->kind, "memory") == 0 ? "B/s" : "FLOP/s");
            html_number(t, r->rate, isfinite(r->rate) ? b : "n/a");
            html_row_end(t);
        }
        html_table_end(t);
    }
    html_section_end(t);
    free(points);
    free(names);
}

/* A row with one figure or two; `other` is NULL for one. */
static void figure(struct tt_text *t, const char *name, double value, const char *unit, const double *other)
{
    char a[32], b[32], words[48];
    html_row(t);
    html_cell(t, "%s", name);
    snprintf(words, sizeof words, "%s%s", tt_si(value, a), unit);
    html_number(t, value, isfinite(value) ? words : "n/a");
    if (other) snprintf(words, sizeof words, "%s%s", tt_si(*other, b), unit);
    html_number(t, other ? *other : NAN, !other ? "" : isfinite(*other) ? words : "n/a");
    html_row_end(t);
}

void html_efficiency(struct tt_text *t, const struct tt_profile *p)
{
    char words[400];
    const struct tt_profile_efficiency *e = &p->efficiency;
    html_section(t, "efficiency", "Efficiency");
    if (isfinite(e->mfu_percent))
        html_paragraph(t,
                       "The step reaches %.1f %% of the measured rate of matrix products (MFU); the class of this MFU "
                       "is %s.",
                       e->mfu_percent, e->mfu_class);
    tt_bound_remark(p, words);
    if (isfinite(e->mfu_percent) && words[0]) html_paragraph(t, "%s", words);
    tt_roof_remark(p, words);
    if (words[0]) html_paragraph(t, "%s", words);
    html_table(t, "figure|#causal attention counted as half|#counted in full");
    figure(t, "forward FLOPs", e->forward_flops, "", &e->forward_flops_full);
    figure(t, "backward FLOPs", e->backward_flops, "", &e->backward_flops_full);
    figure(t, "FLOPs of a step", e->step_flops, "", &e->step_flops_full);
    figure(t, "FLOPs per parameter", e->flops_per_parameter, "", &e->flops_per_parameter_full);
    figure(t, "MFU against the measured GEMM, %", e->mfu_percent, "", &e->mfu_full_percent);
    figure(t, "MFU against the datasheet, %", e->mfu_datasheet_percent, "", &e->mfu_full_datasheet_percent);
    html_table_end(t);
    html_table(t, "figure|#measured|#datasheet");
    figure(t, "matrix products", e->gemm_flops_per_second, "FLOP/s", &e->datasheet_flops_per_second);
    figure(t, "memory", e->copy_bytes_per_second, "B/s", &e->datasheet_bytes_per_second);
    figure(t, "ridge, FLOP/byte", e->ridge, "", &e->ridge_datasheet);
    figure(t, "FLOPs of the plan: norms, softmax, recomputation and optimiser, too", e->plan_flops, "", NULL);
    figure(t, "bytes of the plan", e->plan_bytes, "B", NULL);
    figure(t, "intensity of the step, FLOP/byte", e->intensity, "", NULL);
    figure(t, "rate of the model's FLOPs", e->flops_per_second, "FLOP/s", NULL);
    figure(t, "rate of the plan's bytes", e->bytes_per_second, "B/s", NULL);
    figure(t, "share of the measured memory rate, %", e->bandwidth_percent, "", NULL);
    html_table_end(t);
    html_section_end(t);
}

void html_components(struct tt_text *t, const struct tt_profile *p)
{
    static const char *const series[] = {"forward", "backward"};
    int n = p->components_count;
    const char **rows = calloc((size_t)n + 1, sizeof *rows);
    double *values = calloc((size_t)n * 2 + 1, sizeof *values);
    char a[32];
    html_section(t, "components", "Components");
    for (int i = 0; rows && values && i < n; i++) {
        rows[i] = p->components[i].name;
        values[2 * i] = p->components[i].forward;
        values[2 * i + 1] = p->components[i].backward;
    }
    if (n && rows && values)
        tt_svg_stacked(t, &(struct tt_stack){"Parts of the model", TT_IN_SECONDS, rows, series, n, 2, values, 0});
    if (!n) html_paragraph(t, "n/a");
    if (n) html_rows_remark(t, p);
    if (n) html_table(t, "component|#kernels|#forward|#backward|#together|#share %|#FLOPs|#bytes");
    for (int i = 0; i < n; i++) {
        const struct tt_profile_component *c = &p->components[i];
        html_row(t);
        html_cell(t, "%s", c->name);
        html_number(t, (double)c->kernels, html_fixed((double)c->kernels, 0, a));
        html_number(t, c->forward, tt_si_time(c->forward, a));
        html_number(t, c->backward, tt_si_time(c->backward, a));
        html_number(t, c->seconds, tt_si_time(c->seconds, a));
        html_number(t, c->share, html_fixed(100 * c->share, 1, a));
        html_number(t, c->flops, tt_si(c->flops, a));
        html_number(t, c->bytes, tt_si_bytes(c->bytes, a));
        html_row_end(t);
    }
    if (n) html_table_end(t);
    html_section_end(t);
    free(rows);
    free(values);
}
