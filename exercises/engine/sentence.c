/* Sentences. A person judges what they say; the check sees that they name a figure of the run, which a sentence that
 * could have been written without one does not. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "exercises/engine/parts.h"

enum { FIGURES = 256, NAMES = 48 };

/* As near as people quote: to 2 %, or as it is rounded to two digits or more. */
static bool is_figure(const char *given, double x, double right)
{
    if (fabs(x - fabs(right)) <= 0.02 * fabs(right)) return true;
    return given[0] && given[1] && tt_exercise_rounded(given, x, fabs(right));
}

/* A 0, 1 or 2 stands in many a sentence that names no figure. */
static bool is_bare(const char *given) { return strchr("012", given[0]) && !given[1]; }

static bool is_bare_figure(const struct tt_figure *f)
{
    char written[40];
    snprintf(written, sizeof written, "%.6g", fabs(f->value));
    return !f->word && is_bare(written);
}

/* The word stands there, not as a part of another one. */
static bool has_word(const char *sentence, const char *word)
{
    size_t n = strlen(word);
    for (const char *s = sentence; n && *s; s++) {
        bool begins = s == sentence || !isalnum((unsigned char)s[-1]);
        if (begins && !strncasecmp(s, word, n) && !isalnum((unsigned char)s[n])) return true;
    }
    return false;
}

static bool has_number(const char *sentence, double right, bool bare)
{
    for (const char *s = sentence; *s; s++) {
        bool begins = isdigit((unsigned char)*s) &&
                      (s == sentence || !(isalnum((unsigned char)s[-1]) || strchr("._", s[-1])));
        if (!begins) continue;
        char *end, given[40];
        double x = strtod(s, &end);
        snprintf(given, sizeof given, "%.*s", (int)(end - s), s);
        double scale = tt_exercise_scale(end + (*end == ' ')); /* 0 where no such letter follows */
        s = end - 1;
        if (!bare && is_bare(given)) continue;
        if (is_figure(given, x, right) || (scale > 0 && is_figure(given, x * scale, right))) return true;
    }
    return false;
}

bool tt_sentence_names(const char *sentence, const struct tt_figure *f, int n)
{
    bool bare = true; /* a bare digit counts only where the run has no other figures */
    for (int i = 0; i < n; i++) bare &= is_bare_figure(&f[i]);
    for (int i = 0; i < n; i++)
        if (f[i].word ? has_word(sentence, f[i].word) : has_number(sentence, f[i].value, bare)) return true;
    return false;
}

/* One that a sentence may name. */
static const struct tt_figure *example(const struct tt_figure *f, int n)
{
    int i = 0;
    while (i < n - 1 && is_bare_figure(&f[i])) i++;
    return is_bare_figure(&f[i]) ? f : &f[i];
}

/* Where one figure is found; the question's own words name it, or the answer it was. */
static void say_which(struct tt_mark *m, const struct tt_figure *f, int n)
{
    char reason[300] = "it names no figure of your run: say which one led you there";
    for (int i = 0; i < n; i++)
        if (f[i].from) {
            snprintf(reason, sizeof reason, "it names no figure of your run: say which one led you there, such as your "
                                            "%.60s", f[i].from);
            break;
        }
    tt_exercise_because(m, TT_MARK_UNKNOWN, reason);
}

void tt_exercise_sentence(struct tt_mark *m, const struct tt_figure *f, int n)
{
    bool letters = false;
    if (!n) {
        tt_exercise_because(m, TT_MARK_PASSED, "the profile has no figure for it");
        return;
    }
    const struct tt_figure *one = example(f, n);
    if (one->word)
        snprintf(m->right, sizeof m->right, "a sentence with %s", one->word);
    else
        snprintf(m->right, sizeof m->right, "a sentence with %.6g", fabs(one->value));
    if (!m->given[0]) return;
    for (const char *s = m->given; *s; s++) letters |= isalpha((unsigned char)*s) && isspace((unsigned char)s[1]);
    if (!letters)
        tt_exercise_because(m, TT_MARK_UNKNOWN, "write a whole sentence: the figure, and what it says");
    else if (tt_sentence_names(m->given, f, n))
        tt_exercise_because(m, TT_MARK_RIGHT, "");
    else
        say_which(m, f, n);
}

tt_status tt_exercise_judge_names(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m)
{
    struct tt_figure f[NAMES] = {0};
    struct tt_formula_value v[NAMES];
    int n = 0, found = 0;
    tt_status st = TT_OK;
    for (const struct tt_yaml *y = q->names ? q->names->first : NULL; y && !st && n < NAMES; y = y->next) {
        if (!y->text) return tt_fail(TT_USAGE, "line %d: a formula is missing here", y->line);
        st = tt_formula(y->text, scope, &v[n++]);
        const struct tt_formula_value *last = &v[n - 1];
        if (!st && last->kind == TT_FORMULA_NUMBER) f[found++] = (struct tt_figure){.value = last->number};
        if (!st && last->kind == TT_FORMULA_WORD && last->word[0])
            f[found++] = (struct tt_figure){.word = last->word};
    }
    if (!st && q->names) tt_exercise_sentence(m, f, found);
    for (int i = 0; i < n; i++) tt_formula_free(&v[i]);
    return st ? tt_context(st, "line %d, question %s", q->line, q->id) : TT_OK;
}

void tt_exercise_sentences(struct tt_marked *m)
{
    struct tt_figure f[FIGURES] = {0};
    const struct tt_exercise *e = m->exercise;
    int n = 0;
    bool refused = false;
    for (int i = 0; i < e->question_count && n < FIGURES; i++) {
        refused |= m->marks[i].kind == TT_MARK_REFUSED;
        if (e->questions[i].kind == TT_ASK_NUMBER && isfinite(m->marks[i].value) && m->marks[i].right[0])
            f[n++] = (struct tt_figure){.value = m->marks[i].value, .from = e->questions[i].id};
    }
    for (int i = 0; i < e->question_count; i++) {
        const struct tt_question *q = &e->questions[i];
        if (q->kind != TT_ASK_TEXT || q->names) continue;
        if (!n && refused)
            tt_exercise_because(&m->marks[i], TT_MARK_REFUSED, "it needs a figure of a run, and there is none");
        else
            tt_exercise_sentence(&m->marks[i], f, n);
    }
}
