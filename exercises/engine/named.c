/* Which figure a sentence names, and how well: by its number or word, and by what stands beside it. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "exercises/engine/parts.h"

/* A single digit stands in many a sentence that names no figure. */
bool tt_exercise_is_bare(const char *given) { return isdigit((unsigned char)given[0]) && !given[1]; }

static bool is_bare_number(const struct tt_quoted *q) { return tt_exercise_is_bare(q->given) && !q->unit; }

static bool is_bare_figure(const struct tt_figure *f)
{
    char written[40];
    snprintf(written, sizeof written, "%.6g", fabs(f->value));
    return !f->word && tt_exercise_is_bare(written);
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

/* "two more waits", "2 waits more", "two times more often": how two runs differ, which is no count of one of them. */
static bool is_compared(const struct tt_figure *f, const char *behind)
{
    if (!f->with || f->change != TT_CHANGE_NONE || !tt_exercise_is_count(f)) return false;
    for (int i = 0; i < 2; i++) {
        char word[24];
        behind += strspn(behind, " ");
        size_t n = strcspn(behind, " ,.;:");
        snprintf(word, sizeof word, "%.*s", n < sizeof word ? (int)n : 0, behind);
        if (has_one_of(word, "more|fewer|less|extra|additional|further")) return true;
        behind += n;
    }
    return false;
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

static enum tt_fit fit_of(const struct tt_sentence *s, const struct tt_figure *f, const struct tt_quoted *q, double x,
                       enum tt_nouns noun, struct tt_named *h)
{
    if (s->anyway && noun != TT_NOUN_OTHER) return TT_FIT_NAMED;
    if (noun != TT_NOUN_OWN) return is_precise(q) && !s->anyway ? TT_FIT_UNNAMED : TT_FIT_NONE;
    const char *other = tt_exercise_other_run(s->sentence, q, x, f, s->scope);
    if (!other) other = tt_exercise_other_row(s->sentence, q, f, s->f, s->n);
    if (other) snprintf(h->against, sizeof h->against, "%s", other);
    if (other) return TT_FIT_OF_ANOTHER;
    return tt_exercise_turned(s->sentence, q, f, h->against) ? TT_FIT_TURNED : TT_FIT_NAMED;
}

/* How much of what the figure is stands in the sentence. */
static int words_of(const char *sentence, const struct tt_figure *f)
{
    return 2 * (f->row[0] && has_word(sentence, f->row)) +
           ((f->noun && has_one_of(sentence, f->noun)) || (f->with && has_all_of(sentence, f->with)) ||
            (f->about && has_one_of(sentence, f->about)));
}

/* Words of the figure's name that stand in the sentence, which decide between figures that are equal. */
static int described_by(const char *sentence, const char *name)
{
    char word[32];
    int n = 0;
    for (const char *s = name; s && *s; s++) {
        size_t length = 0;
        while (isalpha((unsigned char)s[length])) length++;
        if (length > 3 && length < sizeof word) {
            snprintf(word, sizeof word, "%.*s", (int)length, s);
            n += has_word(sentence, word);
        }
        s += length ? length - 1 : 0;
    }
    return n;
}

/* "1.6 times as long" of what is 1.6 times as fast, where another figure that says no change is as near by chance, and
 * no word of the sentence says what that is. */
static bool contradicts(const struct tt_named *turned, const struct tt_named *named)
{
    const struct tt_figure *f = named->f;
    bool number = !f->word && (!f->unit || tt_exercise_part(f->unit) > 0);
    return turned->fit == TT_FIT_TURNED && named->fit == TT_FIT_NAMED && number && f->change == TT_CHANGE_NONE &&
           !named->words;
}

/* To its three digits the figure of another row or run than the sentence names, and only near to that one's. */
static bool is_anothers(const struct tt_named *other, const struct tt_named *named)
{
    return other->fit == TT_FIT_OF_ANOTHER && named->fit == TT_FIT_NAMED && other->off == 0 && named->off > 0 &&
           tt_exercise_digits(other->given) > 2 && !strcmp(other->given, named->given);
}

static bool excludes(const struct tt_named *h, const struct tt_named *named)
{
    return h->f && named->f && (contradicts(h, named) || is_anothers(h, named));
}

/* Of two that are alike otherwise, the one that the number is nearer to; rows of tables are near by chance, unless the
 * sentence names the row and the number has all of its digits. */
static bool is_nearer(const struct tt_named *h, const struct tt_named *best)
{
    bool is_row = h->words > 1 && h->off == 0 && best->off > 0 && tt_exercise_digits(h->given) > 2;
    bool alike = h->f->unit == best->f->unit && (is_row || h->f->printed == best->f->printed);
    if (!alike || h->off > best->off) return false;
    if (h->off == 0 && best->off == 0 && h->described != best->described) return h->described > best->described;
    return h->off < best->off - 1e-9 || h->apart < best->apart - 1e-9;
}

static void keep_best(struct tt_named *best, const struct tt_named *h)
{
    if (excludes(best, h)) return;
    bool better = h->fit > best->fit || (h->fit == best->fit && h->words > best->words) ||
                  (best->f && h->fit == best->fit && h->words == best->words && is_nearer(h, best));
    if (better || excludes(h, best)) *best = *h;
}

/* The number, which is x in the unit of the figure, as that figure. */
static void try_number(const struct tt_sentence *s, const struct tt_figure *f, const struct tt_quoted *q, double x,
                       bool bare, struct tt_named *best)
{
    enum tt_nouns noun;
    struct tt_named h = {.f = f, .words = words_of(s->sentence, f), .described = described_by(s->sentence, f->name)};
    if (!tt_exercise_is_figure(q, x, f, s->sentence, s->f, s->n, s->anyway, &noun)) return;
    if (f->printed && tt_exercise_digits(q->given) < 2 && !has_word(s->sentence, f->row)) return;
    if (is_small_count(f) && !strchr(q->given, '.') && (!bare || counts_another(f, q->end))) return;
    if (is_compared(f, q->end)) return;
    snprintf(h.given, sizeof h.given, "%s", q->given);
    h.apart = fabs(fabs(x / f->value) - 1);
    h.is = x != 0 ? q->number * f->value / fabs(x) : f->value;
    h.off = tt_exercise_is_rounded(q, x, fabs(f->value)) ? 0 : h.apart;
    if (!is_counted(s->sentence, f) && noun == TT_NOUN_OWN) noun = TT_NOUN_NONE;
    h.fit = fit_of(s, f, q, x, noun, &h);
    keep_best(best, &h);
}

/* The numbers that are this figure in some unit. */
static void find_numbers(const struct tt_sentence *s, const struct tt_figure *f, bool bare, struct tt_named *best)
{
    struct tt_quoted q;
    double as[2];
    for (const char *at = s->sentence; tt_exercise_quoted(s->sentence, &at, &q);) {
        if ((s->only && s->only != q.begin) || (!bare && is_bare_number(&q))) continue;
        for (int i = 0, k = tt_exercise_quoted_as(&q, f->unit, as); i < k; i++) try_number(s, f, &q, as[i], bare, best);
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

static void find_figure(const struct tt_sentence *s, const struct tt_figure *f, bool bare, struct tt_named *best)
{
    struct tt_named h = {.fit = TT_FIT_NAMED, .f = f, .words = words_of(s->sentence, f)};
    if (!s->anyway && !tells(f)) return;
    if (f->about && !has_one_of(s->sentence, f->about)) return;
    if (f->with) bare = has_all_of(s->sentence, f->with);
    snprintf(h.given, sizeof h.given, "%s", f->word ? f->word : "");
    if (f->word && !s->only && has_word(s->sentence, f->word) && (!f->with || bare)) keep_best(best, &h);
    if (f->word) return;
    find_numbers(s, f, bare, best);
    struct tt_quoted count;
    if (s->only || !f->with || !bare || !has_count(s->sentence, f, &count) || is_compared(f, count.end)) return;
    snprintf(h.given, sizeof h.given, "%.6g", fabs(f->value));
    h.is = f->value;
    h.fit = fit_of(s, f, &count, count.number, TT_NOUN_OWN, &h);
    keep_best(best, &h);
}

static struct tt_named find_best(const struct tt_sentence *s)
{
    struct tt_named best = {0};
    bool bare = true; /* a bare digit counts only where the run has no other figures */
    for (int i = 0; i < s->n; i++) bare &= s->f[i].with || s->f[i].about || is_bare_figure(&s->f[i]);
    for (int i = 0; i < s->n; i++) find_figure(s, &s->f[i], bare, &best);
    return best;
}

/* A right figure excuses no other one that is said of another run or row, or turned round. */
struct tt_named tt_exercise_find_named(const struct tt_sentence *s)
{
    struct tt_named best = find_best(s);
    struct tt_sentence one = *s;
    struct tt_quoted q;
    for (const char *at = s->sentence; best.fit == TT_FIT_NAMED && tt_exercise_quoted(s->sentence, &at, &q);) {
        one.only = q.begin;
        struct tt_named h = find_best(&one);
        if ((h.fit == TT_FIT_OF_ANOTHER || h.fit == TT_FIT_TURNED) && (is_precise(&q) || q.unit)) return h;
        if (h.fit == TT_FIT_NONE && q.unit && !best.unknown[0])
            snprintf(best.unknown, sizeof best.unknown, "%s", q.given);
    }
    return best;
}

const struct tt_figure *tt_exercise_example(const struct tt_figure *f, int n)
{
    const struct tt_figure *bare = NULL;
    for (int i = 0; i < n; i++) {
        if (!tells(&f[i]) || f[i].about) continue;
        if (!is_bare_figure(&f[i])) return &f[i];
        if (!bare) bare = &f[i];
    }
    return bare;
}
