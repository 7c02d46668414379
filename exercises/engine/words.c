/* Reads answers as people write them: with quotes and a full stop around them, with other words for the one that is
 * wanted, with a noun behind a number. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "exercises/engine/parts.h"

/* ---- around an answer ---- */

/* Cuts off one pair of quotes; false where there is none. */
static bool unquote(char *text)
{
    static const char *const pairs[][2] = {{"\"", "\""}, {"'", "'"}, {"`", "`"},
                                           {"\xe2\x80\x9c", "\xe2\x80\x9d"}, {"\xe2\x80\x98", "\xe2\x80\x99"}};
    size_t n = strlen(text);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        size_t a = strlen(pairs[i][0]), b = strlen(pairs[i][1]);
        if (n <= a + b || strncmp(text, pairs[i][0], a) || strcmp(text + n - b, pairs[i][1])) continue;
        memmove(text, text + a, n - a - b);
        text[n - a - b] = 0;
        return true;
    }
    return false;
}

/* Replaces a decimal comma: "4,19" is 4.19. A comma before exactly three digits may be a thousands mark and stays, but
 * not behind a mere 0. */
static void point_for_comma(char *text)
{
    char *number = text + strspn(text, "+-"), *comma = number + strspn(number, "0123456789");
    size_t whole = (size_t)(comma - number), n = *comma == ',' ? strspn(comma + 1, "0123456789") : 0;
    bool zero = whole == 1 && *number == '0';
    if (whole && n && (n != 3 || zero) && !strchr(".,", comma[1 + n] ? comma[1 + n] : 'x')) *comma = '.';
}

static void trim(char *text)
{
    size_t begin = strspn(text, " "), n = strlen(text + begin);
    memmove(text, text + begin, n + 1);
    while (n && text[n - 1] == ' ') text[--n] = 0;
}

/* Removes "~" or "about" before a number: numbers are not exact anyway. */
static void without_about(char *text)
{
    static const char *const words[] = {"~", "\xe2\x89\x88", "about ", "around ", "approximately ", "approx. ",
                                        "circa ", "ca. "};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        const char *number = text + n + strspn(text + n, " ");
        if (!strncasecmp(text, words[i], n) && isdigit((unsigned char)number[*number == '-']))
            memmove(text, number, strlen(number) + 1);
    }
}

void tt_exercise_plain(const struct tt_question *q, struct tt_mark *m)
{
    bool around = q->kind != TT_ASK_TEXT;
    while (around) {
        trim(m->given);
        size_t n = strlen(m->given);
        around = unquote(m->given);
        if (around || n < 2 || !strchr(".!", m->given[n - 1])) continue;
        m->given[n - 1] = 0;
        around = true;
    }
    if (q->kind != TT_ASK_NUMBER && q->kind != TT_ASK_RANGE) return;
    without_about(m->given);
    point_for_comma(m->given);
}

/* ---- the noun behind a number ---- */

/* The noun that the question asks for: the first plural behind "how many", else behind its colon; NULL: none. */
static const char *noun_of(const struct tt_question *q, size_t *n)
{
    const char *many = q->text ? strstr(q->text, "ow many ") : NULL, *colon = q->text ? strstr(q->text, ": ") : NULL;
    const char *s = many ? many + 8 : colon ? colon + 2 : "";
    for (; *s; s += *n + (s[*n] != 0)) {
        *n = strcspn(s, " ");
        size_t letters = 0;
        while (letters < *n && isalpha((unsigned char)s[letters])) letters++;
        if (letters > 3 && s[letters - 1] == 's') {
            *n = letters;
            return s;
        }
    }
    return NULL;
}

size_t tt_exercise_before_noun(const struct tt_question *q, const char *behind)
{
    size_t all = strlen(behind), n, length;
    const char *noun = q->unit ? NULL : noun_of(q, &n), *word = strrchr(behind, ' ');
    word = word ? word + 1 : behind;
    length = strlen(word);
    bool same = noun && (length == n || length == n - 1) && !strncasecmp(word, noun, length); /* "1 tensor" */
    bool rate = !q->unit && q->text && strstr(q->text, "tokens a second");
    same |= rate && (!strcmp(word, "tokens/s") || !strcmp(word, "tok/s"));
    if (!same) return all;
    all -= length;
    while (all && behind[all - 1] == ' ') all--;
    return all;
}

/* ---- words ---- */

/* The character to compare: optimiser is optimizer, 64*64 is 64x64, and ln(V) is ln V. */
static char plain(char c)
{
    c = (char)tolower((unsigned char)c);
    return (char)(strchr("-_()", c) ? ' ' : c == 'z' ? 's' : c == '*' ? 'x' : c);
}

static bool ends_with(const char *word, size_t n, const char *end)
{
    size_t m = strlen(end);
    return n > m + 1 && !strncasecmp(word + n - m, end, m) && plain(word[n - m - 1]) == ' ';
}

/* Cuts off an article, and endings that say no more: "compute-bound", "the deterministic one". */
static const char *without_article(const char *word, size_t *n)
{
    const char *begin = word + (*n > 4 && !strncasecmp(word, "the ", 4) ? 4 : 0);
    *n -= (size_t)(begin - word);
    if (*n > 1 && begin[*n - 1] == '.') --*n;
    if (ends_with(begin, *n, "bound")) *n -= 6;
    if (ends_with(begin, *n, "one")) *n -= 4;
    return begin;
}

bool tt_exercise_same_word(const char *a, size_t n, const char *b)
{
    size_t m = strlen(b), i = 0, j = 0;
    a = without_article(a, &n);
    b = without_article(b, &m);
    for (;; i++, j++) {
        while (i < n && plain(a[i]) == ' ') i++;
        while (j < m && plain(b[j]) == ' ') j++;
        if (i == n || j == m) return i == n && j == m;
        if (plain(a[i]) != plain(b[j])) return false;
    }
}

bool tt_exercise_same_name(const char *a, const char *b) { return tt_exercise_same_word(a, strlen(a), b); }

static const char *name_in(const struct tt_yaml *list, const struct tt_yaml *y)
{
    return list->kind == TT_YAML_MAP ? y->key : y->text;
}

bool tt_exercise_listed(const struct tt_yaml *list, const char *word)
{
    for (const struct tt_yaml *y = list->first; y; y = y->next) {
        const char *name = name_in(list, y);
        if (name && tt_exercise_same_name(name, word)) return true;
    }
    return false;
}

bool tt_exercise_is_open(const char *word)
{
    static const char *const words[] = {"undecided", "uncertain", "unknown", "unclear", "not decided"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (tt_exercise_same_name(words[i], word)) return true;
    return false;
}

const char *tt_exercise_meant(const struct tt_question *q, const char *word)
{
    const struct tt_yaml *list = q->items ? q->items : q->choices;
    if (list && tt_exercise_listed(list, word)) return word;
    for (const struct tt_yaml *y = q->words ? q->words->first : NULL; y; y = y->next)
        if (tt_exercise_listed(y, word)) return y->key;
    for (const struct tt_yaml *y = list && tt_exercise_is_open(word) ? list->first : NULL; y; y = y->next)
        if (name_in(list, y) && tt_exercise_is_open(name_in(list, y))) return name_in(list, y);
    return word;
}
