/* Which bytes an operation of a finished plan touches. For the files of core/plan alone. */
#ifndef TT_PLAN_RANGES_H
#define TT_PLAN_RANGES_H

#include "core/plan/plan.h"

struct range {
    int space;  /* -1: the arena, else an external */
    int buffer; /* in the arena; -1: none */
    size_t from, to;
    enum tt_access access;
};

struct ranges {
    struct range r[TT_MAX_OPERANDS];
    int n;
};

/* The range of a buffer is always the whole buffer. */
struct ranges tt_op_ranges(const struct tt_plan *p, const struct tt_op *op);

#endif
