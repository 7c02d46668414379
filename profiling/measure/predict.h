/* A step on paper: each kernel takes as long as its bytes or its FLOPs need at a chip's published rates, each
 * collective as long as the bytes that a rank sends need on its link. Nothing is added for launching, latency or
 * imperfect kernels, so a real step takes longer; how much longer is what one looks for. */
#ifndef TT_PREDICT_H
#define TT_PREDICT_H

#include "backend/chips.h"
#include "core/plan/plan.h"

struct tt_prediction {
    const struct tt_chip *chip;
    double seconds;        /* of a step */
    double memory_seconds; /* of it in kernels that wait for memory */
    double communication;  /* on the stream of communication, beside the kernels or not */
    double exposed;        /* of that, what no kernel runs beside, and which the step is longer by */
    double group[TT_GROUP_COUNT], phase[TT_PHASES]; /* each operation's own time, hidden or not */
};

double tt_predict_op(const struct tt_op *op, enum tt_precision precision, const struct tt_chip *chip, bool *by_memory);

/* The kernels follow each other as in the plan, on whichever stream they are; communication goes on beside them, and
 * one waits for the other where the plan says so. `link`: bytes/s that a rank sends; without collectives, any. */
tt_status tt_predict(const struct tt_plan *plan, enum tt_precision precision, const struct tt_chip *chip, double link,
                     struct tt_prediction *out);

#endif
