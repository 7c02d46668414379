/* The batch of one device and the batch of a step. */
#ifndef TT_BATCH_H
#define TT_BATCH_H

#include "core/config/options.h"

/* Makes batch-size, grad-accum and global-batch agree with each other and with the number of ranks. Call it after the
 * options of a checkpoint were applied to `o`. */
tt_status tt_batch_fit(struct tt_options *o);

#endif
