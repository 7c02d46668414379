/* What the device itself knows of the run: its state from step to step, the metrics it leaves for the host, and the
 * schedule of the learning rate. Plain C, so that hosts, tests and device code share it. */
#ifndef TT_RUN_STATE_H
#define TT_RUN_STATE_H

#include <stdint.h>

/* One per run, in device memory: everything that changes from step to step and that a captured step must see. */
struct tt_state {
    int64_t step;       /* steps begun; 1 during the first */
    int64_t skipped;    /* of them, those that changed nothing */
    int32_t slot;       /* which part of the token buffer this step reads */
    int32_t apply;      /* 0 when loss or gradients are not finite: the optimiser then changes nothing */
    int32_t overflowed; /* not finite at a loss scale that can be lowered: no fault, but the search for the largest */
    int32_t stops;      /* 1: a step that is not finite otherwise stops the run */
    int32_t stopped;    /* 1: one has. The host learns of it later; until then no step changes anything */
    float lr;           /* learning rate of this step */
    float bias1, bias2; /* 1 - beta^updates, counting this step and those before it that were applied */
    float loss;         /* mean loss of this step, summed over its micro-batches */
    float grad_norm;    /* before clipping */
    float clip;         /* factor on every gradient: clipping and the inverse loss scale */
    float loss_scale;   /* fp16 only; 1 otherwise. From clip_scale on it is the next step's */
    float used_scale;   /* this step's, when it has come to clip_scale */
    int32_t good;       /* steps since the loss scale last changed */
};

#define TT_LOSS_SCALE_MAX 16777216.0f /* 2^24; the least is 1 */

/* One entry of the ring that the host reads late. */
struct tt_metrics {
    int64_t step, skipped;
    float loss, grad_norm, lr, loss_scale; /* all of them what the step was computed with */
    int32_t apply, overflowed;
};

enum tt_decay { TT_DECAY_CONSTANT, TT_DECAY_LINEAR, TT_DECAY_COSINE };

struct tt_schedule {
    enum tt_decay decay;
    int64_t warmup, total; /* steps */
    float peak, floor;     /* learning rates */
};

#endif
