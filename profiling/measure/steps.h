/* How long whole steps take, and how much of their communication is hidden behind kernels. */
#ifndef TT_STEPS_H
#define TT_STEPS_H

#include "core/train/run.h"

struct tt_step_times {
    int warmup, repeats;
    double *seconds;  /* of each of the repeats */
    tt_event *events; /* repeats + 1 */
};

tt_status tt_step_times_open(struct tt_step_times *t, struct tt_backend *b, int warmup, int repeats);
void tt_step_times_close(struct tt_step_times *t, struct tt_backend *b);

/* Runs the steps to warm up, then times `repeats` steps. Nothing waits until the last is enqueued. */
tt_status tt_step_times_take(struct tt_step_times *t, struct tt_backend *b, struct tt_run *run);

/* A step of several ranks is timed in three ways:
 * - as it runs in training, with communication beside the kernels;
 * - in turns with that, with everything on one stream, so that nothing overlaps. It takes longer by what was hidden;
 * - on one stream again, with events around each collective. */
struct tt_overlap {
    double median, p95;   /* seconds */
    double one_stream;    /* of a step on one stream */
    double communication; /* of its collectives, including the wait for slower ranks */
    double kernels;       /* of the rest of the same steps */
    double hidden;        /* part of the communication: the median difference of neighbouring steps, within limits */
    double noise;         /* how far `hidden` may be off, in 19 of 20 measurements */
    double waited;        /* fraction of the time that threads waited for a processor; NaN: not known */
    double memory;        /* peak bytes through the backend */
};

/* Measures all of that for the run's plan. Takes six pairs of steps at least, however few the repeats. A plan without
 * collectives is timed in the first way alone. */
tt_status tt_measure_overlap(struct tt_step_times *t, struct tt_backend *b, struct tt_run *run,
                             const struct tt_plan *plan, struct tt_overlap *out);

/* Sets `hidden` and `noise` from the differences of n pairs and from out->communication. `hidden` lies between 0 and
 * that, since a step cannot gain more or less; differences beyond these limits are noise and widen `noise`. Sorts
 * `differences`. */
tt_status tt_hidden_of(double *differences, int n, struct tt_overlap *out);

#endif
