/* Runs step after step, as a captured graph if that is wanted and the backend supports it. */
#ifndef TT_STEP_H
#define TT_STEP_H

#include "core/plan/plan.h"

struct tt_stepper {
    struct tt_backend *backend;
    const struct tt_plan *plan; /* bound */
    bool graph_wanted;
    bool warm;                                            /* the first step has run */
    tt_status (*after)(void *user, struct tt_backend *b); /* called after each step, or NULL */
    void *user;
    tt_graph graph;
    bool opened;                    /* the streams are open */
    struct tt_plan_streams streams; /* kept as long as the graph, which uses their GEMM workspaces */
};

/* Enqueues the next step. The first runs operation by operation on one stream, so that libraries can initialise; the
 * second is captured; from then on the graph is replayed. Without a graph, only a plan with collectives uses more than
 * one stream. */
tt_status tt_step(struct tt_stepper *s);
/* Switches to another plan from the next step on. A stepper that has run a step captures the new plan at that step. The
 * device must have done the steps before. The streams stay open. */
void tt_stepper_replan(struct tt_stepper *s, const struct tt_plan *plan);
void tt_stepper_close(struct tt_stepper *s);

#endif
