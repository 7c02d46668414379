/* Texts with figures in them: "{step.kernels} kernels{if run.steps == 1}, of a single step{end}."
 * exercises/CHECKS.md describes them under "Texts". */
#ifndef TT_TEMPLATE_H
#define TT_TEMPLATE_H

#include "core/base/text.h"
#include "exercises/engine/formula.h"

struct tt_template {
    struct tt_formula_scope *scope;
    const char *missing; /* written for a figure that the runs do not have; NULL: the whole text is then missing */
    void (*put_word)(struct tt_text *out, const char *word); /* writes a word that a formula gives; NULL: as it is */
    /* Writes a field that is not a formula and sets *known. Leaves *known false if it does not know the field, which is
     * then a formula. NULL: all fields are formulas. */
    tt_status (*put_field)(void *self, const char *field, struct tt_text *out, bool *known);
    void *self;
};

/* Appends the text with its figures. *there is false if a figure that it needs is missing and t->missing is NULL. */
tt_status tt_template_fill(const struct tt_template *t, const char *text, struct tt_text *out, bool *there);

#endif
