/* Where something from outside takes part in a run. A configuration may name hooks, and these places call them; without
 * any, nothing runs here but a test for NULL. The other way in is a backend around the backend (backend/relay.h), which
 * whoever opens the backend puts there. */
#ifndef TT_HOOKS_H
#define TT_HOOKS_H

#include "backend/backend.h"

struct tt_config;
struct tt_plan;
struct tt_visit; /* core/train/guest.h */

/* Each may be NULL. What is asked for stands in the configuration. */
struct tt_hooks {
    tt_status (*check)(const struct tt_config *c); /* whether it can be done, as a part of tt_config_check */

    /* The operations of a plan, before their memory is placed. */
    tt_status (*edit_plan)(const struct tt_config *c, struct tt_plan *p, bool trains);

    bool (*validates)(const struct tt_config *c); /* after a step: then a visit has to have an eval_plan */

    /* A visit lasts from before the batches are opened until they are closed; *guest NULL: nothing is to be done. */
    tt_status (*open)(const struct tt_visit *v, void **guest);
    tt_status (*after_step)(void *guest, struct tt_backend *b); /* b is where the step went */
    void (*close)(void *guest);
};

tt_status tt_hooks_check(const struct tt_config *c);
tt_status tt_hooks_edit(const struct tt_config *c, struct tt_plan *p, bool trains);
bool tt_hooks_validate(const struct tt_config *c);

#endif
