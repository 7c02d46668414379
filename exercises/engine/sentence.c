/* Sentences. A person judges what they say; the check sees that they name a figure of the run, which a sentence that
 * could have been written without one does not. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "exercises/engine/parts.h"

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
static bool is_small_count(const struct tt_figure *f)
{
    return f->with && tt_exercise_is_count(f) && fabs(f->value) < 100;
}

/* The other run has another figure, also as people quote it. */
static bool tells(const struct tt_figure *f)
{
    return !f->unlike || fabs(fabs(f->value) - fabs(f->other)) > 1e-5 * fabs(f->value);
}

/* ---- the figure that a sentence names ---- */

/* A sentence, and the figures that it may name. */
struct question {
    const char *sentence;
    const struct tt_figure *f;
    int n;
    const struct tt_formula_scope *scope;
    bool anyway; /* one that the other run has as well */
};

/* How a number is that of a figure, from worst to best. */
enum fit { NONE, UNNAMED, OF_ANOTHER, TURNED, NAMED };

struct hit {
    enum fit fit;
    int words; /* of the sentence that say what it is */
    const struct tt_figure *f;
    char given[40], against[60]; /* the number; the run, row or word that it is not of */
};

/* Not the figure of something else by chance. */
static bool is_precise(const struct tt_quoted *q)
{
    return tt_exercise_digits(q->given) > (strchr(q->given, '.') ? 1 : 2);
}

/* The first of its words is what a count is of. */
static bool is_counted(const char *sentence, const struct tt_figure *f)
{
    const struct tt_yaml *y = f->with ? f->with->first : NULL;
    return !y || !y->text || has_one_of(sentence, y->text);
}

static enum fit fit_of(const struct question *s, const struct tt_figure *f, const struct tt_quoted *q, double x,
                       enum tt_nouns noun, struct hit *h)
{
    char word[24];
    if (s->anyway && noun != TT_NOUN_OTHER) return NAMED;
    if (noun != TT_NOUN_OWN) return is_precise(q) && !s->anyway ? UNNAMED : NONE;
    const char *other = tt_exercise_other_run(s->sentence, q, x, f, s->scope);
    if (!other) other = tt_exercise_other_row(s->sentence, q, f, s->f, s->n);
    if (other) snprintf(h->against, sizeof h->against, "%s", other);
    if (other) return OF_ANOTHER;
    if (!tt_exercise_turned(s->sentence, q, f, word)) return NAMED;
    snprintf(h->against, sizeof h->against, "%s", word);
    return TURNED;
}

/* How much of what the figure is stands in the sentence. */
static int words_of(const char *sentence, const struct tt_figure *f)
{
    return 2 * (f->row[0] && has_word(sentence, f->row)) +
           ((f->noun && has_one_of(sentence, f->noun)) || (f->with && has_all_of(sentence, f->with)) ||
            (f->about && has_one_of(sentence, f->about)));
}

static void keep_best(struct hit *best, const struct hit *h)
{
    if (h->fit > best->fit || (h->fit == best->fit && h->words > best->words)) *best = *h;
}

/* The numbers that are this figure in some unit. */
static void find_numbers(const struct question *s, const struct tt_figure *f, bool bare, struct hit *best)
{
    struct tt_quoted q;
    double as[2];
    for (const char *at = s->sentence; tt_exercise_quoted(s->sentence, &at, &q);)
        for (int i = 0, k = tt_exercise_quoted_as(&q, f->unit, as); i < k && (bare || !is_bare_number(&q)); i++) {
            enum tt_nouns noun;
            struct hit h = {.f = f, .words = words_of(s->sentence, f)};
            if (!tt_exercise_is_figure(&q, as[i], f, s->sentence, s->f, s->n, s->anyway, &noun)) continue;
            if (is_small_count(f) && !strchr(q.given, '.') && (!bare || counts_another(f, at))) continue;
            snprintf(h.given, sizeof h.given, "%s", q.given);
            if (!is_counted(s->sentence, f) && noun == TT_NOUN_OWN) noun = TT_NOUN_NONE;
            h.fit = fit_of(s, f, &q, as[i], noun, &h);
            keep_best(best, &h);
        }
}

/* "one more wait", "waits twice": a count in letters. */
static bool has_count(const char *sentence, const struct tt_figure *f, struct tt_quoted *out)
{
    static const char *const counts[] = {"", "one|once|single", "two|twice", "three", "four"};
    double x = fabs(f->value);
    if (x != trunc(x) || x >= sizeof counts / sizeof *counts) return false;
    for (const char *s = sentence; *s; s++) {
        size_t n = strcspn(s, " ,.;:");
        char word[24];
        if ((s != sentence && s[-1] != ' ') || !n || n >= sizeof word) continue;
        snprintf(word, sizeof word, "%.*s", (int)n, s);
        *out = (struct tt_quoted){.begin = s, .end = s + n, .number = x};
        if (has_one_of(word, counts[(int)x])) return true;
    }
    return false;
}

static void find_figure(const struct question *s, const struct tt_figure *f, bool bare, struct hit *best)
{
    struct hit h = {.fit = NAMED, .f = f, .words = words_of(s->sentence, f)};
    if (!s->anyway && !tells(f)) return;
    if (f->about && !has_one_of(s->sentence, f->about)) return;
    if (f->with) bare = has_all_of(s->sentence, f->with);
    snprintf(h.given, sizeof h.given, "%s", f->word ? f->word : "");
    if (f->word && has_word(s->sentence, f->word) && (!f->with || bare)) keep_best(best, &h);
    if (f->word) return;
    find_numbers(s, f, bare, best);
    struct tt_quoted count;
    if (!f->with || !bare || !has_count(s->sentence, f, &count)) return;
    snprintf(h.given, sizeof h.given, "%.6g", fabs(f->value));
    h.fit = fit_of(s, f, &count, count.number, TT_NOUN_OWN, &h);
    keep_best(best, &h);
}

static struct hit find_best(const struct question *s)
{
    struct hit best = {0};
    bool bare = true; /* a bare digit counts only where the run has no other figures */
    for (int i = 0; i < s->n; i++) bare &= s->f[i].with || s->f[i].about || is_bare_figure(&s->f[i]);
    for (int i = 0; i < s->n; i++) find_figure(s, &s->f[i], bare, &best);
    return best;
}

/* ---- what is said of it ---- */

/* "28.1 is taken for the MFU of wide": what the check knows, whatever the sentence calls it. */
static void say_what(const struct hit *h, struct tt_text *out)
{
    const struct tt_figure *f = h->f;
    const char *name = f->name ? f->name : f->from ? f->from : "a figure of your runs", *row = strstr(name, "{row}");
    tt_text_printf(out, "%s is taken for %.*s%s%s", h->given, (int)(row ? (size_t)(row - name) : strlen(name)), name,
                   row ? f->row : "", row ? row + 5 : "");
}

/* A figure of the run, and words beside it that say something else. */
static void say_against(const struct hit *h, struct tt_mark *m)
{
    struct tt_text text = {0};
    say_what(h, &text);
    if (h->fit == UNNAMED)
        tt_text_puts(&text, ", and the sentence does not say it of that: name what the figure is of");
    else if (h->fit == OF_ANOTHER)
        tt_text_printf(&text, ", and the sentence says it of %s", h->against);
    else
        tt_text_printf(&text, ": in your runs that is the opposite of \"%s\"", h->against);
    tt_exercise_because(m, TT_MARK_UNKNOWN, text.s);
    m->misput = h->fit != UNNAMED;
    tt_text_free(&text);
}

static void say_named(const struct hit *h, struct tt_mark *m)
{
    struct tt_text text = {0};
    tt_exercise_because(m, TT_MARK_RIGHT, "");
    say_what(h, &text);
    snprintf(m->means, sizeof m->means, "%s. Whether the sentence says it of that, and whether the reason holds, this "
                                        "check cannot tell.", text.s);
    tt_text_free(&text);
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
    if (f->noun && (size_t)n < sizeof m->right)
        snprintf(m->right + n, sizeof m->right - (size_t)n, " and the word %.*s", (int)strcspn(f->noun, "|"), f->noun);
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
    char reason[300];
    const char *from = NULL, *none = has_figures(m->given) ? "it names none of the figures that this question is about"
                                                            : "it names no figure of your run";
    for (int i = 0; i < n && !from; i++) from = f[i].from;
    if (f->unlike)
        snprintf(reason, sizeof reason, "%s: those that tell your run from %.60s", none, f->unlike);
    else
        snprintf(reason, sizeof reason, "%s: say which one led you there%s%.60s", none, from ? ", such as your " : "",
                 from ? from : "");
    tt_exercise_because(m, TT_MARK_UNKNOWN, reason);
}

static void judge(struct tt_mark *m, struct question s)
{
    struct hit best = find_best(&s), also = {0};
    s.anyway = true;
    if (best.fit < OF_ANOTHER && s.f->unlike) also = find_best(&s);
    if (best.fit == NAMED) {
        say_named(&best, m);
    } else if (also.fit == NAMED) {
        m->kind = TT_MARK_UNKNOWN;
        snprintf(m->reason, sizeof m->reason, "%s is also a figure of the run %.60s: name one that tells the two apart",
                 also.given, s.f->unlike);
    } else if (best.fit != NONE) {
        say_against(&best, m);
    } else {
        say_which(m, s.f, s.n);
    }
}

void tt_exercise_sentence(struct tt_mark *m, const struct tt_figure *f, int n, const struct tt_formula_scope *scope)
{
    bool letters = false;
    const struct tt_figure *one = example(f, n);
    if (!one) {
        tt_exercise_because(m, TT_MARK_PASSED, n ? "no figure of the profile tells the two runs apart"
                                                 : "the profile has no figure for it");
        return;
    }
    show_example(m, one);
    if (!m->given[0]) return;
    for (const char *s = m->given; *s; s++) letters |= isalpha((unsigned char)*s) && isspace((unsigned char)s[1]);
    if (letters)
        judge(m, (struct question){.sentence = m->given, .f = f, .n = n, .scope = scope});
    else
        tt_exercise_because(m, TT_MARK_UNKNOWN, "write a whole sentence: the figure, and what it says");
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
            tt_exercise_sentence(&m->marks[i], f, n, NULL);
    }
}
