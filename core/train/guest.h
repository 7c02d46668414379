/* A guest: an extension that takes part in a run through the hooks of its configuration (core/config/hooks.h), from the
 * first batch to the last. */
#ifndef TT_GUEST_H
#define TT_GUEST_H

#include "core/checkpoint/checkpoint.h"
#include "core/config/config.h"
#include "core/data/data.h"
#include "core/plan/engine.h"

/* The run that a guest takes part in. The run owns all of it and outlives the guest. */
struct tt_visit {
    const struct tt_config *config;
    const struct tt_params *params;
    struct tt_engine *engine;        /* allocated; the guest may change its batch_memory */
    /* For work that is not an operation of the step: it does not pass through a recorder, if there is one. */
    struct tt_backend *backend;
    const struct tt_plan *eval_plan; /* bound; NULL: there is none, or the caller of the run validates */
    struct tt_data *data;
};

struct tt_guest {
    const struct tt_hooks *hooks;
    void *self; /* NULL: no extension takes part */
};

/* A guest that was never opened may be closed. */
tt_status tt_guest_open(struct tt_guest *g, const struct tt_visit *v);
/* Called after a step (tt_stepper.after, core/plan/step.h) with the struct tt_guest. */
tt_status tt_guest_step(void *guest, struct tt_backend *b);
void tt_guest_close(struct tt_guest *g);

#endif
