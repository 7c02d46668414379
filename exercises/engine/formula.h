/* Formulas over profiles, with which exercises say what is right: paths into profile.json, arithmetic, comparisons and
 * a few functions. exercises/CHECKS.md describes the language. */
#ifndef TT_FORMULA_H
#define TT_FORMULA_H

#include <stdbool.h>

#include "core/base/json.h"
#include "core/base/yaml.h"

enum tt_formula_kind {
    TT_FORMULA_MISSING, /* a figure that the profile does not have, or a value computed from one */
    TT_FORMULA_NUMBER,
    TT_FORMULA_WORD,
    TT_FORMULA_TRUTH, /* true or false */
    TT_FORMULA_ROWS,  /* a list: rows, or a column of them */
};

/* An element of a list. `value` is the column's in this row, or NULL; without a column it is the row itself. */
struct tt_formula_cell {
    const struct tt_json *row, *value;
};

struct tt_formula_value {
    enum tt_formula_kind kind;
    double number; /* a truth is 0 or 1 */
    char word[128];
    struct tt_formula_cell *cells; /* the rows; for a word from argmax or argmin those close to the best, best first */
    int count;                     /* of cells */
    /* For a word from argmax or argmin: how many cells there are in all. Those from index count on are not close. */
    int compared;
};

struct tt_formula_run {
    const char *name;
    const struct tt_json *profile; /* NULL: the run is absent or was refused */
};

/* What a formula is evaluated over. */
struct tt_formula_scope {
    const struct tt_formula_run *runs;
    int count;
    const struct tt_yaml *define; /* named formulas, `define` of check.yaml; NULL: none */
    const struct tt_formula_bound *bound; /* internal: parameters of the definition that is being evaluated */
    const char *folder;           /* the learner's; NULL: none */
    int nested;          /* internal: depth of definitions within definitions */
    const char *run;     /* the run for paths that name none; NULL: the first */
    int from, to;        /* indices of runs: `to` is read wherever the formula names `from`; equal: no replacement */
    unsigned reads;      /* set: bit i for each run i that a path reads; clear it before */
    double closeness;    /* argmax, argmin: rows that differ from the best by at most this fraction are `close` */
    const char *lacking; /* set: the name of a run that was needed but has no profile; clear it before */
    bool used;           /* set: a run was looked up; clear it before */
};

/* Evaluates `text` into *out. The fields of `scope` that say "set" are written. Errors are TT_USAGE and say what is
 * wrong and at which character. Free the value, also after a failure. */
tt_status tt_formula(const char *text, struct tt_formula_scope *scope, struct tt_formula_value *out);
void tt_formula_free(struct tt_formula_value *v);

/* The index of the run with that name; for NULL, of the run for paths that name none. -1: there is no such run. */
int tt_formula_place(const struct tt_formula_scope *scope, const char *name);
/* The runs that paths of the formula read, also those in definitions: bit i for run i. Runs that are only arguments of
 * a function, as in low('a', 'b'), do not count. */
unsigned tt_formula_reads(const char *text, const struct tt_formula_scope *scope);
/* Whether `reads` holds more than one run. */
static inline bool tt_formula_several(unsigned reads) { return (reads & (reads - 1)) != 0; }
/* The formula's number with run `to` read in place of run `from`; NaN: that gives no number. */
double tt_formula_instead(const char *text, const struct tt_formula_scope *scope, int from, int to);

/* The name of a row: its `name`, `kind` or `axis`; "" if it has none of them. */
const char *tt_formula_row_name(const struct tt_json *row);
double tt_formula_cell_number(const struct tt_formula_cell *c); /* NaN: its value is not a number */

#endif
