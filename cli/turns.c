#include "cli/turns.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/options.h"
#include "core/base/stats.h"
#include "core/config/presets.h"

/* ---- the words of a copy ---- */

tt_status tt_side_word(struct tt_side *s, const char *word)
{
    if (s->word_count == TT_SIDE_WORDS - 1) return tt_fail(TT_USAGE, "more than %d words", TT_SIDE_WORDS);
    s->words[s->word_count++] = (char *)(uintptr_t)word;
    return TT_OK;
}

static bool is_one_of(const char *word, const char *const *names)
{
    for (; *names; names++)
        if (!strcmp(word, *names)) return true;
    return false;
}

static bool awaits_value(const char *word)
{
    if (strncmp(word, "--", 2)) return false;
    const struct tt_option *row = tt_option_find(TT_CMD_BENCH, word + 2);
    return row && row->type != TT_OPTION_BOOL;
}

/* Adds a word as tt bench writes it: other commands have one version and one preset, bench has lists of them. */
static tt_status add_as_bench(struct tt_side *s, char *word)
{
    static const char *const names[][2] = {{"--version", "--versions"}, {"--preset", "--sizes"}};
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(names[i][0]);
        if (strncmp(word, names[i][0], n) || (word[n] && word[n] != '=')) continue;
        TT_TRY(tt_side_word(s, names[i][1]));
        return word[n] ? tt_side_word(s, word + n + 1) : TT_OK;
    }
    return tt_side_word(s, word);
}

tt_status tt_side_bench(struct tt_side *s)
{
    memcpy(s->text, s->label, sizeof s->text);
    for (char *save, *word = strtok_r(s->text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        bool version = is_one_of(word, tt_version_names), size = is_one_of(word, tt_preset_names);
        if ((version || size) && !awaits_value(s->words[s->word_count - 1]))
            TT_TRY(tt_side_word(s, version ? "--versions" : "--sizes"));
        TT_TRY(add_as_bench(s, word));
    }
    bool named = false;
    for (int i = 0; i < s->word_count; i++) named |= !strncmp(s->words[i], "--versions", 10);
    if (!named) TT_TRY(tt_side_word(s, "--versions=flash"));
    return tt_side_word(s, "--json");
}

/* ---- copies ---- */

/* In the child: becomes the copy. It ends when the process that waits for it ends. */
static _Noreturn void become(char *const *words, int out, int err, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(TT_INTERRUPTED); /* it ended before the prctl */
    if (dup2(out, STDOUT_FILENO) >= 0 && (err < 0 || dup2(err, STDERR_FILENO) >= 0)) execv("/proc/self/exe", words);
    dprintf(STDERR_FILENO, "tt: cannot start a copy of itself: %s\n", strerror(errno));
    _exit(TT_FAILED);
}

tt_status tt_copy(char *const *words, int out, int err, const char *label)
{
    int state;
    fflush(NULL);
    pid_t parent = getpid(), child = fork();
    if (child < 0) return tt_fail(TT_FAILED, "cannot start a copy of tt: %s", strerror(errno));
    if (!child) become(words, out, err, parent);
    while (waitpid(child, &state, 0) < 0)
        if (errno != EINTR) return tt_fail(TT_FAILED, "cannot wait for a copy of tt: %s", strerror(errno));
    if (WIFEXITED(state) && !WEXITSTATUS(state)) return TT_OK;
    const char *name = words[1];
    if (WIFSIGNALED(state))
        return tt_fail(TT_FAILED, "tt %s %s was ended by signal %d", name, label, WTERMSIG(state));
    return tt_fail((enum tt_code)WEXITSTATUS(state), "tt %s %s failed; what it said is above", name, label);
}

static tt_status read_all(FILE *file, struct tt_text *out)
{
    char piece[4096];
    rewind(file);
    for (size_t n; (n = fread(piece, 1, sizeof piece, file)) > 0;) tt_text_add(out, piece, n);
    return tt_text_status(out);
}

static tt_status read_found(FILE *file, struct tt_json **out)
{
    struct tt_text text = {0};
    tt_status st = read_all(file, &text);
    if (!st) st = tt_json_parse(text.s ? text.s : "", text.n, out);
    tt_text_free(&text);
    return st;
}

static tt_status run_copy(struct tt_side *s, int turn, FILE *out, FILE *err, struct tt_text *said)
{
    tt_status st = tt_copy(s->words, fileno(out), err ? fileno(err) : -1, s->label);
    tt_status heard = err ? read_all(err, said) : TT_OK;
    if (st)
        tt_status_free(heard);
    else
        st = heard;
    return st ? st : tt_context(read_found(out, &s->found[turn]), "what %s found", s->label);
}

tt_status tt_side_turn(struct tt_side *s, int turn, struct tt_text *said)
{
    FILE *out = tmpfile(), *err = said ? tmpfile() : NULL;
    tt_status st = TT_OK;
    if (!out || (said && !err))
        st = tt_fail(TT_FAILED, "no temporary file for the output of a copy: %s", strerror(errno));
    if (!st) st = run_copy(s, turn, out, err, said);
    if (out) fclose(out);
    if (err) fclose(err);
    return st;
}

tt_status tt_side_row(const struct tt_side *s, int turn, const struct tt_json **row)
{
    const struct tt_json *rows = tt_json_get(s->found[turn], "rows");
    *row = rows ? rows->first : NULL;
    if (*row && !(*row)->next) return TT_OK;
    return tt_fail(TT_USAGE, "%s has several rows; give each side of --against one size and one version",
                   s->label);
}

double tt_sides_waited(const struct tt_side *const *sides, int n)
{
    double sum = 0;
    int known = 0;
    for (int i = 0; i < n; i++)
        for (int turn = 0; sides[i]->found && turn < sides[i]->turns; turn++) {
            const struct tt_json *found = sides[i]->found[turn];
            double waited = found ? tt_json_number(found, "waited", NAN) : NAN;
            if (isnan(waited)) continue;
            sum += waited;
            known++;
        }
    return known ? sum / known : NAN;
}

/* ---- all turns ---- */

tt_status tt_side_open(struct tt_side *s, int turns)
{
    s->turns = turns;
    s->found = calloc((size_t)turns, sizeof *s->found);
    return s->found ? TT_OK : tt_no_memory("%d turns", turns);
}

void tt_side_close(struct tt_side *s)
{
    for (int i = 0; s->found && i < s->turns; i++)
        if (s->found[i]) tt_json_free(s->found[i]);
    free(s->found);
    s->found = NULL;
}

tt_status tt_turns_median(const double *figures, int n, double *median, struct tt_range *range)
{
    double *sorted = malloc((size_t)n * sizeof *sorted);
    if (!sorted) return tt_no_memory("the turns");
    memcpy(sorted, figures, (size_t)n * sizeof *sorted);
    *median = tt_quantile(sorted, n, 0.5);
    free(sorted);
    return tt_median_range(figures, n, range);
}
