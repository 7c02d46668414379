/* The lines of YAML: characters, comments, quotes, escapes and plain scalars. */
#include "core/base/yaml_lines.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/utf8.h"
#include "core/base/yaml_scalar.h"

tt_status yaml_fail(const struct yaml_reader *r, const char *format, ...)
{
    char what[400];
    va_list ap;
    va_start(ap, format);
    vsnprintf(what, sizeof what, format, ap);
    va_end(ap);
    return tt_fail(TT_USAGE, "line %d: %s", r->line, what);
}

/* How many bytes at p to quote in a message: the rest of the line, at most 40. */
int yaml_excerpt(const char *p)
{
    size_t n = strcspn(p, "\r\n");
    return n < 40 ? (int)n : 40;
}

/* ---- characters ---- */

tt_status yaml_check(const char *text, size_t n)
{
    struct yaml_reader at = {.line = 1};
    for (size_t i = 0; i < n;) {
        uint32_t code;
        int length = tt_utf8_decode(text + i, n - i, &code);
        if (!tt_utf8_is_character(code)) return yaml_fail(&at, "not valid UTF-8; save the file as UTF-8");
        bool crlf = code == '\r' && i + 1 < n && text[i + 1] == '\n';
        if (code == '\n')
            at.line++;
        else if (!crlf && !tt_yaml_printable(code))
            return yaml_fail(&at, "the character U+%04X is not allowed here; write it as an escape in double quotes",
                             code);
        i += (size_t)length;
    }
    return TT_OK;
}

/* ---- lines ---- */

static bool at_marker(const struct yaml_reader *r)
{
    bool marker = strncmp(r->p, "---", 3) == 0 || strncmp(r->p, "...", 3) == 0;
    return marker && column(r) == 0 && (blank(r->p + 3) || r->p[3] == '\t');
}

/* Skips the one --- that is allowed, before everything else. */
static tt_status skip_marker(struct yaml_reader *r)
{
    if (r->begun || r->p[0] != '-')
        return yaml_fail(r, "only one document in a file; remove this line and what follows");
    r->begun = true;
    r->p += 3;
    skip_spaces(r);
    if (*r->p != '#' && !at_end(r->p)) return yaml_fail(r, "put what follows --- on a line of its own");
    return TT_OK;
}

/* Skips blank lines and comments up to the next content. */
tt_status yaml_find_content(struct yaml_reader *r)
{
    for (;;) {
        skip_spaces(r);
        if (*r->p == '#') r->p += strcspn(r->p, "\r\n");
        if (*r->p == 0) return TT_OK;
        if (line_break(r->p)) {
            r->p += *r->p == '\r' ? 2 : 1;
            r->line_start = r->p;
            r->line++;
        } else if (*r->p == '\t') {
            return yaml_fail(r, "a tab; indent with spaces");
        } else if (at_marker(r)) {
            TT_TRY(skip_marker(r));
        } else {
            r->begun = true;
            return TT_OK;
        }
    }
}

/* Ends a line, where only a comment may still follow, and goes to the next content. */
tt_status yaml_end_line(struct yaml_reader *r)
{
    bool spaced = *r->p == ' ';
    skip_spaces(r);
    if (*r->p == '#' && !spaced) return yaml_fail(r, "a comment needs a space before its #");
    if (*r->p == '\t') return yaml_fail(r, "a tab; put spaces between words, or quote the value");
    if (*r->p != '#' && !at_end(r->p))
        return yaml_fail(r, "\"%.*s\" after the value; quote the whole value", yaml_excerpt(r->p), r->p);
    return yaml_find_content(r);
}

/* ---- scalars ---- */

static tt_status single_quoted(struct yaml_reader *r, char *to)
{
    for (r->p++;; r->p++) {
        if (at_end(r->p)) return yaml_fail(r, "the quote ' is not closed in this line");
        if (*r->p == '\'' && *++r->p != '\'') break;
        *to++ = *r->p;
    }
    *to = 0;
    return TT_OK;
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* The escape at r->p, just after its backslash. */
static tt_status escape(struct yaml_reader *r, char **to)
{
    static const char letters[] = "\\\"/abtnvfre ", meant[] = "\\\"/\a\b\t\n\v\f\r\033 ";
    char letter = *r->p;
    if (at_end(r->p)) return yaml_fail(r, "a value ends in its line; \\ cannot continue it in the next");
    const char *simple = strchr(letters, letter);
    r->p++;
    if (simple) {
        *(*to)++ = meant[simple - letters];
        return TT_OK;
    }
    int digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    if (digits == 0) return yaml_fail(r, "the escape \\%c is not known; a backslash itself is \\\\", letter);
    uint32_t code = 0;
    for (int i = 0; i < digits; i++, r->p++) {
        int value = hex_digit(*r->p);
        if (value < 0) return yaml_fail(r, "\\%c needs %d hexadecimal digits", letter, digits);
        code = code << 4 | (uint32_t)value;
    }
    if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return yaml_fail(r, "\\%c%0*X is not a character", letter, digits, code);
    *to += tt_utf8_encode(code, *to);
    return TT_OK;
}

static tt_status double_quoted(struct yaml_reader *r, char *to)
{
    for (r->p++; *r->p != '"';) {
        if (at_end(r->p)) return yaml_fail(r, "the quote \" is not closed in this line");
        if (*r->p != '\\') {
            *to++ = *r->p++;
            continue;
        }
        r->p++;
        TT_TRY(escape(r, &to));
    }
    r->p++;
    *to = 0;
    return TT_OK;
}

/* Why a plain scalar cannot begin here, or NULL. */
static const char *bad_start(const char *p, bool flow)
{
    if (*p == '&' || *p == '*') return "anchors and aliases (& and *) are not supported; quote the value";
    if (*p == '!') return "tags (!) are not supported; quote the value";
    if (*p == '|' || *p == '>') return "of block scalars only >- behind a key is supported; write \"...\\n...\"";
    if (*p == '\t') return "a tab; put spaces between words, or quote the value";
    if (strchr(",[]{}#%@`", *p)) return "a value cannot begin with this character; quote it";
    bool alone = blank(p + 1) || (flow && strchr(",[]{}", p[1]));
    if (*p == '-' && alone) return "a list item is not allowed here; begin the list on a line of its own";
    if ((*p == '?' || *p == ':') && (alone || flow)) return "a value cannot begin with ? or : here; quote it";
    return NULL;
}

/* Up to the end of the line, a comment or ": "; inside [ ] and { } also up to a comma or bracket. */
static tt_status plain(struct yaml_reader *r, bool flow, char *to)
{
    const char *why = bad_start(r->p, flow);
    if (why) return yaml_fail(r, "%s", why);
    const char *start = r->p, *p = start;
    for (; !at_end(p); p++) {
        if (*p == '\t') return yaml_fail(r, "a tab; put spaces between words, or quote the value");
        if (*p == '#' && p > start && p[-1] == ' ') break;
        if (*p == ':' && (blank(p + 1) || (flow && strchr(",[]{}", p[1])))) break;
        if (flow && strchr(",]}", *p)) break;
        if (flow && strchr("?:[{", *p)) return yaml_fail(r, "a \"%c\" inside [ ] or { }; quote the item", *p);
    }
    while (p > start && p[-1] == ' ') p--;
    memcpy(to, start, (size_t)(p - start));
    to[p - start] = 0;
    r->p = p;
    return TT_OK;
}

/* An upper bound on the bytes of the scalar at p. Decoding an escape never makes it longer. */
static size_t extent(const char *p, bool flow)
{
    const char *q = p + 1;
    if (*p == '\'')
        while (!at_end(q) && (q[0] != '\'' || q[1] == '\'')) q += *q == '\'' ? 2 : 1;
    else if (*p == '"')
        while (!at_end(q) && *q != '"') q += *q == '\\' && !at_end(q + 1) ? 2 : 1;
    else
        q = p + strcspn(p, flow ? ",]}\r\n" : "\r\n");
    return (size_t)(q - p);
}

/* Reads the scalar at r->p into a new string, and tells its kind. */
tt_status yaml_scalar(struct yaml_reader *r, bool flow, char **text, enum tt_yaml_kind *kind)
{
    char *s = malloc(extent(r->p, flow) + sizeof "false");
    if (!s) return tt_no_memory("reading YAML");
    char first = *r->p;
    *kind = TT_YAML_STRING;
    tt_status st = first == '\'' ? single_quoted(r, s) : first == '"' ? double_quoted(r, s) : plain(r, flow, s);
    if (!st && first != '\'' && first != '"' && !tt_yaml_resolve(s, kind))
        st = yaml_fail(r,
                       "%.60s means different things to different YAML readers; quote it if it is a string, "
                       "write true, false or a plain decimal number if it is not",
                       s);
    if (st) {
        free(s);
        return st;
    }
    if (*kind == TT_YAML_BOOL) strcpy(s, *s == 't' || *s == 'T' ? "true" : "false");
    *text = s;
    return TT_OK;
}
