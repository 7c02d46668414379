/* compare.html: runs side by side. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"
#include "profiling/compare/compare.h"
#include "profiling/report/html_parts.h"
#include "profiling/report/svg.h"
#include "profiling/speedup.h"

enum { OPERATORS_SHOWN = 25 };
enum { POINTS = 600 }; /* of a line at most: more than a screen is wide would only make the file larger */

static const char *times(double ratio, char out[32])
{
    if (isfinite(ratio))
        snprintf(out, 32, "%.2f×", ratio);
    else
        strcpy(out, "n/a");
    return out;
}

/* The same, with a question mark if it is undecided. */
static const char *times_of(double ratio, bool open, char out[32])
{
    times(ratio, out);
    return open && isfinite(ratio) ? strcat(out, "?") : out;
}

static void run_bars(struct tt_text *t, const struct tt_comparison *c)
{
    struct tt_bar speed[TT_COMPARE_LIMIT], memory[TT_COMPARE_LIMIT];
    char a[32], b[32], d[32], words[48];
    bool any = false;
    for (int i = 0; i < c->n; i++) {
        const struct tt_compared *r = &c->runs[i];
        speed[i] = (struct tt_bar){.label = r->label, .value = r->speedup, .color = i};
        memory[i] = (struct tt_bar){.label = r->label, .value = r->memory_bytes, .color = i};
        if (r->undecided) speed[i].noise = 1;
        if (isfinite(r->range.low) && r->busy && !(r->range.low > 0 && r->range.high < TT_ANY_SPEEDUP))
            snprintf(speed[i].note, sizeof speed[i].note, "%s (%s, busy)", times(r->speedup, a),
                     tt_speedup_words(r->range.low, r->range.high, words));
        else if (isfinite(r->range.low) && r->busy)
            snprintf(speed[i].note, sizeof speed[i].note, "%s (%s to %s, busy)", times(r->speedup, a),
                     times(r->range.low, b), times(r->range.high, d));
        else if (isfinite(r->range.low))
            snprintf(speed[i].note, sizeof speed[i].note, "%s (%s to %s, %.0f %%)", times(r->speedup, a),
                     times(r->range.low, b), times(r->range.high, d), 100 * r->range.confidence);
        else
            snprintf(speed[i].note, sizeof speed[i].note, "%s", times(r->speedup, a));
        snprintf(memory[i].note, sizeof memory[i].note, "%s", tt_si_bytes(r->memory_bytes, a));
        any |= isfinite(r->memory_bytes);
    }
    tt_svg_bars(t, "Speed against the first", speed, c->n);
    html_note(
        t,
        "Speed-ups are in tokens a second. In brackets: the interval from the times of single steps, and how often "
        "such an interval holds the true speed-up of these runs. It is never narrower than the difference between runs "
        "of one program, 1.4 %% to both sides on a GPU and 8.5 %% on a CPU; tt bench --against runs them in turns, "
        "which avoids this. A busy machine makes steps too long, so the interval then allows for the time that other "
        "programs may have taken; a pale bar shows neither gain nor loss.");
    if (any) tt_svg_bars(t, "Peak memory", memory, c->n);
}

static void run_table(struct tt_text *t, const struct tt_comparison *c)
{
    char a[32];
    html_table(t, "run|device|version|precision|#step|#speed-up|#tokens/s|#MFU %|#kernels|#host waits|#memory|#loss|"
                  "#loss differs by|#gradients differ by %|tensors without gradient");
    for (int i = 0; i < c->n; i++) {
        const struct tt_compared *r = &c->runs[i];
        html_row(t);
        html_cell(t, "%s", r->label);
        html_cell(t, "%s", r->profile.run.device);
        html_cell(t, "%s", r->profile.run.version);
        html_cell(t, "%s", r->profile.run.precision);
        html_number(t, r->seconds, tt_si_time(r->seconds, a));
        html_number(t, r->speedup, times_of(r->speedup, r->undecided, a));
        html_number(t, r->tokens_per_second, tt_si(r->tokens_per_second, a));
        html_fixed(r->mfu_percent, 1, a);
        html_number(t, r->mfu_percent, r->other_roof ? strcat(a, "*") : a);
        html_number(t, r->kernels, html_fixed(r->kernels, 0, a));
        double waits = r->profile.operators_count ? r->profile.launch.waits : NAN;
        html_number(t, waits, html_fixed(waits, 1, a));
        html_number(t, r->memory_bytes, tt_si_bytes(r->memory_bytes, a));
        html_number(t, r->loss, html_fixed(r->loss, 4, a));
        html_number(t, r->loss_difference, tt_si(r->loss_difference, a));
        html_number(t, r->gradient_difference, tt_si(100 * r->gradient_difference, a));
        if (r->gradients)
            html_cell(t, "%d of %d", r->missing_gradients, r->gradients);
        else
            html_cell(t, "n/a");
        html_row_end(t);
    }
    html_table_end(t);
    bool open = false;
    for (int i = 0; i < c->n; i++) open |= c->runs[i].undecided;
    if (open) html_note(t, "?: undecided, since at least one of the two runs was measured on a busy machine.");
}

static void rows_section(struct tt_text *t, const struct tt_comparison *c, const char *id, const char *heading,
                         const char *title, const struct tt_compare_row *rows, int n)
{
    const char *names[OPERATORS_SHOWN * 2], *series[TT_COMPARE_LIMIT];
    double *values = calloc((size_t)n * (size_t)c->n + 1, sizeof *values);
    struct tt_text columns = {0};
    char a[32];
    if (!values || !n) {
        free(values);
        return;
    }
    for (int i = 0; i < c->n; i++) series[i] = c->runs[i].label;
    for (int k = 0; k < n; k++) {
        names[k] = rows[k].name;
        for (int i = 0; i < c->n; i++) values[k * c->n + i] = rows[k].seconds[i];
    }
    html_section(t, id, heading);
    tt_svg_grouped(t, &(struct tt_stack){title, TT_IN_SECONDS, names, series, n, c->n, values, 0});
    tt_text_puts(&columns, "name");
    for (int i = 0; i < c->n; i++) tt_text_printf(&columns, "|#%s", c->runs[i].label);
    for (int i = 1; i < c->n; i++) tt_text_printf(&columns, "|#speed-up of %s", c->runs[i].label);
    html_table(t, columns.s ? columns.s : "name");
    for (int k = 0; k < n; k++) {
        html_row(t);
        html_cell(t, "%s", rows[k].name);
        for (int i = 0; i < c->n; i++) html_number(t, rows[k].seconds[i], tt_si_time(rows[k].seconds[i], a));
        for (int i = 1; i < c->n; i++) {
            double ratio = rows[k].seconds[0] / rows[k].seconds[i];
            bool gone = rows[k].seconds[0] > 0 && rows[k].seconds[i] == 0,
                 new_row = rows[k].seconds[0] == 0 && rows[k].seconds[i] > 0;
            times_of(ratio, c->runs[i].rows_disturbed, a);
            html_number(t, ratio, gone ? "gone" : new_row ? "new" : a);
        }
        html_row_end(t);
    }
    html_table_end(t);
    bool open = false;
    for (int i = 0; i < c->n; i++) open |= c->runs[i].rows_disturbed;
    if (open) html_note(t, "?: undecided, since the recorded steps of at least one of the two runs were disturbed.");
    html_section_end(t);
    tt_text_free(&columns);
    free(values);
}

static double loss_of(const struct tt_profile_sample *s) { return s->loss; }
static double norm_of(const struct tt_profile_sample *s) { return s->grad_norm; }

struct curve {
    const char *id, *heading, *title, *unit, *note;
    double (*value)(const struct tt_profile_sample *);
};

/* Points that are each the mean of `each` steps; NaN where none of these has a value. */
static int gather(const struct tt_profile *p, const struct curve *what, int each, double *x, double *y)
{
    int n = 0;
    for (int at = 0; at < p->samples_count; at += each, n++) {
        double sum = 0, count = 0;
        for (int i = at; i < p->samples_count && i - at < each; i++) {
            double value = what->value(&p->samples[i]);
            x[n] = (double)p->samples[i].step;
            if (isfinite(value)) sum += value, count++;
        }
        y[n] = sum / count;
    }
    return n;
}

static void curves(struct tt_text *t, const struct tt_comparison *c, const struct curve *what)
{
    struct tt_line lines[TT_COMPARE_LIMIT];
    double *room[TT_COMPARE_LIMIT] = {0};
    int n = 0, longest = 1;
    for (int i = 0; i < c->n; i++)
        if (c->runs[i].profile.samples_count > longest) longest = c->runs[i].profile.samples_count;
    int each = (longest - 1) / POINTS + 1;
    for (int i = 0; i < c->n; i++) {
        const struct tt_profile *p = &c->runs[i].profile;
        if (!p->samples_count || !(room[i] = calloc(2 * POINTS, sizeof **room))) continue;
        int m = gather(p, what, each, room[i], room[i] + POINTS);
        lines[n++] = (struct tt_line){c->runs[i].label, room[i], room[i] + POINTS, m, m <= 60};
    }
    if (n) {
        html_section(t, what->id, what->heading);
        tt_svg_lines(t, &(struct tt_lines){what->title, "step", what->unit, lines, n, false, false, false});
        html_note(t, "%s", what->note);
        if (each > 1) html_note(t, "Each point is the mean of %d steps.", each);
        html_section_end(t);
    }
    for (int i = 0; i < c->n; i++) free(room[i]);
}

static const struct curve loss_curve = {
    "loss", "Loss", "Loss of the runs", "nats per token",
    "Where curves coincide, the runs compute the same. The table above has the largest difference.", loss_of};
static const struct curve norm_curve = {
    "norm", "Norm of the gradient", "Norm of the gradient of all tensors", "before clipping",
    "Only the first step of each run begins with the same weights; the table above compares its gradients. Later, "
    "rounding alone makes the runs drift apart, the more so where there is nothing to learn.", norm_of};

tt_status tt_compare_write_html(const struct tt_comparison *c, const char *path)
{
    struct tt_text t = {0};
    char line[600];
    int shown = c->operator_count < OPERATORS_SHOWN ? c->operator_count : OPERATORS_SHOWN;
    int groups = c->group_count < 2 * OPERATORS_SHOWN ? c->group_count : 2 * OPERATORS_SHOWN;
    html_begin(&t, "Comparison");
    tt_text_puts(&t, "<header><h1>");
    tt_text_printf(&t, "Comparison of %d runs", c->n);
    tt_text_puts(&t, "</h1></header>\n");
    for (const char *at = c->warnings.s; at && tt_list_next(&at, '\n', line, sizeof line);) {
        tt_text_puts(&t, "<p class=\"warn\">");
        tt_escape(&t, line);
        tt_text_puts(&t, "</p>\n");
    }
    html_section(&t, "speed", "Speed and memory");
    run_bars(&t, c);
    run_table(&t, c);
    html_section_end(&t);
    rows_section(&t, c, "groups", "Groups", "Time of a step by group", c->groups, groups);
    rows_section(&t, c, "changed", "Operators that changed most", "Time of a step by operator", c->operators,
                 shown);
    curves(&t, c, &loss_curve);
    curves(&t, c, &norm_curve);
    return html_end(&t, path);
}
