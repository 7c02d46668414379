#include "profiling/report/html_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/format.h"
#include "profiling/report/html_parts.h"
#include "profiling/report/svg.h"

enum { POINTS = 600 }; /* of a line at most: more than a screen is wide would only make the file larger */

static double ended(const struct tt_curve *c, const char *key) { return tt_json_number(c->end, key, NAN); }

static double last_step(const struct tt_curve *c) { return c->steps[c->n - 1].step; }

/* The lowest loss that a model could learn, or NaN: random tokens have a chance level and no such floor. */
static double floor_of(const struct tt_curve *c)
{
    const struct tt_json *learnable = tt_json_get(c->end, "learnable");
    return learnable && learnable->boolean ? ended(c, "floor") : NAN;
}

/* ---- a column as points: each the mean of the same number of steps ---- */

struct points {
    double x[POINTS], y[POINTS];
    int n;
    size_t each; /* steps in a point */
};

static void gather(const struct tt_curve *c, enum tt_curve_column column, struct points *p)
{
    p->each = (c->n + POINTS - 1) / POINTS;
    p->n = 0;
    for (size_t at = 0; at < c->n; at += p->each) {
        double sum = 0, count = 0, x = NAN;
        for (size_t i = at; i < c->n && i < at + p->each; i++) {
            double y = c->steps[i].column[column];
            if (!isfinite(y)) continue;
            sum += y;
            count++;
            x = c->steps[i].step;
        }
        if (!count) continue;
        p->x[p->n] = x;
        p->y[p->n++] = sum / count;
    }
}

static void note_mean(struct tt_text *t, const struct points *p)
{
    if (p->each > 1) html_note(t, "Each point is the mean of %zu steps.", p->each);
}

/* ---- the charts ---- */

static bool validation_line(const struct tt_curve *c, struct points *p)
{
    size_t every = c->validation_count / POINTS + 1;
    p->n = 0;
    for (size_t i = 0; i < c->validation_count && p->n < POINTS; i += every) {
        p->x[p->n] = c->validations[i].step;
        p->y[p->n++] = c->validations[i].loss;
    }
    return p->n > 0;
}

static void loss_chart(struct tt_text *t, const struct tt_curve *c, struct points *p)
{
    double floor = floor_of(c), ends[2] = {c->steps[0].step, last_step(c)}, level[2] = {floor, floor};
    struct tt_line lines[3];
    int n = 0;
    gather(c, TT_CURVE_LOSS, &p[0]);
    lines[n++] = (struct tt_line){"training", p[0].x, p[0].y, p[0].n, false};
    if (validation_line(c, &p[1])) lines[n++] = (struct tt_line){"validation", p[1].x, p[1].y, p[1].n, p[1].n <= 60};
    if (isfinite(floor)) lines[n++] = (struct tt_line){"floor: the entropy of the data", ends, level, 2, false};
    tt_svg_lines(t, &(struct tt_lines){.title = "Training and validation", .x_label = "step",
                                       .y_label = "nats per token", .lines = lines, .n = n});
    note_mean(t, &p[0]);
}

/* Draws nothing where no line of the run has the column. */
static void chart(struct tt_text *t, const struct tt_curve *c, enum tt_curve_column column, const char *title,
                  const char *unit, struct points *p)
{
    double low = INFINITY, high = 0;
    gather(c, column, p);
    if (!p->n) return;
    for (int i = 0; i < p->n; i++) {
        low = fmin(low, p->y[i]);
        high = fmax(high, p->y[i]);
    }
    struct tt_line line = {title, p->x, p->y, p->n, false};
    tt_svg_lines(t, &(struct tt_lines){.title = title, .x_label = "step", .y_label = unit, .lines = &line, .n = 1,
                                       .from_zero = column == TT_CURVE_SPEED || column == TT_CURVE_LR,
                                       .log_y = column != TT_CURVE_LR && low > 0 && high > 50 * low});
}

static void charts(struct tt_text *t, const struct tt_curve *c, struct points *p)
{
    html_section(t, "loss", "Loss");
    loss_chart(t, c, p);
    html_section_end(t);
    html_section(t, "training", "Gradients, learning rate, speed");
    tt_text_puts(t, "<div class=\"pair\">\n");
    chart(t, c, TT_CURVE_NORM, "Norm of the gradients, before clipping", "norm", p);
    chart(t, c, TT_CURVE_LR, "Learning rate", "rate", p);
    chart(t, c, TT_CURVE_SPEED, "Speed", "tokens/s", p);
    chart(t, c, TT_CURVE_SCALE, "Loss scale of fp16", "scale", p);
    tt_text_puts(t, "</div>\n");
    if (c->not_applied)
        html_paragraph(t, "%lld step%s changed no weights: loss or gradients were not finite.",
                       (long long)c->not_applied, tt_plural(c->not_applied));
    html_section_end(t);
}

static void time_section(struct tt_text *t, const struct tt_curve *c)
{
    static const char *const names[] = {"steps", "waiting for data", "validation", "saving"};
    double all = ended(c, "seconds"), parts[4] = {all, ended(c, "data_wait_seconds"), ended(c, "validation_seconds"),
                                                  ended(c, "saving_seconds")};
    struct tt_bar bars[4];
    char time[32];
    if (!(all > 0)) return;
    for (int i = 1; i < 4; i++) parts[0] -= isfinite(parts[i]) ? parts[i] : 0;
    if (parts[0] < 0) parts[0] = 0;
    for (int i = 0; i < 4; i++) {
        bars[i] = (struct tt_bar){.label = names[i], .value = parts[i], .color = i};
        snprintf(bars[i].note, sizeof bars[i].note, "%s, %.1f %%", tt_si_time(parts[i], time), 100 * parts[i] / all);
    }
    html_section(t, "time", "Where the time went");
    tt_svg_bars(t, "Wall-clock time", bars, 4);
    html_note(t, "Of the %.0f steps since the run was last started. tt profile shows where the time of a step goes.",
              ended(c, "steps"));
    html_section_end(t);
}

static void validation_section(struct tt_text *t, const struct tt_curve *c)
{
    double best = INFINITY, floor = floor_of(c);
    char a[32], b[32];
    if (!c->validation_count) return;
    for (size_t i = 0; i < c->validation_count; i++) best = fmin(best, c->validations[i].loss);
    html_section(t, "validation", "Validation");
    html_table(t, "#step|#loss|#perplexity|#above the floor|");
    for (size_t i = c->validation_count; i-- > 0 && i + 200 >= c->validation_count;) {
        const struct tt_curve_validation *v = &c->validations[i];
        html_row(t);
        snprintf(a, sizeof a, "%.0f", v->step);
        html_number(t, v->step, a);
        html_number(t, v->loss, html_fixed(v->loss, 4, a));
        html_number(t, exp(v->loss), html_fixed(exp(v->loss), 3, b));
        html_number(t, v->loss - floor, html_fixed(v->loss - floor, 4, b));
        html_cell(t, "%s", v->loss == best ? "best" : "");
        html_row_end(t);
    }
    html_table_end(t);
    html_section_end(t);
}

static void sample_section(struct tt_text *t, const struct tt_curve *c)
{
    const char *sample = tt_json_string(c->end, "sample", "");
    if (!sample[0]) return;
    html_section(t, "sample", "What the model writes");
    tt_text_puts(t, "<blockquote>");
    tt_escape(t, sample);
    tt_text_puts(t, "</blockquote>\n");
    html_section_end(t);
}

/* ---- the head of the page ---- */

static void lead(struct tt_text *t, const struct tt_curve *c)
{
    double floor = floor_of(c), loss = ended(c, "val_loss"), steps = ended(c, "num_steps");
    bool validated = isfinite(loss);
    char of[32] = "";
    if (steps >= last_step(c)) snprintf(of, sizeof of, " of %.0f", steps);
    if (!validated) loss = ended(c, "loss");
    tt_text_puts(t, "<p class=\"lead\">");
    if (!(ended(c, "step") >= last_step(c))) /* it goes on, or was killed */
        tt_text_printf(t, "Step %.0f%s; the run has not ended.", last_step(c), of);
    else if (ended(c, "step") < steps)
        tt_text_printf(t, "Stopped after step %.0f of %.0f.", ended(c, "step"), steps);
    else
        tt_text_printf(t, "All %.0f steps are done.", steps);
    if (isfinite(loss)) tt_text_printf(t, " %s loss %.4f", validated ? "Validation" : "Training", loss);
    if (isfinite(loss) && isfinite(floor) && floor > 0)
        tt_text_printf(t, ", %.1f %% above the floor of %.4f", 100 * (loss - floor) / floor, floor);
    tt_text_puts(t, isfinite(loss) ? ".</p>\n" : "</p>\n");
}

static void facts(struct tt_text *t, const struct tt_curve *c)
{
    char a[32];
    html_facts(t);
    html_fact(t, "device", tt_json_string(c->end, "device", ""));
    html_fact(t, "model", tt_json_string(c->end, "model", ""));
    html_fact(t, "data", tt_json_string(c->end, "data", ""));
    if (isfinite(ended(c, "seconds"))) html_fact(t, "time", tt_si_time(ended(c, "seconds"), a));
    snprintf(a, sizeof a, "%.0f %%", 100 * ended(c, "device_utilisation"));
    if (isfinite(ended(c, "device_utilisation"))) html_fact(t, "device in use", a);
    if (isfinite(ended(c, "tokens_per_second")))
        html_fact(t, "tokens/s, overall", tt_si(ended(c, "tokens_per_second"), a));
    if (isfinite(ended(c, "peak_memory_bytes")))
        html_fact(t, "peak memory", tt_si_bytes(ended(c, "peak_memory_bytes"), a));
    if (isfinite(ended(c, "device_memory_bytes")))
        html_fact(t, "peak device memory", tt_si_bytes(ended(c, "device_memory_bytes"), a));
    html_facts_end(t);
}

tt_status tt_curve_write_html(const struct tt_curve *c, const char *name, const char *path)
{
    struct tt_text t = {0};
    char title[300];
    struct points *p = calloc(2, sizeof *p);
    if (!p) return tt_no_memory("the charts of a run");
    snprintf(title, sizeof title, "Training run: %s", name);
    html_begin(&t, title);
    tt_text_puts(&t, "<header><h1>");
    tt_escape(&t, title);
    tt_text_puts(&t, "</h1>\n");
    lead(&t, c);
    facts(&t, c);
    tt_text_puts(&t, "</header>\n<main>\n");
    charts(&t, c, p);
    html_choices(&t, &c->choices);
    time_section(&t, c);
    validation_section(&t, c);
    sample_section(&t, c);
    tt_text_puts(&t, "</main>\n");
    free(p);
    return html_end(&t, path);
}
