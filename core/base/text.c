/* A string that grows, and the nearest name to a mistyped word. */
#include "core/base/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Room for n more bytes and the 0 after them. */
static bool reserve(struct tt_text *t, size_t n)
{
    if (t->failed) return false;
    if (n < t->cap - t->n) return true;
    if (n > SIZE_MAX / 4 || t->n > SIZE_MAX / 4) {
        t->failed = true;
        return false;
    }
    size_t cap = t->cap ? t->cap : 64;
    while (cap - t->n <= n) cap *= 2;
    char *s = realloc(t->s, cap);
    if (!s) {
        t->failed = true;
        return false;
    }
    t->s = s;
    t->cap = cap;
    return true;
}

void tt_text_add(struct tt_text *t, const char *s, size_t n)
{
    if (!reserve(t, n)) return;
    if (n) memcpy(t->s + t->n, s, n);
    t->n += n;
    t->s[t->n] = 0;
}

void tt_text_puts(struct tt_text *t, const char *s) { tt_text_add(t, s, strlen(s)); }

void tt_text_printf(struct tt_text *t, const char *format, ...)
{
    char small[256];
    va_list ap, again;
    va_start(ap, format);
    va_copy(again, ap);
    int n = vsnprintf(small, sizeof small, format, ap);
    if (n < 0) {
        t->failed = true;
    } else if ((size_t)n < sizeof small) {
        tt_text_add(t, small, (size_t)n);
    } else if (reserve(t, (size_t)n)) {
        vsnprintf(t->s + t->n, (size_t)n + 1, format, again);
        t->n += (size_t)n;
    }
    va_end(again);
    va_end(ap);
}

tt_status tt_text_status(const struct tt_text *t)
{
    return t->failed ? tt_no_memory("a text of more than %zu bytes", t->n) : TT_OK;
}

void tt_text_free(struct tt_text *t)
{
    free(t->s);
    *t = (struct tt_text){0};
}

static int least(int a, int b) { return a < b ? a : b; }

/* Insertions, deletions, substitutions and swaps of neighbours cost 1 each. Three rows of the table are enough. */
int tt_edit_distance(const char *a, const char *b)
{
    size_t na = strlen(a), nb = strlen(b);
    int longer = (int)(na > nb ? na : nb);
    int *rows = calloc(nb + 1, 3 * sizeof *rows);
    if (!rows) return longer;
    int *before = rows, *above = before + nb + 1, *row = above + nb + 1;
    for (size_t j = 0; j <= nb; j++) row[j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int *oldest = before;
        before = above;
        above = row;
        row = oldest;
        row[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            int d = least(above[j], row[j - 1]) + 1;
            d = least(d, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) d = least(d, before[j - 2] + 1);
            row[j] = d;
        }
    }
    int distance = row[nb];
    free(rows);
    return distance;
}

/* "batch" for batch_size, "layers" for num_layers. */
static bool is_start_or_end(const char *word, const char *name)
{
    size_t nw = strlen(word), nn = strlen(name);
    if (nw < 2 || nw >= nn) return false;
    if (!strncmp(name, word, nw)) return true;
    const char *end = name + nn - nw;
    return (end[-1] == '_' || end[-1] == '-') && !strcmp(end, word);
}

const char *tt_nearest(const char *word, const char *const *names, int n)
{
    const char *near = NULL, *part = NULL;
    int best = 0;
    for (int i = 0; i < n; i++) {
        size_t nw = strlen(word), nn = strlen(names[i]);
        int d = strcasecmp(word, names[i]) ? tt_edit_distance(word, names[i]) : 0;
        if (d <= (int)((nw > nn ? nw : nn) / 3) && (!near || d < best)) {
            near = names[i];
            best = d;
        }
        if (is_start_or_end(word, names[i]) && (!part || nn < strlen(part))) part = names[i];
    }
    return near ? near : part;
}

/* ---- numbers ---- */

static const char *skip_digits(const char *s) { return s + strspn(s, "0123456789"); }

bool tt_is_decimal(const char *s)
{
    const char *p = skip_digits(s);
    bool digits = p > s;
    if (*p == '.') {
        const char *fraction = p + 1;
        p = skip_digits(fraction);
        digits |= p > fraction;
    }
    if (!digits) return false;
    if (*p == 'e' || *p == 'E') {
        const char *exponent = p + 1 + (p[1] == '-' || p[1] == '+');
        p = skip_digits(exponent);
        if (p == exponent) return false;
    }
    return *p == 0;
}

const char *tt_shell_word(const char *s, char *out, size_t size)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    size_t n = 0;
    if (*s && s[strspn(s, plain)] == 0) {
        snprintf(out, size, "%s", s);
        return out;
    }
    n += (size_t)snprintf(out, size, "'");
    for (; *s && n < size; s++) n += (size_t)snprintf(out + n, size - n, *s == '\'' ? "'\\''" : "%c", *s);
    if (n < size) snprintf(out + n, size - n, "'");
    return out;
}
