#include "core/base/markdown.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"

/* ---- text ---- */

static bool at_line_start(const struct tt_text *out) { return !out->n || out->s[out->n - 1] == '\n'; }

/* Underscores inside a word are not markup, and identifiers have many. */
static bool inside_word(const char *s, const char *at)
{
    const char *before = at, *after = at;
    while (before > s && before[-1] == '_') before--;
    while (*after == '_') after++;
    return before > s && isalnum((unsigned char)before[-1]) && isalnum((unsigned char)*after);
}

/* "1." or "1)" at the start of a line begins a list. */
static bool numbers_item(const char *s, const char *at)
{
    return at > s && (*at == '.' || *at == ')') && strspn(s, "0123456789") == (size_t)(at - s) &&
           strchr(" \t\r\n", at[1]);
}

/* GitHub turns URLs into links by itself. */
static bool begins_link(const char *s, const char *at)
{
    return !strncmp(at, "://", 3) || (*at == '.' && at - s >= 3 && !strncmp(at - 3, "www", 3));
}

static bool is_markup(const char *s, const char *at, bool starts_line)
{
    if (*at == '_') return !inside_word(s, at);
    if (*at == '#') return at == s || at[-1] == ' ';
    if (starts_line && ((at == s && strchr("+-=", *at)) || numbers_item(s, at))) return true;
    return strchr("\\`*[]|~$", *at) || begins_link(s, at);
}

static void put_character(struct tt_text *out, const char *s, const char *at, size_t length, uint32_t c,
                          bool starts_line)
{
    if (c == '\n' || c == '\r' || c == '\t')
        tt_text_puts(out, " ");
    else if (!tt_utf8_is_character(c) || c < 0x20 || (c >= 0x7f && c < 0xa0))
        tt_text_puts(out, TT_UTF8_REPLACEMENT);
    else if (c == '<')
        tt_text_puts(out, "&lt;"); /* older readers do not know \< */
    else if (c == '>' && starts_line && at == s)
        tt_text_puts(out, "&gt;"); /* it would begin a quotation; elsewhere it is plain, as in 2537 -> 2900 */
    else if (c == '&')
        tt_text_puts(out, "&amp;");
    else {
        if (c < 0x80 && is_markup(s, at, starts_line)) tt_text_puts(out, "\\");
        tt_text_add(out, at, length);
    }
}

void tt_md_text(struct tt_text *out, const char *s)
{
    bool starts_line = at_line_start(out);
    if (starts_line) s += strspn(s, " \t\r\n"); /* four spaces would make it code */
    uint32_t c;
    for (const char *at = s, *end = s + strlen(s); at < end;) {
        size_t length = (size_t)tt_utf8_decode(at, (size_t)(end - at), &c);
        put_character(out, s, at, length, c, starts_line);
        at += length;
    }
}

static void formatted(struct tt_text *out, void (*put)(struct tt_text *, const char *), const char *format, va_list ap)
{
    char *text = NULL;
    if (vasprintf(&text, format, ap) < 0)
        out->failed = true;
    else
        put(out, text);
    free(text);
}

void tt_md_printf(struct tt_text *out, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    formatted(out, tt_md_text, format, ap);
    va_end(ap);
}

/* ---- tables ---- */

static void begin_cell(struct tt_text *out) { tt_text_puts(out, at_line_start(out) ? "| " : " "); }

void tt_md_cell(struct tt_text *out, const char *text)
{
    begin_cell(out);
    tt_md_text(out, text);
    tt_text_puts(out, " |");
}

void tt_md_cellf(struct tt_text *out, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    formatted(out, tt_md_cell, format, ap);
    va_end(ap);
}

void tt_md_markup_cell(struct tt_text *out, const char *markup)
{
    begin_cell(out);
    for (; *markup; markup++) tt_text_add(out, *markup == '|' ? "\\|" : markup, *markup == '|' ? 2 : 1);
    tt_text_puts(out, " |");
}

void tt_md_end(struct tt_text *out) { tt_text_puts(out, "\n"); }

void tt_md_head(struct tt_text *out, const char *columns)
{
    struct tt_text rule = {0};
    for (const char *at = columns;; at++) {
        size_t n = strcspn(at, "|");
        bool right = n && at[n - 1] == ':';
        begin_cell(out);
        if (n) tt_md_printf(out, "%.*s ", (int)(n - right), at);
        tt_text_puts(out, "|");
        tt_text_puts(&rule, right ? "---:|" : "---|");
        at += n;
        if (!*at) break;
    }
    tt_text_printf(out, "\n|%s\n", rule.s ? rule.s : "");
    out->failed |= rule.failed;
    tt_text_free(&rule);
}
