/* Sentences. A person judges what they say; the check sees that they name a figure of the run, which a sentence that
 * could have been written without one does not. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "exercises/engine/parts.h"

static bool is_count(const struct tt_figure *f) { return !f->unit && f->value == trunc(f->value); }

/* The value rounded to the digits that were written, in the unit that was written: 8.1 KiB of 0.007942 MiB. `x` is the
 * number in the unit of the figure. */
static bool is_rounded(const struct tt_quoted *q, double x, double value)
{
    bool scaled = q->unit && x != 0; /* a k or M behind it changes no digit */
    return scaled ? tt_exercise_rounded(q->given, q->number, value * (q->number / x))
                  : tt_exercise_rounded(q->given, x, value);
}

/* To its digits what the same formula gives of another run. */
static bool is_rivals(const struct tt_figure *f, const struct tt_quoted *q, double x)
{
    for (int i = 0; i < f->rivals_count; i++)
        if (tt_exercise_digits(q->given) > 2 && is_rounded(q, x, fabs(f->rivals[i]))) return true;
    return false;
}

/* As near as people quote: as it is rounded to two digits or more, or, if the number has the figure's unit or the
 * figure none, to 2 %. A count is what it is. */
static bool is_figure(const struct tt_figure *f, const struct tt_quoted *q, double x)
{
    double value = fabs(f->value);
    bool count = is_count(f), near = !f->unit || q->unit;
    if (x == value) return true;
    if (tt_exercise_digits(q->given) < 2 && !q->unit) return false;
    if (tt_exercise_digits(q->given) > 1 && is_rounded(q, x, value)) return true;
    return !f->printed && !count && near && fabs(x - value) <= 0.02 * value && !is_rivals(f, q, x);
}

/* A single digit stands in many a sentence that names no figure. */
static bool is_bare(const char *given) { return isdigit((unsigned char)given[0]) && !given[1]; }

static bool is_bare_number(const struct tt_quoted *q) { return is_bare(q->given) && !q->unit; }

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

/* "wait|waits": one of the words stands there. */
static bool has_one_of(const char *sentence, const char *words)
{
    char word[64];
    for (size_t n; *words; words += n + (words[n] == '|')) {
        n = strcspn(words, "|");
        snprintf(word, sizeof word, "%.*s", (int)n, words);
        if (has_word(sentence, word)) return true;
    }
    return false;
}

static bool has_all_of(const char *sentence, const struct tt_yaml *with)
{
    for (const struct tt_yaml *y = with->first; y; y = y->next)
        if (y->text && !has_one_of(sentence, y->text)) return false;
    return true;
}

/* The other run has another figure, also as people quote it. */
static bool tells(const struct tt_figure *f)
{
    return !f->unlike || fabs(fabs(f->value) - fabs(f->other)) > 1e-5 * fabs(f->value);
}

/* The number is one of what the figure is of, by the nouns beside it. */
static bool is_its_noun(const char *sentence, const struct tt_figure *f, const struct tt_quoted *q)
{
    if (!f->noun) return true;
    return tt_exercise_is_of(sentence, q, f->noun) && (f->quotient || !tt_exercise_is_times(q));
}

/* A figure of the run which a sentence has to tell from the learner's, against which any number is held. One of the
 * many that need their noun is held against its own alone: by chance one of them is near most numbers. */
static bool is_at_large(const char *sentence, const struct tt_figure *f, const struct tt_quoted *q)
{
    return f->unlike && !f->about && is_its_noun(sentence, f, q);
}

/* The number as it was written is a figure of the run which the sentence has to tell from the learner's, whichever of
 * them. Counts are of their own kind: 2 waits are not healthy's 2 copies. */
static bool is_of_other(const char *sentence, const struct tt_figure *f, int n, const struct tt_quoted *q)
{
    double as[2];
    if (tt_exercise_digits(q->given) < 2 || !strchr(q->given, '.')) return false;
    for (int i = 0; i < n; i++)
        for (int j = 0, k = tt_exercise_quoted_as(q, f[i].unit, as); is_at_large(sentence, &f[i], q) && j < k; j++)
            if (is_rounded(q, as[j], fabs(f[i].other))) return true;
    return false;
}

/* The number as it was written is this figure, and not as well that of the run which it has to be told from. `anyway`:
 * it is also that one's. */
static bool is_this(const struct tt_figure *f, const struct tt_quoted *q, double x, bool anyway)
{
    if (!is_figure(f, q, x)) return false;
    if (!f->unlike) return true;
    bool others = is_rounded(q, x, fabs(f->other));
    return anyway ? others : !others && fabs(x - fabs(f->value)) < fabs(x - fabs(f->other));
}

/* Nearer to a figure of the run which the sentence has to tell from the learner's than to this one, of a number that is
 * not this figure as it is rounded. */
static bool is_nearer_other(const char *sentence, const struct tt_figure *all, int n, const struct tt_figure *f,
                            const struct tt_quoted *q, double x)
{
    double as[2], own = fabs(x - fabs(f->value)) / fabs(f->value);
    if (!f->unlike || is_count(f) || is_rounded(q, x, fabs(f->value))) return false;
    for (int i = 0; i < n; i++)
        for (int j = 0, k = tt_exercise_quoted_as(q, all[i].unit, as); is_at_large(sentence, &all[i], q) && j < k; j++)
            if (fabs(as[j] - fabs(all[i].other)) < own * fabs(all[i].other)) return true;
    return false;
}

/* "37 tests": what stands there is counted, and it is not what the figure counts. */
static bool counts_another(const struct tt_figure *f, const char *behind)
{
    static const char *const no_nouns = "is|was|has|does|as|vs|versus|its|this|less|plus|times|across|always|thus";
    char word[40];
    size_t n;
    behind += strspn(behind, " ");
    for (n = 0; isalpha((unsigned char)behind[n]) && n + 1 < sizeof word; n++) word[n] = behind[n];
    word[n] = 0;
    if (n < 2 || word[n - 1] != 's' || has_one_of(word, no_nouns)) return false;
    for (const struct tt_yaml *y = f->with->first; y; y = y->next)
        if (y->text && has_one_of(word, y->text)) return false;
    return true;
}

/* A small count, which is that of many things: it needs its noun. */
static bool is_small_count(const struct tt_figure *f) { return f->with && is_count(f) && fabs(f->value) < 100; }

/* The number that is this one of n figures in some unit is left in `found`. */
static bool has_number(const char *sentence, const struct tt_figure *all, int n, const struct tt_figure *f, bool bare,
                       bool anyway, char found[40])
{
    struct tt_quoted q;
    double as[2];
    for (const char *at = sentence; tt_exercise_quoted(sentence, &at, &q);)
        for (int i = 0, k = tt_exercise_quoted_as(&q, f->unit, as); i < k && (bare || !is_bare_number(&q)); i++) {
            if (!is_its_noun(sentence, f, &q)) continue;
            bool others = f->unlike && !is_count(f) && is_of_other(sentence, all, n, &q);
            if (others ? !anyway || !is_figure(f, &q, as[i]) : !is_this(f, &q, as[i], anyway)) continue;
            if (!anyway && is_nearer_other(sentence, all, n, f, &q, as[i])) continue;
            if (is_small_count(f) && !strchr(q.given, '.') && (!bare || counts_another(f, at))) continue;
            snprintf(found, 40, "%s", q.given);
            return true;
        }
    return false;
}

/* "one more wait", "waits twice": a count in letters. */
static bool has_count(const char *sentence, const struct tt_figure *f)
{
    static const char *const counts[] = {"", "one|once|single", "two|twice", "three", "four"};
    double x = fabs(f->value);
    return x == trunc(x) && x < sizeof counts / sizeof *counts && has_one_of(sentence, counts[(int)x]);
}

static bool names_figure(const char *sentence, const struct tt_figure *all, int n, const struct tt_figure *f, bool bare,
                         bool anyway, char found[40])
{
    if (!anyway && !tells(f)) return false;
    if (f->about && !has_one_of(sentence, f->about)) return false;
    if (f->word) snprintf(found, 40, "%s", f->word);
    if (f->word) return has_word(sentence, f->word) && (!f->with || has_all_of(sentence, f->with));
    if (f->with) bare = has_all_of(sentence, f->with);
    if (has_number(sentence, all, n, f, bare, anyway, found)) return true;
    snprintf(found, 40, "%.6g", fabs(f->value));
    return f->with && bare && has_count(sentence, f);
}

/* `anyway`: one that the other run has as well. */
static bool names_one(const char *sentence, const struct tt_figure *f, int n, bool anyway, char found[40])
{
    bool bare = true; /* a bare digit counts only where the run has no other figures */
    for (int i = 0; i < n; i++) bare &= f[i].with || f[i].about || is_bare_figure(&f[i]);
    for (int i = 0; i < n; i++)
        if (names_figure(sentence, f, n, &f[i], bare, anyway, found)) return true;
    return false;
}

/* One that a sentence may name, best one with more than a digit; NULL: there is none. */
static const struct tt_figure *example(const struct tt_figure *f, int n)
{
    const struct tt_figure *bare = NULL;
    for (int i = 0; i < n; i++) {
        if (!tells(&f[i]) || f[i].about) continue;
        if (!is_bare_figure(&f[i])) return &f[i];
        if (!bare) bare = &f[i];
    }
    return bare;
}

/* "a sentence with 1 wait more". */
static void show_example(struct tt_mark *m, const struct tt_figure *f)
{
    int n = f->word ? snprintf(m->right, sizeof m->right, "a sentence with %s", f->word)
                    : snprintf(m->right, sizeof m->right, "a sentence with %.6g", fabs(f->value));
    for (const struct tt_yaml *y = f->with ? f->with->first : NULL; y && (size_t)n < sizeof m->right; y = y->next)
        if (y->text)
            n += snprintf(m->right + n, sizeof m->right - (size_t)n, " %.*s", (int)strcspn(y->text, "|"), y->text);
}

static bool has_figures(const char *sentence)
{
    struct tt_quoted q;
    for (const char *at = sentence; tt_exercise_quoted(sentence, &at, &q);)
        if (!is_bare(q.given)) return true;
    return false;
}

/* Figures that the check does not look for may well be the run's, and are not called anything else. */
static void say_which(struct tt_mark *m, const struct tt_figure *f, int n)
{
    char reason[300], found[40];
    const char *from = NULL, *none = has_figures(m->given) ? "it names none of the figures that this question is about"
                                                            : "it names no figure of your run";
    for (int i = 0; i < n && !from; i++) from = f[i].from;
    if (f->unlike && names_one(m->given, f, n, true, found))
        snprintf(reason, sizeof reason, "%s is also a figure of the run %.60s: name one that tells the two apart",
                 found, f->unlike);
    else if (f->unlike)
        snprintf(reason, sizeof reason, "%s: those that tell your run from %.60s", none, f->unlike);
    else
        snprintf(reason, sizeof reason, "%s: say which one led you there%s%.60s", none, from ? ", such as your " : "",
                 from ? from : "");
    tt_exercise_because(m, TT_MARK_UNKNOWN, reason);
}

void tt_exercise_sentence(struct tt_mark *m, const struct tt_figure *f, int n)
{
    bool letters = false;
    char found[40];
    const struct tt_figure *one = example(f, n);
    if (!one) {
        tt_exercise_because(m, TT_MARK_PASSED, n ? "no figure of the profile tells the two runs apart"
                                                 : "the profile has no figure for it");
        return;
    }
    show_example(m, one);
    if (!m->given[0]) return;
    for (const char *s = m->given; *s; s++) letters |= isalpha((unsigned char)*s) && isspace((unsigned char)s[1]);
    if (!letters)
        tt_exercise_because(m, TT_MARK_UNKNOWN, "write a whole sentence: the figure, and what it says");
    else if (names_one(m->given, f, n, false, found)) {
        tt_exercise_because(m, TT_MARK_RIGHT, "");
        snprintf(m->means, sizeof m->means, "%s is a figure of your runs; whether the reason holds, this check cannot "
                                            "tell.", found);
    } else
        say_which(m, f, n);
}

void tt_exercise_sentences(struct tt_marked *m)
{
    struct tt_figure f[TT_FIGURES] = {0};
    const struct tt_exercise *e = m->exercise;
    int n = 0;
    bool refused = false;
    for (int i = 0; i < e->question_count && n < TT_FIGURES; i++) {
        refused |= m->marks[i].kind == TT_MARK_REFUSED;
        if (e->questions[i].kind == TT_ASK_NUMBER && isfinite(m->marks[i].value) && m->marks[i].right[0])
            f[n++] = (struct tt_figure){.value = m->marks[i].value, .from = e->questions[i].id,
                                         .unit = tt_exercise_unit(e->questions[i].unit ? e->questions[i].unit : "")};
    }
    for (int i = 0; i < e->run_count && n && n + 2 <= TT_FIGURES; i++)
        n += tt_exercise_busy_figures(m->runs[i].profile, &f[n]);
    for (int i = 0; i < e->question_count; i++) {
        const struct tt_question *q = &e->questions[i];
        if (q->kind != TT_ASK_TEXT || q->names) continue;
        if (!n && refused)
            tt_exercise_because(&m->marks[i], TT_MARK_REFUSED, "it needs a figure of a run, and there is none");
        else
            tt_exercise_sentence(&m->marks[i], f, n);
    }
}
