/* tt bench --against: times two sets of options in turns (turns.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/bench.h"
#include "cli/turns.h"
#include "core/base/file.h"
#include "core/base/load.h"
#include "core/base/stats.h"
#include "core/train/usage.h"

enum { SIDES = 2 };

struct duel {
    const struct tt_options *o;
    const struct tt_bench_options *own;
    struct tt_side sides[SIDES];
    double *ms[SIDES], *rate[SIDES]; /* of each turn: ms of the median step, and tokens a second */
    double *ratios;                  /* of each pair: how many times as fast B is as A */
    double ratio, load, waited;
    int others; /* other programs that any turn found on the device */
    struct tt_range range;
};

/* ---- the words of the copies ---- */

/* Options of the whole command, which its copies do not get. */
static bool is_ours(const char *name, size_t n)
{
    static const char *const ours[] = {"against", "turns", "profile-dir", "json", "quiet"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strlen(ours[i]) == n && !strncmp(ours[i], name, n)) return true;
    return false;
}

static bool takes_value(const char *name, size_t n)
{
    char whole[64];
    snprintf(whole, sizeof whole, "%.*s", (int)n, name);
    const struct tt_option *row = tt_option_find(TT_CMD_BENCH, whole);
    return row && row->type != TT_OPTION_BOOL && !name[n];
}

/* Adds the words of this process that both sides share: its options, except those of the whole command and the two sets
 * of --against. */
static tt_status add_shared(struct tt_side *s)
{
    TT_TRY(tt_side_word(s, tt_words[0]));
    TT_TRY(tt_side_word(s, "bench"));
    for (char **w = tt_words + 2; *w && strcmp(*w, "--"); w++) {
        size_t n = strncmp(*w, "--", 2) ? 0 : strcspn(*w + 2, "= ");
        if (!n || (*w)[2 + n] == ' ') continue; /* one of the two sets */
        bool ours = is_ours(*w + 2, n), value = takes_value(*w + 2, n) && w[1];
        if (!ours) TT_TRY(tt_side_word(s, *w));
        if (value && !ours) TT_TRY(tt_side_word(s, w[1]));
        w += value;
    }
    return TT_OK;
}

/* ---- turns ---- */

static tt_status take_turn(struct duel *d, int side, int turn)
{
    bool shows = !d->o->c.quiet && isatty(STDERR_FILENO);
    struct tt_side *s = &d->sides[side];
    const struct tt_json *row;
    if (shows) fprintf(stderr, "\r\033[Kturn %d of %lld: %s", turn + 1, (long long)d->own->turns, s->label);
    tt_status st = tt_side_turn(s, turn, NULL);
    if (shows) fputs("\r\033[K", stderr);
    TT_TRY(st);
    TT_TRY(tt_side_row(s, turn, &row));
    d->ms[side][turn] = tt_json_number(row, "median_ms", NAN);
    d->rate[side][turn] = tt_json_number(row, "tokens_per_second", NAN);
    d->others = (int)fmax(d->others, tt_json_number(s->found[turn], "others", 0));
    return TT_OK;
}

static tt_status take_turns(struct duel *d)
{
    int n = (int)d->own->turns;
    for (int turn = 0; turn < n; turn++) {
        for (int i = 0; i < SIDES; i++) TT_TRY(take_turn(d, i, turn));
        d->ratios[turn] = d->rate[1][turn] / d->rate[0][turn];
    }
    d->waited = tt_sides_waited((const struct tt_side *const[]){&d->sides[0], &d->sides[1]}, SIDES);
    return tt_turns_median(d->ratios, n, &d->ratio, &d->range);
}

/* ---- the result ---- */

static void print_text(const struct duel *d)
{
    const char *a = d->sides[0].label, *b = d->sides[1].label;
    char busy[100], others[80];
    printf("A       %s\nB       %s\n%-6s %12s %12s %9s\n", a, b, "turn", "A ms", "B ms", "B against A");
    for (int i = 0; i < (int)d->own->turns; i++)
        printf("%-6d %12.3f %12.3f %8.3fx\n", i + 1, d->ms[0][i], d->ms[1][i], d->ratios[i]);
    printf("B is %.3f times as fast as A, in tokens a second; interval %.3f to %.3f, which holds in %.0f %% of cases\n",
           d->ratio, d->range.low, d->range.high, 100 * d->range.confidence);
    if (d->range.confidence < 0.945)
        printf("note    %lld turns are few: with 6 the interval holds in 97 %% of cases\n", (long long)d->own->turns);
    if (d->range.low <= 1 && d->range.high >= 1) puts("note    the interval includes 1: no difference is shown");
    tt_usage_others_words(d->others, others);
    if (others[0]) printf("note    %s: while it computes, the times are too long and the interval is wide\n", others);
    tt_was_busy_words(d->load, d->waited, busy);
    if (busy[0]) printf("note    when this was measured, %s: the times are too long and the interval is wide\n", busy);
}

static const struct tt_json *row_of(const struct tt_side *s, int turn)
{
    return tt_json_get(s->found[turn], "rows")->first;
}

static bool is_one_of(const char *word, const char *const *names)
{
    for (; *names; names++)
        if (!strcmp(word, *names)) return true;
    return false;
}

static void put_steps(struct tt_json_writer *w, const struct tt_side *s)
{
    tt_json_begin(w, "steps_ms", '[');
    for (int i = 0; i < s->turns; i++) {
        const struct tt_json *steps = tt_json_get(row_of(s, i), "steps_ms");
        for (const struct tt_json *at = steps ? steps->first : NULL; at; at = at->next)
            tt_json_put_number(w, NULL, at->number);
    }
    tt_json_end(w, ']');
}

/* The row of its first turn, but with the steps of all turns, and with rates scaled to the median of the turns. */
static void put_side(struct tt_json_writer *w, const struct tt_side *s, double *ms)
{
    static const char *const rates[] = {"tokens_per_second", "samples_per_second",    "flops_per_second",
                                        "mfu_percent",       "mfu_datasheet_percent", NULL};
    static const char *const of_steps[] = {"steps_ms", "median_ms", "p95_ms", "min_ms", NULL};
    double first = ms[0], median = tt_quantile(ms, s->turns, 0.5); /* sorts: nothing needs the order of ms after this */
    tt_json_begin(w, NULL, '{');
    tt_json_put_string(w, "label", s->label);
    tt_json_put_number(w, "median_ms", median);
    for (const struct tt_json *at = row_of(s, 0)->first; at; at = at->next) {
        if (is_one_of(at->key, rates) && at->type == TT_JSON_NUMBER)
            tt_json_put_number(w, at->key, at->number * first / median);
        else if (!is_one_of(at->key, of_steps))
            tt_json_put_value(w, at->key, at);
    }
    put_steps(w, s);
    tt_json_end(w, '}');
}

static void put_ratios(struct tt_json_writer *w, const struct duel *d)
{
    tt_json_begin(w, "against", '{');
    tt_json_put_number(w, "ratio", d->ratio);
    tt_json_put_number(w, "low", d->range.low);
    tt_json_put_number(w, "high", d->range.high);
    tt_json_put_number(w, "confidence", d->range.confidence);
    tt_json_begin(w, "ratios", '[');
    for (int i = 0; i < (int)d->own->turns; i++) tt_json_put_number(w, NULL, d->ratios[i]);
    tt_json_end(w, ']');
    tt_json_end(w, '}');
}

static tt_status write_json(struct duel *d)
{
    static const char *const shared[] = {"backend", "device", "library", "precision", "gemm_flops_per_second"};
    struct tt_json_writer w = {.pretty = true};
    tt_json_begin(&w, NULL, '{');
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        const struct tt_json *value = tt_json_get(d->sides[0].found[0], shared[i]);
        if (value) tt_json_put_value(&w, shared[i], value);
    }
    tt_json_put_number(&w, "waited", d->waited);
    tt_json_put_number(&w, "load", d->load);
    tt_json_put_bool(&w, "busy", tt_was_busy(d->load, d->waited));
    tt_json_put_int(&w, "others", d->others);
    put_ratios(&w, d);
    tt_json_begin(&w, "rows", '[');
    for (int i = 0; i < SIDES; i++) put_side(&w, &d->sides[i], d->ms[i]);
    tt_json_end(&w, ']');
    tt_json_end(&w, '}');
    return tt_bench_write(&w, d->o->c.json, d->own->profile_dir);
}

/* ---- all ---- */

static tt_status open_sides(struct duel *d)
{
    size_t n = (size_t)d->own->turns;
    const char *at = d->own->against;
    int given = 0;
    char more[8];
    while (given < SIDES && tt_list_next(&at, '\n', d->sides[given].label, sizeof d->sides[given].label)) given++;
    if (given < SIDES || tt_list_next(&at, '\n', more, sizeof more))
        return tt_fail(TT_USAGE, "--against takes two, each in quotes if it is several words: tt bench --against "
                                 "'--version fused' '--version flash --batch-size 4'");
    d->ratios = calloc(n, sizeof *d->ratios);
    for (int i = 0; i < SIDES; i++) {
        struct tt_side *s = &d->sides[i];
        d->ms[i] = calloc(n, sizeof *d->ms[i]);
        d->rate[i] = calloc(n, sizeof *d->rate[i]);
        if (!d->ms[i] || !d->rate[i] || !d->ratios) return tt_no_memory("%zu turns", n);
        TT_TRY(tt_side_open(s, (int)n));
        TT_TRY(add_shared(s));
        TT_TRY(tt_side_bench(s));
    }
    return TT_OK;
}

static void close_sides(struct duel *d)
{
    for (int i = 0; i < SIDES; i++) {
        tt_side_close(&d->sides[i]);
        free(d->ms[i]);
        free(d->rate[i]);
    }
    free(d->ratios);
}

tt_status tt_bench_against(const struct tt_options *o)
{
    struct duel *d = calloc(1, sizeof *d);
    if (!d) return tt_no_memory("the command");
    d->o = o;
    d->own = tt_own(o);
    d->load = tt_machine_load();
    tt_status st = open_sides(d);
    if (!st) st = take_turns(d);
    if (!st && !o->c.json) print_text(d);
    if (!st) st = write_json(d);
    close_sides(d);
    free(d);
    return st;
}
