/* Measures the pairs in turns. A turn goes through all claims, so that whatever drifts affects all of them alike; the
 * two sides of a pair follow each other. Most pairs have one side in common: a side that has just had its turn is not
 * run again for the next pair. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/chips.h"
#include "cli/claims.h"
#include "cli/ranks.h"
#include "core/base/clock.h"
#include "core/base/load.h"
#include "core/base/terminal.h"
#include "core/train/stop.h"

static bool on_cpu(void) { return !strcmp(tt_backend_name(), "cpu"); }

/* ---- the words of the copies ---- */

/* Options of the run that were given here, as flags. */
static void add_given(struct tt_claims_report *r, const struct tt_option *row)
{
    struct tt_text value = {0};
    tt_value_get(row, r->o, &value);
    const char *text = value.s ? value.s : "";
    if (row->type != TT_OPTION_BOOL)
        tt_text_printf(&r->shared, "--%s=%s\n", row->name, text);
    else
        tt_text_printf(&r->shared, "--%s%s\n", strcmp(text, "true") ? "no-" : "", row->name);
    tt_text_free(&value);
}

static tt_status find_shared(struct tt_claims_report *r)
{
    enum { MOST = sizeof r->shared_words / sizeof *r->shared_words };
    const struct tt_option *rows[TT_OPTION_LIMIT];
    int n = tt_schema_shown(&tt_schema, TT_CMD_BENCH, rows);
    tt_text_puts(&r->shared, "");
    for (int i = 0; i < n; i++) {
        bool ours = !strcmp(rows[i]->name, "quiet") || !strcmp(rows[i]->name, "json");
        if (rows[i]->home == TT_OF_RUN && !ours && tt_option_given(r->o, rows[i]->name)) add_given(r, rows[i]);
    }
    TT_TRY(tt_text_status(&r->shared));
    for (char *save, *word = strtok_r(r->shared.s, "\n", &save); word; word = strtok_r(NULL, "\n", &save)) {
        if (r->shared_count == MOST)
            return tt_fail(TT_USAGE, "more than %d options for all claims; leave some out", MOST);
        r->shared_words[r->shared_count++] = word;
    }
    return TT_OK;
}

static tt_status add_shared(const struct tt_claims_report *r, struct tt_side *s)
{
    for (int i = 0; i < r->shared_count; i++) TT_TRY(tt_side_word(s, r->shared_words[i]));
    return TT_OK;
}

static tt_status bench_words(struct tt_claims_report *r, struct tt_side *s)
{
    TT_TRY(tt_side_word(s, tt_words[0]));
    TT_TRY(tt_side_word(s, "bench"));
    TT_TRY(tt_side_word(s, r->size_words[0]));
    TT_TRY(tt_side_word(s, "--feed"));
    TT_TRY(tt_side_word(s, r->warmup_word));
    TT_TRY(tt_side_word(s, r->repeats_word));
    TT_TRY(add_shared(r, s));
    return tt_side_bench(s);
}

static tt_status train_words(struct tt_claims_report *r, struct tt_side *s)
{
    TT_TRY(tt_side_word(s, tt_words[0]));
    TT_TRY(tt_side_word(s, "train"));
    TT_TRY(tt_side_word(s, r->size_words[1]));
    if (!tt_option_given(r->o, "data")) TT_TRY(tt_side_word(s, "--data=random"));
    TT_TRY(add_shared(r, s));
    memcpy(s->text, s->label, sizeof s->text);
    for (char *save, *word = strtok_r(s->text, " ", &save); word; word = strtok_r(NULL, " ", &save))
        TT_TRY(tt_side_word(s, word));
    TT_TRY(tt_side_word(s, "--out="));
    return tt_side_word(s, "--json");
}

/* ---- commands for the reader to repeat ---- */

static void add_quoted(struct tt_text *t, const char *word)
{
    bool plain = word[0] && !strpbrk(word, " \"'$*?[]()&|;<>`\\");
    tt_text_printf(t, plain ? " %s" : " '%s'", word);
}

/* "--sizes=tiny" as people write it. */
static void add_option(struct tt_text *t, const char *word)
{
    const char *equals = strchr(word, '=');
    if (!equals) {
        add_quoted(t, word);
        return;
    }
    tt_text_printf(t, " %.*s", (int)(equals - word), word);
    add_quoted(t, equals + 1);
}

static void write_command(const struct tt_claims_report *r, struct tt_claim_result *c)
{
    struct tt_text t = {0};
    bool share = c->claim->share;
    if (share) {
        tt_text_puts(&t, "tt");
        for (int i = 1; i < c->on.word_count - 1; i++) add_option(&t, c->on.words[i]);
    } else {
        tt_text_puts(&t, "tt bench --against");
        add_quoted(&t, c->off.label);
        add_quoted(&t, c->on.label);
        add_option(&t, r->size_words[0]);
        tt_text_puts(&t, " --feed");
        for (int i = 0; i < r->shared_count; i++) add_option(&t, r->shared_words[i]);
        tt_text_printf(&t, " --warmup %lld --repeats %lld --turns %lld", (long long)r->own->warmup,
                       (long long)r->own->repeats, (long long)r->own->turns);
    }
    snprintf(c->command, sizeof c->command, "%s", t.s ? t.s : "");
    tt_text_free(&t);
}

static void write_own_command(struct tt_claims_report *r)
{
    struct tt_text t = {0};
    tt_text_puts(&t, "tt claims");
    if (r->own->only[0]) tt_text_printf(&t, " --only %s", r->own->only);
    tt_text_printf(&t, " --preset %s", r->o->c.preset);
    for (int i = 0; i < r->shared_count; i++) add_option(&t, r->shared_words[i]);
    tt_text_printf(&t, " --warmup %lld --repeats %lld --turns %lld", (long long)r->own->warmup,
                   (long long)r->own->repeats, (long long)r->own->turns);
    snprintf(r->command, sizeof r->command, "%s", t.s ? t.s : "");
    tt_text_free(&t);
}

/* ---- which claims ---- */

static bool is_wanted(const char *only, const char *name)
{
    char item[64];
    if (!only[0]) return true;
    while (tt_list_next(&only, ',', item, sizeof item))
        if (!strcmp(item, name)) return true;
    return false;
}

static void set_label(struct tt_side *s, const char *label) { snprintf(s->label, sizeof s->label, "%s", label); }

static tt_status add_claim(struct tt_claims_report *r, const struct tt_claim *claim)
{
    struct tt_claim_result *c = &r->results[r->count++];
    size_t n = (size_t)r->own->turns;
    *c = (struct tt_claim_result){.claim = claim, .measured = NAN, .range = {NAN, NAN, NAN}};
    set_label(&c->on, claim->on_gpu && !on_cpu() ? claim->on_gpu : claim->on);
    set_label(&c->off, claim->off ? claim->off : "");
    c->off_rate = calloc(n, sizeof *c->off_rate);
    c->on_rate = calloc(n, sizeof *c->on_rate);
    c->figures = calloc(n, sizeof *c->figures);
    if (!c->off_rate || !c->on_rate || !c->figures) return tt_no_memory("%zu turns", n);
    TT_TRY(tt_side_open(&c->off, (int)n));
    TT_TRY(tt_side_open(&c->on, (int)n));
    TT_TRY(claim->share ? train_words(r, &c->on) : bench_words(r, &c->on));
    if (!claim->share) TT_TRY(bench_words(r, &c->off));
    write_command(r, c);
    return TT_OK;
}

tt_status tt_claims_open(struct tt_claims_report *r, const struct tt_options *o)
{
    *r = (struct tt_claims_report){.o = o, .own = tt_own(o), .load = tt_machine_load(), .started = tt_seconds()};
    snprintf(r->size_words[0], sizeof r->size_words[0], "--sizes=%.50s", o->c.preset);
    snprintf(r->size_words[1], sizeof r->size_words[1], "--preset=%.50s", o->c.preset);
    snprintf(r->warmup_word, sizeof r->warmup_word, "--warmup=%lld", (long long)r->own->warmup);
    snprintf(r->repeats_word, sizeof r->repeats_word, "--repeats=%lld", (long long)r->own->repeats);
    r->results = calloc((size_t)tt_claim_count, sizeof *r->results);
    if (!r->results) return tt_no_memory("the claims");
    TT_TRY(find_shared(r));
    write_own_command(r);
    for (int i = 0; i < tt_claim_count; i++)
        if (is_wanted(r->own->only, tt_claims[i].name)) TT_TRY(add_claim(r, &tt_claims[i]));
    return TT_OK;
}

void tt_claims_close(struct tt_claims_report *r)
{
    for (int i = 0; i < r->count; i++) {
        struct tt_claim_result *c = &r->results[i];
        tt_side_close(&c->off);
        tt_side_close(&c->on);
        free(c->off_rate);
        free(c->on_rate);
        free(c->figures);
    }
    free(r->results);
    tt_text_free(&r->shared);
}

/* ---- what this device cannot do ---- */

/* A GPU has a precision if its published rate there is above that of fp32. A GPU that is not known is tried. */
static bool has_precision(const struct tt_claims_report *r, enum tt_precision p)
{
    if (p == TT_FP32) return true;
    if (on_cpu()) return false;
    const struct tt_chip *chip = tt_chip_of(r->device, 0);
    return !chip || chip->matrix[p] > chip->matrix[TT_FP32];
}

static void leave_out(struct tt_claim_result *c, enum tt_verdict verdict, const char *why)
{
    c->verdict = verdict;
    snprintf(c->why, sizeof c->why, "%.*s", (int)strcspn(why, "\n"), why);
}

static void leave_out_what_cannot_be(struct tt_claims_report *r)
{
    char why[200];
    for (int i = 0; i < r->count; i++) {
        const struct tt_claim *claim = r->results[i].claim;
        if (claim->gpu && on_cpu()) leave_out(&r->results[i], TT_NOT_HERE, claim->gpu);
        if (has_precision(r, claim->precision)) continue;
        snprintf(why, sizeof why, "%.100s has no %s", on_cpu() ? "a CPU" : r->device,
                 tt_precision_names[claim->precision]);
        leave_out(&r->results[i], TT_NOT_HERE, why);
    }
}

static bool runs(const struct tt_claim_result *c) { return !c->why[0]; }

/* ---- how long it takes ---- */

static double weight(double w) { return w > 0 ? w : 1; }

static bool same_words(const struct tt_side *a, const struct tt_side *b)
{
    if (!a || a->word_count != b->word_count) return false;
    for (int i = 0; i < a->word_count; i++)
        if (strcmp(a->words[i], b->words[i])) return false;
    return true;
}

/* Expected seconds of a turn: the start of every copy, and its steps. */
static double turn_seconds(const struct tt_claims_report *r, double start, double step)
{
    const struct tt_side *last = NULL;
    double sum = 0, steps = (double)(r->own->warmup + r->own->repeats);
    for (int i = 0; i < r->count; i++) {
        const struct tt_claim_result *c = &r->results[i];
        if (!runs(c)) continue;
        bool has_on = same_words(last, &c->on), has_off = same_words(last, &c->off);
        if (!has_on) sum += start + step * steps * weight(c->claim->on_weight);
        if (!has_off && !c->claim->share) sum += start + step * steps * weight(c->claim->off_weight);
        last = has_on ? &c->off : &c->on;
    }
    return sum;
}

static void take_facts(struct tt_claims_report *r, const struct tt_json *found, const struct tt_json *row)
{
    snprintf(r->backend, sizeof r->backend, "%s", tt_json_string(found, "backend", ""));
    snprintf(r->device, sizeof r->device, "%s", tt_json_string(found, "device", ""));
    snprintf(r->library, sizeof r->library, "%s", tt_json_string(found, "library", ""));
    double layers = tt_json_number(row, "num_layers", NAN);
    snprintf(r->model, sizeof r->model, "%s in %s: %.0f layer%s, hidden %.0f, %.0f x %.0f tokens",
             tt_json_string(row, "size", "?"), tt_json_string(found, "precision", "?"), layers,
             tt_plural((long long)layers), tt_json_number(row, "hidden_dim", NAN),
             tt_json_number(row, "batch_size", NAN), tt_json_number(row, "seq_len", NAN));
}

/* Runs the side that most pairs have in common once. This shows that it runs, warms the machine up, and says what a
 * turn takes. */
static tt_status try_out(struct tt_claims_report *r)
{
    struct tt_side *s = calloc(1, sizeof *s);
    const struct tt_json *row;
    if (!s) return tt_no_memory("the claims");
    set_label(s, "flash");
    tt_status st = tt_side_open(s, 1);
    if (!st) st = bench_words(r, s);
    double began = tt_seconds();
    if (!st) st = tt_side_turn(s, 0, NULL);
    double whole = tt_seconds() - began;
    if (!st) st = tt_side_row(s, 0, &row);
    if (!st) {
        double step = 1e-3 * tt_json_number(row, "median_ms", NAN), steps = (double)(r->own->warmup + r->own->repeats);
        take_facts(r, s->found[0], row);
        leave_out_what_cannot_be(r);
        r->expected = turn_seconds(r, fmax(0, whole - step * steps), step) * (double)r->own->turns;
    }
    tt_side_close(s);
    free(s);
    return st;
}

/* ---- turns ---- */

static double figure_of(const struct tt_side *s, int turn, bool share)
{
    const struct tt_json *found = s->found[turn], *rows = tt_json_get(found, "rows");
    if (share)
        return 100 * tt_json_number(found, "validation_seconds", NAN) / tt_json_number(found, "seconds", NAN);
    return tt_json_number(rows ? rows->first : NULL, "tokens_per_second", NAN);
}

static tt_status take(struct tt_claims_report *r, struct tt_claim_result *c, bool on, int turn, struct tt_text *said)
{
    struct tt_side *s = on ? &c->on : &c->off;
    double *rate = &(on ? c->on_rate : c->off_rate)[turn];
    if (tt_stop_signal()) return tt_fail(TT_INTERRUPTED, "stopped");
    if (!same_words(r->last, s)) {
        TT_TRY(tt_side_turn(s, turn, said));
        r->last = s;
        r->last_rate = figure_of(s, turn, c->claim->share);
    }
    *rate = r->last_rate;
    return TT_OK;
}

static tt_status take_pair(struct tt_claims_report *r, struct tt_claim_result *c, int turn, struct tt_text *said)
{
    bool on_first = c->claim->share || same_words(r->last, &c->on);
    TT_TRY(take(r, c, on_first, turn, said));
    if (!c->claim->share) TT_TRY(take(r, c, !on_first, turn, said));
    c->figures[turn] = c->claim->share ? c->on_rate[turn] : c->on_rate[turn] / c->off_rate[turn];
    c->turns = turn + 1;
    return TT_OK;
}

/* The last line that a copy wrote to stderr, without the name of the program. */
static const char *last_line(char *said)
{
    size_t n = strlen(said);
    while (n && said[n - 1] == '\n') said[--n] = 0;
    char *line = strrchr(said, '\n');
    line = line ? line + 1 : said;
    return strncmp(line, "tt: ", 4) ? line : line + 4;
}

/* A claim that cannot be measured does not end the others. If there was a signal to stop, it may have ended the copy
 * too, so its failure says nothing about the claim. */
static void take_or_leave(struct tt_claims_report *r, struct tt_claim_result *c, int turn)
{
    struct tt_text said = {0};
    tt_status st = take_pair(r, c, turn, &said);
    bool refused = st && c->claim->precision != TT_FP32 && st->code == TT_USAGE;
    if (st) r->last = NULL;
    if (st && !tt_stop_signal()) {
        leave_out(c, refused ? TT_NOT_HERE : TT_NOT_RUN, said.n ? last_line(said.s) : st->text);
    }
    tt_text_free(&said);
    tt_status_free(st);
}

static void show_progress(const struct tt_claims_report *r, const struct tt_claim_result *c, int turn, double began)
{
    char left[32];
    if (r->o->c.quiet || !tt_is_terminal(stderr)) return;
    double past = tt_seconds() - began, done = turn / (double)r->own->turns;
    tt_format_duration(turn ? past / done - past : fmax(1, r->expected - past), left);
    fprintf(stderr, "\r\033[Kturn %d of %lld: %s, about %s left", turn + 1, (long long)r->own->turns, c->claim->name,
            left);
}

static tt_status judge(struct tt_claim_result *c)
{
    if (!runs(c)) return TT_OK;
    if (!c->turns) {
        leave_out(c, TT_NOT_RUN, "stopped before its first turn");
        return TT_OK;
    }
    TT_TRY(tt_turns_median(c->figures, c->turns, &c->measured, &c->range));
    c->verdict = tt_claim_judge(c->claim, &c->range);
    return TT_OK;
}

static void say_beforehand(const struct tt_claims_report *r)
{
    char expected[32];
    int n = 0;
    for (int i = 0; i < r->count; i++) n += runs(&r->results[i]);
    tt_format_duration(r->expected, expected);
    if (!r->o->c.quiet && n)
        tt_say("%d claim%s in %lld turn%s on %s: about %s", n, tt_plural(n), (long long)r->own->turns,
               tt_plural(r->own->turns), r->device, expected);
}

static void take_turns(struct tt_claims_report *r)
{
    double began = tt_seconds();
    for (int turn = 0; turn < r->own->turns; turn++)
        for (int i = 0; i < r->count && !tt_stop_signal(); i++) {
            if (!runs(&r->results[i])) continue;
            show_progress(r, &r->results[i], turn, began);
            take_or_leave(r, &r->results[i], turn);
        }
}

static tt_status find_waited(struct tt_claims_report *r)
{
    const struct tt_side **sides = calloc(2 * (size_t)r->count + 1, sizeof *sides);
    if (!sides) return tt_no_memory("the claims");
    for (int i = 0; i < r->count; i++) sides[2 * i] = &r->results[i].off, sides[2 * i + 1] = &r->results[i].on;
    r->waited = tt_sides_waited(sides, 2 * r->count);
    free(sides);
    return TT_OK;
}

tt_status tt_claims_measure(struct tt_claims_report *r)
{
    TT_TRY(try_out(r));
    tt_stop_catch(); /* at a signal, what was measured until then is shown and written */
    say_beforehand(r);
    take_turns(r);
    for (int i = 0; i < r->count; i++)
        if (runs(&r->results[i]) && r->results[i].turns < r->own->turns) r->stopped = tt_stop_signal();
    tt_stop_restore();
    if (!r->o->c.quiet && tt_is_terminal(stderr)) fputs("\r\033[K", stderr);
    for (int i = 0; i < r->count; i++) TT_TRY(judge(&r->results[i]));
    r->seconds = tt_seconds() - r->started;
    return find_waited(r);
}
