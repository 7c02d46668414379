/* Is a plan sound? */
#ifndef TT_PLAN_CHECK_H
#define TT_PLAN_CHECK_H

#include "core/plan/plan.h"

/* That nothing is read before it is written, that every operand fits its buffer, that no two buffers that live at once
 * share a byte, that no two operations run at once of which one writes what the other touches, and with all_read that
 * nothing written is left unread (a forward pass alone leaves some). Before tt_plan_bind. */
tt_status plan_check(const struct tt_plan *p, bool all_read);

#endif
