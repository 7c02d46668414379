/* The JSON writer: appends to a text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/utf8.h"

void tt_json_quote(struct tt_text *t, const char *s, size_t n)
{
    uint32_t c;
    size_t plain = 0, at = 0, length; /* s[plain..at) needs no escape and is not yet added */
    tt_text_add(t, "\"", 1);
    for (; at < n; at += length) {
        length = (size_t)tt_utf8_decode(s + at, n - at, &c);
        if (tt_utf8_is_character(c) && c >= 0x20 && c != '"' && c != '\\') continue;
        tt_text_add(t, s + plain, at - plain);
        plain = at + length;
        if (!tt_utf8_is_character(c))
            tt_text_puts(t, TT_UTF8_REPLACEMENT); /* JSON must be valid UTF-8 */
        else if (c == '"' || c == '\\')
            tt_text_printf(t, "\\%c", (char)c);
        else if (c == '\n')
            tt_text_puts(t, "\\n");
        else
            tt_text_printf(t, "\\u%04x", (unsigned)c);
    }
    tt_text_add(t, s + plain, at - plain);
    tt_text_add(t, "\"", 1);
}

static void new_line(struct tt_json_writer *w)
{
    tt_text_add(&w->text, "\n", 1);
    for (int i = 0; i < w->depth; i++) tt_text_add(&w->text, "  ", 2);
}

/* The comma, line break and name before a value. */
static void before_value(struct tt_json_writer *w, const char *key)
{
    if (w->comma[w->depth]) tt_text_add(&w->text, ",", 1);
    w->comma[w->depth] = true;
    if (w->pretty && w->depth) new_line(w);
    if (!key) return;
    tt_json_quote(&w->text, key, strlen(key));
    tt_text_add(&w->text, ": ", w->pretty ? 2 : 1);
}

void tt_json_begin(struct tt_json_writer *w, const char *key, char open)
{
    if (w->depth + 1 >= (int)(sizeof w->comma / sizeof *w->comma)) { /* nested too deep */
        w->text.failed = true;
        return;
    }
    before_value(w, key);
    tt_text_add(&w->text, &open, 1);
    w->comma[++w->depth] = false;
}

void tt_json_end(struct tt_json_writer *w, char close)
{
    if (w->text.failed || !w->depth) return;
    bool any = w->comma[w->depth--];
    if (w->pretty && any) new_line(w);
    tt_text_add(&w->text, &close, 1);
}

void tt_json_put_string(struct tt_json_writer *w, const char *key, const char *value)
{
    if (value)
        tt_json_put_text(w, key, value, strlen(value));
    else
        tt_json_put_null(w, key);
}

void tt_json_put_text(struct tt_json_writer *w, const char *key, const char *value, size_t n)
{
    before_value(w, key);
    tt_json_quote(&w->text, value, n);
}

void tt_json_put_int(struct tt_json_writer *w, const char *key, int64_t value)
{
    before_value(w, key);
    tt_text_printf(&w->text, "%lld", (long long)value);
}

void tt_json_put_uint(struct tt_json_writer *w, const char *key, uint64_t value)
{
    before_value(w, key);
    tt_text_printf(&w->text, "%llu", (unsigned long long)value);
}

/* Whole numbers are written without an exponent. */
void tt_json_put_number(struct tt_json_writer *w, const char *key, double value)
{
    char digits[40] = "null";
    bool whole = fabs(value) < 1e15 && value == trunc(value);
    if (whole) snprintf(digits, sizeof digits, "%.0f", value);
    for (int n = 1; n <= 17 && !whole && isfinite(value); n++) {
        snprintf(digits, sizeof digits, "%.*g", n, value);
        if (strtod(digits, NULL) == value) break;
    }
    before_value(w, key);
    tt_text_puts(&w->text, digits);
}

void tt_json_put_float(struct tt_json_writer *w, const char *key, float value)
{
    char digits[40] = "null";
    bool whole = fabsf(value) < 1e7f && value == truncf(value);
    if (whole) snprintf(digits, sizeof digits, "%.0f", (double)value);
    for (int n = 1; n <= 9 && !whole && isfinite(value); n++) {
        snprintf(digits, sizeof digits, "%.*g", n, (double)value);
        if (strtof(digits, NULL) == value) break;
    }
    before_value(w, key);
    tt_text_puts(&w->text, digits);
}

void tt_json_put_bool(struct tt_json_writer *w, const char *key, bool value)
{
    before_value(w, key);
    tt_text_puts(&w->text, value ? "true" : "false");
}

void tt_json_put_null(struct tt_json_writer *w, const char *key)
{
    before_value(w, key);
    tt_text_puts(&w->text, "null");
}

void tt_json_put_value(struct tt_json_writer *w, const char *key, const struct tt_json *value)
{
    bool object = value->type == TT_JSON_OBJECT;
    if (value->type == TT_JSON_NULL) tt_json_put_null(w, key);
    if (value->type == TT_JSON_BOOL) tt_json_put_bool(w, key, value->boolean);
    if (value->type == TT_JSON_STRING) tt_json_put_string(w, key, value->string);
    if (value->type == TT_JSON_NUMBER) {
        before_value(w, key);
        tt_text_puts(&w->text, value->string);
    }
    if (!object && value->type != TT_JSON_ARRAY) return;
    tt_json_begin(w, key, object ? '{' : '[');
    for (const struct tt_json *e = value->first; e; e = e->next) tt_json_put_value(w, object ? e->key : NULL, e);
    tt_json_end(w, object ? '}' : ']');
}

tt_status tt_json_print(struct tt_json_writer *w)
{
    tt_status st = tt_text_status(&w->text);
    if (!st) puts(w->text.s);
    tt_text_free(&w->text);
    return st;
}
