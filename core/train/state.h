/* The state that the device has of a run (struct tt_state) before its next step. */
#ifndef TT_CORE_STATE_H
#define TT_CORE_STATE_H

#include "core/checkpoint/checkpoint.h"
#include "core/config/config.h"

/* fp16 scales its loss, so that small gradients do not vanish; the others have the range of fp32 and need no scale. */
bool tt_scales_loss(enum tt_precision precision);

/* The state of a run that goes on from `progress`; NULL: of a new run. A loss scale begins high, and is halved until
 * nothing overflows. A run that had another precision before has no loss scale yet (progress->loss_scale is 0), so its
 * scale begins high too. */
struct tt_state tt_state_begin(enum tt_precision precision, const struct tt_progress *progress);

/* The fraction of a step's targets that count, from 0 to 1: the weight of its loss in a mean. At 0 it has no loss. */
double tt_counted_part(const struct tt_config *c, int64_t ignored);

#endif
