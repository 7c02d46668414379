/* The JSON reader: recursive descent. Nodes come from chunks and strings from one pool, freed together. */
#include "core/base/json.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"

enum { MAX_DEPTH = 64, MAX_CHUNK = 4096 };

/* ---- the tree: nodes in chunks, all strings in one pool ---- */

struct chunk {
    struct chunk *next;
    struct tt_json nodes[];
};

struct tree {
    struct tt_json root; /* first: tt_json_free gets its address */
    struct chunk *chunks;
    char *pool;
};

struct parser {
    const char *text, *p, *end;
    struct tree *tree;
    char *pool;        /* free bytes of the pool start here */
    size_t used, size; /* of the newest chunk, in nodes */
    int depth;
};

/* Lines and columns count from 1, columns in characters. */
static tt_status fail_at(const struct parser *s, const char *at, const char *what)
{
    size_t line = 1;
    const char *start = s->text;
    for (const char *p = s->text; p < at; p++) {
        if (*p != '\n') continue;
        line++;
        start = p + 1;
    }
    return tt_fail(TT_DAMAGED, "line %zu, column %zu: %s", line, tt_utf8_count(start, (size_t)(at - start)) + 1, what);
}

static tt_status new_node(struct parser *s, struct tt_json **out)
{
    if (s->used == s->size) {
        size_t size = s->size ? s->size * 2 : 8;
        if (size > MAX_CHUNK) size = MAX_CHUNK;
        struct chunk *c = malloc(sizeof *c + size * sizeof c->nodes[0]);
        if (!c) return tt_no_memory("JSON");
        c->next = s->tree->chunks;
        s->tree->chunks = c;
        s->used = 0;
        s->size = size;
    }
    *out = &s->tree->chunks->nodes[s->used++];
    **out = (struct tt_json){0};
    return TT_OK;
}

void tt_json_free(struct tt_json *j)
{
    struct tree *t = (struct tree *)j;
    if (!t) return;
    for (struct chunk *c = t->chunks, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(t->pool);
    free(t);
}

/* ---- strings ---- */

/* The value of four hexadecimal digits at p, or -1. */
static int hex4(const char *p, const char *end)
{
    if (end - p < 4) return -1;
    int value = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* At \uXXXX: one such escape, or two that make a surrogate pair. */
static tt_status parse_unicode(struct parser *s, char **o)
{
    const char *at = s->p;
    int c = hex4(at + 2, s->end);
    if (c < 0) return fail_at(s, at, "\\u needs four hexadecimal digits");
    s->p += 6;
    if (c == 0) return fail_at(s, at, "\\u0000 is not supported in strings");
    if (c >= 0xd800 && c < 0xe000) {
        int low = s->end - s->p >= 6 && s->p[0] == '\\' && s->p[1] == 'u' ? hex4(s->p + 2, s->end) : -1;
        if (c >= 0xdc00 || low < 0xdc00 || low > 0xdfff)
            return fail_at(s, at, "half of a surrogate pair is not a character");
        s->p += 6;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    *o += tt_utf8_encode((uint32_t)c, *o);
    return TT_OK;
}

static tt_status parse_escape(struct parser *s, char **o)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (s->end - s->p < 2) return fail_at(s, s->p, "the string has no end");
    if (s->p[1] == 'u') return parse_unicode(s, o);
    const char *name = s->p[1] ? strchr(names, s->p[1]) : NULL;
    if (!name) return fail_at(s, s->p, "unknown escape in a string; write a backslash as \\\\");
    *(*o)++ = values[name - names];
    s->p += 2;
    return TT_OK;
}

/* The pool cannot overflow: a string takes one byte less there than in the text (a 0 instead of two quotes), and a
 * number takes its digits and a 0, which the separator after it has paid for. A number that ends the text has none, so
 * the pool is slightly longer than the text. */
static tt_status parse_string(struct parser *s, const char **out)
{
    const char *open = s->p++;
    char *o = s->pool;
    for (;;) {
        if (s->p == s->end) return fail_at(s, open, "the string has no end");
        unsigned char c = (unsigned char)*s->p;
        if (c == '"') break;
        if (c < 0x20) return fail_at(s, s->p, "control character in a string; write it as an escape such as \\n");
        if (c == '\\') {
            TT_TRY(parse_escape(s, &o));
            continue;
        }
        uint32_t point;
        int n = tt_utf8_decode(s->p, (size_t)(s->end - s->p), &point);
        if (!tt_utf8_is_character(point)) return fail_at(s, s->p, "invalid UTF-8");
        memcpy(o, s->p, (size_t)n);
        o += n;
        s->p += n;
    }
    s->p++;
    *o++ = 0;
    *out = s->pool;
    s->pool = o;
    return TT_OK;
}

/* ---- values ---- */

static void skip_space(struct parser *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r')) s->p++;
}

static bool next_is(const struct parser *s, char c) { return s->p < s->end && *s->p == c; }

static size_t skip_digits(struct parser *s)
{
    const char *from = s->p;
    while (s->p < s->end && *s->p >= '0' && *s->p <= '9') s->p++;
    return (size_t)(s->p - from);
}

static bool skip_number(struct parser *s)
{
    if (next_is(s, '-')) s->p++;
    bool zero = next_is(s, '0');
    size_t digits = skip_digits(s);
    if (!digits || (zero && digits > 1)) return false;
    if (next_is(s, '.')) {
        s->p++;
        if (!skip_digits(s)) return false;
    }
    if (next_is(s, 'e') || next_is(s, 'E')) {
        s->p++;
        if (next_is(s, '+') || next_is(s, '-')) s->p++;
        if (!skip_digits(s)) return false;
    }
    return s->p == s->end || strchr(",]} \t\r\n", *s->p) != NULL;
}

static tt_status parse_number(struct parser *s, struct tt_json *j)
{
    const char *from = s->p;
    if (!skip_number(s)) return fail_at(s, from, "not a valid JSON number");
    size_t n = (size_t)(s->p - from);
    memcpy(s->pool, from, n);
    s->pool[n] = 0;
    j->type = TT_JSON_NUMBER;
    j->string = s->pool;
    j->number = strtod(s->pool, NULL);
    s->pool += n + 1;
    return isfinite(j->number) ? TT_OK : fail_at(s, from, "this number is too large");
}

static tt_status parse_word(struct parser *s, struct tt_json *j)
{
    static const struct {
        const char *word;
        enum tt_json_type type;
        bool value;
    } words[] = {{"null", TT_JSON_NULL, false}, {"true", TT_JSON_BOOL, true}, {"false", TT_JSON_BOOL, false}};
    for (int i = 0; i < 3; i++) {
        size_t n = strlen(words[i].word);
        if ((size_t)(s->end - s->p) < n || memcmp(s->p, words[i].word, n) != 0) continue;
        s->p += n;
        j->type = words[i].type;
        j->boolean = words[i].value;
        return TT_OK;
    }
    bool python = s->end - s->p >= 3 && (!memcmp(s->p, "NaN", 3) || !memcmp(s->p, "Inf", 3));
    return fail_at(s, s->p, python ? "JSON has no NaN and no Infinity; write null" : "expected a value");
}

static tt_status parse_value(struct parser *s, struct tt_json *j);

static tt_status parse_key(struct parser *s, const char **key)
{
    skip_space(s);
    if (!next_is(s, '"')) return fail_at(s, s->p, "expected a name in double quotes");
    TT_TRY(parse_string(s, key));
    skip_space(s);
    if (!next_is(s, ':')) return fail_at(s, s->p, "expected ':' after the name");
    s->p++;
    return TT_OK;
}

static tt_status parse_children(struct parser *s, struct tt_json *j)
{
    bool object = *s->p == '{';
    char close = object ? '}' : ']';
    if (s->depth == MAX_DEPTH) return fail_at(s, s->p, "nested more than 64 levels deep");
    s->depth++;
    s->p++;
    j->type = object ? TT_JSON_OBJECT : TT_JSON_ARRAY;
    skip_space(s);
    for (struct tt_json **link = &j->first; !next_is(s, close) || j->count; link = &(*link)->next) {
        struct tt_json *child = NULL;
        TT_TRY(new_node(s, &child));
        if (object) TT_TRY(parse_key(s, &child->key));
        TT_TRY(parse_value(s, child));
        *link = child;
        j->count++;
        skip_space(s);
        if (next_is(s, close)) break;
        if (!next_is(s, ',')) return fail_at(s, s->p, object ? "expected ',' or '}'" : "expected ',' or ']'");
        s->p++;
    }
    s->p++;
    s->depth--;
    return TT_OK;
}

static tt_status parse_value(struct parser *s, struct tt_json *j)
{
    skip_space(s);
    if (s->p == s->end) return fail_at(s, s->p, "the text ends where a value should be");
    char c = *s->p;
    if (c == '{' || c == '[') return parse_children(s, j);
    if (c == '-' || (c >= '0' && c <= '9')) return parse_number(s, j);
    if (c != '"') return parse_word(s, j);
    j->type = TT_JSON_STRING;
    return parse_string(s, &j->string);
}

static tt_status parse_document(struct parser *s)
{
    if (s->end - s->p >= 3 && !memcmp(s->p, "\xef\xbb\xbf", 3)) s->p += 3; /* a byte order mark may be ignored */
    TT_TRY(parse_value(s, &s->tree->root));
    skip_space(s);
    return s->p == s->end ? TT_OK : fail_at(s, s->p, "unexpected text after the value");
}

tt_status tt_json_parse(const char *text, size_t n, struct tt_json **out)
{
    *out = NULL;
    if (n > INT_MAX) return tt_fail(TT_FAILED, "JSON of %zu bytes is too large: the limit is 2 GiB", n);
    struct tree *tree = calloc(1, sizeof *tree);
    if (tree) tree->pool = malloc(n + 2);
    if (!tree || !tree->pool) {
        free(tree);
        return tt_no_memory("JSON");
    }
    struct parser s = {.text = text, .p = text, .end = text + n, .tree = tree, .pool = tree->pool};
    tt_status st = parse_document(&s);
    if (st)
        tt_json_free(&tree->root);
    else
        *out = &tree->root;
    return st;
}

/* ---- reading the tree ---- */

const struct tt_json *tt_json_get(const struct tt_json *object, const char *key)
{
    const struct tt_json *found = NULL;
    if (!object || object->type != TT_JSON_OBJECT) return NULL;
    for (const struct tt_json *j = object->first; j; j = j->next)
        if (!strcmp(j->key, key)) found = j;
    return found;
}

const char *tt_json_string(const struct tt_json *object, const char *key, const char *otherwise)
{
    const struct tt_json *j = tt_json_get(object, key);
    return j && j->type == TT_JSON_STRING ? j->string : otherwise;
}

double tt_json_number(const struct tt_json *object, const char *key, double otherwise)
{
    const struct tt_json *j = tt_json_get(object, key);
    return j && j->type == TT_JSON_NUMBER ? j->number : otherwise;
}

bool tt_json_as_int(const struct tt_json *j, int64_t min, int64_t max, int64_t *out)
{
    if (!j || j->type != TT_JSON_NUMBER) return false;
    char *end;
    errno = 0;
    long long value = strtoll(j->string, &end, 10);
    if (errno || *end || value < min || value > max) return false;
    *out = value;
    return true;
}

bool tt_json_as_uint(const struct tt_json *j, uint64_t min, uint64_t max, uint64_t *out)
{
    if (!j || j->type != TT_JSON_NUMBER || j->string[0] == '-') return false;
    char *end;
    errno = 0;
    uint64_t value = strtoull(j->string, &end, 10);
    if (errno || *end || value < min || value > max) return false;
    *out = value;
    return true;
}

bool tt_json_int(const struct tt_json *object, const char *key, int64_t min, int64_t max, int64_t *out)
{
    return tt_json_as_int(tt_json_get(object, key), min, max, out);
}

bool tt_json_uint(const struct tt_json *object, const char *key, uint64_t min, uint64_t max, uint64_t *out)
{
    return tt_json_as_uint(tt_json_get(object, key), min, max, out);
}
