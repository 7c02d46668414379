/* A step on paper: each kernel takes as long as its bytes or its FLOPs need at a chip's published rates. Nothing is
 * added for launching, latency or imperfect kernels, so a real step takes longer; how much longer is what one looks
 * for. */
#ifndef TT_PREDICT_H
#define TT_PREDICT_H

#include "backend/chips.h"
#include "core/plan/plan.h"

struct tt_prediction {
    const struct tt_chip *chip;
    double seconds;        /* of a step */
    double memory_seconds; /* of it in kernels that wait for memory */
    double group[TT_GROUP_COUNT], phase[TT_PHASES];
};

double tt_predict_op(const struct tt_op *op, enum tt_precision precision, const struct tt_chip *chip, bool *by_memory);
struct tt_prediction tt_predict(const struct tt_plan *plan, enum tt_precision precision, const struct tt_chip *chip);

#endif
