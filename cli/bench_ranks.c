/* tt bench --ranks: for each number of ranks, copies of this program that measure (bench_rank.c), and the table of what
 * they found. On a CPU every rank has the same number of threads in all rows, so that their speeds can be compared. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/bench.h"
#include "core/base/allowance.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/load.h"
#include "exercises/engine/course.h"
#include "exercises/engine/fault.h"
#include "profiling/seal.h"

enum { MOST = 32 };

struct scaling {
    const struct tt_options *o;
    const struct tt_bench_options *own;
    char **words; /* of the copies */
    char threads[16];
    struct tt_json *found[MOST]; /* of each number of ranks */
    int count;
    double load; /* of the machine before it began */
};

/* ---- the copies ---- */

static int most_ranks(const struct scaling *s)
{
    char item[32];
    int most = 1;
    for (const char *at = s->own->ranks; tt_list_next(&at, ',', item, sizeof item);)
        if (atoi(item) > most) most = atoi(item);
    return most;
}

/* The words of the copies: those of this process, --json, and on a CPU the number of threads. */
static tt_status make_words(struct scaling *s)
{
    int n = 0;
    while (tt_words[n]) n++;
    s->words = calloc((size_t)n + 4, sizeof *s->words);
    if (!s->words) return tt_no_memory("the command");
    for (int i = 0; i < n; i++) s->words[i] = tt_words[i];
    s->words[n++] = "--json";
    if (tt_option_given(s->o, "threads") || getenv("OMP_NUM_THREADS") || strcmp(tt_backend_name(), "cpu")) return TT_OK;
    int cores = tt_cores() / most_ranks(s);
    snprintf(s->threads, sizeof s->threads, "%d", cores > 1 ? cores : 1);
    s->words[n++] = "--threads";
    s->words[n++] = s->threads;
    return TT_OK;
}

static tt_status read_found(FILE *file, struct tt_json **out)
{
    struct tt_text text = {0};
    char piece[4096];
    rewind(file);
    for (size_t n; (n = fread(piece, 1, sizeof piece, file)) > 0;) tt_text_add(&text, piece, n);
    tt_status st = tt_text_status(&text);
    if (!st) st = tt_context(tt_json_parse(text.s ? text.s : "", text.n, out), "what the ranks found");
    tt_text_free(&text);
    return st;
}

/* Starts the ranks. What they print goes into `file`. */
static tt_status start(struct scaling *s, int ranks, FILE *file)
{
    fflush(stdout);
    int before = dup(STDOUT_FILENO);
    if (before < 0 || dup2(fileno(file), STDOUT_FILENO) < 0)
        return tt_fail(TT_FAILED, "the output of the ranks cannot be kept: %s", strerror(errno));
    tt_status st = tt_ranks_start(ranks, s->words);
    dup2(before, STDOUT_FILENO);
    close(before);
    return st;
}

static tt_status measure(struct scaling *s, int ranks)
{
    bool shows = !s->o->c.quiet && isatty(STDERR_FILENO);
    FILE *file = tmpfile();
    if (!file) return tt_fail(TT_FAILED, "no temporary file for the output of the ranks: %s", strerror(errno));
    if (shows) fprintf(stderr, "\r\033[Ktiming %d rank%s", ranks, ranks > 1 ? "s" : "");
    tt_status st = start(s, ranks, file);
    if (shows) fputs("\r\033[K", stderr);
    if (!st) st = read_found(file, &s->found[s->count]);
    if (!st) s->count++;
    fclose(file);
    return st;
}

/* ---- the table ---- */

static const struct tt_json *row_of(const struct scaling *s, int i, int row)
{
    const struct tt_json *rows = tt_json_get(s->found[i], "rows"), *at = rows ? rows->first : NULL;
    while (at && row--) at = at->next;
    return at;
}

static double number(const struct tt_json *row, const char *key) { return tt_json_number(row, key, NAN); }

static double rank_speed(const struct tt_json *row) { return number(row, "tokens_per_second") / number(row, "ranks"); }

/* A rank's tokens/s in percent of those of one rank alone; NaN when that was not timed. */
static double efficiency(const struct scaling *s, const struct tt_json *row, int index)
{
    for (int i = 0; i < s->count; i++) {
        const struct tt_json *alone = row_of(s, i, index);
        if (number(alone, "ranks") == 1) return 100 * rank_speed(row) / rank_speed(alone);
    }
    return NAN;
}

static void print_percent(int width, double percent)
{
    if (isfinite(percent))
        printf(" %*.1f", width, percent);
    else
        printf(" %*s", width, "n/a");
}

static double waited_in(const struct tt_json *row) { return tt_ranks_waited(number(row, "waited")); }

static struct tt_hidden hidden_of(const struct scaling *s, const struct tt_json *row)
{
    return (struct tt_hidden){number(row, "communication_ms"), number(row, "hidden_ms"), number(row, "hidden_noise_ms"),
                              s->load, waited_in(row)};
}

/* If there is little communication, its hidden part may be smaller than the variation of step times. On a busy machine,
 * how long a collective takes depends on the other programs. */
bool tt_bench_hidden_known(const struct tt_hidden *h)
{
    return h->communication > 0 && h->noise <= h->communication / 3 && !tt_was_busy(h->load, h->waited);
}

void tt_bench_hidden(const struct tt_hidden *h, char out[48])
{
    if (!(h->communication > 0))
        snprintf(out, 48, "n/a");
    else if (!tt_bench_hidden_known(h))
        snprintf(out, 48, "not measurable");
    else
        snprintf(out, 48, "%.0f +- %.0f", 100 * h->part / h->communication, 100 * h->noise / h->communication);
}

static void print_hidden(const struct scaling *s, const struct tt_json *row)
{
    struct tt_hidden hidden = hidden_of(s, row);
    char text[48];
    tt_bench_hidden(&hidden, text);
    printf(" %14s", text);
}

static void print_row(const struct scaling *s, const struct tt_json *row, int index)
{
    printf("%-7s %-9s %5.0f %10.2f %10.2f %9.0f %11.0f", tt_json_string(row, "size", ""),
           tt_json_string(row, "version", ""), number(row, "ranks"), number(row, "median_ms"), number(row, "p95_ms"),
           number(row, "tokens_per_second"), rank_speed(row));
    print_percent(6, efficiency(s, row, index));
    printf(" %9.2f %9.2f", number(row, "sent_bytes") / 0x1p20, number(row, "communication_ms"));
    print_hidden(s, row);
    if (number(row, "ranks") > 1)
        printf("   %.0f (%+.1f %%)\n", number(row, "slowest_rank"), number(row, "slowest_percent"));
    else
        puts("   -");
}

/* Of all rows, the most. */
static double most_waited(const struct scaling *s)
{
    double most = NAN;
    for (int row = 0; row_of(s, 0, row); row++)
        for (int i = 0; i < s->count; i++) most = fmax(most, waited_in(row_of(s, i, row)));
    return most;
}

static void print_note(const struct scaling *s)
{
    char busy[100];
    tt_was_busy_words(s->load, most_waited(s), busy);
    if (!busy[0]) return;
    printf("note    %s%s.\n        Times and efficiencies may be noise, and the hidden part cannot be told: measure "
           "again when the machine is quiet\n", tt_was_busy(NAN, most_waited(s)) ? "" : "when it began, ", busy);
}

static void print_text(const struct scaling *s)
{
    const struct tt_json *first = s->found[0];
    if (!s->o->c.quiet) {
        printf("device  %s", tt_json_string(first, "device", ""));
        for (int i = 0; i < s->count; i++) {
            const char *through = tt_json_string(s->found[i], "collectives", "");
            if (through[0]) {
                printf(", collectives through %s", through);
                break;
            }
        }
        const char *fault = tt_fault_shown(&s->o->c);
        printf("; shard %s%s%s\n", tt_shard_names[s->o->c.shard], fault[0] ? "; fault " : "", fault);
    }
    printf("%-7s %-9s %5s %10s %10s %9s %11s %6s %9s %9s %14s   %s\n", "size", "version", "ranks", "median ms",
           "p95 ms", "tokens/s", "tok/s/rank", "eff. %", "sent MiB", "comm. ms", "hidden %",
           "slowest rank (its work over the mean)");
    for (int row = 0; row_of(s, 0, row); row++)
        for (int i = 0; i < s->count; i++) print_row(s, row_of(s, i, row), row);
    print_note(s);
}

/* ---- JSON ---- */

static void put_row(struct tt_json_writer *w, const struct scaling *s, const struct tt_json *row, int index)
{
    tt_json_begin(w, NULL, '{');
    for (const struct tt_json *at = row->first; at; at = at->next) tt_json_put_value(w, at->key, at);
    struct tt_hidden hidden = hidden_of(s, row);
    tt_json_put_bool(w, "hidden_known", tt_bench_hidden_known(&hidden));
    tt_json_put_number(w, "efficiency_percent", efficiency(s, row, index));
    tt_json_end(w, '}');
}

/* What was asked for; the exercises check it. */
static void put_run(struct tt_json_writer *w, const struct scaling *s)
{
    char now[32];
    time_t t = time(NULL);
    struct tm utc;
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &utc));
    tt_json_begin(w, "run", '{');
    tt_json_put_string(w, "tt", TT_VERSION_STRING);
    tt_json_put_string(w, "created", now);
    tt_json_put_string(w, "device", tt_json_string(s->found[0], "device", ""));
    tt_json_put_string(w, "preset", s->own->sizes);
    tt_json_put_string(w, "version", s->own->versions);
    tt_json_put_string(w, "ranks", s->own->ranks);
    tt_json_put_string(w, "shard", tt_shard_names[s->o->c.shard]);
    tt_json_put_int(w, "global_batch", s->o->c.global_batch);
    tt_json_put_int(w, "seed", s->o->c.seed);
    tt_json_put_string(w, "fault", tt_fault_shown(&s->o->c));
    tt_json_put_string(w, "link", tt_course_of(&s->o->c)->link);
    tt_json_put_number(w, "link_bytes_per_second", tt_course_link(&s->o->c, NULL));
    tt_json_put_number(w, "waited", most_waited(s));
    tt_json_end(w, '}');
}

static tt_status save(const char *dir, const struct tt_text *json, bool says)
{
    char path[1200], seal[TT_SHA256_DIGITS + 1];
    snprintf(path, sizeof path, "%s/ranks.json", dir);
    TT_TRY(tt_make_dirs(dir));
    TT_TRY(tt_file_replace(path, json->s, json->n));
    tt_seal_read(json->s, json->n, seal);
    if (says) printf("saved   %s, seal %.8s\n", path, seal);
    return TT_OK;
}

static tt_status write_json(const struct scaling *s)
{
    struct tt_json_writer w = {.pretty = true};
    const char *dir = s->own->profile_dir;
    tt_json_begin(&w, NULL, '{');
    put_run(&w, s);
    tt_json_put_string(&w, "backend", tt_backend_name());
    tt_json_put_string(&w, "device", tt_json_string(s->found[0], "device", ""));
    tt_json_put_string(&w, "precision", tt_precision_names[s->o->c.precision]);
    tt_json_put_int(&w, "repeats", s->own->repeats);
    tt_json_put_number(&w, "load", s->load);
    tt_json_put_bool(&w, "busy", tt_was_busy(s->load, most_waited(s)));
    tt_json_begin(&w, "rows", '[');
    for (int row = 0; row_of(s, 0, row); row++)
        for (int i = 0; i < s->count; i++) put_row(&w, s, row_of(s, i, row), row);
    tt_json_end(&w, ']');
    tt_seal_put(&w);
    tt_json_end(&w, '}');
    tt_text_puts(&w.text, "\n");
    tt_status st = tt_text_status(&w.text);
    if (!st && s->o->c.json) fputs(w.text.s, stdout);
    if (!st && dir[0]) st = save(dir, &w.text, !s->o->c.json);
    tt_text_free(&w.text);
    return st;
}

/* ---- all ---- */

static tt_status show(const struct scaling *s)
{
    if (!s->o->c.json) print_text(s);
    return write_json(s);
}

/* Whether that number of ranks has been measured. It gives one row, however often it is named. */
static bool is_again(const struct scaling *s, int ranks)
{
    for (int i = 0; i < s->count; i++)
        if (row_of(s, i, 0) && number(row_of(s, i, 0), "ranks") == ranks) return true;
    return false;
}

static tt_status run(struct scaling *s)
{
    char item[32];
    TT_TRY(make_words(s));
    for (const char *at = s->own->ranks; tt_list_next(&at, ',', item, sizeof item);) {
        if (s->count == MOST) return tt_fail(TT_USAGE, "--ranks: more than %d numbers", MOST);
        if (is_again(s, atoi(item))) continue;
        TT_TRY(measure(s, atoi(item)));
    }
    return show(s);
}

tt_status tt_bench_ranks_show(const struct tt_options *o, const struct tt_text *found, double load)
{
    struct tt_bench_options own = *(const struct tt_bench_options *)tt_own(o);
    struct scaling s = {.o = o, .own = &own, .count = 1, .load = load};
    snprintf(own.ranks, sizeof own.ranks, "%lld", (long long)o->c.ranks); /* of several, those that were started */
    TT_TRY(tt_json_parse(found->s, found->n, &s.found[0]));
    tt_status st = show(&s);
    tt_json_free(s.found[0]);
    return st;
}

tt_status tt_bench_ranks(const struct tt_options *o)
{
    struct scaling s = {.o = o, .own = tt_own(o), .load = tt_machine_load()};
    tt_status st = run(&s);
    for (int i = 0; i < s.count; i++) tt_json_free(s.found[i]);
    free(s.words);
    return st;
}
