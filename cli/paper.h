/* The training step of a configuration on paper, for devices that are not here. */
#ifndef TT_PAPER_H
#define TT_PAPER_H

#include "model/model.h"
#include "profiling/measure/cost.h"

struct tt_paper {
    struct tt_model *model;
    struct tt_plan *plan; /* of a training step, as a GPU would run it */
    struct tt_plan_cost cost;
    double step_flops; /* with causal attention */
    double memory;     /* bytes that training takes */
};

/* Plans a step in any precision, whatever this build computes in. To be freed, also after a failure. */
tt_status tt_paper_plan(const struct tt_config *c, struct tt_paper *out);
void tt_paper_free(struct tt_paper *p);

/* The error for an unknown card. It lists the cards that are known, followed by `more`, what else may be named. */
tt_status tt_no_card(const char *name, const char *more);

#endif
