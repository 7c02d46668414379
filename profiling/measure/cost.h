/* What a plan costs before it has run: operations, FLOPs and bytes, from the formulas of kernels.def. */
#ifndef TT_COST_H
#define TT_COST_H

#include "core/plan/plan.h"

struct tt_cost {
    int count;           /* operations */
    double flops, bytes; /* bytes: what perfect kernels would move */
};

struct tt_plan_cost {
    struct tt_cost total, gemm; /* gemm: the matrix products of the total */
    struct tt_cost phase[TT_PHASES];
    struct tt_cost group[TT_GROUP_COUNT];
    int collectives;
    double sent; /* bytes that each rank sends in them */
};

struct tt_plan_cost tt_cost_of_plan(const struct tt_plan *p);

#endif
