/* Formulas: operators and their precedence. A formula is evaluated while it is parsed. */
#include "exercises/engine/formula.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exercises/engine/formula_parts.h"

static tt_status expression(struct tt_formula_parser *p, struct tt_formula_value *out);

void tt_formula_free(struct tt_formula_value *v)
{
    free(v->cells);
    *v = (struct tt_formula_value){0};
}

tt_status tt_formula_error(const struct tt_formula_parser *p, const char *format, ...)
{
    char why[256];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return tt_fail(TT_USAGE, "the formula \"%.200s\", at character %d: %s", p->text, (int)(p->at - p->text) + 1, why);
}

/* ---- reading characters ---- */

void tt_formula_skip(struct tt_formula_parser *p)
{
    while (*p->at == ' ') p->at++;
}

bool tt_formula_take(struct tt_formula_parser *p, const char *token)
{
    tt_formula_skip(p);
    size_t n = strlen(token);
    if (strncmp(p->at, token, n) != 0) return false;
    p->at += n;
    return true;
}

bool tt_formula_word(struct tt_formula_parser *p, char *out, size_t size)
{
    size_t n = 0;
    tt_formula_skip(p);
    if (!isalpha((unsigned char)*p->at) && *p->at != '_') return false;
    while ((isalnum((unsigned char)*p->at) || *p->at == '_') && n + 1 < size) out[n++] = *p->at++;
    out[n] = 0;
    return true;
}

tt_status tt_formula_quoted(struct tt_formula_parser *p, char *out, size_t size)
{
    const char *end = strchr(++p->at, '\'');
    if (!end) return tt_formula_error(p, "the quote is not closed");
    if ((size_t)(end - p->at) >= size) return tt_formula_error(p, "the text is too long");
    snprintf(out, size, "%.*s", (int)(end - p->at), p->at);
    p->at = end + 1;
    return TT_OK;
}

/* ---- values ---- */

static tt_status call(struct tt_formula_parser *p, const char *name, struct tt_formula_value *out)
{
    struct tt_formula_value args[TT_FORMULA_ARGS] = {0};
    int n = 0;
    tt_status st = TT_OK;
    bool outer = p->lenient, function = tt_formula_has_function(name);
    p->lenient = outer || !strcmp(name, "has");
    while (!st && n < TT_FORMULA_ARGS) {
        st = expression(p, &args[n++]);
        if (st || !tt_formula_take(p, ",")) break;
    }
    p->lenient = outer;
    const struct tt_yaml *definition = tt_formula_definition(p->scope, name, n);
    if (!st && !tt_formula_take(p, ")")) st = tt_formula_error(p, "a ) is missing, or %s has too many arguments", name);
    if (!st && !function && !definition) st = tt_formula_error(p, "there is no function %s of %d", name, n);
    if (!st) st = function ? tt_formula_call(p, name, args, n, out) : tt_formula_defined(p, definition, args, out);
    for (int i = 0; i < n; i++) tt_formula_free(&args[i]);
    return st;
}

/* A parameter: its value, or in $run:path the run that it names. */
static tt_status parameter(struct tt_formula_parser *p, struct tt_formula_value *out)
{
    TT_TRY(tt_formula_parameter(p, out));
    if (*p->at != ':') return TT_OK;
    if (out->kind != TT_FORMULA_WORD) return tt_formula_error(p, "the name of a run has to be a word");
    char run[sizeof out->word];
    memcpy(run, out->word, sizeof run);
    *out = (struct tt_formula_value){0};
    return tt_formula_path(p, run, out);
}

static tt_status primary(struct tt_formula_parser *p, struct tt_formula_value *out)
{
    char word[64];
    tt_formula_skip(p);
    if (*p->at == '\'') {
        out->kind = TT_FORMULA_WORD;
        return tt_formula_quoted(p, out->word, sizeof out->word);
    }
    if (isdigit((unsigned char)*p->at)) {
        char *end;
        *out = tt_formula_number(strtod(p->at, &end));
        p->at = end;
        return TT_OK;
    }
    if (tt_formula_take(p, "(")) {
        TT_TRY(expression(p, out));
        return tt_formula_take(p, ")") ? TT_OK : tt_formula_error(p, "a ) is missing");
    }
    if (tt_formula_take(p, "$")) return parameter(p, out);
    if (!tt_formula_word(p, word, sizeof word)) return tt_formula_error(p, "a value is missing here");
    return tt_formula_take(p, "(") ? call(p, word, out) : tt_formula_path(p, word, out);
}

static tt_status unary(struct tt_formula_parser *p, struct tt_formula_value *out)
{
    if (++p->depth > TT_FORMULA_DEPTH) return tt_formula_error(p, "this is nested too deeply");
    tt_status st;
    if (tt_formula_take(p, "-")) {
        st = unary(p, out);
        if (!st && out->kind == TT_FORMULA_NUMBER)
            out->number = -out->number;
        else if (!st && out->kind != TT_FORMULA_MISSING)
            st = tt_formula_error(p, "only a number has an opposite");
    } else {
        st = primary(p, out);
    }
    p->depth--;
    return st;
}

/* ---- operators ---- */

static bool missing(const struct tt_formula_value *a, const struct tt_formula_value *b)
{
    return a->kind == TT_FORMULA_MISSING || b->kind == TT_FORMULA_MISSING;
}

static tt_status arithmetic(struct tt_formula_parser *p, char operator, struct tt_formula_value *a,
                            const struct tt_formula_value *b)
{
    if (missing(a, b)) {
        tt_formula_free(a);
        return TT_OK;
    }
    if (a->kind != TT_FORMULA_NUMBER || b->kind != TT_FORMULA_NUMBER)
        return tt_formula_error(p, "%c needs a number on both sides; of a list take sum, max, ...", operator);
    double x = a->number, y = b->number;
    *a = tt_formula_number(operator == '+' ? x + y : operator == '-' ? x - y : operator == '*' ? x * y : x / y);
    return TT_OK;
}

typedef tt_status (*level)(struct tt_formula_parser *p, struct tt_formula_value *out);

static tt_status chain(struct tt_formula_parser *p, const char *operators, level operand, struct tt_formula_value *out)
{
    TT_TRY(operand(p, out));
    for (;;) {
        tt_formula_skip(p);
        if (!*p->at || !strchr(operators, *p->at)) return TT_OK;
        char operator = *p->at++;
        struct tt_formula_value right = {0};
        tt_status st = operand(p, &right);
        if (!st) st = arithmetic(p, operator, out, &right);
        tt_formula_free(&right);
        if (st) return st;
    }
}

static tt_status product(struct tt_formula_parser *p, struct tt_formula_value *out)
{
    return chain(p, "*/", unary, out);
}
static tt_status total(struct tt_formula_parser *p, struct tt_formula_value *out)
{
    return chain(p, "+-", product, out);
}

static tt_status compare(struct tt_formula_parser *p, const char *operator, struct tt_formula_value *a,
                         const struct tt_formula_value *b)
{
    bool words = a->kind == TT_FORMULA_WORD && b->kind == TT_FORMULA_WORD;
    bool numbers = a->kind == b->kind && (a->kind == TT_FORMULA_NUMBER || a->kind == TT_FORMULA_TRUTH);
    bool equality = operator[0] == '=' || operator[0] == '!';
    if (missing(a, b)) {
        tt_formula_free(a);
        return TT_OK;
    }
    if (!numbers && !(words && equality)) return tt_formula_error(p, "%s cannot compare these two", operator);
    double order = words ? strcmp(a->word, b->word) : a->number - b->number;
    bool equal = order == 0, less = order < 0;
    tt_formula_free(a);
    *a = tt_formula_truth(!strcmp(operator, "==") ? equal
                                                  : !strcmp(operator, "!=") ? !equal : !strcmp(operator, "<") ? less
                          : !strcmp(operator, "<=") ? less || equal : !strcmp(operator, ">") ? !less && !equal : !less);
    return TT_OK;
}

static tt_status comparison(struct tt_formula_parser *p, struct tt_formula_value *out)
{
    static const char *const operators[] = {"==", "!=", "<=", ">=", "<", ">"};
    TT_TRY(total(p, out));
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (!tt_formula_take(p, operators[i])) continue;
        struct tt_formula_value right = {0};
        tt_status st = total(p, &right);
        if (!st) st = compare(p, operators[i], out, &right);
        tt_formula_free(&right);
        return st;
    }
    return TT_OK;
}

/* ---- and, or, not ---- */

static bool take_word(struct tt_formula_parser *p, const char *word)
{
    size_t n = strlen(word);
    tt_formula_skip(p);
    if (strncmp(p->at, word, n) || isalnum((unsigned char)p->at[n]) || p->at[n] == '_') return false;
    p->at += n;
    return true;
}

static tt_status negation(struct tt_formula_parser *p, struct tt_formula_value *out)
{
    if (!take_word(p, "not")) return comparison(p, out);
    if (++p->depth > TT_FORMULA_DEPTH) return tt_formula_error(p, "this is nested too deeply");
    TT_TRY(negation(p, out));
    p->depth--;
    if (out->kind == TT_FORMULA_TRUTH)
        out->number = !out->number;
    else if (out->kind != TT_FORMULA_MISSING)
        return tt_formula_error(p, "not needs a comparison");
    return TT_OK;
}

/* Joins two truths with `and` or `or`. One that equals `decides` (false for and, true for or) decides the result, even
 * if the other is missing. */
static tt_status join(struct tt_formula_parser *p, const char *word, bool decides, struct tt_formula_value *a,
                      const struct tt_formula_value *b)
{
    const struct tt_formula_value *both[] = {a, b};
    bool decided = false;
    for (int i = 0; i < 2; i++) {
        if (both[i]->kind != TT_FORMULA_TRUTH && both[i]->kind != TT_FORMULA_MISSING)
            return tt_formula_error(p, "%s needs a comparison on both sides", word);
        decided |= both[i]->kind == TT_FORMULA_TRUTH && (both[i]->number != 0) == decides;
    }
    *a = missing(a, b) && !decided ? (struct tt_formula_value){0} : tt_formula_truth(decided == decides);
    return TT_OK;
}

static tt_status logic(struct tt_formula_parser *p, const char *word, bool decides, level operand,
                       struct tt_formula_value *out)
{
    TT_TRY(operand(p, out));
    while (take_word(p, word)) {
        struct tt_formula_value right = {0};
        tt_status st = operand(p, &right);
        if (!st) st = join(p, word, decides, out, &right);
        tt_formula_free(&right);
        if (st) return st;
    }
    return TT_OK;
}

static tt_status conjunction(struct tt_formula_parser *p, struct tt_formula_value *out)
{
    return logic(p, "and", false, negation, out);
}
static tt_status expression(struct tt_formula_parser *p, struct tt_formula_value *out)
{
    return logic(p, "or", true, conjunction, out);
}

tt_status tt_formula(const char *text, struct tt_formula_scope *scope, struct tt_formula_value *out)
{
    struct tt_formula_parser p = {.text = text, .at = text, .scope = scope};
    *out = (struct tt_formula_value){0};
    for (const char *s = text; *s; s++)
        if (iscntrl((unsigned char)*s)) return tt_fail(TT_USAGE, "a formula holds no control characters");
    TT_TRY(expression(&p, out));
    tt_formula_skip(&p);
    return *p.at ? tt_formula_error(&p, "it should end here") : TT_OK;
}
