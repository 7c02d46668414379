/* A step on paper: each kernel takes as long as its bytes or its FLOPs need at a chip's published rates, each
 * collective as long as the bytes that a rank sends need on its link. Nothing is added for launching or imperfect
 * kernels, so a real step takes longer; how much longer is what a profile shows. */
#ifndef TT_PREDICT_H
#define TT_PREDICT_H

#include "backend/chips.h"
#include "core/plan/plan.h"

struct tt_prediction {
    const struct tt_chip *chip;
    double seconds;        /* of a step */
    double memory_seconds; /* of kernels that need longer for their bytes than for their FLOPs */
    double communication;  /* hidden or not */
    double exposed;        /* the part of it that no kernel hides: the step is longer by that */
    double group[TT_GROUP_COUNT], phase[TT_PHASES]; /* each operation's own time, hidden or not */
};

/* The links around a ring of ranks. */
struct tt_ring {
    double bytes_per_second; /* at which a rank sends */
    double seconds_latency;  /* of each message; 0 where it is not known */
};

/* The seconds of one operation that is not a collective; *by_memory: its bytes take longer than its FLOPs. */
double tt_predict_op(const struct tt_op *op, enum tt_precision precision, const struct tt_chip *chip, bool *by_memory);

/* Predicts a step. The kernels follow each other as in the plan, whichever stream they are on. Communication runs
 * beside them, and one waits for the other where the plan says so. For a plan without collectives any ring will do. */
tt_status tt_predict(const struct tt_plan *plan, enum tt_precision precision, const struct tt_chip *chip,
                     struct tt_ring ring, struct tt_prediction *out);

#endif
