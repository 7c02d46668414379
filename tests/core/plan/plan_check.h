/* Checks that a plan is sound. */
#ifndef TT_PLAN_CHECK_H
#define TT_PLAN_CHECK_H

#include "core/plan/plan.h"

/* Checks that nothing is read before it is written, that every operand fits its buffer, that buffers live at the same
 * time share no byte, and that operations that may run at the same time do not write what the other touches. With
 * all_read, also checks that nothing written is left unread (a forward pass alone leaves some). Call it before
 * tt_plan_bind. */
tt_status plan_check(const struct tt_plan *p, bool all_read);

#endif
