/* The runs of an exercise in a page: which were taken, and their charts. Only what the check accepted is drawn. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exercises/engine/page_parts.h"
#include "profiling/profile.h"
#include "profiling/report/html_parts.h"
#include "profiling/report/html_sections.h"
#include "profiling/report/svg.h"

enum { MOST_RANKS = 64 }; /* rows of a chart */

static bool is_profile(const struct tt_marked *m, int i)
{
    return m->runs[i].profile && !strcmp(m->exercise->runs[i].file, "profile.json");
}

static void table_of_runs(struct tt_text *t, const struct tt_marked *m)
{
    html_table(t, "run||device|measured|seal|");
    for (int i = 0; i < m->exercise->run_count; i++) {
        const struct tt_marked_run *r = &m->runs[i];
        bool absent = r->absent && m->exercise->runs[i].optional;
        html_row(t);
        html_cell(t, "%s", m->exercise->runs[i].name);
        tt_text_printf(t, "<td class=\"state %s\">%s</td>",
                       r->profile ? "m-right"
                       : absent   ? "m-passed"
                                  : "m-refused",
                       r->profile ? "taken"
                       : absent   ? "not there"
                                  : "refused");
        html_cell(t, "%s%s", r->device, r->recorded ? ", recorded" : "");
        html_cell(t, "%s", r->created);
        html_cell(t, "%.8s", r->seal);
        tt_text_puts(t, "<td class=\"why\">");
        tt_escape(t, r->profile ? "" : absent ? "its questions are passed over" : r->refusal);
        tt_text_puts(t, "</td>");
        html_row_end(t);
    }
    html_table_end(t);
}

/* ---- all runs beside each other ---- */

/* Of the learner's own machine; a recorded step is of another one. */
static void step_chart(struct tt_text *t, const struct tt_marked *m)
{
    struct tt_bar bars[TT_EXERCISE_RUNS];
    char time[32];
    int n = 0;
    for (int i = 0; i < m->exercise->run_count; i++) {
        const struct tt_json *run = tt_json_get(m->runs[i].profile, "run");
        double seconds = tt_json_number(tt_json_get(m->runs[i].profile, "step"), "seconds", NAN);
        if (!is_profile(m, i) || m->runs[i].recorded || !isfinite(seconds)) continue;
        bars[n] = (struct tt_bar){.label = m->exercise->runs[i].name, .value = seconds};
        snprintf(bars[n].note, sizeof bars[n].note, "%s, %.0f x %.0f tokens", tt_si_time(seconds, time),
                 tt_json_number(run, "batch_size", NAN), tt_json_number(run, "seq_len", NAN));
        n++;
    }
    if (n > 1) tt_svg_bars(t, "A step of each run", bars, n);
}

/* Rows of ranks.json: how much of a step is work, and how much is communication that nothing hides. */
static void ranks_chart(struct tt_text *t, const char *name, const struct tt_json *run)
{
    static const char *const series[] = {"everything else", "exposed communication"};
    const struct tt_json *list = tt_json_get(run, "rows");
    char labels[MOST_RANKS][32], title[120];
    const char *rows[MOST_RANKS];
    double values[2 * MOST_RANKS];
    int n = 0;
    for (const struct tt_json *r = list ? list->first : NULL; r && n < MOST_RANKS; r = r->next) {
        double step = tt_json_number(r, "median_ms", NAN), ranks = tt_json_number(r, "ranks", NAN);
        double exposed = tt_json_number(r, "communication_ms", 0) - tt_json_number(r, "hidden_ms", 0);
        if (!(step > 0) || !isfinite(ranks)) continue;
        if (!(exposed > 0)) exposed = 0;
        if (exposed > step) exposed = step;
        snprintf(labels[n], sizeof labels[n], "%.0f rank%s", ranks, ranks == 1 ? "" : "s");
        rows[n] = labels[n];
        values[2 * n] = step - exposed;
        values[2 * n + 1] = exposed;
        n++;
    }
    snprintf(title, sizeof title, "A step of the run %s", name);
    if (n) tt_svg_stacked(t, &(struct tt_stack){title, "ms", rows, series, n, 2, values});
}

/* ---- one run ---- */

static void charts_of(struct tt_text *t, const struct tt_profile *p)
{
    tt_text_puts(t, "<div class=\"pair\">\n<div>");
    html_group_chart(t, p);
    tt_text_puts(t, "</div>\n<div>");
    if (p->phases_count) html_phase_chart(t, p);
    tt_text_puts(t, "</div>\n<div>");
    html_roofline_chart(t, p);
    tt_text_puts(t, "</div>\n<div>");
    html_memory_chart(t, p);
    tt_text_puts(t, "</div>\n</div>\n");
}

static void profile_of(struct tt_text *t, const struct tt_marked *m, int i, bool open)
{
    char path[1400], title[120];
    struct tt_profile *p = calloc(1, sizeof *p);
    if (!p) {
        t->failed = true;
        return;
    }
    snprintf(path, sizeof path, "%s/%s/profile.json", m->folder, m->exercise->runs[i].name);
    snprintf(title, sizeof title, "Plots of %s%s", m->exercise->runs[i].name, m->runs[i].recorded ? ", recorded" : "");
    tt_status st = tt_profile_read(path, p);
    html_fold(t, title, open);
    if (st)
        html_note(t, "%s", st->text);
    else
        charts_of(t, p);
    html_fold_end(t);
    tt_status_free(st);
    tt_profile_free(p);
    free(p);
}

void page_runs(struct tt_text *t, const struct tt_marked *m)
{
    bool first = true;
    if (!m->exercise->run_count) return;
    tt_text_puts(t, "<h3>Runs</h3>\n");
    table_of_runs(t, m);
    step_chart(t, m);
    for (int i = 0; i < m->exercise->run_count; i++) {
        if (is_profile(m, i)) {
            profile_of(t, m, i, first && !m->runs[i].recorded);
            first &= m->runs[i].recorded;
        } else if (m->runs[i].profile) {
            ranks_chart(t, m->exercise->runs[i].name, m->runs[i].profile);
        }
    }
}
