/* Judges answers by the order of several figures: the largest one, and rankings. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exercises/engine/parts.h"

enum { CANDIDATES = 256, PLACES = 16 };

struct candidate {
    const char *name;
    double value; /* negated if the smallest comes first */
};

static struct candidate candidate(const struct tt_question *q, const char *name, double x)
{
    return (struct candidate){name, q->least ? -x : x};
}

static tt_status from_items(const struct tt_question *q, struct tt_formula_scope *scope, struct candidate *c, int *n)
{
    *n = 0;
    for (const struct tt_yaml *y = q->items->first; y && *n < CANDIDATES; y = y->next) {
        struct tt_formula_value v;
        if (!y->text) return tt_fail(TT_USAGE, "line %d: %s has no formula", y->line, y->key);
        tt_status st = tt_formula(y->text, scope, &v);
        if (!st && v.kind != TT_FORMULA_NUMBER && v.kind != TT_FORMULA_MISSING)
            st = tt_fail(TT_USAGE, "%s is not a number", y->text);
        if (!st && v.kind == TT_FORMULA_NUMBER) c[(*n)++] = candidate(q, y->key, v.number);
        tt_formula_free(&v);
        if (st) return tt_context(st, "line %d, question %s", q->line, q->id);
    }
    return TT_OK;
}

static tt_status from_rows(const struct tt_question *q, const struct tt_formula_value *v, struct candidate *c, int *n)
{
    *n = 0;
    if (v->kind == TT_FORMULA_MISSING) return TT_OK;
    if (v->kind != TT_FORMULA_ROWS) return tt_fail(TT_USAGE, "line %d: %s is no list of rows", q->line, q->answer);
    for (int i = 0; i < v->count && *n < CANDIDATES; i++) {
        double x = tt_formula_cell_number(&v->cells[i]);
        if (isfinite(x)) c[(*n)++] = candidate(q, tt_formula_row_name(v->cells[i].row), x);
    }
    return TT_OK;
}

static int descending(const void *a, const void *b)
{
    double x = ((const struct candidate *)a)->value, y = ((const struct candidate *)b)->value;
    return (x < y) - (x > y);
}

static const struct candidate *named(const struct candidate *c, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (tt_exercise_same_name(c[i].name, name)) return &c[i];
    return NULL;
}

static bool close_to(const struct tt_question *q, double x, double best)
{
    return fabs(x - best) <= q->tolerance * fabs(best) + q->slack;
}

/* Whether the first is larger than the second by more than the tolerance and the slack. */
static bool is_ahead(const struct tt_question *q, const struct candidate *first, const struct candidate *second)
{
    return first->value > second->value && !close_to(q, second->value, first->value);
}

static bool may_be_first(const struct tt_question *q, const struct candidate *c, int n, const struct candidate *own)
{
    for (int i = 0; i < n; i++)
        if (is_ahead(q, &c[i], own)) return false;
    return true;
}

/* ---- the largest ---- */

void tt_exercise_say_ahead(const char *first, double ahead, const char *second, double behind, const char *figures,
                           struct tt_mark *m)
{
    snprintf(m->means, sizeof m->means,
             "In your run %.60s has %.3g%.60s, %.60s %.3g: that close, either counts as first.", first,
             fabs(ahead), figures ? figures : "", second, fabs(behind));
}

/* Says the figures of the two that are nearest to the first place: the largest, and the chosen one or else the next. An
 * item "undecided" is not one of them. */
static void say_first_two(const struct tt_question *q, const struct candidate *c, int n, const struct candidate *chosen,
                          struct tt_mark *m)
{
    const struct candidate *second = NULL;
    if (tt_exercise_is_open(c[0].name)) return;
    for (int i = 1; i < n; i++) {
        bool other = !tt_exercise_is_open(c[i].name) && may_be_first(q, c, n, &c[i]);
        if (other && (!second || &c[i] == chosen)) second = &c[i];
    }
    if (second) tt_exercise_say_ahead(c[0].name, c[0].value, second->name, second->value, q->figures, m);
}

tt_status tt_exercise_judge_item(const struct tt_question *asked, struct tt_formula_scope *scope, struct tt_mark *m)
{
    struct candidate c[CANDIDATES];
    struct tt_question own = *asked;
    const struct tt_question *q = &own;
    double room = 0; /* a relative difference that the runs do not decide */
    int n;
    TT_TRY(from_items(q, scope, c, &n));
    if (q->room) TT_TRY(tt_exercise_formula(q, q->room, scope, &room));
    if (room > own.tolerance) own.tolerance = room;
    if (!n) {
        tt_exercise_because(m, TT_MARK_PASSED, "the profile has no such figures");
        return TT_OK;
    }
    qsort(c, (size_t)n, sizeof *c, descending);
    size_t at = 0;
    for (int i = 0; i < n && at < sizeof m->right; i++)
        if (may_be_first(q, c, n, &c[i]))
            at += (size_t)snprintf(m->right + at, sizeof m->right - at, "%s%s", at ? "/" : "", c[i].name);
    const char *word = tt_exercise_meant(q, m->given);
    if (!m->given[0] || !tt_exercise_allowed(q, m, word)) return TT_OK;
    const struct candidate *chosen = named(c, n, word);
    tt_exercise_decide(m, chosen && may_be_first(q, c, n, chosen),
                       !strcmp(c[0].name, "undecided") ? "your runs do not decide it"
                       : tt_exercise_is_open(m->given) ? "one of them is ahead in your run"
                                                       : "another one is ahead of it in your run");
    if (m->kind == TT_MARK_RIGHT) say_first_two(q, c, n, chosen, m);
    return TT_OK;
}

/* ---- rankings ---- */

static int split(const char *text, char words[PLACES][64])
{
    int n = 0;
    while (*text && n < PLACES) {
        size_t length = strcspn(text, ","), skip = strspn(text, " ");
        if (skip > length) skip = length;
        snprintf(words[n], sizeof words[n], "%.*s", (int)(length - skip), text + skip);
        for (size_t i = strlen(words[n]); i > 0 && words[n][i - 1] == ' ';) words[n][--i] = 0;
        n += words[n][0] != 0;
        text += length + (text[length] == ',');
    }
    return n;
}

static bool is_reversed(const struct candidate *c, int n, char words[PLACES][64], int wanted)
{
    bool reversed = wanted > 1 && wanted == n;
    for (int i = 0; i < wanted; i++) reversed &= tt_exercise_same_name(words[i], c[wanted - 1 - i].name);
    return reversed;
}

static bool is_given(char words[PLACES][64], int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (tt_exercise_same_name(words[i], name)) return true;
    return false;
}

/* A candidate that is ahead of `own` but not among the first `before` words; NULL: there is none. */
static const struct candidate *ahead_of(const struct tt_question *q, const struct candidate *c, int n,
                                        char words[PLACES][64], int before, const struct candidate *own)
{
    for (int i = 0; i < n; i++)
        if (is_ahead(q, &c[i], own) && !is_given(words, before, c[i].name)) return &c[i];
    return NULL;
}

/* Whether the name in place i may stand there. If not, the mark says why. */
static bool judge_place(const struct tt_question *q, const struct candidate *c, int n, char words[PLACES][64], int i,
                        int wanted, struct tt_mark *m)
{
    char reason[200];
    const struct candidate *own = named(c, n, words[i]);
    if (!own && !tt_exercise_allowed(q, m, words[i])) return false;
    if (!own && !q->items && !q->choices) {
        const char *names[CANDIDATES];
        for (int j = 0; j < n; j++) names[j] = c[j].name;
        tt_exercise_none_of(m, words[i]);
        tt_exercise_or_any(m, names, n);
        return false;
    }
    const struct candidate *other = own ? ahead_of(q, c, n, words, i, own) : NULL;
    if (own && !other && !is_given(words, i, words[i])) return true;
    if (is_reversed(c, n, words, wanted))
        snprintf(reason, sizeof reason, "the other way round: the %s comes first", q->least ? "smallest" : "largest");
    else if (other && close_to(q, own->value, c[i].value) && !is_given(words, wanted, other->name))
        snprintf(reason, sizeof reason, "%.60s is left out, and %s in your run", other->name,
                 q->least ? "smaller" : "larger");
    else
        snprintf(reason, sizeof reason, "%.60s is not number %d in your run", words[i], i + 1);
    tt_exercise_because(m, TT_MARK_WRONG, reason);
    return false;
}

static void judge_places(const struct tt_question *q, const struct candidate *c, int n, struct tt_mark *m)
{
    char words[PLACES][64], reason[200];
    int given = split(m->given, words), wanted = q->count < n ? (int)q->count : n;
    if (given != wanted) {
        snprintf(reason, sizeof reason, "write %d names, largest first, not %d", wanted, given);
        tt_exercise_because(m, TT_MARK_UNKNOWN, reason);
        return;
    }
    for (int i = 0; i < wanted; i++)
        if (!judge_place(q, c, n, words, i, wanted, m)) return;
    tt_exercise_decide(m, true, "");
}

tt_status tt_exercise_judge_ranking(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m)
{
    struct candidate c[CANDIDATES];
    struct tt_formula_value v = {0};
    int n = 0;
    tt_status st = q->items ? from_items(q, scope, c, &n) : tt_formula(q->answer, scope, &v);
    if (!st && !q->items) st = from_rows(q, &v, c, &n);
    if (!st && !n) tt_exercise_because(m, TT_MARK_PASSED, "the profile has no such figures");
    if (!st && n) {
        qsort(c, (size_t)n, sizeof *c, descending);
        size_t at = 0;
        for (int i = 0; i < n && i < q->count && at < sizeof m->right; i++)
            at += (size_t)snprintf(m->right + at, sizeof m->right - at, "%s%s", i ? ", " : "", c[i].name);
        if (m->given[0]) judge_places(q, c, n, m);
    }
    tt_formula_free(&v);
    return st ? tt_context(st, "question %s", q->id) : TT_OK;
}
