/* Functions in formulas. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exercises/engine/formula_parts.h"

typedef struct tt_formula_value value;

struct function {
    const char *name;
    int args;
    tt_status (*call)(struct tt_formula_parser *p, const char *name, const value *args, value *out);
};

static const struct function *find(const char *name);

/* The numbers of a list, without missing ones. Free them; NULL: no memory. */
static double *numbers(const value *list, int *n)
{
    double *x = malloc(((size_t)list->count + 1) * sizeof *x);
    *n = 0;
    for (int i = 0; x && i < list->count; i++) {
        double number = tt_formula_cell_number(&list->cells[i]);
        if (isfinite(number)) x[(*n)++] = number;
    }
    return x;
}

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

static double add(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i];
    return sum;
}

static double reduce(const char *name, double *x, int n, double m)
{
    if (!strcmp(name, "sum")) return add(x, n);
    if (!n) return NAN;
    if (!strcmp(name, "first")) return x[0];
    if (!strcmp(name, "last")) return x[n - 1];
    if (!strcmp(name, "mean")) return add(x, n) / n;
    qsort(x, (size_t)n, sizeof *x, descending);
    if (!strcmp(name, "top")) return m >= 1 ? add(x, m < n ? (int)m : n) : NAN;
    return strcmp(name, "max") ? x[n - 1] : x[0];
}

static tt_status of_list(struct tt_formula_parser *p, const char *name, const value *args, value *out)
{
    int n;
    if (args[0].kind == TT_FORMULA_MISSING) {
        if (!strcmp(name, "sum") && !p->scope->lacking) *out = tt_formula_number(0);
        return TT_OK;
    }
    if (args[0].kind == TT_FORMULA_NUMBER) {
        *out = args[0];
        return TT_OK;
    }
    if (args[0].kind != TT_FORMULA_ROWS)
        return tt_formula_error(p, "%s needs a list of numbers, as groups.share", name);
    double *x = numbers(&args[0], &n);
    if (!x) return tt_no_memory("a formula");
    if (args[0].count && !n && args[0].cells[0].value == args[0].cells[0].row) {
        free(x);
        return tt_formula_error(p, "%s needs a column, as groups.share", name);
    }
    *out = tt_formula_number(reduce(name, x, n, args[1].number));
    free(x);
    return TT_OK;
}

static tt_status count(struct tt_formula_parser *p, const char *name, const value *args, value *out)
{
    (void)name;
    if (args[0].kind == TT_FORMULA_MISSING && p->scope->lacking) return TT_OK;
    *out = tt_formula_number(args[0].kind == TT_FORMULA_ROWS ? args[0].count : args[0].kind != TT_FORMULA_MISSING);
    return TT_OK;
}

/* weighted(list, 'column'): the mean of a list, weighted by another column of the same rows. */
static tt_status weighted(struct tt_formula_parser *p, const char *name, const value *args, value *out)
{
    double sum = 0, weights = 0;
    if (args[0].kind == TT_FORMULA_MISSING) return TT_OK;
    if (args[0].kind != TT_FORMULA_ROWS || args[1].kind != TT_FORMULA_WORD)
        return tt_formula_error(p, "%s needs a list and a column, as %s(groups.roof_percent, 'share')", name, name);
    for (int i = 0; i < args[0].count; i++) {
        double x = tt_formula_cell_number(&args[0].cells[i]);
        double weight = tt_json_number(args[0].cells[i].row, args[1].word, NAN);
        if (!isfinite(x) || !isfinite(weight)) continue;
        sum += weight * x;
        weights += weight;
    }
    if (weights > 0) *out = tt_formula_number(sum / weights);
    return TT_OK;
}

/* ---- names ---- */

static int by_number(const void *a, const void *b)
{
    double x = tt_formula_cell_number(a), y = tt_formula_cell_number(b);
    return descending(&x, &y);
}

/* argmax and argmin: the name of the best row, and all rows sorted, those within scope->closeness of it counted. */
static tt_status extreme(struct tt_formula_parser *p, const char *name, const value *args, value *out)
{
    bool least = !strcmp(name, "argmin");
    if (args[0].kind == TT_FORMULA_MISSING) return TT_OK;
    if (args[0].kind != TT_FORMULA_ROWS) return tt_formula_error(p, "%s needs a list, as groups.share", name);
    struct tt_formula_cell *cells = malloc(((size_t)args[0].count + 1) * sizeof *cells);
    if (!cells) return tt_no_memory("a formula");
    int n = 0;
    for (int i = 0; i < args[0].count; i++)
        if (isfinite(tt_formula_cell_number(&args[0].cells[i]))) cells[n++] = args[0].cells[i];
    qsort(cells, (size_t)n, sizeof *cells, by_number);
    for (int i = 0; least && i < n / 2; i++) {
        struct tt_formula_cell c = cells[i];
        cells[i] = cells[n - 1 - i];
        cells[n - 1 - i] = c;
    }
    if (!n) {
        free(cells);
        return TT_OK;
    }
    double best = tt_formula_cell_number(&cells[0]), room = fabs(best) * p->scope->closeness;
    int close = 1;
    while (close < n && fabs(tt_formula_cell_number(&cells[close]) - best) <= room) close++;
    *out = (value){.kind = TT_FORMULA_WORD, .cells = cells, .count = close, .compared = n};
    snprintf(out->word, sizeof out->word, "%s", tt_formula_row_name(cells[0].row));
    return TT_OK;
}

static tt_status rank(struct tt_formula_parser *p, const char *name, const value *args, value *out)
{
    (void)name;
    double own = NAN;
    int above = 0;
    if (args[0].kind == TT_FORMULA_MISSING) return TT_OK;
    if (args[0].kind != TT_FORMULA_ROWS || args[1].kind != TT_FORMULA_WORD)
        return tt_formula_error(p, "rank needs a list and a name: rank(groups.share, 'rope')");
    for (int i = 0; i < args[0].count && !isfinite(own); i++)
        if (!strcmp(tt_formula_row_name(args[0].cells[i].row), args[1].word))
            own = tt_formula_cell_number(&args[0].cells[i]);
    for (int i = 0; i < args[0].count; i++) above += tt_formula_cell_number(&args[0].cells[i]) > own;
    *out = tt_formula_number(isfinite(own) ? above + 1 : NAN);
    return TT_OK;
}

/* ---- numbers ---- */

static double plain(const char *name, double x, double y)
{
    if (!strcmp(name, "abs")) return fabs(x);
    if (!strcmp(name, "round")) return round(x);
    if (!strcmp(name, "sqrt")) return sqrt(x);
    if (!strcmp(name, "log")) return log(x);
    if (!strcmp(name, "pow")) return pow(x, y);
    if (!strcmp(name, "larger")) return fmax(x, y);
    if (!strcmp(name, "smaller")) return fmin(x, y);
    return 1 / (1 - x + (y > 0 ? x / y : 0)); /* amdahl */
}

static tt_status of_numbers(struct tt_formula_parser *p, const char *name, const value *args, value *out)
{
    for (int i = 0; i < 2; i++)
        if (args[i].kind != TT_FORMULA_NUMBER && args[i].kind != TT_FORMULA_MISSING)
            return tt_formula_error(p, "%s needs numbers", name);
    bool two = find(name)->args == 2;
    if (args[0].kind == TT_FORMULA_MISSING || (two && args[1].kind == TT_FORMULA_MISSING)) return TT_OK;
    *out = tt_formula_number(plain(name, args[0].number, args[1].number));
    return TT_OK;
}

static tt_status choose(struct tt_formula_parser *p, const char *name, const value *args, value *out)
{
    (void)name;
    if (args[0].kind == TT_FORMULA_MISSING) return TT_OK;
    if (args[0].kind != TT_FORMULA_TRUTH) return tt_formula_error(p, "the first argument of if is no comparison");
    const value *chosen = args[0].number != 0 ? &args[1] : &args[2];
    if (chosen->kind == TT_FORMULA_ROWS) return tt_formula_error(p, "if gives no lists; take its sum, max, ...");
    *out = *chosen;
    out->cells = NULL;
    out->count = out->compared = 0;
    return TT_OK;
}

static tt_status has(struct tt_formula_parser *p, const char *name, const value *args, value *out)
{
    (void)name;
    if (p->scope->lacking) return TT_OK;
    *out = tt_formula_truth(args[0].kind == TT_FORMULA_ROWS ? args[0].count > 0 : args[0].kind != TT_FORMULA_MISSING);
    return TT_OK;
}

/* either(x, room, 'above', 'below'): the word for the side of 0 that x is on, or both if x is within `room` of 0. */
static tt_status either(struct tt_formula_parser *p, const char *name, const value *args, value *out)
{
    if (args[0].kind == TT_FORMULA_MISSING || args[1].kind == TT_FORMULA_MISSING) return TT_OK;
    if (args[0].kind != TT_FORMULA_NUMBER || args[1].kind != TT_FORMULA_NUMBER || args[2].kind != TT_FORMULA_WORD ||
        args[3].kind != TT_FORMULA_WORD)
        return tt_formula_error(p, "%s needs two numbers and two words: %s(share - 0.05, 0.001, 'first', 'later')",
                                name, name);
    out->kind = TT_FORMULA_WORD;
    if (fabs(args[0].number) <= args[1].number)
        snprintf(out->word, sizeof out->word, "%.60s|%.60s", args[2].word, args[3].word);
    else
        snprintf(out->word, sizeof out->word, "%s", args[args[0].number > 0 ? 2 : 3].word);
    return TT_OK;
}

/* Whether `words`, such as "memory|mixed", has the word. */
static bool holds_word(const char *words, const char *word)
{
    for (size_t n; *words; words += n + (words[n] == '|')) {
        n = strcspn(words, "|");
        if (n == strlen(word) && !strncmp(words, word, n)) return true;
    }
    return false;
}

/* also(word, other, condition): "word|other", which stands for either, if the condition holds and `word` does not have
 * `other` yet; else `word`. */
static tt_status also(struct tt_formula_parser *p, const char *name, const value *args, value *out)
{
    (void)name;
    if (args[0].kind == TT_FORMULA_MISSING || args[2].kind == TT_FORMULA_MISSING) return TT_OK;
    if (args[0].kind != TT_FORMULA_WORD || args[1].kind != TT_FORMULA_WORD || args[2].kind != TT_FORMULA_TRUTH)
        return tt_formula_error(p, "also needs two words and a comparison: also('memory', 'undecided', "
                                   "disturbed('a'))");
    out->kind = TT_FORMULA_WORD;
    if (args[2].number != 0 && !holds_word(args[0].word, args[1].word))
        snprintf(out->word, sizeof out->word, "%.80s|%.40s", args[0].word, args[1].word);
    else
        snprintf(out->word, sizeof out->word, "%s", args[0].word);
    return TT_OK;
}

static const struct function functions[] = {
    {"sum", 1, of_list}, {"mean", 1, of_list}, {"max", 1, of_list}, {"min", 1, of_list}, {"first", 1, of_list},
    {"last", 1, of_list}, {"top", 2, of_list}, {"count", 1, count}, {"argmax", 1, extreme}, {"argmin", 1, extreme},
    {"rank", 2, rank}, {"abs", 1, of_numbers}, {"round", 1, of_numbers}, {"sqrt", 1, of_numbers},
    {"log", 1, of_numbers}, {"pow", 2, of_numbers}, {"amdahl", 2, of_numbers}, {"larger", 2, of_numbers},
    {"smaller", 2, of_numbers}, {"if", 3, choose}, {"has", 1, has},
    {"either", 4, either}, {"also", 3, also}, {"weighted", 2, weighted}, {"disturbed", 1, tt_formula_one_run},
    {"low", 2, tt_formula_two_runs}, {"high", 2, tt_formula_two_runs}, {"interval", 2, tt_formula_two_runs},
    {"losses_apart", 2, tt_formula_two_runs}, {"gradients_apart", 2, tt_formula_two_runs},
};

static const struct function *find(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(functions[i].name, name)) return &functions[i];
    return NULL;
}

bool tt_formula_has_function(const char *name) { return find(name) != NULL; }

tt_status tt_formula_call(struct tt_formula_parser *p, const char *name, value *args, int n, value *out)
{
    const struct function *f = find(name);
    if (n != f->args)
        return tt_formula_error(p, "%s has %d argument%s, not %d", name, f->args, f->args == 1 ? "" : "s", n);
    return f->call(p, name, args, out);
}
