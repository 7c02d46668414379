/* Converts the value of one option between text and its field. Strict: the whole text must be the value. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/base/yaml.h"
#include "core/config/options.h"

_Static_assert(sizeof(enum tt_version) == sizeof(int), "choices are read and written as int");

static void *field(const struct tt_option *row, struct tt_options *o)
{
    void *home = row->home == TT_OF_RUN ? (void *)&o->c : row->home == TT_OF_CALL ? (void *)&o->call : o->own;
    return (char *)home + row->offset;
}

void tt_join(struct tt_text *out, const char *const *names, const char *separator)
{
    for (int i = 0; names[i]; i++) tt_text_printf(out, "%s%s", i ? separator : "", names[i]);
}

static int count(const char *const *names)
{
    int n = 0;
    while (names[n]) n++;
    return n;
}

static tt_status none_of(const char *text, const char *const *choices)
{
    struct tt_text all = {0};
    tt_join(&all, choices, ", ");
    const char *near = tt_nearest(text, choices, count(choices));
    tt_status st = near ? tt_fail(TT_USAGE, "there is no \"%s\"; did you mean \"%s\"?", text, near)
                        : tt_fail(TT_USAGE, "there is no \"%s\"; choose from %s", text, all.failed ? "..." : all.s);
    tt_text_free(&all);
    return st;
}

static int choice_index(const char *text, const char *const *choices)
{
    int i = 0;
    while (choices[i] && strcmp(text, choices[i]) != 0) i++;
    return choices[i] ? i : -1;
}

/* ---- numbers ---- */

static const char *skip_digits(const char *s) { return s + strspn(s, "0123456789"); }

static bool is_decimal(const char *s) { return tt_is_decimal(s + (*s == '-' || *s == '+')); }

static tt_status out_of_range(const char *text, const char *range)
{
    return tt_fail(TT_USAGE, "%s is out of range; it must be in %s", text, range);
}

static tt_status set_int(const struct tt_option *row, int64_t *to, const char *text)
{
    const char *digits = text + (*text == '-' || *text == '+');
    if (!*digits || *skip_digits(digits)) return tt_fail(TT_USAGE, "\"%s\" is not a whole number", text);
    errno = 0;
    long long value = strtoll(text, NULL, 10), low, high;
    if (sscanf(row->range, "[%lld, %lld]", &low, &high) != 2) return tt_fail(TT_FAILED, "bad range %s", row->range);
    if (errno || value < low || value > high) return out_of_range(text, row->range);
    *to = value;
    return TT_OK;
}

static tt_status set_number(const struct tt_option *row, double *to, const char *text)
{
    if (!is_decimal(text)) return tt_fail(TT_USAGE, "\"%s\" is not a number", text);
    errno = 0;
    double value = strtod(text, NULL), low, high;
    if (sscanf(row->range + 1, "%lf, %lf", &low, &high) != 2) return tt_fail(TT_FAILED, "bad range %s", row->range);
    bool below = row->range[0] == '(' ? value <= low : value < low;
    bool above = row->range[strlen(row->range) - 1] == ')' ? value >= high : value > high;
    if (errno || below || above) return out_of_range(text, row->range);
    *to = value + 0.0; /* -0 becomes 0 */
    return TT_OK;
}

/* The fewest digits that read back as the same value, with the decimal point that YAML 1.1 wants before an exponent. */
static void get_number(double value, struct tt_text *out)
{
    char s[40];
    int first = value == (double)(int64_t)value ? 15 : 1; /* 10000, not 1e+04 */
    for (int digits = first; digits <= 17; digits++) {
        snprintf(s, sizeof s, "%.*g", digits, value);
        if (strtod(s, NULL) == value) break;
    }
    char *exponent = strchr(s, 'e');
    if (exponent && !strchr(s, '.'))
        tt_text_printf(out, "%.*s.0%s", (int)(exponent - s), s, exponent);
    else
        tt_text_puts(out, s);
}

/* ---- texts ---- */

static tt_status check_items(const struct tt_option *row, const char *text)
{
    char item[64];
    const char *at = text;
    while (tt_list_next(&at, row->list, item, sizeof item))
        if (choice_index(item, row->choices) < 0) return none_of(item, row->choices);
    return TT_OK;
}

static tt_status check_text(const struct tt_option *row, const char *text)
{
    if (!tt_utf8_valid(text, strlen(text))) return tt_fail(TT_USAGE, "the text is not valid UTF-8");
    if (row->required && !*text) return tt_fail(TT_USAGE, "must not be empty");
    if (row->list && row->choices && !row->check) TT_TRY(check_items(row, text));
    if (!row->list && row->choices && *text && choice_index(text, row->choices) < 0) return none_of(text, row->choices);
    return row->check ? row->check(text) : TT_OK;
}

static tt_status set_text(const struct tt_option *row, char *to, const char *text, bool append)
{
    TT_TRY(check_text(row, text));
    size_t before = append ? strlen(to) : 0, n = strlen(text);
    bool parted = append && ((before > 0 && n > 0) || row->blanks);
    if (parted) before++; /* the separator */
    if (n >= row->size - before)
        return tt_fail(TT_USAGE, "too long: there is room for %zu bytes in all", row->size - 1);
    if (parted) to[before - 1] = row->list;
    if (n > 0 || !append || row->blanks) memcpy(to + before, text, n + 1);
    return TT_OK;
}

/* ---- every type ---- */

static tt_status set_bool(const struct tt_option *row, bool *to, const char *text)
{
    bool yes = strcmp(text, "true") == 0;
    if (!yes && strcmp(text, "false") != 0) return tt_fail(TT_USAGE, "\"%s\" is neither true nor false", text);
    *to = yes != row->inverted;
    return TT_OK;
}

static tt_status set_choice(const struct tt_option *row, void *to, const char *text)
{
    int value = choice_index(text, row->choices);
    if (value < 0) return none_of(text, row->choices);
    memcpy(to, &value, sizeof value);
    return TT_OK;
}

const char *tt_value_here(const struct tt_option *row, const char *text, char out[32])
{
    char pair[64];
    size_t n = strlen(text);
    for (const char *at = row->same ? row->same : ""; tt_list_next(&at, ' ', pair, sizeof pair);) {
        if (strncmp(pair, text, n) || pair[n] != '=') continue;
        snprintf(out, 32, "%.31s", pair + n + 1);
        return out;
    }
    return text;
}

tt_status tt_value_set(const struct tt_option *row, struct tt_options *o, const char *text, bool append)
{
    void *to = field(row, o);
    char here[32];
    text = tt_value_here(row, text, here);
    switch (row->type) {
    case TT_OPTION_INT:
        return set_int(row, to, text);
    case TT_OPTION_NUMBER:
        return set_number(row, to, text);
    case TT_OPTION_BOOL:
        return set_bool(row, to, text);
    case TT_OPTION_CHOICE:
        return set_choice(row, to, text);
    case TT_OPTION_TEXT:
        break;
    }
    return set_text(row, to, text, append && row->list);
}

void tt_value_get(const struct tt_option *row, const struct tt_options *o, struct tt_text *out)
{
    const void *from = field(row, (struct tt_options *)o);
    int choice;
    switch (row->type) {
    case TT_OPTION_INT:
        tt_text_printf(out, "%" PRId64, *(const int64_t *)from);
        break;
    case TT_OPTION_NUMBER:
        get_number(*(const double *)from, out);
        break;
    case TT_OPTION_BOOL:
        tt_text_puts(out, *(const bool *)from != row->inverted ? "true" : "false");
        break;
    case TT_OPTION_CHOICE:
        memcpy(&choice, from, sizeof choice);
        tt_text_puts(out, row->choices[choice]);
        break;
    case TT_OPTION_TEXT:
        tt_text_puts(out, from);
        break;
    }
}
