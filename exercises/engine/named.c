/* Finds the figures of the runs that a sentence holds, by its numbers as they are written and by its words. Whether
 * what it says of them is true is for people to judge. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "exercises/engine/parts.h"

static bool in_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Whether two words of n and m letters are the same, whatever their case, and also if one is the plural. */
static bool is_same(const char *a, size_t n, const char *b, size_t m)
{
    if (n > 3 && tolower((unsigned char)a[n - 1]) == 's') n--;
    if (m > 3 && tolower((unsigned char)b[m - 1]) == 's') m--;
    return n == m && !strncasecmp(a, b, n);
}

static bool has_word(const char *sentence, const char *word, size_t length)
{
    for (size_t n; *sentence; sentence += n + (sentence[n] != 0)) {
        for (n = 0; in_word(sentence[n]);) n++;
        if (n && is_same(sentence, n, word, length)) return true;
    }
    return false;
}

/* Whether the sentence has the text as it is, not as a part of a longer word: "layer 3", "w1.weight". */
static bool has_text(const char *sentence, const char *text)
{
    size_t n = strlen(text);
    for (const char *s = sentence; n && *s; s++) {
        bool begins = s == sentence || !in_word(s[-1]);
        if (begins && !strncasecmp(s, text, n) && !in_word(s[n])) return true;
    }
    return false;
}

static bool is_run(const struct tt_formula_scope *scope, const char *word, size_t n)
{
    for (int i = 0; scope && i < scope->count; i++)
        if (is_same(scope->runs[i].name, strlen(scope->runs[i].name), word, n)) return true;
    return false;
}

/* How many words of the text the sentence has. Short words, filler words and names of runs do not count: they do not
 * say what a figure is. */
static int words_of(const char *sentence, const char *text, const struct tt_formula_scope *scope)
{
    static const char *const empty[] = {"the", "that", "what", "those", "how", "many", "over", "minus", "its", "and"};
    int found = 0;
    for (size_t n; text && *text; text += n + (text[n] != 0)) {
        for (n = 0; isalnum((unsigned char)text[n]);) n++;
        bool tells = n > 2 && !is_run(scope, text, n);
        for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
            tells &= !is_same(text, n, empty[i], strlen(empty[i]));
        found += tells && has_word(sentence, text, n);
    }
    return found;
}

/* Whether the sentence has the name of the figure's row; of a tensor also without ".weight". */
static bool has_row_name(const char *sentence, const char *row)
{
    static const char weight[] = ".weight";
    char tensor[48];
    size_t n = strlen(row), m = strlen(weight);
    if (has_text(sentence, row)) return true;
    if (n <= m || strcmp(row + n - m, weight) != 0) return false;
    snprintf(tensor, sizeof tensor, "%.*s", (int)(n - m), row);
    return has_text(sentence, tensor);
}

/* How well the sentence says what the figure is: counts words of its name, its row or its question. */
static int described(const char *sentence, const struct tt_figure *f, const struct tt_formula_scope *scope)
{
    return words_of(sentence, f->name ? f->name : f->from, scope) + words_of(sentence, f->words, NULL) +
           2 * has_row_name(sentence, f->row) + words_of(sentence, f->row, NULL) +
           (f->from && has_text(sentence, f->from));
}

/* Whether the sentence has the name of the figure's row, or a word of it: "softmax" for attention_softmax. */
static bool has_row(const char *sentence, const struct tt_figure *f)
{
    return has_row_name(sentence, f->row) || words_of(sentence, f->row, NULL);
}

/* How many runs are named both by the figure's name and by the sentence. */
static int runs_of(const char *sentence, const struct tt_figure *f, const struct tt_formula_scope *scope)
{
    int found = 0;
    for (int i = 0; scope && f->name && i < scope->count; i++)
        found += has_text(f->name, scope->runs[i].name) && has_text(sentence, scope->runs[i].name);
    return found;
}

/* "1.3 times", "1.3x", "1.3-fold": what follows the number says what it is, as a unit would. */
static bool is_times(const struct tt_quoted *q)
{
    static const char *const words[] = {"times", "x", "fold"};
    const char *behind = q->end + strspn(q->end, " -");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if (!strncasecmp(behind, words[i], n) && !in_word(behind[n])) return true;
    }
    return !strncmp(behind, "\xc3\x97", 2);
}

/* How a number in a sentence writes a value: rounded to its digits, or, with three digits or more, cut off. `x` is the
 * number in the unit of the value. */
enum written { NOT, CUT_OFF, ROUNDED };

static enum written written_as(const struct tt_quoted *q, double x, double value)
{
    double scale = q->number != 0 && x != 0 ? q->number / x : 1, cut = value * scale - q->number;
    const char *point = strchr(q->given, '.');
    int digits = tt_exercise_digits(q->given), decimals = point ? (int)strspn(point + 1, "0123456789") : 0;
    if (x == value) return ROUNDED;
    if (digits < 2 && !(point && q->unit)) return NOT; /* many sentences have a single digit by chance */
    if (tt_exercise_rounded(q->given, q->number, value * scale)) return ROUNDED;
    return digits > 2 && cut > 0 && cut < pow(10, -decimals) ? CUT_OFF : NOT;
}

static enum written writes(const struct tt_quoted *q, const struct tt_figure *f, double value, double *x)
{
    double as[2];
    for (int i = 0, n = tt_exercise_quoted_as(q, f->unit, as); i < n; i++) {
        enum written written = isfinite(value) ? written_as(q, as[i], fabs(value)) : NOT;
        if (!written) continue;
        *x = as[i];
        return written;
    }
    return NOT;
}

/* `described` for the few words right behind the number: in "2 host waits and 2 copies", they tell the two figures
 * apart. */
static int described_behind(const struct tt_quoted *q, const struct tt_figure *f, const struct tt_formula_scope *scope)
{
    char phrase[64];
    size_t n = strcspn(q->end, "0123456789,;.:");
    for (size_t i = 0, words = 0; i < n; i++)
        if (q->end[i] == ' ' && ++words > 3) n = i;
    snprintf(phrase, sizeof phrase, "%.*s", (int)n, q->end);
    return described(phrase, f, scope);
}

/* How well the figure fits the number. Rounded values go before those cut off. Then words that say what the figure is
 * count, most of all right behind the number. */
static int fit_of(const char *sentence, const struct tt_quoted *q, const struct tt_figure *f,
                  const struct tt_formula_scope *scope, enum written written, int words)
{
    return (written == ROUNDED ? 1000 : 0) + 2 * words + 4 * described_behind(q, f, scope) +
           runs_of(sentence, f, scope);
}

/* Whether a match may be chance: some figure of a column is near most numbers, and a single digit that is not exact is
 * near many figures. A figure of a column counts anyway if the sentence names its row: "optimizer takes 0.9 %". */
static bool is_chance(const struct tt_quoted *q, const char *sentence, const struct tt_figure *f, double x)
{
    int digits = tt_exercise_digits(q->given);
    bool named = f->column && f->row[0] && has_row(sentence, f);
    bool exact = x == fabs(f->value) || (f->unlike && x == fabs(f->other));
    bool count = !f->unit && f->value == trunc(f->value); /* also if it was written 2.00 */
    return !named && ((f->column && (digits < 3 || count)) || (digits < 2 && !exact));
}

/* Whether the sentence says what the number is, by a unit or by a word of the figure. */
static bool is_told(const struct tt_quoted *q, const struct tt_figure *f, int words)
{
    bool nameless = !f->name && !f->from;
    bool times = (f->name && has_text(f->name, "times")) || (f->words && has_text(f->words, "times"));
    return q->unit || words || nameless || (times && is_times(q));
}

/* Finds the figure that the number is. Of several, that is the one that the sentence describes best, then the nearest
 * one. */
static void try_number(const struct tt_quoted *q, const char *sentence, const struct tt_figure *f, int n,
                       const struct tt_formula_scope *scope, struct tt_held *out)
{
    int best = -1, found = 0;
    double nearest = INFINITY;
    for (int i = 0; i < n; i++) {
        double x = 0;
        if (f[i].word || (f[i].unlike && f[i].value == 0)) continue; /* a difference of 0 tells nothing */
        enum written here = writes(q, &f[i], f[i].value, &x);
        enum written there = f[i].unlike ? writes(q, &f[i], f[i].other, &x) : NOT;
        if ((!here && !there) || is_chance(q, sentence, &f[i], x)) continue;
        int words = described(sentence, &f[i], scope), fit = fit_of(sentence, q, &f[i], scope, here, words);
        bool told = is_told(q, &f[i], words);
        double apart = f[i].value != 0 ? fabs(fabs(x / f[i].value) - 1) : 0;
        out->untold |= !told && here;
        out->shared |= told && there;
        if (!told || there) continue;
        found++;
        if (fit < best || (fit == best && apart >= nearest)) continue;
        best = fit;
        nearest = apart;
        out->f = &f[i];
        out->is = x != 0 ? q->number * f[i].value / x : f[i].value;
    }
    out->more = found > 1;
    if (out->shared) out->f = NULL; /* as it was written, it may be the other run's */
    const char *unit = tt_exercise_unit_name(q->unit);
    snprintf(out->given, sizeof out->given, "%.24s%s%.12s", q->given, unit[0] ? " " : "", unit);
}

int tt_exercise_find_held(const char *sentence, const struct tt_figure *f, int n, const struct tt_formula_scope *scope,
                          struct tt_held out[TT_HELD])
{
    struct tt_quoted q;
    int found = 0;
    for (int i = 0; i < n && found < TT_HELD; i++)
        if (f[i].word && has_text(sentence, f[i].word)) {
            out[found] = (struct tt_held){.f = &f[i]};
            snprintf(out[found++].given, sizeof out->given, "%.39s", f[i].word);
        }
    for (const char *at = sentence; found < TT_HELD && tt_exercise_quoted(sentence, &at, &q);) {
        struct tt_held held = {.unit = q.unit != NULL};
        try_number(&q, sentence, f, n, scope, &held);
        if (held.f || held.unit || held.shared || held.untold) out[found++] = held;
    }
    return found;
}
