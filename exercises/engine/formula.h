/* Formulas over profiles, in which exercises say what is right: paths into profile.json, arithmetic, comparisons and a
 * few functions. exercises/CHECKS.md describes the language. */
#ifndef TT_FORMULA_H
#define TT_FORMULA_H

#include <stdbool.h>

#include "core/base/json.h"
#include "core/base/yaml.h"

enum tt_formula_kind {
    TT_FORMULA_MISSING, /* a figure that this profile does not have, and what is computed from one */
    TT_FORMULA_NUMBER,
    TT_FORMULA_WORD,
    TT_FORMULA_TRUTH,
    TT_FORMULA_ROWS,
};

/* Of a list: the row it is in, and the value of the column; the row itself without one. */
struct tt_formula_cell {
    const struct tt_json *row, *value;
};

struct tt_formula_value {
    enum tt_formula_kind kind;
    double number;       /* of a truth 0 or 1 */
    double below, above; /* of span(): by how much less or more it may be; 0 of what is computed from it */
    char word[128];
    struct tt_formula_cell *cells; /* of rows; of a word from argmax or argmin the rows that came close, best first */
    int count;
    /* Of a word from argmax or argmin: as many of the cells there are in all, also those that did not come close. */
    int compared;
};

struct tt_formula_run {
    const char *name;
    const struct tt_json *profile; /* NULL: not there, or refused */
};

struct tt_formula_scope {
    const struct tt_formula_run *runs;
    int count;
    const struct tt_yaml *define; /* names of formulas that stand for them; NULL: none */
    const struct tt_formula_bound *bound; /* parameters of the definition that is being evaluated */
    const char *folder;           /* of the learner; NULL: none */
    int nested;          /* definitions within definitions, while evaluating */
    const char *run;     /* of paths that name none; NULL: the first */
    int from, to;        /* runs by their places: the second is read in the place of the first; the same: as it is */
    unsigned reads;      /* evaluating sets the bit of each run that a path reads; clear it before */
    double closeness;    /* how near to the largest a row has to be, relatively, to count as the largest too */
    const char *lacking; /* evaluating sets it to a run that was needed and is NULL; clear it before */
    bool used;           /* evaluating sets it when a profile was read at all; clear it before */
    bool busy;           /* the same of a time, or what is computed from times, of a run of a busy machine */
};

/* Errors are TT_USAGE and say what in the formula cannot be. Free the value, also after a failure. */
tt_status tt_formula(const char *text, struct tt_formula_scope *scope, struct tt_formula_value *out);
void tt_formula_free(struct tt_formula_value *v);

/* The place of the run of that name (NULL: of paths that name none); -1: there is none. */
int tt_formula_place(const struct tt_formula_scope *scope, const char *name);
/* The runs whose figures the formula reads, a bit each, also by the definitions in it. */
unsigned tt_formula_reads(const char *text, const struct tt_formula_scope *scope);
static inline bool tt_formula_several(unsigned reads) { return (reads & (reads - 1)) != 0; }
/* The number that it gives with the run `to` in the place of `from`; NaN where that gives none. */
double tt_formula_instead(const char *text, const struct tt_formula_scope *scope, int from, int to);

/* What a row is called: its name, kind or axis; "" when it has none of them. */
const char *tt_formula_row_name(const struct tt_json *row);
double tt_formula_cell_number(const struct tt_formula_cell *c); /* NaN when it is none */

#endif
