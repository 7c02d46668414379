/* The moments of a run as fp32, however the device stores them (tt_params.moments): a checkpoint has them in fp32,
 * which holds every bf16. */
#ifndef TT_MOMENTS_H
#define TT_MOMENTS_H

#include "core/checkpoint/arena.h"

/* Reads this rank's moments: tt_arena_count floats. */
tt_status tt_moments_read(struct tt_engine *e, const struct tt_params *p, enum tt_external x, float *out);

/* Writes this rank's moments from the whole arena on the host; rounds to nearest if the device stores bf16. */
tt_status tt_moments_write(struct tt_engine *e, const struct tt_params *p, enum tt_external x, const float *host);

#endif
