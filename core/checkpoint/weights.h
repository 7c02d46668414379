/* The weights of a run in full precision, however the device keeps them: as floats; as floats (the master weights)
 * beside a copy in the type of the activations; or in bf16, where the optimiser is one kernel, as that copy and the 16
 * bits that it lacks, so that nothing is kept twice. */
#ifndef TT_WEIGHTS_H
#define TT_WEIGHTS_H

#include "core/checkpoint/arena.h"

/* The floats themselves when the host may use them in place, else NULL. */
float *tt_weights_in_place(const struct tt_engine *e, const struct tt_params *p, bool shares_memory);

/* The whole arena, of which a rank that has its parts alone reads those and writes those. Of 16-bit weights alone, as
 * for evaluation, nothing can be read. Both wait. */
tt_status tt_weights_read(struct tt_engine *e, const struct tt_params *p, float *out);
tt_status tt_weights_write(struct tt_engine *e, const struct tt_params *p, enum tt_dtype type, const float *weights);

#endif
