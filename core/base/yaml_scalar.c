/* YAML: printable characters, the kind of a plain scalar, and writing a string as a scalar. */
#include "core/base/yaml_scalar.h"

#include <string.h>

#include "core/base/text.h"
#include "core/base/utf8.h"

/* ---- characters ---- */

bool tt_yaml_printable(uint32_t c)
{
    if (c < 0x80) return c == '\t' || (c >= 0x20 && c != 0x7f);
    return c >= 0xa0 && c != 0x2028 && c != 0x2029 && c != 0xfeff && c != 0xfffe && c != 0xffff;
}

/* ---- the kind of a plain scalar ---- */

static const char *skip_digits(const char *s) { return s + strspn(s, "0123456789"); }
static bool digit(char c) { return c >= '0' && c <= '9'; }

static bool one_of(const char *s, const char *words)
{
    size_t n = strlen(s);
    for (const char *w = words; *w;) {
        size_t length = strcspn(w, " ");
        if (length == n && memcmp(s, w, n) == 0) return true;
        w += length + (w[length] == ' ');
    }
    return false;
}

/* 1:30, 190:20:30.15: base 60 in YAML 1.1. */
static bool sexagesimal(const char *s) { return digit(*s) && strchr(s, ':') && s[strspn(s, "0123456789_:.")] == 0; }

/* 2024-01-31, with or without a time: a date in YAML 1.1. */
static bool date(const char *s)
{
    const char *month = skip_digits(s), *day, *end;
    if (month - s != 4 || *month++ != '-') return false;
    day = skip_digits(month);
    if (day == month || day - month > 2 || *day++ != '-') return false;
    end = skip_digits(day);
    return end > day && end - day <= 2 && (*end == 0 || *end == ' ' || *end == 'T' || *end == 't');
}

/* A number in one version of YAML, and a string or another number in the other. */
static bool odd_number(const char *s)
{
    const char *u = s + (*s == '-' || *s == '+');
    if (u[0] == '0' && digit(u[1]) && *skip_digits(u) == 0) return true;
    if (u[0] == '0' && strchr("xXbBoO", u[1]) && u[1]) return u[2] && u[strspn(u, "0123456789abcdefABCDEFxXoO_")] == 0;
    bool underscores = strchr(u, '_') && (digit(*u) || *u == '.');
    if (underscores && u[strspn(u, "0123456789_.eE+-")] == 0) return true;
    /* -.5 is a number by the specification, but not to every library. */
    bool signed_fraction = u > s && u[0] == '.' && tt_is_decimal(u);
    return signed_fraction || sexagesimal(u) || date(s);
}

bool tt_yaml_resolve(const char *s, enum tt_yaml_kind *kind)
{
    static const char unsure[] = "y Y n N yes Yes YES no No NO on On ON off Off OFF = <<";
    if (one_of(s, unsure) || odd_number(s)) return false;
    const char *u = s + (*s == '-' || *s == '+');
    if (*s == 0 || one_of(s, "~ null Null NULL"))
        *kind = TT_YAML_NULL;
    else if (one_of(s, "true True TRUE false False FALSE"))
        *kind = TT_YAML_BOOL;
    else if (digit(*u) && *skip_digits(u) == 0)
        *kind = TT_YAML_INT;
    else if (tt_is_decimal(u) || one_of(u, ".inf .Inf .INF") || one_of(s, ".nan .NaN .NAN"))
        *kind = TT_YAML_FLOAT;
    else
        *kind = TT_YAML_STRING;
    return true;
}

/* ---- writing ---- */

static bool plain_is_safe(const char *s)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/";
    enum tt_yaml_kind kind;
    if (!*s || !strchr(letters, *s)) return false;
    for (const char *p = s; *p; p++)
        if (!strchr(letters, *p) && !strchr(".-+", *p)) return false;
    return tt_yaml_resolve(s, &kind) && kind == TT_YAML_STRING;
}

void tt_yaml_put(struct tt_text *out, const char *s)
{
    if (plain_is_safe(s)) {
        tt_text_puts(out, s);
        return;
    }
    tt_text_puts(out, "\"");
    for (size_t left = strlen(s); left > 0;) {
        uint32_t code;
        size_t length = (size_t)tt_utf8_decode(s, left, &code);
        if (!tt_utf8_is_character(code))
            tt_text_puts(out, TT_UTF8_REPLACEMENT); /* YAML must be valid UTF-8 */
        else if (code == '"' || code == '\\')
            tt_text_printf(out, "\\%c", (char)code);
        else if (code == '\n')
            tt_text_puts(out, "\\n");
        else if (code == '\t')
            tt_text_puts(out, "\\t");
        else if (!tt_yaml_printable(code))
            tt_text_printf(out, code > 0xffff ? "\\U%08X" : "\\u%04X", code);
        else
            tt_text_add(out, s, length);
        s += length;
        left -= length;
    }
    tt_text_puts(out, "\"");
}
