/* tt bench --against: two sets of options in turns, A, B, A, B, ..., each turn a copy of this program. Whatever drifts
 * meanwhile, a clock or other work, slows both alike, and each pair gives a ratio of its own. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/bench.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/load.h"
#include "core/base/range.h"
#include "core/base/stats.h"
#include "core/config/presets.h"

enum { SIDES = 2, MOST_WORDS = 200, LONGEST = 1000 };

struct side {
    char label[LONGEST], text[LONGEST]; /* as it was given, and cut into words */
    char *words[MOST_WORDS];            /* of its copies */
    int word_count;
    struct tt_json **found; /* of each turn */
    double *ms, *rate;      /* of each turn: the median step, and tokens a second */
};

struct duel {
    const struct tt_options *o;
    const struct tt_bench_options *own;
    struct side sides[SIDES];
    double *ratios; /* of each pair: how many times as fast B is as A */
    double ratio, load;
    struct tt_range range;
};

/* ---- the words of the copies ---- */

static tt_status add_word(struct side *s, const char *word)
{
    if (s->word_count == MOST_WORDS - 1) return tt_fail(TT_USAGE, "more than %d words", MOST_WORDS);
    s->words[s->word_count++] = (char *)(uintptr_t)word;
    return TT_OK;
}

static bool is_one_of(const char *word, const char *const *names)
{
    for (; *names; names++)
        if (!strcmp(word, *names)) return true;
    return false;
}

/* What belongs to the whole and not to a copy. */
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
    const struct tt_option *row = tt_schema_find(&tt_schema, TT_CMD_BENCH, whole);
    return row && row->type != TT_OPTION_BOOL && !name[n];
}

/* Those of this process that both share: its options, but for our own and for what --against is to be. */
static tt_status add_shared(struct side *s)
{
    TT_TRY(add_word(s, tt_words[0]));
    TT_TRY(add_word(s, "bench"));
    for (char **w = tt_words + 2; *w && strcmp(*w, "--"); w++) {
        size_t n = strncmp(*w, "--", 2) ? 0 : strcspn(*w + 2, "= ");
        if (!n || (*w)[2 + n] == ' ') continue; /* one of the two */
        bool ours = is_ours(*w + 2, n), value = takes_value(*w + 2, n) && w[1];
        if (!ours) TT_TRY(add_word(s, *w));
        if (value && !ours) TT_TRY(add_word(s, w[1]));
        w += value;
    }
    return TT_OK;
}

static bool awaits_value(const char *word)
{
    return !strncmp(word, "--", 2) && takes_value(word + 2, strlen(word + 2));
}

/* Other commands have one version and one preset; bench has lists of them. */
static tt_status add_as_bench(struct side *s, char *word)
{
    static const char *const names[][2] = {{"--version", "--versions"}, {"--preset", "--sizes"}};
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(names[i][0]);
        if (strncmp(word, names[i][0], n) || (word[n] && word[n] != '=')) continue;
        TT_TRY(add_word(s, names[i][1]));
        return word[n] ? add_word(s, word + n + 1) : TT_OK;
    }
    return add_word(s, word);
}

/* The options of one: as those of bench, or as other commands have them, or a version or a size alone. */
static tt_status add_own(struct side *s)
{
    memcpy(s->text, s->label, sizeof s->text);
    for (char *save, *word = strtok_r(s->text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        bool version = is_one_of(word, tt_version_names), size = is_one_of(word, tt_preset_names);
        if ((version || size) && !awaits_value(s->words[s->word_count - 1]))
            TT_TRY(add_word(s, version ? "--versions" : "--sizes"));
        TT_TRY(add_as_bench(s, word));
    }
    bool named = false;
    for (int i = 0; i < s->word_count; i++) named |= !strncmp(s->words[i], "--versions", 10);
    if (!named) TT_TRY(add_word(s, "--versions=flash"));
    return add_word(s, "--json");
}

/* ---- turns ---- */

static _Noreturn void become(char *const *words, int out)
{
    if (dup2(out, STDOUT_FILENO) >= 0) execv("/proc/self/exe", words);
    dprintf(STDERR_FILENO, "tt: cannot start a copy of itself: %s\n", strerror(errno));
    _exit(TT_FAILED);
}

tt_status tt_bench_copy(char *const *words, int out, const char *label)
{
    int state;
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) return tt_fail(TT_FAILED, "cannot start a copy of tt: %s", strerror(errno));
    if (!child) become(words, out);
    while (waitpid(child, &state, 0) < 0)
        if (errno != EINTR) return tt_fail(TT_FAILED, "cannot wait for a copy of tt: %s", strerror(errno));
    if (WIFEXITED(state) && !WEXITSTATUS(state)) return TT_OK;
    if (WIFSIGNALED(state)) return tt_fail(TT_FAILED, "tt bench %s was ended by signal %d", label, WTERMSIG(state));
    return tt_fail((enum tt_code)WEXITSTATUS(state), "tt bench %s failed; what it said is above", label);
}

static tt_status read_found(FILE *file, struct tt_json **out)
{
    struct tt_text text = {0};
    char piece[4096];
    rewind(file);
    for (size_t n; (n = fread(piece, 1, sizeof piece, file)) > 0;) tt_text_add(&text, piece, n);
    tt_status st = tt_text_status(&text);
    if (!st) st = tt_json_parse(text.s ? text.s : "", text.n, out);
    tt_text_free(&text);
    return st;
}

static const struct tt_json *row_of(const struct side *s, int turn)
{
    const struct tt_json *rows = tt_json_get(s->found[turn], "rows");
    return rows ? rows->first : NULL;
}

static tt_status take_turn(struct duel *d, struct side *s, int turn)
{
    bool shows = !d->o->c.quiet && isatty(STDERR_FILENO);
    FILE *file = tmpfile();
    if (!file) return tt_fail(TT_FAILED, "no temporary file for the output of a copy: %s", strerror(errno));
    if (shows) fprintf(stderr, "\r\033[Kturn %d of %lld: %s", turn + 1, (long long)d->own->turns, s->label);
    tt_status st = tt_bench_copy(s->words, fileno(file), s->label);
    if (shows) fputs("\r\033[K", stderr);
    if (!st) st = tt_context(read_found(file, &s->found[turn]), "what %s found", s->label);
    fclose(file);
    TT_TRY(st);
    const struct tt_json *row = row_of(s, turn);
    if (!row || row->next)
        return tt_fail(TT_USAGE, "%s times several rows; each of the two of --against is one size and one version",
                       s->label);
    s->ms[turn] = tt_json_number(row, "median_ms", NAN);
    s->rate[turn] = tt_json_number(row, "tokens_per_second", NAN);
    return TT_OK;
}

static tt_status take_turns(struct duel *d)
{
    int n = (int)d->own->turns;
    for (int turn = 0; turn < n; turn++) {
        for (int i = 0; i < SIDES; i++) TT_TRY(take_turn(d, &d->sides[i], turn));
        d->ratios[turn] = d->sides[1].rate[turn] / d->sides[0].rate[turn];
    }
    TT_TRY(tt_median_range(d->ratios, n, &d->range));
    double *sorted = malloc((size_t)n * sizeof *sorted);
    if (!sorted) return tt_no_memory("the turns");
    memcpy(sorted, d->ratios, (size_t)n * sizeof *sorted);
    d->ratio = tt_quantile(sorted, n, 0.5);
    free(sorted);
    return TT_OK;
}

/* ---- what came of it ---- */

static void print_text(const struct duel *d)
{
    const char *a = d->sides[0].label, *b = d->sides[1].label;
    char busy[100];
    printf("A       %s\nB       %s\n%-6s %12s %12s %9s\n", a, b, "turn", "A ms", "B ms", "B against A");
    for (int i = 0; i < (int)d->own->turns; i++)
        printf("%-6d %12.3f %12.3f %8.3fx\n", i + 1, d->sides[0].ms[i], d->sides[1].ms[i], d->ratios[i]);
    printf("B is %.3f times as fast as A, in tokens a second; interval %.3f to %.3f, which holds in %.0f %% of cases\n",
           d->ratio, d->range.low, d->range.high, 100 * d->range.confidence);
    if (d->range.confidence < 0.945)
        printf("note    %lld turns are few: with 6 the interval holds in 97 %% of cases\n", (long long)d->own->turns);
    if (d->range.low <= 1 && d->range.high >= 1) puts("note    the interval includes 1: no difference is shown");
    tt_busy_words(d->load, busy);
    if (busy[0]) printf("note    when it began, %s: the times are too long and the interval is wide\n", busy);
}

static void put_steps(struct tt_json_writer *w, const struct side *s, int turns)
{
    tt_json_begin(w, "steps_ms", '[');
    for (int i = 0; i < turns; i++) {
        const struct tt_json *steps = tt_json_get(row_of(s, i), "steps_ms");
        for (const struct tt_json *at = steps ? steps->first : NULL; at; at = at->next)
            tt_json_put_number(w, NULL, at->number);
    }
    tt_json_end(w, ']');
}

/* The row of its first turn, with the steps of all turns and the rates that follow from their median. */
static void put_side(struct tt_json_writer *w, struct side *s, int turns)
{
    static const char *const rates[] = {"tokens_per_second", "samples_per_second",    "flops_per_second",
                                        "mfu_percent",       "mfu_datasheet_percent", NULL};
    static const char *const of_steps[] = {"steps_ms", "median_ms", "p95_ms", "min_ms", NULL};
    double first = s->ms[0], median = tt_quantile(s->ms, turns, 0.5); /* sorts: the last that needs their order */
    tt_json_begin(w, NULL, '{');
    tt_json_put_string(w, "label", s->label);
    tt_json_put_number(w, "median_ms", median);
    for (const struct tt_json *at = row_of(s, 0)->first; at; at = at->next) {
        if (is_one_of(at->key, rates) && at->type == TT_JSON_NUMBER)
            tt_json_put_number(w, at->key, at->number * first / median);
        else if (!is_one_of(at->key, of_steps))
            tt_json_put_value(w, at->key, at);
    }
    put_steps(w, s, turns);
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
    const char *dir = d->own->profile_dir;
    char path[1200];
    tt_json_begin(&w, NULL, '{');
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        const struct tt_json *value = tt_json_get(d->sides[0].found[0], shared[i]);
        if (value) tt_json_put_value(&w, shared[i], value);
    }
    tt_json_put_number(&w, "load", d->load);
    tt_json_put_bool(&w, "busy", tt_is_busy(d->load));
    put_ratios(&w, d);
    tt_json_begin(&w, "rows", '[');
    for (int i = 0; i < SIDES; i++) put_side(&w, &d->sides[i], (int)d->own->turns);
    tt_json_end(&w, ']');
    tt_json_end(&w, '}');
    tt_status st = tt_text_status(&w.text);
    if (!st && d->o->c.json) puts(w.text.s);
    if (!st && dir[0]) {
        snprintf(path, sizeof path, "%s/bench.json", dir);
        st = tt_make_dirs(dir);
        if (!st) st = tt_file_replace(path, w.text.s, w.text.n);
    }
    tt_text_free(&w.text);
    return st;
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
        struct side *s = &d->sides[i];
        s->found = calloc(n, sizeof *s->found);
        s->ms = calloc(n, sizeof *s->ms);
        s->rate = calloc(n, sizeof *s->rate);
        if (!s->found || !s->ms || !s->rate || !d->ratios) return tt_no_memory("%zu turns", n);
        TT_TRY(add_shared(s));
        TT_TRY(add_own(s));
    }
    return TT_OK;
}

static void close_sides(struct duel *d)
{
    for (int i = 0; i < SIDES; i++) {
        struct side *s = &d->sides[i];
        for (int64_t t = 0; s->found && t < d->own->turns; t++)
            if (s->found[t]) tt_json_free(s->found[t]);
        free(s->found);
        free(s->ms);
        free(s->rate);
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
