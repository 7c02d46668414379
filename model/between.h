/* With --update-every N, one step in N chooses the groups of weights to update, and the steps until the next choice
 * update the same groups. This file makes the plans of those steps in between. The device makes the choice; the host
 * reads it once after each choice, and waits for the device to do so. The steps until the next choice then run without
 * the operations that only gradients of other groups need. */
#ifndef TT_BETWEEN_H
#define TT_BETWEEN_H

#include "core/plan/engine.h"
#include "model/model.h"

struct tt_between {
    const struct tt_model *model;
    struct tt_engine *engine;
    const struct tt_plan *whole; /* a step in between with all its operations; not bound */
    struct tt_plan *plan;        /* what is left of `whole` for the latest choice; bound; NULL: none yet */
    struct tt_update_group *updates; /* (groups + 1), as last read from the device */
    int64_t every, choice;       /* steps that share a choice; step of the latest choice that was read, 0: none */
    bool unread;                 /* the device may have made a newer choice */
};

/* `m`, `e` and `whole` stay the caller's and must outlive `v`. The first step after this reads the choice from the
 * device. So does the next step after `unread` is set, which a caller does when it sets the state of the run on the
 * device. */
tt_status tt_between_open(struct tt_between *v, const struct tt_model *m, struct tt_engine *e,
                           const struct tt_plan *whole);
void tt_between_close(struct tt_between *v);

/* The plan of a step, counted from 1; tt_run calls it as its plan_of, with the struct tt_between as `interval`. *out is
 * NULL for a step that chooses: it runs the run's own plan. *renewed: the plan may be another one than in the call
 * before. */
tt_status tt_between_plan(void *interval, int64_t step, const struct tt_plan **out, bool *renewed);

/* A plan with what is left of `whole` when these groups are chosen: without the operations that only gradients of other
 * groups need. `chosen` has a flag for each group. The plan is not bound. */
tt_status tt_between_reduce(const struct tt_model *m, const struct tt_plan *whole, const bool *chosen,
                             struct tt_plan **out);

#endif
