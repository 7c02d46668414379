/* Texts with figures in them: "{step.kernels} kernels{if run.steps == 1}, of a single step{end}." */
#ifndef TT_TEMPLATE_H
#define TT_TEMPLATE_H

#include "core/base/text.h"
#include "exercises/engine/formula.h"

struct tt_template {
    struct tt_formula_scope *scope;
    const char *missing; /* stands for a figure that the runs do not have; NULL: nothing does */
    void (*put_word)(struct tt_text *out, const char *word); /* NULL: as it is */
    /* A field that is no formula; *known stays false where it is one. NULL: there are none. */
    tt_status (*put_field)(void *self, const char *field, struct tt_text *out, bool *known);
    void *self;
};

/* *there is false where a figure that the text needs is missing, and nothing stands for it. */
tt_status tt_template_fill(const struct tt_template *t, const char *text, struct tt_text *out, bool *there);

#endif
