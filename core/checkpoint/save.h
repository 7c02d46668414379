/* From a device to a checkpoint. */
#ifndef TT_SAVE_H
#define TT_SAVE_H

#include "core/checkpoint/checkpoint.h"
#include "core/plan/engine.h"

/* Steps of `rows` samples are done, until `step`. Those before may have had more or fewer: the position is counted, not
 * computed from the step. */
void tt_progress_to(struct tt_progress *progress, int64_t step, int64_t rows);

/* The same, and what the optimiser has counted. */
tt_status tt_save_progress(struct tt_engine *e, int64_t step, int64_t rows, struct tt_progress *progress);

/* tt_checkpoint_save with the weights and moments that are on the device; c->w, c->m and c->v are ignored. */
tt_status tt_save(struct tt_engine *e, const char *dir, const struct tt_checkpoint *c, int64_t keep);

#endif
