/* The results of the claims, as text and as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/claims.h"
#include "core/base/load.h"

const char *tt_claim_figure(const struct tt_claim *c, double value, char out[32])
{
    if (!isfinite(value))
        snprintf(out, 32, "n/a");
    else
        snprintf(out, 32, c->share ? "%.1f %%" : "%.2fx", value);
    return out;
}

static void put_row(struct tt_text *t, const struct tt_claim_result *c)
{
    char measured[32], low[32], high[32], interval[72] = "";
    tt_claim_figure(c->claim, c->measured, measured);
    if (isfinite(c->range.low))
        snprintf(interval, sizeof interval, "%s to %s", tt_claim_figure(c->claim, c->range.low, low),
                 tt_claim_figure(c->claim, c->range.high, high));
    tt_text_printf(t, "%-13s %9s %9s  %-18s %-19s %s\n", c->claim->name, c->claim->claimed,
                   c->why[0] ? "" : measured, interval, tt_verdict_names[c->verdict],
                   c->why[0] ? c->why : c->claim->words);
}

static void put_counts(const struct tt_claims_report *r, struct tt_text *t)
{
    int counts[TT_VERDICTS] = {0};
    for (int i = 0; i < r->count; i++) counts[r->results[i].verdict]++;
    tt_text_printf(t, "%d claim%s:", r->count, tt_plural(r->count));
    const char *between = " ";
    for (int v = 0; v < TT_VERDICTS; v++) {
        if (!counts[v]) continue;
        tt_text_printf(t, "%s%d %s", between, counts[v], tt_verdict_names[v]);
        between = ", ";
    }
    tt_text_puts(t, "\n");
}

/* The lowest confidence of the measured intervals. Unless they were stopped, all have the same. */
static double confidence(const struct tt_claims_report *r)
{
    double least = NAN;
    for (int i = 0; i < r->count; i++) least = fmin(least, r->results[i].range.confidence); /* fmin skips NAN */
    return least;
}

/* The fewest turns of a claim that was measured. */
static int fewest_turns(const struct tt_claims_report *r)
{
    int n = (int)r->own->turns;
    for (int i = 0; i < r->count; i++)
        if (!r->results[i].why[0] && r->results[i].turns < n) n = r->results[i].turns;
    return n;
}

static void put_notes(const struct tt_claims_report *r, struct tt_text *t)
{
    char busy[100];
    double sure = confidence(r);
    if (isfinite(sure))
        tt_text_printf(t, "An interval holds the true value in %.0f %% of cases. Speed-ups are in tokens a second; "
                          "each pair is a run without and a run with that one thing.\n", 100 * sure);
    if (sure < 0.945)
        tt_text_printf(t, "note    %d turn%s few: with 6 the intervals hold in 97 %% of cases\n", fewest_turns(r),
                       fewest_turns(r) == 1 ? " is" : "s are");
    if (r->stopped)
        tt_text_printf(t, "note    incomplete: stopped by %s before the last of %lld turns\n", strsignal(r->stopped),
                       (long long)r->own->turns);
    tt_was_busy_words(r->load, r->waited, busy);
    if (busy[0]) tt_text_printf(t, "note    when this was measured, %s, so the intervals are wide\n", busy);
}

void tt_claims_text(const struct tt_claims_report *r, struct tt_text *t)
{
    char took[32];
    tt_text_printf(t, "device  %s: %s; %s\nstep    %s\nrun     %s\n\n", r->backend, r->device, r->library, r->model,
                   r->command);
    tt_text_printf(t, "%-13s %9s %9s  %-18s %-19s %s\n", "claim", "claimed", "measured", "interval", "verdict", "");
    for (int i = 0; i < r->count; i++) put_row(t, &r->results[i]);
    tt_text_puts(t, "\n");
    put_counts(r, t);
    put_notes(r, t);
    tt_text_puts(t, "\nTo measure one alone:\n");
    for (int i = 0; i < r->count; i++)
        if (!r->results[i].why[0])
            tt_text_printf(t, "%-13s %s\n", r->results[i].claim->name, r->results[i].command);
    tt_format_duration(r->seconds, took);
    tt_text_printf(t, r->stopped ? "\nstopped after %s\n" : "\ndone    in %s\n", took);
}

/* ---- JSON ---- */

static void put_claim(struct tt_json_writer *w, const struct tt_claim *c)
{
    tt_json_put_string(w, "name", c->name);
    tt_json_put_string(w, "what", c->words);
    tt_json_put_string(w, "source", c->source);
    tt_json_put_string(w, "claimed", c->claimed);
    tt_json_put_number(w, "claimed_low", c->low);
    tt_json_put_number(w, "claimed_high", c->high);
    tt_json_put_string(w, "unit", c->share ? "percent" : "times");
}

static void put_result(struct tt_json_writer *w, const struct tt_claim_result *c)
{
    tt_json_begin(w, NULL, '{');
    put_claim(w, c->claim);
    tt_json_put_number(w, "measured", c->measured);
    tt_json_put_number(w, "low", c->range.low);
    tt_json_put_number(w, "high", c->range.high);
    tt_json_put_number(w, "confidence", c->range.confidence);
    tt_json_put_string(w, "verdict", tt_verdict_names[c->verdict]);
    if (c->why[0]) tt_json_put_string(w, "why", c->why);
    tt_json_begin(w, "turns", '[');
    for (int i = 0; i < c->turns; i++) tt_json_put_number(w, NULL, c->figures[i]);
    tt_json_end(w, ']');
    tt_json_put_string(w, "command", c->command);
    tt_json_end(w, '}');
}

static void hand_over(struct tt_json_writer *w, struct tt_text *out)
{
    tt_text_puts(out, w->text.s ? w->text.s : "");
    out->failed |= w->text.failed;
    tt_text_free(&w->text);
}

void tt_claims_json(const struct tt_claims_report *r, struct tt_text *out)
{
    struct tt_json_writer w = {.pretty = true};
    tt_json_begin(&w, NULL, '{');
    tt_json_put_string(&w, "tt", TT_VERSION_STRING);
    tt_json_put_string(&w, "backend", r->backend);
    tt_json_put_string(&w, "device", r->device);
    tt_json_put_string(&w, "library", r->library);
    tt_json_put_string(&w, "step", r->model);
    tt_json_put_string(&w, "command", r->command);
    tt_json_put_bool(&w, "complete", !r->stopped);
    tt_json_put_number(&w, "seconds", r->seconds);
    tt_json_put_number(&w, "waited", r->waited);
    tt_json_put_number(&w, "load", r->load);
    tt_json_put_bool(&w, "busy", tt_was_busy(r->load, r->waited));
    tt_json_begin(&w, "claims", '[');
    for (int i = 0; i < r->count; i++) put_result(&w, &r->results[i]);
    tt_json_end(&w, ']');
    tt_json_end(&w, '}');
    hand_over(&w, out);
}

/* ---- --list ---- */

static void list_json(struct tt_text *out)
{
    struct tt_json_writer w = {.pretty = true};
    tt_json_begin(&w, NULL, '[');
    for (int i = 0; i < tt_claim_count; i++) {
        tt_json_begin(&w, NULL, '{');
        put_claim(&w, &tt_claims[i]);
        tt_json_put_string(&w, "off", tt_claims[i].off);
        tt_json_put_string(&w, "on", tt_claims[i].on);
        tt_json_end(&w, '}');
    }
    tt_json_end(&w, ']');
    hand_over(&w, out);
}

void tt_claims_list(bool json, struct tt_text *out)
{
    if (json) {
        list_json(out);
        return;
    }
    tt_text_printf(out, "%-13s %9s  %-26s %s\n", "claim", "claimed", "who claims it", "what");
    for (int i = 0; i < tt_claim_count; i++)
        tt_text_printf(out, "%-13s %9s  %-26s %s\n", tt_claims[i].name, tt_claims[i].claimed, tt_claims[i].source,
                       tt_claims[i].words);
}
