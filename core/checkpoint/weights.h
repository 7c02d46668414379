/* The weights of a run as fp32, however the device stores them:
 *   fp32
 *   fp32 master weights and a 16-bit copy in the type of the activations
 *   bf16 and, in a second array, the low 16 bits of each fp32 weight (with the fused optimizer), which saves the copy
 */
#ifndef TT_WEIGHTS_H
#define TT_WEIGHTS_H

#include "core/checkpoint/arena.h"

/* The fp32 array itself if the host can use it in place, else NULL. */
float *tt_weights_in_place(const struct tt_engine *e, const struct tt_params *p, bool shares_memory);

/* Copy the whole arena or, if it is sharded, only this rank's parts of it. Both wait for the copy. Reading needs the
 * fp32 bits: it does not work for an evaluation that has only 16-bit weights. */
tt_status tt_weights_read(struct tt_engine *e, const struct tt_params *p, float *out);
tt_status tt_weights_write(struct tt_engine *e, const struct tt_params *p, enum tt_dtype type, const float *weights);

#endif
