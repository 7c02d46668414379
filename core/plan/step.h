/* One step after another, captured as a graph where that is wanted and the backend can. */
#ifndef TT_STEP_H
#define TT_STEP_H

#include "core/plan/plan.h"

struct tt_stepper {
    struct tt_backend *backend;
    const struct tt_plan *plan; /* bound */
    bool graph_wanted;
    bool warm; /* the first step has run */
    tt_status (*after)(void *user, struct tt_backend *b); /* follows each step; NULL: nothing does */
    void *user;
    tt_graph graph;
    struct tt_side side; /* while it runs on several streams: what a graph multiplies with belongs to them */
};

/* Enqueues the next step. The first runs operation by operation, so that libraries set themselves up; the second is
 * captured; from then on the graph is replayed. Without a graph, only what ranks do together runs beside the rest. */
tt_status tt_step(struct tt_stepper *s);
void tt_stepper_close(struct tt_stepper *s);

#endif
