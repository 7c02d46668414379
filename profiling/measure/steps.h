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

/* Steps to warm up, then those that are timed. Nothing waits until the last is enqueued. */
tt_status tt_step_times_take(struct tt_step_times *t, struct tt_backend *b, struct tt_run *run);

/* A step of several ranks is timed in three ways: as it runs in training, with communication beside the kernels; in
 * turns with that, with everything on one stream, so that nothing overlaps; and so once more with events around each
 * collective. The second takes longer than the first by what was hidden. */
struct tt_overlap {
    double median, p95;   /* seconds */
    double one_stream;    /* of a step on one stream */
    double communication; /* of its collectives, including the wait for slower ranks */
    double kernels;       /* of the rest of the same steps */
    double hidden;        /* of the communication: the median of what pairs of neighbours differ by, kept within it */
    double noise;         /* how far `hidden` may be off, in 19 of 20 measurements */
    double waited;        /* what part of their time threads waited for a processor; NaN: not known */
    double memory;        /* peak bytes through the backend */
};

/* The plan of the run. Six pairs at least, however few the repeats. */
tt_status tt_measure_overlap(struct tt_step_times *t, struct tt_backend *b, struct tt_run *run,
                             const struct tt_plan *plan, struct tt_overlap *out);

/* Sets `hidden` and `noise` by what each of n pairs differed by, and by out->communication. A step cannot gain more
 * than that, nor less than nothing: pairs that say so are noise, and widen it. Sorts. */
tt_status tt_hidden_of(double *differences, int n, struct tt_overlap *out);

#endif
