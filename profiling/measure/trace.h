/* The trace of a step: events on tracks. Two events of a track never overlap in part: one is inside the other, or they
 * are apart. */
#ifndef TT_TRACE_H
#define TT_TRACE_H

#include "profiling/measure/record.h"

/* The step, phase and layer that are open on the compute track. */
struct tt_trace_ranges {
    int phase, layer; /* phase -1, layer -2: none is open */
    double step_start, phase_start, layer_start;
    double end; /* of the last kernel */
    double communicated; /* when the last operation that communicates ended */
    bool begun;
};

/* Adds an event to r->trace; `start` and `end` in seconds since its origin. */
void tt_trace_add(struct tt_recorder *r, const char *track, const char *name, const char *kind, const char *group,
                  int layer, double start, double end);
/* Adds a kernel, and the ranges that end before it; keeps those that begin with it open. What communicates goes to a
 * track of its own. tt_trace_close ends the ranges that are open after the last kernel. */
void tt_trace_kernel(struct tt_recorder *r, struct tt_trace_ranges *g, const struct tt_op *op, double start,
                     double end);
void tt_trace_close(struct tt_recorder *r, struct tt_trace_ranges *g);

/* Sorts by rank, track and start; of two that start together the longer comes first. */
void tt_trace_sort(struct tt_profile_event *events, int n);

#endif
