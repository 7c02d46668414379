/* Callbacks by which an extension, such as the exercises, takes part in a run. A configuration without hooks costs a
 * test for NULL. An extension can also wrap the backend (backend/relay.h). */
#ifndef TT_HOOKS_H
#define TT_HOOKS_H

#include "backend/backend.h"

struct tt_config;
struct tt_plan;
struct tt_visit; /* core/train/guest.h */

/* Each may be NULL. The options of the extension are in the configuration (c->guest). */
struct tt_hooks {
    tt_status (*check)(const struct tt_config *c); /* called by tt_config_check */

    /* Changes the operations of a plan, before its memory is placed. */
    tt_status (*edit_plan)(const struct tt_config *c, struct tt_plan *p, bool trains);

    bool (*validates)(const struct tt_config *c); /* whether after_step needs the eval_plan of the visit */

    /* open is called before the batches are opened, close after they are closed. If open leaves *guest NULL, the other
     * two are not called. */
    tt_status (*open)(const struct tt_visit *v, void **guest);
    tt_status (*after_step)(void *guest, struct tt_backend *b); /* b has run the step */
    void (*close)(void *guest);
};

tt_status tt_hooks_check(const struct tt_config *c);
tt_status tt_hooks_edit(const struct tt_config *c, struct tt_plan *p, bool trains);
bool tt_hooks_validate(const struct tt_config *c);

#endif
