/* The YAML subset of yaml.h: one pass over the text, a function per construct. */
#include "core/base/yaml.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/base/yaml_scalar.h"

struct reader {
    const char *p; /* next byte; the text is a copy that ends with its only 0 */
    const char *line_start;
    int line, depth;
    bool begun; /* a marker or content was seen; --- is no longer allowed */
};

static tt_status fail_at(const struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static tt_status fail_at(const struct reader *r, const char *format, ...)
{
    char what[400];
    va_list ap;
    va_start(ap, format);
    vsnprintf(what, sizeof what, format, ap);
    va_end(ap);
    return tt_fail(TT_USAGE, "line %d: %s", r->line, what);
}

/* How many bytes at p to quote in a message: the rest of the line, at most 40. */
static int excerpt(const char *p)
{
    size_t n = strcspn(p, "\r\n");
    return n < 40 ? (int)n : 40;
}

/* ---- characters ---- */

static tt_status check_characters(const char *text, size_t n)
{
    struct reader at = {.line = 1};
    for (size_t i = 0; i < n;) {
        uint32_t code;
        int length = tt_utf8_decode(text + i, n - i, &code);
        if (!tt_utf8_is_character(code)) return fail_at(&at, "not valid UTF-8; save the file as UTF-8");
        bool crlf = code == '\r' && i + 1 < n && text[i + 1] == '\n';
        if (code == '\n')
            at.line++;
        else if (!crlf && !tt_yaml_printable(code))
            return fail_at(&at, "the character U+%04X is not allowed there; write it as an escape in double quotes",
                           code);
        i += (size_t)length;
    }
    return TT_OK;
}

static bool line_break(const char *p) { return *p == '\n' || *p == '\r'; }
static bool at_end(const char *p) { return *p == 0 || line_break(p); }
static bool blank(const char *p) { return *p == ' ' || at_end(p); }
static int column(const struct reader *r) { return (int)(r->p - r->line_start); }
static void skip_spaces(struct reader *r) { r->p += strspn(r->p, " "); }
static bool at_dash(const struct reader *r) { return r->p[0] == '-' && blank(r->p + 1); }

/* ---- lines ---- */

static bool at_marker(const struct reader *r)
{
    bool marker = strncmp(r->p, "---", 3) == 0 || strncmp(r->p, "...", 3) == 0;
    return marker && column(r) == 0 && (blank(r->p + 3) || r->p[3] == '\t');
}

/* Skips the one --- that is allowed, before everything else. */
static tt_status skip_marker(struct reader *r)
{
    if (r->begun || r->p[0] != '-') return fail_at(r, "only one document in a file; remove this line and what follows");
    r->begun = true;
    r->p += 3;
    skip_spaces(r);
    if (*r->p != '#' && !at_end(r->p)) return fail_at(r, "put what follows --- on a line of its own");
    return TT_OK;
}

/* Skips blank lines and comments up to the next content. */
static tt_status find_content(struct reader *r)
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
            return fail_at(r, "a tab; indent with spaces");
        } else if (at_marker(r)) {
            TT_TRY(skip_marker(r));
        } else {
            r->begun = true;
            return TT_OK;
        }
    }
}

/* Ends a line, where only a comment may still follow, and goes to the next content. */
static tt_status end_line(struct reader *r)
{
    bool spaced = *r->p == ' ';
    skip_spaces(r);
    if (*r->p == '#' && !spaced) return fail_at(r, "a comment needs a space before its #");
    if (*r->p == '\t') return fail_at(r, "a tab; put spaces between words, or quote the value");
    if (*r->p != '#' && !at_end(r->p))
        return fail_at(r, "\"%.*s\" after the value; quote the whole value", excerpt(r->p), r->p);
    return find_content(r);
}

/* ---- scalars ---- */

static tt_status single_quoted(struct reader *r, char *to)
{
    for (r->p++;; r->p++) {
        if (at_end(r->p)) return fail_at(r, "the quote ' is not closed in this line");
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
static tt_status escape(struct reader *r, char **to)
{
    static const char letters[] = "\\\"/abtnvfre ", meant[] = "\\\"/\a\b\t\n\v\f\r\033 ";
    char letter = *r->p;
    if (at_end(r->p)) return fail_at(r, "a value ends in its line; \\ cannot continue it");
    const char *simple = strchr(letters, letter);
    r->p++;
    if (simple) {
        *(*to)++ = meant[simple - letters];
        return TT_OK;
    }
    int digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    if (digits == 0) return fail_at(r, "the escape \\%c is not known; a backslash itself is \\\\", letter);
    uint32_t code = 0;
    for (int i = 0; i < digits; i++, r->p++) {
        int value = hex_digit(*r->p);
        if (value < 0) return fail_at(r, "\\%c needs %d hexadecimal digits", letter, digits);
        code = code << 4 | (uint32_t)value;
    }
    if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return fail_at(r, "\\%c%0*X is not a character", letter, digits, code);
    *to += tt_utf8_encode(code, *to);
    return TT_OK;
}

static tt_status double_quoted(struct reader *r, char *to)
{
    for (r->p++; *r->p != '"';) {
        if (at_end(r->p)) return fail_at(r, "the quote \" is not closed in this line");
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
    if (*p == '|' || *p == '>') return "block scalars (| and >) are not supported; write \"...\\n...\"";
    if (*p == '{' || *p == '}') return "maps in braces are not supported; write one key a line";
    if (*p == '\t') return "a tab; put spaces between words, or quote the value";
    if (strchr(",[]#%@`", *p)) return "a value cannot begin with this character; quote it";
    bool alone = blank(p + 1) || (flow && strchr(",[]{}", p[1]));
    if (*p == '-' && alone) return "a list item is not allowed here; begin the list on a line of its own";
    if ((*p == '?' || *p == ':') && (alone || flow)) return "a value cannot begin with ? or : here; quote it";
    return NULL;
}

/* Up to the end of the line, a comment or ": "; inside [ ] also up to a comma or bracket. */
static tt_status plain(struct reader *r, bool flow, char *to)
{
    const char *why = bad_start(r->p, flow);
    if (why) return fail_at(r, "%s", why);
    const char *start = r->p, *p = start;
    for (; !at_end(p); p++) {
        if (*p == '\t') return fail_at(r, "a tab; put spaces between words, or quote the value");
        if (*p == '#' && p > start && p[-1] == ' ') break;
        if (!flow && *p == ':' && blank(p + 1)) break;
        if (flow && (*p == ',' || *p == ']')) break;
        if (flow && strchr("?:[{}", *p)) return fail_at(r, "a \"%c\" inside [ ]; quote the item", *p);
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
        q = p + strcspn(p, flow ? ",]\r\n" : "\r\n");
    return (size_t)(q - p);
}

/* Reads the scalar at r->p into a new string, and what kind it is. */
static tt_status scalar(struct reader *r, bool flow, char **text, enum tt_yaml_kind *kind)
{
    char *s = malloc(extent(r->p, flow) + sizeof "false");
    if (!s) return tt_no_memory("reading YAML");
    char first = *r->p;
    *kind = TT_YAML_STRING;
    tt_status st = first == '\'' ? single_quoted(r, s) : first == '"' ? double_quoted(r, s) : plain(r, flow, s);
    if (!st && first != '\'' && first != '"' && !tt_yaml_resolve(s, kind))
        st = fail_at(r,
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

/* ---- nodes ---- */

static tt_status add_child(struct reader *r, struct tt_yaml *parent, struct tt_yaml **out)
{
    struct tt_yaml *y = calloc(1, sizeof *y);
    if (!y) return tt_no_memory("reading YAML");
    y->line = r->line;
    if (parent->last)
        parent->last->next = y;
    else
        parent->first = y;
    parent->last = y;
    parent->count++;
    *out = y;
    return TT_OK;
}

static tt_status enter(struct reader *r)
{
    if (++r->depth > TT_YAML_DEPTH) return fail_at(r, "nested more than %d levels deep", TT_YAML_DEPTH);
    return TT_OK;
}

/* [a, b, [c]] */
static tt_status flow_list(struct reader *r, struct tt_yaml *y)
{
    TT_TRY(enter(r));
    y->kind = TT_YAML_LIST;
    r->p++;
    for (;;) {
        skip_spaces(r);
        if (*r->p == ']') break;
        if (at_end(r->p)) return fail_at(r, "the list is not closed with ] in this line");
        struct tt_yaml *item = NULL;
        TT_TRY(add_child(r, y, &item));
        TT_TRY(*r->p == '[' ? flow_list(r, item) : scalar(r, true, &item->text, &item->kind));
        skip_spaces(r);
        if (*r->p == ',')
            r->p++;
        else if (*r->p != ']')
            return fail_at(r, "expected , or ] in the list");
    }
    r->p++;
    r->depth--;
    return TT_OK;
}

static bool at_colon(struct reader *r)
{
    const char *p = r->p + strspn(r->p, " ");
    if (*p != ':' || !blank(p + 1)) return false;
    r->p = p;
    return true;
}

/* A value on the line of its key. */
static tt_status inline_value(struct reader *r, struct tt_yaml *y)
{
    TT_TRY(*r->p == '[' ? flow_list(r, y) : scalar(r, false, &y->text, &y->kind));
    if (at_colon(r))
        return fail_at(r, "a second \": \" in the line; quote the value, or put the inner map on its own lines");
    return end_line(r);
}

static tt_status block(struct reader *r, struct tt_yaml *y);

/* After "key:" or "-" at column col with nothing else on the line: the value is on the lines below, or null. */
static tt_status nothing_or_below(struct reader *r, struct tt_yaml *y, int col, bool list_may_align)
{
    TT_TRY(end_line(r));
    bool below = *r->p && (column(r) > col || (list_may_align && column(r) == col && at_dash(r)));
    return below ? block(r, y) : TT_OK;
}

static bool line_is_over(struct reader *r)
{
    const char *p = r->p + strspn(r->p, " ");
    return at_end(p) || (*p == '#' && p > r->p);
}

static tt_status take_key(struct reader *r, struct tt_yaml *map, char *key, enum tt_yaml_kind kind,
                          struct tt_yaml **entry)
{
    tt_status st = TT_OK;
    const struct tt_yaml *old = tt_yaml_get(map, key);
    if (kind != TT_YAML_STRING)
        st = fail_at(r, "the key %.60s is not a string; quote it", key);
    else if (strlen(key) > TT_YAML_KEY_SIZE)
        st = fail_at(r, "a key of more than %d bytes", TT_YAML_KEY_SIZE);
    else if (old)
        st = fail_at(r, "the key %.60s is repeated; it is in line %d already", key, old->line);
    else if (map->count == TT_YAML_KEYS)
        st = fail_at(r, "more than %d keys in one map", TT_YAML_KEYS);
    else
        st = add_child(r, map, entry);
    if (st) {
        free(key);
        return st;
    }
    (*entry)->key = key;
    return TT_OK;
}

static tt_status deeper(const struct reader *r)
{
    return fail_at(
        r,
        "unexpected indentation; align keys and items of one level, and end a value on its line");
}

/* The map whose keys are at column col. The first key has been read and r is at its colon. */
static tt_status block_map(struct reader *r, struct tt_yaml *y, int col, char *key, enum tt_yaml_kind kind)
{
    y->kind = TT_YAML_MAP;
    for (;;) {
        struct tt_yaml *entry = NULL;
        TT_TRY(take_key(r, y, key, kind, &entry));
        r->p++;
        if (line_is_over(r)) {
            TT_TRY(nothing_or_below(r, entry, col, true));
        } else {
            skip_spaces(r);
            TT_TRY(inline_value(r, entry));
        }
        if (*r->p == 0 || column(r) < col) return TT_OK;
        if (column(r) > col) return deeper(r);
        if (at_dash(r)) return fail_at(r, "a list item where a key is expected");
        TT_TRY(scalar(r, false, &key, &kind));
        if (at_colon(r)) continue;
        tt_status st = fail_at(r, "%.60s is not a \"key: value\"", key);
        free(key);
        return st;
    }
}

/* The list whose dashes are at column col. */
static tt_status block_list(struct reader *r, struct tt_yaml *y, int col)
{
    y->kind = TT_YAML_LIST;
    do {
        struct tt_yaml *item = NULL;
        TT_TRY(add_child(r, y, &item));
        r->p++;
        if (line_is_over(r)) {
            TT_TRY(nothing_or_below(r, item, col, false));
        } else {
            skip_spaces(r);
            TT_TRY(block(r, item));
        }
        if (*r->p && column(r) > col) return deeper(r);
    } while (*r->p && column(r) == col && at_dash(r));
    return TT_OK;
}

/* Whatever begins at r->p; its column is its indentation. */
static tt_status block(struct reader *r, struct tt_yaml *y)
{
    TT_TRY(enter(r));
    int col = column(r);
    if (at_dash(r)) {
        TT_TRY(block_list(r, y, col));
    } else if (*r->p == '[') {
        TT_TRY(inline_value(r, y));
    } else {
        char *text;
        enum tt_yaml_kind kind;
        TT_TRY(scalar(r, false, &text, &kind));
        if (at_colon(r)) {
            TT_TRY(block_map(r, y, col, text, kind));
        } else {
            y->text = text;
            y->kind = kind;
            TT_TRY(end_line(r));
        }
    }
    r->depth--;
    return TT_OK;
}

static tt_status document(const char *text, struct tt_yaml *root)
{
    struct reader r = {.p = text, .line_start = text, .line = 1};
    TT_TRY(find_content(&r));
    if (*r.p == 0) return TT_OK;
    root->line = r.line;
    TT_TRY(block(&r, root));
    if (*r.p) return fail_at(&r, "\"%.*s\" does not fit the lines before it; check the indentation", excerpt(r.p), r.p);
    return TT_OK;
}

tt_status tt_yaml_parse(const char *text, size_t n, struct tt_yaml **out)
{
    *out = NULL;
    if (n > TT_YAML_SIZE)
        return tt_fail(TT_USAGE, "line 1: the file is larger than %d bytes, the limit for YAML", TT_YAML_SIZE);
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) text += 3, n -= 3; /* a byte order mark */
    TT_TRY(check_characters(text, n));
    char *copy = malloc(n + 1);
    struct tt_yaml *root = calloc(1, sizeof *root);
    tt_status st = tt_no_memory("reading YAML");
    if (copy && root) {
        tt_status_free(st);
        memcpy(copy, text, n);
        copy[n] = 0;
        root->line = 1;
        st = document(copy, root);
    }
    free(copy);
    if (st)
        tt_yaml_free(root);
    else
        *out = root;
    return st;
}

void tt_yaml_free(struct tt_yaml *y)
{
    while (y) {
        struct tt_yaml *next = y->next;
        tt_yaml_free(y->first);
        free(y->key);
        free(y->text);
        free(y);
        y = next;
    }
}

const struct tt_yaml *tt_yaml_get(const struct tt_yaml *map, const char *key)
{
    if (map->kind != TT_YAML_MAP) return NULL;
    for (const struct tt_yaml *y = map->first; y; y = y->next)
        if (y->key && strcmp(y->key, key) == 0) return y;
    return NULL;
}
