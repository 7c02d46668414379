/* The scales of 8-bit factors that come from a history of largest magnitudes (--fp8-scaling delayed). TT_X_SCALES holds
 * for n tensors (fp8_history)
 *
 *   scales      n, TT_FP8_APART floats apart
 *   history     TT_FP8_HISTORY × n largest magnitudes of earlier steps
 *   this step   n largest magnitudes for each rank */
#ifndef TT_SCALES_H
#define TT_SCALES_H

#include "core/plan/engine.h"
#include "model/model.h"
#include "model/params.h"

/* The factors of the three products with a matrix of weights, forward and backward. */
enum tt_factor { TT_FACTOR_INPUT, TT_FACTOR_WEIGHTS, TT_FACTOR_GRADIENT, TT_FACTORS };

/* Number of tensors: the factors of four products of each layer and of the head's. All inputs come first, then all
 * weights, then all gradients. */
int64_t tt_scales_count(const struct tt_config *c);
/* The index of one of them. `first` names the product by its first weight: TT_W_Q, TT_W_O, TT_W_GATE, TT_W_DOWN or
 * TT_W_HEAD. */
int64_t tt_scales_index(const struct tt_config *c, int layer, enum tt_weight first, enum tt_factor factor);
int64_t tt_scales_floats(const struct tt_model *m); /* size of TT_X_SCALES */

/* Sets the scales that a run begins with, if its plan has such scales. `kept`: scales and history of a checkpoint;
 * NULL: estimates for the first step, and no history. */
tt_status tt_scales_begin(const struct tt_model *m, struct tt_engine *e, const float *kept);

#endif
