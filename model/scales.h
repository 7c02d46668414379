/* The scales of 8-bit factors that come from a history of largest magnitudes (--fp8-scaling delayed). TT_X_SCALES has n
 * scales, TT_FP8_APART floats apart, TT_FP8_HISTORY times n magnitudes, and for each rank n of this step (fp8_history).
 */
#ifndef TT_SCALES_H
#define TT_SCALES_H

#include "core/plan/engine.h"
#include "model/model.h"
#include "model/params.h"

/* What a product with weights reads or writes as a factor. */
enum tt_factor { TT_FACTOR_INPUT, TT_FACTOR_WEIGHTS, TT_FACTOR_GRADIENT, TT_FACTORS };

/* How many tensors there are: the factors of four products of each layer, then of the head. Those of gradients are the
 * last. */
int64_t tt_scales_count(const struct tt_config *c);
/* The number of one of them. */
int64_t tt_scales_index(const struct tt_config *c, int layer, enum tt_weight first, enum tt_factor factor);
int64_t tt_scales_floats(const struct tt_model *m); /* of TT_X_SCALES */

/* Where a run begins, if its plan has such scales: with those of a checkpoint, or, NULL, with estimates of a first
 * step's and no history. */
tt_status tt_scales_begin(const struct tt_model *m, struct tt_engine *e, const float *kept);

#endif
