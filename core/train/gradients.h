/* The gradients of a step, for whoever wants to show them. */
#ifndef TT_GRADIENTS_H
#define TT_GRADIENTS_H

#include "core/train/run.h"

/* The sum of the squares of each tensor's gradient, as the device has them: params->n of them. Waits for the device;
 * all ranks call it, and all get the same. */
tt_status tt_gradient_squares(struct tt_run *r, double *squares);

/* What gradients that were read from the device must be multiplied with: some versions clip and unscale them in place,
 * some only while they apply them. `recorded` is the norm before clipping, `squares` the sum over what was read. 1
 * where either is not finite. */
double tt_gradient_unclip(double recorded, double squares);

#endif
