/* claims.html: what was claimed beside what was measured, as one file that needs no network. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/claims.h"
#include "core/base/load.h"
#include "profiling/report/html_parts.h"
#include "profiling/report/svg.h"

static const int colors[TT_VERDICTS] = {2, 1, 10, 3, 5, 7, 7}; /* of charts.css */

static void chart(struct tt_text *t, const struct tt_claims_report *r)
{
    struct tt_svg_interval *rows = calloc((size_t)r->count + 1, sizeof *rows);
    int n = 0;
    if (!rows) {
        t->failed = true;
        return;
    }
    for (int i = 0; i < r->count; i++) {
        const struct tt_claim_result *c = &r->results[i];
        if (c->why[0] || c->claim->share) continue;
        rows[n] = (struct tt_svg_interval){.label = c->claim->name, .claimed_low = c->claim->low,
                                       .claimed_high = c->claim->high, .value = c->measured, .low = c->range.low,
                                       .high = c->range.high, .color = colors[c->verdict]};
        snprintf(rows[n].note, sizeof rows[n].note, "%.2fx, %s", c->measured, tt_verdict_names[c->verdict]);
        n++;
    }
    if (n) {
        tt_svg_intervals(t, "Speed-ups, claimed and measured", rows, n);
        html_note(t, "Grey: what is claimed; a single figure stands for all that rounds to it. The dot is the median "
                     "of the turns, the bar its interval. At 1 nothing is gained. The axis is logarithmic.");
    }
    free(rows);
}

static void table(struct tt_text *t, const struct tt_claims_report *r)
{
    char measured[32], low[32], high[32], interval[72];
    html_table(t, "claim|what is done|who claims it|#claimed|#measured|#interval|verdict");
    for (int i = 0; i < r->count; i++) {
        const struct tt_claim_result *c = &r->results[i];
        html_row(t);
        html_cell(t, "%s", c->claim->name);
        html_cell(t, "%s", c->claim->words);
        html_cell(t, "%s", c->claim->source);
        html_number(t, c->claim->low, c->claim->claimed);
        html_number(t, c->measured, tt_claim_figure(c->claim, c->measured, measured));
        snprintf(interval, sizeof interval, "%s to %s", tt_claim_figure(c->claim, c->range.low, low),
                 tt_claim_figure(c->claim, c->range.high, high));
        html_number(t, c->range.low, isfinite(c->range.low) ? interval : "n/a");
        html_cell(t, c->why[0] ? "%s: %s" : "%s%s", tt_verdict_names[c->verdict], c->why);
        html_row_end(t);
    }
    html_table_end(t);
}

static void verdicts(struct tt_text *t)
{
    html_table(t, "verdict|what it means");
    for (int v = 0; v < TT_VERDICTS; v++) {
        html_row(t);
        html_cell(t, "%s", tt_verdict_names[v]);
        html_cell(t, "%s", tt_verdict_words[v]);
        html_row_end(t);
    }
    html_table_end(t);
}

static void commands(struct tt_text *t, const struct tt_claims_report *r)
{
    for (int i = 0; i < r->count; i++) {
        const struct tt_claim_result *c = &r->results[i];
        if (c->why[0]) continue;
        html_fold(t, c->claim->name, false);
        tt_text_puts(t, "<pre>");
        tt_escape(t, c->command);
        tt_text_puts(t, "</pre>\n<p class=\"note\">");
        for (int k = 0; k < c->turns; k++) tt_text_printf(t, k ? ", %.3f" : "Turns: %.3f", c->figures[k]);
        tt_text_puts(t, "</p>\n");
        html_fold_end(t);
    }
}

tt_status tt_claims_html(const struct tt_claims_report *r, const char *path)
{
    struct tt_text t = {0};
    char busy[100];
    html_begin(&t, "Claims, measured");
    tt_text_puts(&t, "<header><h1>What guides claim, measured here</h1></header>\n");
    html_facts(&t);
    html_fact(&t, "device", r->device);
    html_fact(&t, "library", r->library);
    html_fact(&t, "step", r->model);
    html_fact(&t, "command", r->command);
    html_facts_end(&t);
    tt_was_busy_words(r->load, r->waited, busy);
    if (busy[0]) {
        tt_text_puts(&t, "<p class=\"warn\">When this was measured, ");
        tt_escape(&t, busy);
        tt_text_puts(&t, ", so the intervals are wide.</p>\n");
    }
    if (r->stopped)
        tt_text_printf(&t, "<p class=\"warn\">Incomplete: it was stopped before the last of %lld turns.</p>\n",
                       (long long)r->own->turns);
    html_section(&t, "speed", "Claimed and measured");
    chart(&t, r);
    table(&t, r);
    html_note(&t, "Each claim is a pair of runs, without and with that one thing, in %lld turns. Speed-ups are in "
                  "tokens a second.", (long long)r->own->turns);
    html_section_end(&t);
    html_section(&t, "commands", "The command of each");
    commands(&t, r);
    html_section_end(&t);
    html_section(&t, "verdicts", "Verdicts");
    verdicts(&t);
    html_section_end(&t);
    return html_end(&t, path);
}
