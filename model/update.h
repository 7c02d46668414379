/* The arrays of selective updates on the device: which weights belong to which group, and what each group has seen.
 * Without --update top-k there are none, and these functions do nothing. */
#ifndef TT_UPDATE_H
#define TT_UPDATE_H

#include "core/checkpoint/checkpoint.h"
#include "core/plan/engine.h"

/* Uploads which weights belong to which group. */
tt_status tt_update_upload(const struct tt_params *p, struct tt_engine *e);

/* Uploads what the groups have seen. `from` has groups.count + 1 entries, as a checkpoint has them; NULL: a new run. */
tt_status tt_update_begin(const struct tt_params *p, struct tt_engine *e, const struct tt_update_group *from);

#endif
