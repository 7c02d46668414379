/* What selective updates have on the device beside the plan: which weights belong to which group, and what each group
 * has seen. Without --update top-k there is nothing of it. */
#ifndef TT_UPDATE_H
#define TT_UPDATE_H

#include "core/checkpoint/checkpoint.h"
#include "core/plan/engine.h"

tt_status tt_update_upload(const struct tt_params *p, struct tt_engine *e);

/* `from`: groups.count + 1 of them, as a checkpoint has them; NULL: a new run. */
tt_status tt_update_begin(const struct tt_params *p, struct tt_engine *e, const struct tt_update_group *from);

#endif
