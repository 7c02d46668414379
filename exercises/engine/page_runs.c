/* The runs of an exercise in a page: which were taken, and their charts. Only runs that were taken are drawn. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/load.h"
#include "exercises/engine/formula_parts.h"
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

/* By what fraction the step time may be off: two standard errors of the mean, but no less than two runs of one program
 * differ by. 1 decides nothing: the run was disturbed, or a single step was measured. */
static double noise_of(const struct tt_json *profile)
{
    const struct tt_json *step = tt_json_get(profile, "step"), *run = tt_json_get(profile, "run");
    double n = tt_json_number(run, "steps", 0), seconds = tt_json_number(step, "seconds", NAN);
    double error = 2 * tt_json_number(step, "deviation", NAN) / sqrt(n) / seconds;
    bool decides = n > 1 && isfinite(error) && !tt_exercise_disturbed(profile);
    return decides ? fmin(1, fmax(error, tt_runs_differ(tt_json_string(run, "backend", "")))) : 1;
}

/* Only runs of the learner's own machine: recorded ones are from another one. */
static void step_chart(struct tt_text *t, const struct tt_marked *m)
{
    struct tt_bar bars[TT_EXERCISE_RUNS];
    char time[32];
    int n = 0;
    for (int i = 0; i < m->exercise->run_count; i++) {
        const struct tt_json *profile = m->runs[i].profile, *run = tt_json_get(profile, "run");
        double seconds = tt_json_number(tt_json_get(profile, "step"), "seconds", NAN);
        if (!is_profile(m, i) || m->runs[i].recorded || !isfinite(seconds)) continue;
        bars[n] = (struct tt_bar){.label = m->exercise->runs[i].name, .value = seconds,
                                  .noise = noise_of(profile)};
        snprintf(bars[n].note, sizeof bars[n].note, "%s%s, %.0f x %.0f tokens", tt_si_time(seconds, time),
                 tt_exercise_disturbed(profile) ? " (disturbed)" : "", tt_json_number(run, "batch_size", NAN),
                 tt_json_number(run, "seq_len", NAN));
        n++;
    }
    if (n < 2) return;
    tt_svg_bars(t, "A step of each run", bars, n);
    html_note(t, "A line across the end of a bar: two errors of the mean of its steps, and no less than runs of one "
                 "program differ by on a machine that stays the same. A pale bar decides nothing: the run was "
                 "disturbed, or a single step was measured.");
}

/* The communication in a step, in ms:
 * - exposed: certainly not hidden behind work
 * - unsure: hidden or exposed. The difference is within the noise, or the times of pairs of steps and the work of a
 *   rank contradict each other.
 * In a disturbed run, and where tt bench says "not measurable", all of it is unsure. */
struct communication {
    double exposed, unsure;
};

/* The time in ms that the rank with the most work spends in its operations; 0: not known. */
static double work_of(const struct tt_json *row)
{
    const struct tt_json *each = tt_json_get(row, "each");
    double most = 0;
    for (const struct tt_json *r = each ? each->first : NULL; r; r = r->next)
        most = fmax(most, tt_json_number(r, "work_ms", 0));
    return most;
}

static struct communication communication_of(const struct tt_json *row, double step, bool disturbed)
{
    double all = fmin(fmax(tt_json_number(row, "communication_ms", 0), 0), step);
    double hidden = tt_json_number(row, "hidden_ms", 0), noise = tt_json_number(row, "hidden_noise_ms", 0);
    double most = fmin(fmax(all - (hidden - noise), 0), all), least = fmin(fmax(all - (hidden + noise), 0), all);
    const struct tt_json *known = tt_json_get(row, "hidden_known");
    least = fmin(least, fmax(step - work_of(row), 0)); /* time spent in work is not exposed, whatever the pairs say */
    bool unknown = disturbed || (known && !known->boolean);
    return unknown ? (struct communication){0, all} : (struct communication){least, most - least};
}

/* Charts the rows of ranks.json of all runs on one scale: how much of a step is work, and how much is communication
 * that nothing hides. */
static void ranks_chart(struct tt_text *t, const struct tt_marked *m)
{
    static const char *const series[] = {"the step less what is, or may be, exposed", "exposed communication",
                                         "communication: what of it is exposed is not known"};
    char labels[MOST_RANKS][64];
    const char *rows[MOST_RANKS];
    double values[3 * MOST_RANKS];
    int n = 0;
    for (int i = 0; i < m->exercise->run_count; i++) {
        const struct tt_json *run = is_profile(m, i) ? NULL : m->runs[i].profile;
        const struct tt_json *list = run ? tt_json_get(run, "rows") : NULL;
        for (const struct tt_json *r = list ? list->first : NULL; r && n < MOST_RANKS; r = r->next) {
            double step = tt_json_number(r, "median_ms", NAN), ranks = tt_json_number(r, "ranks", NAN);
            if (!(step > 0) || !isfinite(ranks)) continue;
            bool disturbed = tt_exercise_row_disturbed(run, r);
            struct communication c = communication_of(r, step, disturbed);
            snprintf(labels[n], sizeof labels[n], "%.40s, %.0f rank%s%s", m->exercise->runs[i].name, ranks,
                     ranks == 1 ? "" : "s", disturbed ? " (disturbed)" : "");
            rows[n] = labels[n];
            values[3 * n] = 1e-3 * (step - c.exposed - c.unsure);
            values[3 * n + 1] = 1e-3 * c.exposed;
            values[3 * n + 2] = 1e-3 * c.unsure;
            n++;
        }
    }
    if (!n) return;
    tt_svg_stacked(t, &(struct tt_stack){"A step of each run", TT_IN_SECONDS, rows, series, n, 3, values, 2});
    html_note(t, "Pale: communication of which the runs do not decide what is hidden and what exposed; all of it where "
                 "the run was disturbed or tt bench says \"not measurable\". What is hidden runs beside work, so that "
                 "as much more of the step is work. The lengths of such bars decide nothing either.");
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
    ranks_chart(t, m);
    for (int i = 0; i < m->exercise->run_count; i++) {
        if (!is_profile(m, i)) continue;
        profile_of(t, m, i, first && !m->runs[i].recorded);
        first &= m->runs[i].recorded;
    }
}
