/* The steps between two choices of --update-every. Which groups were chosen is known on the device; the host reads it
 * once after each choice, and waits for the device to do so. It then leaves out of the plan what only gradients of
 * other groups need, until the next choice. */
#ifndef TT_BETWEEN_H
#define TT_BETWEEN_H

#include "core/plan/engine.h"
#include "model/model.h"

struct tt_between {
    const struct tt_model *model;
    struct tt_engine *engine;
    const struct tt_plan *whole; /* of a step in between, with everything in it; not bound */
    struct tt_plan *plan;        /* of these steps: the rest of it, bound; NULL: none yet */
    struct tt_update_group *updates; /* (groups + 1), as read last */
    int64_t every, choice;       /* steps with a choice; the step of the latest one known, 0: none */
    bool unread;                 /* the device may have made another since */
};

/* `whole` stays the caller's. After this, and when the device's part of a run was set from outside, the first step
 * reads what the device has. */
tt_status tt_between_open(struct tt_between *v, const struct tt_model *m, struct tt_engine *e,
                           const struct tt_plan *whole);
void tt_between_close(struct tt_between *v);

/* The plan of that step (from 1), as tt_run has it from its plan_of. */
tt_status tt_between_plan(void *interval, int64_t step, const struct tt_plan **out, bool *renewed);

/* What is left of `whole` when these groups are chosen: one flag for each. Not bound. */
tt_status tt_between_reduce(const struct tt_model *m, const struct tt_plan *whole, const bool *chosen,
                             struct tt_plan **out);

#endif
