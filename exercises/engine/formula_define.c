/* Formulas that check.yaml has given a name, and their parameters. */
#include <stdio.h>
#include <string.h>

#include "exercises/engine/formula_parts.h"

/* How many parameters a definition has: 2 for "gain(group, run)", 0 without brackets. */
static int parameters_of(const char *key)
{
    const char *at = strchr(key, '(');
    int n = at != NULL;
    for (; at && *at; at++) n += *at == ',';
    return n;
}

const struct tt_yaml *tt_formula_definition(const struct tt_formula_scope *scope, const char *name, int parameters)
{
    size_t n = strlen(name);
    for (const struct tt_yaml *y = scope->define ? scope->define->first : NULL; y; y = y->next)
        if (!strncmp(y->key, name, n) && (!y->key[n] || y->key[n] == '(') && parameters_of(y->key) == parameters)
            return y;
    return NULL;
}

/* The index of a parameter of a definition; -1: it has none of that name. */
static int place_of(const char *key, const char *name)
{
    const char *at = strchr(key, '(');
    size_t n = strlen(name);
    for (int i = 0; at; i++, at = strchr(at, ',')) {
        at += 1 + strspn(at + 1, " ");
        if (!strncmp(at, name, n) && strchr(" ,)", at[n])) return i;
    }
    return -1;
}

tt_status tt_formula_parameter(struct tt_formula_parser *p, struct tt_formula_value *out)
{
    const struct tt_formula_bound *bound = p->scope->bound;
    char name[64];
    *out = (struct tt_formula_value){0};
    if (!tt_formula_word(p, name, sizeof name)) return tt_formula_error(p, "a name is missing after the $");
    int i = bound ? place_of(bound->definition->key, name) : -1;
    if (i < 0) return tt_formula_error(p, "there is no parameter $%s here", name);
    *out = bound->values[i];
    out->cells = NULL; /* the rows of a word from argmax stay the caller's */
    out->count = out->compared = 0;
    return TT_OK;
}

tt_status tt_formula_defined(struct tt_formula_parser *p, const struct tt_yaml *definition,
                             const struct tt_formula_value *args, struct tt_formula_value *out)
{
    struct tt_formula_scope *scope = p->scope;
    const struct tt_formula_bound bound = {definition, args}, *outer = scope->bound;
    if (!definition->text) return tt_formula_error(p, "%s has no formula", definition->key);
    for (int i = 0; i < parameters_of(definition->key); i++)
        if (args[i].kind == TT_FORMULA_ROWS)
            return tt_formula_error(p, "%s takes numbers and words, no lists", definition->key);
    if (scope->nested >= 8)
        return tt_formula_error(p, "%s is defined by itself, or nested too deeply", definition->key);
    scope->nested++;
    scope->bound = &bound;
    tt_status st = tt_formula(definition->text, scope, out);
    scope->bound = outer;
    scope->nested--;
    return tt_context(st, "%s", definition->key);
}
