/* The gradients of a step, for whoever wants to show them. */
#ifndef TT_GRADIENTS_H
#define TT_GRADIENTS_H

#include "core/train/run.h"

/* For each of the params->n tensors, the sum of the squares of its gradient as the device has it. Waits for the device.
 * Called by all ranks; all get the same. */
tt_status tt_gradient_squares(struct tt_run *r, double *squares);

/* The factor that turns gradients as read from the device into those before clipping. Some versions clip and unscale
 * them in place, some only while they apply them. `recorded` is the norm before clipping, `squares` the sum of the
 * squares that were read. 1 if there is no finite factor. */
double tt_gradient_unclip(double recorded, double squares);

#endif
