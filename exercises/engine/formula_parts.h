/* What the parser of formulas, its paths and its functions share. */
#ifndef TT_FORMULA_PARTS_H
#define TT_FORMULA_PARTS_H

#include "exercises/engine/formula.h"

enum { TT_FORMULA_ARGS = 4, TT_FORMULA_DEPTH = 32 }; /* the most arguments of a function; the deepest nesting */

struct tt_formula_parser {
    const char *text, *at; /* the whole formula; the next character */
    struct tt_formula_scope *scope;
    int depth;
    bool lenient; /* inside has(): what does not exist is missing instead of an error */
};

/* An error with the formula and the place in it. */
tt_status tt_formula_error(const struct tt_formula_parser *p, const char *format,
                           ...) __attribute__((format(printf, 2, 3)));
/* These move p->at behind what they read. tt_formula_take and tt_formula_word skip spaces first, and return false if
 * something else follows. */
void tt_formula_skip(struct tt_formula_parser *p); /* spaces */
bool tt_formula_take(struct tt_formula_parser *p, const char *token);
bool tt_formula_word(struct tt_formula_parser *p, char *out, size_t size); /* letters, digits and _ */
/* A 'text', from its opening quote on. */
tt_status tt_formula_quoted(struct tt_formula_parser *p, char *out, size_t size);

/* Evaluates a path, or a definition without parameters, whose first word `first` was read already. If a colon follows,
 * `first` is the name of a run. */
tt_status tt_formula_path(struct tt_formula_parser *p, const char *first, struct tt_formula_value *out);

/* formula_define.c: definitions, the formulas that check.yaml gives a name: `far: 2 * step.seconds`, or with parameters
 * `gain(group): groups[$group].share`. While one is evaluated, scope->bound has the values of its parameters. */
struct tt_formula_bound {
    const struct tt_yaml *definition;
    const struct tt_formula_value *values; /* one for each parameter */
};
/* The definition with that name and so many parameters (0: no brackets); NULL: there is none. */
const struct tt_yaml *tt_formula_definition(const struct tt_formula_scope *scope, const char *name, int parameters);
/* Evaluates a definition; `args` has a value for each of its parameters and stays the caller's. */
tt_status tt_formula_defined(struct tt_formula_parser *p, const struct tt_yaml *definition,
                             const struct tt_formula_value *args, struct tt_formula_value *out);
/* The value of the parameter whose name follows; the $ before it was read already. */
tt_status tt_formula_parameter(struct tt_formula_parser *p, struct tt_formula_value *out);

/* Functions. tt_formula_call needs one that exists; the `n` arguments stay the caller's. */
bool tt_formula_has_function(const char *name);
tt_status tt_formula_call(struct tt_formula_parser *p, const char *name, struct tt_formula_value *args, int n,
                          struct tt_formula_value *out);

/* formula_runs.c. tt_formula_read gives the run to read for the one with index `place`: after the replacement of
 * scope->from by scope->to. It sets `used` and `lacking` of the scope. The other two are the functions that have one or
 * two names of runs as arguments: disturbed; low, high, interval, losses_apart, gradients_apart. */
const struct tt_formula_run *tt_formula_read(struct tt_formula_parser *p, int place);
tt_status tt_formula_one_run(struct tt_formula_parser *p, const char *name, const struct tt_formula_value *args,
                             struct tt_formula_value *out);
tt_status tt_formula_two_runs(struct tt_formula_parser *p, const char *name, const struct tt_formula_value *args,
                              struct tt_formula_value *out);

/* disturbed.c: whether other programs disturbed a run, or something slowed its recorded steps. `profile` may be a
 * profile.json or a ranks.json; a `row` is one of ranks.json. The words say what was seen; "": the run was not
 * disturbed. */
bool tt_exercise_disturbed(const struct tt_json *profile);
bool tt_exercise_row_disturbed(const struct tt_json *profile, const struct tt_json *row);
void tt_exercise_disturbed_words(const struct tt_json *profile, char out[120]);

/* roofs.c: whether two runs have the same backend, device, library and precision, so that their measured roofs should
 * be equal. */
bool tt_exercise_same_roof(const struct tt_json *a, const struct tt_json *b);
double tt_exercise_roof(const struct tt_json *profile); /* the measured roof of products in FLOP/s; NaN: not known */
/* Whether the roofs may be too low, judged by how they were measured. */
bool tt_exercise_roof_doubtful(const struct tt_json *profile);

/* range.c: the interval of the ratio above / below of two runs' step times, as tt compare computes it. If it is not
 * known, the result is false and the interval 0 to TT_ANY_SPEEDUP. */
bool tt_exercise_range(const struct tt_json *above, const struct tt_json *below, double *low, double *high);
/* How many times as long the operators took in the second run that both have in common, if that is a warning of tt
 * compare; else NaN. */
double tt_exercise_moved(const struct tt_json *above, const struct tt_json *below);

/* apart.c: by how much the results of two runs differ at most. Without `gradients`, it compares the losses of the same
 * steps; with it, each tensor's gradient norms in the first step, relative to those in `a`. NaN: the two have nothing
 * in common. */
double tt_exercise_apart(const struct tt_json *a, const struct tt_json *b, bool gradients);

/* A number as a value; missing if it is infinite or NaN. */
static inline struct tt_formula_value tt_formula_number(double x)
{
    bool finite = x - x == 0;
    return (struct tt_formula_value){.kind = finite ? TT_FORMULA_NUMBER : TT_FORMULA_MISSING, .number = finite ? x : 0};
}

static inline struct tt_formula_value tt_formula_truth(bool x)
{
    return (struct tt_formula_value){.kind = TT_FORMULA_TRUTH, .number = x};
}

#endif
