/* The YAML subset of yaml.h: one pass over the text, a function per construct. */
#include "core/base/yaml.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/yaml_lines.h"

/* ---- nodes ---- */

static tt_status add_child(struct yaml_reader *r, struct tt_yaml *parent, struct tt_yaml **out)
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

static tt_status enter(struct yaml_reader *r)
{
    if (++r->depth > TT_YAML_DEPTH) return yaml_fail(r, "nested more than %d levels deep", TT_YAML_DEPTH);
    return TT_OK;
}

static tt_status take_key(struct yaml_reader *r, struct tt_yaml *map, char *key, enum tt_yaml_kind kind,
                          struct tt_yaml **entry)
{
    tt_status st = TT_OK;
    const struct tt_yaml *old = tt_yaml_get(map, key);
    if (kind != TT_YAML_STRING)
        st = yaml_fail(r, "the key %.60s is not a string; quote it", key);
    else if (strlen(key) > TT_YAML_KEY_SIZE)
        st = yaml_fail(r, "a key of more than %d bytes", TT_YAML_KEY_SIZE);
    else if (old)
        st = yaml_fail(r, "the key %.60s is repeated; it is in line %d already", key, old->line);
    else if (map->count == TT_YAML_KEYS)
        st = yaml_fail(r, "more than %d keys in one map", TT_YAML_KEYS);
    else
        st = add_child(r, map, entry);
    if (st) {
        free(key);
        return st;
    }
    (*entry)->key = key;
    return TT_OK;
}

/* ---- on one line ---- */

static tt_status flow_value(struct yaml_reader *r, struct tt_yaml *y);

/* After an item: skips its comma, or stays at the closing bracket. */
static tt_status flow_next(struct yaml_reader *r, char close)
{
    const char *what = close == ']' ? "list" : "map";
    skip_spaces(r);
    if (*r->p == ',')
        r->p++;
    else if (at_end(r->p))
        return yaml_fail(r, "the %s is not closed with %c in this line; write all of it in one line, as jq -c does",
                         what, close);
    else if (*r->p != close)
        return yaml_fail(r, "expected , or %c in the %s; quote the item if more belongs to it", close, what);
    skip_spaces(r);
    return TT_OK;
}

/* [a, b, [c], {d: e}] */
static tt_status flow_list(struct yaml_reader *r, struct tt_yaml *y)
{
    y->kind = TT_YAML_LIST;
    while (*r->p != ']') {
        struct tt_yaml *item = NULL;
        if (at_end(r->p)) return flow_next(r, ']');
        TT_TRY(add_child(r, y, &item));
        TT_TRY(flow_value(r, item));
        TT_TRY(flow_next(r, ']'));
    }
    return TT_OK;
}

/* {a: 1, b: [c], d: {e: f}, g:} */
static tt_status flow_map(struct yaml_reader *r, struct tt_yaml *y)
{
    y->kind = TT_YAML_MAP;
    while (*r->p != '}') {
        struct tt_yaml *entry = NULL;
        enum tt_yaml_kind kind;
        char *key;
        if (at_end(r->p)) return flow_next(r, '}');
        TT_TRY(yaml_scalar(r, true, &key, &kind));
        TT_TRY(take_key(r, y, key, kind, &entry));
        skip_spaces(r);
        if (*r->p != ':') return yaml_fail(r, "the key %.60s has no \": \" in the map", entry->key);
        r->p++;
        skip_spaces(r);
        if (!strchr(",}", *r->p)) TT_TRY(flow_value(r, entry));
        TT_TRY(flow_next(r, '}'));
    }
    return TT_OK;
}

static bool at_flow(const struct yaml_reader *r) { return *r->p == '[' || *r->p == '{'; }

static tt_status flow_value(struct yaml_reader *r, struct tt_yaml *y)
{
    if (!at_flow(r)) return yaml_scalar(r, true, &y->text, &y->kind);
    TT_TRY(enter(r));
    bool list = *r->p++ == '[';
    skip_spaces(r);
    TT_TRY(list ? flow_list(r, y) : flow_map(r, y));
    r->p++;
    r->depth--;
    return TT_OK;
}

/* ---- by indentation ---- */

static bool at_colon(struct yaml_reader *r)
{
    const char *p = r->p + strspn(r->p, " ");
    if (*p != ':' || !blank(p + 1)) return false;
    r->p = p;
    return true;
}

/* A value on the line of its key, or one that only begins there. */
static tt_status inline_value(struct yaml_reader *r, struct tt_yaml *y, int col)
{
    if (col >= 0 && at_folded(r)) {
        y->kind = TT_YAML_STRING;
        return yaml_folded(r, col, &y->text);
    }
    TT_TRY(at_flow(r) ? flow_value(r, y) : yaml_scalar(r, false, &y->text, &y->kind));
    if (at_colon(r))
        return yaml_fail(r, "a second \": \" in the line; quote the value, or put the inner map on its own lines");
    return yaml_end_line(r);
}

static tt_status block(struct yaml_reader *r, struct tt_yaml *y);

/* After "key:" or "-" at column col with nothing else on the line: the value is on the lines below, or null. */
static tt_status nothing_or_below(struct yaml_reader *r, struct tt_yaml *y, int col, bool list_may_align)
{
    TT_TRY(yaml_end_line(r));
    bool below = *r->p && (column(r) > col || (list_may_align && column(r) == col && at_dash(r)));
    return below ? block(r, y) : TT_OK;
}

static bool line_is_over(struct yaml_reader *r)
{
    const char *p = r->p + strspn(r->p, " ");
    return at_end(p) || (*p == '#' && p > r->p);
}

static tt_status deeper(const struct yaml_reader *r)
{
    return yaml_fail(r, "unexpected indentation; align keys and items of one level, and end a value on its line");
}

/* The map whose keys are at column col. The first key has been read and r is at its colon. */
static tt_status block_map(struct yaml_reader *r, struct tt_yaml *y, int col, char *key, enum tt_yaml_kind kind)
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
            TT_TRY(inline_value(r, entry, col));
        }
        if (*r->p == 0 || column(r) < col) return TT_OK;
        if (column(r) > col) return deeper(r);
        if (at_dash(r)) return yaml_fail(r, "a list item where a key is expected");
        TT_TRY(yaml_scalar(r, false, &key, &kind));
        if (at_colon(r)) continue;
        tt_status st = yaml_fail(r, "%.60s is not a \"key: value\"", key);
        free(key);
        return st;
    }
}

/* The list whose dashes are at column col. */
static tt_status block_list(struct yaml_reader *r, struct tt_yaml *y, int col)
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
static tt_status block(struct yaml_reader *r, struct tt_yaml *y)
{
    TT_TRY(enter(r));
    int col = column(r);
    if (at_dash(r)) {
        TT_TRY(block_list(r, y, col));
    } else if (at_flow(r)) {
        TT_TRY(inline_value(r, y, -1));
    } else {
        char *text;
        enum tt_yaml_kind kind;
        TT_TRY(yaml_scalar(r, false, &text, &kind));
        if (at_colon(r)) {
            TT_TRY(block_map(r, y, col, text, kind));
        } else {
            y->text = text;
            y->kind = kind;
            TT_TRY(yaml_end_line(r));
        }
    }
    r->depth--;
    return TT_OK;
}

static tt_status document(const char *text, struct tt_yaml *root)
{
    struct yaml_reader r = {.p = text, .line_start = text, .line = 1};
    TT_TRY(yaml_find_content(&r));
    if (*r.p == 0) return TT_OK;
    root->line = r.line;
    TT_TRY(block(&r, root));
    if (*r.p)
        return yaml_fail(&r, "\"%.*s\" does not fit the lines before it; check the indentation", yaml_excerpt(r.p),
                         r.p);
    return TT_OK;
}

tt_status tt_yaml_parse(const char *text, size_t n, struct tt_yaml **out)
{
    *out = NULL;
    if (n > TT_YAML_SIZE)
        return tt_fail(TT_USAGE, "line 1: the file is larger than %d bytes, the limit for YAML", TT_YAML_SIZE);
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) text += 3, n -= 3; /* a byte order mark */
    TT_TRY(yaml_check(text, n));
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
