/* Paths in formulas: run:groups[attention_scores].share */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exercises/engine/formula_parts.h"

/* How far a path was followed: to one node, or to several rows. */
struct place {
    const struct tt_json *node; /* NULL: missing */
    bool rows;
    struct tt_formula_value list;
};

const char *tt_formula_row_name(const struct tt_json *row)
{
    static const char *const keys[] = {"name", "kind", "axis"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *name = tt_json_string(row, keys[i], NULL);
        if (name) return name;
    }
    return "";
}

double tt_formula_cell_number(const struct tt_formula_cell *c)
{
    return c->value && c->value->type == TT_JSON_NUMBER ? c->value->number : NAN;
}

static tt_status find_run(struct tt_formula_parser *p, const char *name, const struct tt_formula_run **out)
{
    int place = tt_formula_place(p->scope, name);
    if (!name) name = p->scope->run;
    if (place < 0) return tt_formula_error(p, "there is no run %s", name ? name : "at all");
    p->scope->reads |= 1u << place;
    *out = tt_formula_read(p, place);
    return TT_OK;
}

/* ---- rows ---- */

static tt_status spread(struct tt_formula_parser *p, struct place *at)
{
    if (at->rows || !at->node) return TT_OK;
    if (at->node->type != TT_JSON_ARRAY) return tt_formula_error(p, "[ ] needs a list");
    at->list.kind = TT_FORMULA_ROWS;
    at->list.cells = calloc((size_t)at->node->count + 1, sizeof *at->list.cells);
    if (!at->list.cells) return tt_no_memory("a formula");
    for (const struct tt_json *row = at->node->first; row; row = row->next)
        at->list.cells[at->list.count++] = (struct tt_formula_cell){row, row};
    at->rows = true;
    return TT_OK;
}

/* Goes on with row i alone; if there is no such row, the path is missing. */
static void pick(struct place *at, int i)
{
    const struct tt_json *node = i >= 0 && i < at->list.count ? at->list.cells[i].value : NULL;
    tt_formula_free(&at->list);
    *at = (struct place){.node = node};
}

static bool holds(const struct tt_json *row, const char *column, const char *operator, const char *wanted)
{
    const struct tt_json *value = tt_json_get(row, column);
    if (operator[0] == '<' || operator[0] == '>') {
        double limit = strtod(wanted, NULL), x = value && value->type == TT_JSON_NUMBER ? value->number : NAN;
        return operator[0] == '<' ? x < limit : x > limit;
    }
    if (operator[0] == '~') return value && value->type == TT_JSON_STRING && strstr(value->string, wanted);
    bool equal = false;
    if (value && value->type == TT_JSON_STRING) equal = !strcmp(value->string, wanted);
    if (value && value->type == TT_JSON_NUMBER) equal = value->number == strtod(wanted, NULL);
    if (value && value->type == TT_JSON_BOOL) equal = !strcmp(value->boolean ? "true" : "false", wanted);
    return equal == (operator[0] == '=');
}

static void keep(struct place *at, const char *column, const char *operator, const char *wanted)
{
    int kept = 0;
    for (int i = 0; i < at->list.count; i++)
        if (holds(at->list.cells[i].row, column, operator, wanted)) at->list.cells[kept++] = at->list.cells[i];
    at->list.count = kept;
}

/* ---- what stands in brackets ---- */

static tt_status parameter_text(struct tt_formula_parser *p, char *out, size_t size)
{
    struct tt_formula_value v;
    p->at++;
    TT_TRY(tt_formula_parameter(p, &v));
    if (v.kind != TT_FORMULA_WORD) return tt_formula_error(p, "in brackets a parameter has to be a word");
    snprintf(out, size, "%s", v.word);
    tt_formula_skip(p);
    return TT_OK;
}

static tt_status bare_text(struct tt_formula_parser *p, const char *stops, char *out, size_t size)
{
    tt_formula_skip(p);
    if (*p->at == '\'') return tt_formula_quoted(p, out, size);
    if (*p->at == '$') return parameter_text(p, out, size);
    size_t n = strcspn(p->at, stops);
    if (n >= size) return tt_formula_error(p, "the text is too long");
    snprintf(out, size, "%.*s", (int)n, p->at);
    p->at += n;
    while (n > 0 && out[n - 1] == ' ') out[--n] = 0;
    return n ? TT_OK : tt_formula_error(p, "a name or a condition is missing");
}

static tt_status condition(struct tt_formula_parser *p, struct place *at, const char *column)
{
    const char *operator = tt_formula_take(p, "!=") ? "!=" : tt_formula_take(p, "<") ? "<" : tt_formula_take(p, ">") ?
                           ">" : tt_formula_take(p, "~") ? "~" : "=";
    char wanted[128];
    if (operator[0] == '=' && !tt_formula_take(p, "=")) return tt_formula_error(p, "= or ] is missing");
    TT_TRY(bare_text(p, ",]", wanted, sizeof wanted));
    if (at->rows) keep(at, column, operator, wanted);
    return TT_OK;
}

static int named(const struct place *at, const char *name)
{
    for (int i = 0; i < at->list.count; i++)
        if (!strcmp(tt_formula_row_name(at->list.cells[i].row), name)) return i;
    return -1;
}

static tt_status selection(struct tt_formula_parser *p, struct place *at)
{
    char text[128];
    TT_TRY(spread(p, at));
    TT_TRY(bare_text(p, ",]=!<>~", text, sizeof text));
    if (tt_formula_take(p, "]")) {
        bool index = text[0] && strspn(text, "0123456789") == strlen(text);
        if (at->rows) pick(at, index ? atoi(text) : named(at, text));
        return TT_OK;
    }
    TT_TRY(condition(p, at, text));
    while (tt_formula_take(p, ",")) {
        TT_TRY(bare_text(p, ",]=!<>~", text, sizeof text));
        TT_TRY(condition(p, at, text));
    }
    return tt_formula_take(p, "]") ? TT_OK : tt_formula_error(p, "a ] is missing");
}

/* ---- columns ---- */

static tt_status descend(struct tt_formula_parser *p, struct place *at, const char *key)
{
    if (!at->rows && !at->node) return TT_OK;
    if (!at->rows && at->node->type == TT_JSON_ARRAY) TT_TRY(spread(p, at));
    if (!at->rows) {
        const struct tt_json *child = tt_json_get(at->node, key);
        if (!child && !p->lenient) return tt_formula_error(p, "the profile has no %s there", key);
        at->node = child;
        return TT_OK;
    }
    bool found = !at->list.count;
    for (int i = 0; i < at->list.count; i++) {
        struct tt_formula_cell *c = &at->list.cells[i];
        c->value = tt_json_get(c->value, key);
        found |= c->value != NULL;
    }
    return found || p->lenient ? TT_OK : tt_formula_error(p, "the rows have no %s", key);
}

static tt_status finish(struct tt_formula_parser *p, struct place *at, struct tt_formula_value *out)
{
    if (at->node && !at->rows && at->node->type == TT_JSON_ARRAY) TT_TRY(spread(p, at));
    if (at->rows) {
        *out = at->list;
        at->list = (struct tt_formula_value){0};
        return TT_OK;
    }
    if (!at->node || at->node->type == TT_JSON_NULL) return TT_OK;
    if (at->node->type == TT_JSON_OBJECT) return tt_formula_error(p, "a column is missing: .seconds, .share, ...");
    if (at->node->type == TT_JSON_NUMBER) *out = tt_formula_number(at->node->number);
    if (at->node->type == TT_JSON_BOOL) *out = tt_formula_truth(at->node->boolean);
    if (at->node->type == TT_JSON_STRING) {
        out->kind = TT_FORMULA_WORD;
        snprintf(out->word, sizeof out->word, "%s", at->node->string);
    }
    return TT_OK;
}

/* Follows .columns and [selections] to the end of the path. Leaves its last name in `key`. */
static tt_status follow(struct tt_formula_parser *p, struct place *at, char key[64])
{
    for (;;) {
        if (tt_formula_take(p, "[")) {
            TT_TRY(selection(p, at));
        } else if (*p->at == '.' && p->at++) {
            if (!tt_formula_word(p, key, 64)) return tt_formula_error(p, "a name is missing after the point");
            TT_TRY(descend(p, at, key));
        } else {
            return TT_OK;
        }
    }
}

tt_status tt_formula_path(struct tt_formula_parser *p, const char *first, struct tt_formula_value *out)
{
    char key[64];
    const struct tt_formula_run *run = NULL;
    bool names_run = *p->at == ':';
    const struct tt_yaml *definition = tt_formula_definition(p->scope, first, 0);
    if (definition && !strchr(":.[", *p->at ? *p->at : ' ')) return tt_formula_defined(p, definition, NULL, out);
    TT_TRY(find_run(p, names_run ? first : NULL, &run));
    snprintf(key, sizeof key, "%s", first);
    if (names_run && (p->at++, !tt_formula_word(p, key, sizeof key)))
        return tt_formula_error(p, "a path is missing after the run");
    struct place at = {.node = run->profile};
    tt_status st = descend(p, &at, key);
    if (!st) st = follow(p, &at, key);
    if (!st) st = finish(p, &at, out);
    tt_formula_free(&at.list);
    return st;
}
