/* The state of a run in device memory, the metrics for the host, and the learning rate schedule. Plain C, shared by
 * host code, tests and device code. */
#ifndef TT_RUN_STATE_H
#define TT_RUN_STATE_H

#include <stdint.h>

/* One per run, in device memory: everything that changes from step to step, so that a captured graph can be replayed.
 */
struct tt_state {
    int64_t step;       /* steps begun; 1 during the first */
    int64_t skipped;    /* of these, steps without an update */
    int32_t slot;       /* which part of the token buffer this step reads */
    int32_t apply;      /* 0 when loss or gradients are not finite: the optimiser does not update */
    int32_t overflowed; /* gradients overflowed, and the loss scale can be lowered: part of its search, not a fault */
    int32_t stops;      /* 1: a step that is not finite and not overflowed stops the run */
    int32_t stopped;    /* 1: such a step came. No step updates anything until the host notices */
    float lr;           /* learning rate of this step */
    float bias1, bias2; /* 1 - beta^updates, this step's included */
    float loss;         /* mean loss of this step, summed over its micro-batches; over its counted targets from
                           clip_scale on */
    float ignored;      /* targets of this step that do not count, of all ranks once the loss is summed; directly
                           after the loss, so that one collective sums both */
    float grad_norm;    /* before clipping */
    float clip;         /* factor on every gradient: clipping and the inverse loss scale */
    float loss_scale;   /* fp16 only; 1 otherwise. clip_scale sets that of the next step */
    float used_scale;   /* loss scale of this step, set by clip_scale */
    int32_t good;       /* steps since the loss scale last changed */
    int32_t due;        /* 1: the update of this step is still to be made, by the next one or by the update plan */
};

#define TT_LOSS_SCALE_MAX 16777216.0f /* 2^24; the minimum is 1 */

/* An entry of the metrics ring, which the host reads some steps later. */
struct tt_metrics {
    int64_t step, skipped;
    int64_t ignored; /* targets of this step that do not count, of all ranks */
    float loss, grad_norm, lr, loss_scale; /* loss_scale: that of this step */
    int32_t apply, overflowed;
};

enum tt_decay { TT_DECAY_CONSTANT, TT_DECAY_LINEAR, TT_DECAY_COSINE };

struct tt_schedule {
    enum tt_decay decay;
    int64_t warmup, total; /* steps */
    float peak, floor;     /* learning rates */
};

#endif
