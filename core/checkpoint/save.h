/* Saves what is on the device as a checkpoint. */
#ifndef TT_SAVE_H
#define TT_SAVE_H

#include "core/checkpoint/checkpoint.h"
#include "core/plan/engine.h"

/* Advances to `step`; each step since progress->step took `rows` samples. Earlier steps may have taken another number,
 * so the position is accumulated and not computed from the step. */
void tt_progress_to(struct tt_progress *progress, int64_t step, int64_t rows);

/* The same, and takes skipped steps and loss scale from the state on the device. */
tt_status tt_save_progress(struct tt_engine *e, int64_t step, int64_t rows, struct tt_progress *progress);

/* tt_checkpoint_save with the weights and moments on the device; c->w, c->m and c->v are ignored. */
tt_status tt_save(struct tt_engine *e, const char *dir, const struct tt_checkpoint *c, int64_t keep);

#endif
