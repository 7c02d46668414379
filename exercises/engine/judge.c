/* Judges one answer by what the formulas of its question give. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "exercises/engine/exercise.h"
#include "exercises/engine/parts.h"

enum { CANDIDATES = 256 };

void tt_exercise_because(struct tt_mark *m, enum tt_mark_kind kind, const char *reason)
{
    m->kind = kind;
    m->likely = false;
    snprintf(m->reason, sizeof m->reason, "%s", reason);
}

void tt_exercise_decide(struct tt_mark *m, bool right, const char *reason)
{
    tt_exercise_because(m, right ? TT_MARK_RIGHT : TT_MARK_WRONG, right ? "" : reason);
}

/* Replaces the typographic minus sign, which word processors put for a hyphen, by a hyphen. */
static void take_minus(char *s)
{
    static const char sign[] = "\xe2\x88\x92";
    for (char *at = s; (at = strstr(at, sign)) != NULL; *at++ = '-')
        memmove(at + 1, at + sizeof sign - 1, strlen(at + sizeof sign - 1) + 1);
}

void tt_exercise_take(const struct tt_yaml *answer, struct tt_mark *m)
{
    size_t n = 0;
    if (answer && answer->text) snprintf(m->given, sizeof m->given, "%s", answer->text + strspn(answer->text, " "));
    for (size_t end = strlen(m->given); end > 0 && m->given[end - 1] == ' ';) m->given[--end] = 0;
    take_minus(m->given);
    if (!answer || answer->kind != TT_YAML_LIST) return;
    for (const struct tt_yaml *y = answer->first; y && n < sizeof m->given; y = y->next)
        if (y->text) n += (size_t)snprintf(m->given + n, sizeof m->given - n, "%s%s", n ? ", " : "", y->text);
    take_minus(m->given);
}

/* ---- numbers ---- */

tt_status tt_exercise_formula(const struct tt_question *q, const char *formula, struct tt_formula_scope *scope,
                                double *out)
{
    struct tt_formula_value v;
    tt_status st = tt_formula(formula, scope, &v);
    if (!st && v.kind != TT_FORMULA_NUMBER && v.kind != TT_FORMULA_MISSING)
        st = tt_fail(TT_USAGE, "%s is not a number", formula);
    *out = v.kind == TT_FORMULA_NUMBER ? v.number : NAN;
    tt_formula_free(&v);
    return st ? tt_context(st, "line %d, question %s", q->line, q->id) : TT_OK;
}

static tt_status judge_number(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m)
{
    double right, x;
    TT_TRY(tt_exercise_formula(q, q->answer, scope, &right));
    if (!isfinite(right)) {
        tt_exercise_because(m, TT_MARK_PASSED, "the profile has no such figure");
        return TT_OK;
    }
    bool whole = fabs(right) < 1e15 && right == trunc(right);
    snprintf(m->right, sizeof m->right, "%.*g%s%s", whole ? 15 : 6, right, q->unit ? " " : "", q->unit ? q->unit : "");
    m->value = right;
    if (!m->given[0]) return TT_OK;
    if (!tt_exercise_as_percent(q, m, right, &x) && !tt_exercise_number(q, m, &x)) return TT_OK;
    m->number = x;
    tt_exercise_decide(m, tt_exercise_right(q, m, x, right), tt_exercise_slip(q, m, x, right, scope->used));
    return TT_OK;
}

/* ---- words ---- */

void tt_exercise_none_of(struct tt_mark *m, const char *word)
{
    m->kind = TT_MARK_UNKNOWN;
    snprintf(m->reason, sizeof m->reason, "\"%.60s\" is none of:", word);
}

static void or_of(struct tt_mark *m, const char *name)
{
    size_t n = strlen(m->reason);
    bool room = n + strlen(name) + 8 < sizeof m->reason;
    if (room || m->reason[n - 1] != '.')
        snprintf(m->reason + n, sizeof m->reason - n, "%s %s", m->reason[n - 1] == ':' ? "" : ",", room ? name : "...");
}

static int by_letters(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* Appends the names in alphabetical order: the order in the profile would give the answer away. */
void tt_exercise_or_any(struct tt_mark *m, const char **names, int n)
{
    qsort(names, (size_t)n, sizeof *names, by_letters);
    for (int i = 0; i < n; i++)
        if (!i || strcmp(names[i], names[i - 1])) or_of(m, names[i]);
}

/* Whether the word is one of those that may be chosen. If not, the mark says so. */
bool tt_exercise_allowed(const struct tt_question *q, struct tt_mark *m, const char *word)
{
    const struct tt_yaml *list = q->items ? q->items : q->choices;
    if (!list || tt_exercise_listed(list, word)) return true;
    tt_exercise_none_of(m, word);
    for (const struct tt_yaml *y = list->first; y; y = y->next)
        or_of(m, list->kind == TT_YAML_MAP ? y->key : y->text ? y->text : "");
    return false;
}

/* For a right answer that is only close to the first: says the figures of both. */
static void say_first(const struct tt_formula_value *v, const char *word, struct tt_mark *m)
{
    const struct tt_formula_cell *own = v->cells;
    for (int i = 1; i < v->count; i++)
        if (tt_exercise_same_name(tt_formula_row_name(v->cells[i].row), word)) own = &v->cells[i];
    tt_exercise_say_ahead(v->word, tt_formula_cell_number(v->cells), tt_formula_row_name(own->row),
                          tt_formula_cell_number(own), NULL, m);
}

/* Cuts the shape off "gemm 1024x256x1024", the name of a product as tables print it. */
static void without_shape(char *word)
{
    char *space = strrchr(word, ' ');
    if (space && space > word && isdigit((unsigned char)space[1]) &&
        strchr(space, 'x') && strspn(space + 1, "0123456789x") == strlen(space + 1))
        *space = 0;
}

/* Whether the word is one of `words`: "memory|mixed" stands for either, where the run does not decide. */
static bool one_of(const char *words, const char *word)
{
    for (size_t n; *words; words += n + (words[n] == '|')) {
        n = strcspn(words, "|");
        if (tt_exercise_same_word(words, n, word)) return true;
    }
    return false;
}

static bool among(const struct tt_formula_value *v, int n, const char *word)
{
    if (one_of(v->word, word)) return true;
    for (int i = 0; i < n; i++)
        if (tt_exercise_same_name(tt_formula_row_name(v->cells[i].row), word)) return true;
    return false;
}

/* Completes "layers.2.feed_forward.w2" by ".weight" if a row has that name. */
static void with_its_end(const struct tt_formula_value *v, char *word, size_t size)
{
    size_t n = strlen(word);
    for (int i = 0; n && i < v->compared; i++) {
        const char *name = tt_formula_row_name(v->cells[i].row);
        if (strncasecmp(name, word, n) || strcmp(name + n, ".weight")) continue;
        snprintf(word, size, "%s", name);
        return;
    }
}

/* Completes "1" to the row's name if the rows are rank_0, rank_1, ... */
static void with_its_word(const struct tt_formula_value *v, char *word, size_t size)
{
    if (!word[0] || strspn(word, "0123456789") != strlen(word)) return;
    for (int i = 0; i < v->compared; i++) {
        const char *name = tt_formula_row_name(v->cells[i].row), *number = strrchr(name, '_');
        if (!number || strcmp(number + 1, word)) continue;
        snprintf(word, size, "%s", name);
        return;
    }
}

/* Judges the answer by the right word, or by the names of the rows that the right word was taken from. */
static void choose_word(const struct tt_question *q, const struct tt_formula_value *v, bool measured,
                        struct tt_mark *m)
{
    char word[TT_ANSWER];
    snprintf(word, sizeof word, "%s", tt_exercise_meant(q, m->given));
    without_shape(word);
    with_its_word(v, word, sizeof word);
    with_its_end(v, word, sizeof word);
    if (!tt_exercise_allowed(q, m, word)) return;
    if (v->compared && !among(v, v->compared, word)) {
        const char *names[CANDIDATES];
        int n = v->compared < CANDIDATES ? v->compared : CANDIDATES;
        for (int i = 0; i < n; i++) names[i] = tt_formula_row_name(v->cells[i].row);
        tt_exercise_none_of(m, word);
        tt_exercise_or_any(m, names, n);
        return;
    }
    bool second = v->count > 1 && !tt_exercise_same_name(v->word, word);
    tt_exercise_decide(m, among(v, v->count, word),
                       !measured                        ? "another one is right"
                       : !strcmp(v->word, "undecided") ? "your runs do not decide it"
                       : one_of(v->word, "undecided")  ? "your runs do not show that"
                                                       : "your run says otherwise");
    if (m->kind == TT_MARK_RIGHT && second) say_first(v, word, m);
}

/* Where either of two words is right, the run does not decide. So undecided is right too, if it is a choice. */
static void or_undecided(const struct tt_question *q, struct tt_formula_value *v)
{
    static const char open[] = "undecided";
    size_t n = strlen(v->word);
    if (!strchr(v->word, '|') || one_of(v->word, open) || !q->choices || !tt_exercise_listed(q->choices, open)) return;
    snprintf(v->word + n, sizeof v->word - n, "|%s", open);
}

static tt_status judge_choice(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m)
{
    struct tt_formula_value v;
    if (q->items) return tt_exercise_judge_item(q, scope, m);
    scope->closeness = q->tolerance;
    tt_status st = tt_formula(q->answer, scope, &v);
    scope->closeness = 0;
    if (!st && v.kind != TT_FORMULA_WORD && v.kind != TT_FORMULA_MISSING)
        st = tt_fail(TT_USAGE, "%s gives no word", q->answer);
    if (!st && (v.kind == TT_FORMULA_MISSING || !v.word[0])) {
        tt_exercise_because(m, TT_MARK_PASSED, "the profile does not say");
    } else if (!st) {
        or_undecided(q, &v);
        snprintf(m->right, sizeof m->right, "%s", v.word);
        for (char *bar = m->right; (bar = strchr(bar, '|'));) *bar = '/';
        if (m->given[0]) choose_word(q, &v, scope->used, m);
    }
    tt_formula_free(&v);
    return st ? tt_context(st, "line %d, question %s", q->line, q->id) : TT_OK;
}

static bool is_one_of(const char *word, const char *const words[3])
{
    return !strcasecmp(word, words[0]) || !strcasecmp(word, words[1]) || !strcasecmp(word, words[2]);
}

static tt_status judge_truth(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m)
{
    static const char *const yes[] = {"true", "yes", "y"}, *const no[] = {"false", "no", "n"};
    struct tt_formula_value v;
    tt_status st = tt_formula(q->answer, scope, &v);
    if (!st && v.kind == TT_FORMULA_MISSING) {
        tt_exercise_because(m, TT_MARK_PASSED, "the profile does not say");
    } else if (!st && v.kind != TT_FORMULA_TRUTH) {
        st = tt_fail(TT_USAGE, "%s is neither true nor false", q->answer);
    } else if (!st) {
        const char *const *right = v.number != 0 ? yes : no;
        snprintf(m->right, sizeof m->right, "%s", right[0]);
        if (m->given[0] && !is_one_of(m->given, yes) && !is_one_of(m->given, no))
            tt_exercise_because(m, TT_MARK_UNKNOWN, "write true or false");
        else if (m->given[0])
            tt_exercise_decide(m, is_one_of(m->given, right),
                               scope->used ? "in your run it is the other way round" : "it is the other way round");
    }
    tt_formula_free(&v);
    return st ? tt_context(st, "line %d, question %s", q->line, q->id) : TT_OK;
}

/* ---- all kinds ---- */

/* Whether the answer is a wrong choice or truth to a question without `otherwise`. The word of `must`, which says what
 * is wrong with the runs, is then its reply too. */
static bool is_wrong_choice(const struct tt_question *q, const struct tt_mark *m)
{
    return m->kind == TT_MARK_WRONG && !q->otherwise && (q->kind == TT_ASK_TRUTH || q->kind == TT_ASK_CHOICE);
}

/* Applies `must`, what the question demands of the runs themselves. Where it does not hold, no answer is right, even if
 * the figure was read correctly, and there is no right answer to show. */
static tt_status demand(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m)
{
    struct tt_formula_value v;
    char reason[300];
    if (!q->must || m->kind == TT_MARK_PASSED) return TT_OK;
    tt_status st = tt_formula(q->must, scope, &v);
    bool says = !st && v.kind == TT_FORMULA_WORD; /* what is wrong with the runs, or "" */
    if (!st && !says && v.kind != TT_FORMULA_TRUTH && v.kind != TT_FORMULA_MISSING)
        st = tt_fail(TT_USAGE, "%s is neither true nor false", q->must);
    bool unfit = !st && ((v.kind == TT_FORMULA_TRUTH && v.number == 0) || (says && v.word[0]));
    snprintf(reason, sizeof reason, "%s", says ? v.word : "your runs are not as the question needs them");
    if (unfit) m->right[0] = 0;
    m->unfit = unfit && m->kind == TT_MARK_RIGHT;
    if (m->unfit || (unfit && says && is_wrong_choice(q, m))) tt_exercise_because(m, TT_MARK_WRONG, reason);
    tt_formula_free(&v);
    return st ? tt_context(st, "line %d, question %s", q->line, q->id) : TT_OK;
}

tt_status tt_exercise_judge(const struct tt_question *q, const struct tt_yaml *answer, struct tt_formula_scope *scope,
                            struct tt_mark *m)
{
    static tt_status (*const judges[TT_ASK_KINDS])(const struct tt_question *, struct tt_formula_scope *,
                                                   struct tt_mark *) = {
        judge_number, tt_exercise_judge_range, judge_choice, tt_exercise_judge_ranking, judge_truth,
        tt_exercise_judge_names, tt_exercise_judge_interval, tt_exercise_judge_target};
    *m = (struct tt_mark){.kind = TT_MARK_EMPTY, .value = NAN, .number = NAN};
    tt_exercise_take(answer, m);
    tt_exercise_plain(q, m);
    scope->run = q->run;
    scope->lacking = NULL;
    scope->used = false;
    TT_TRY(judges[q->kind](q, scope, m));
    TT_TRY(demand(q, scope, m));
    return tt_exercise_reason(q, scope, m);
}
