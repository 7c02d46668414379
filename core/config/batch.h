/* The batch of a step, divided among ranks and micro-batches. */
#ifndef TT_BATCH_H
#define TT_BATCH_H

#include "core/config/options.h"

/* Makes batch-size, grad-accum and global-batch agree with each other and with the number of ranks. To be called when
 * the options of a checkpoint are in o. */
tt_status tt_share_batch(struct tt_options *o);

#endif
