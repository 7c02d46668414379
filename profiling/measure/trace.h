/* The trace of a step: events on tracks, each either inside another of its track or beside it. */
#ifndef TT_TRACE_H
#define TT_TRACE_H

#include "profiling/measure/record.h"

/* The step, phase and layer that are open on the compute track. */
struct tt_trace_ranges {
    int phase, layer; /* -1, -2: none */
    double step_start, phase_start, layer_start;
    double end; /* of the last kernel */
    double communicated; /* when the last operation that communicates ended */
    bool begun;
};

void tt_trace_add(struct tt_recorder *r, const char *track, const char *name, const char *kind, const char *group,
                  int layer, double start, double end);
/* A kernel, and the ranges that end or begin with it. What communicates has a track of its own. */
void tt_trace_kernel(struct tt_recorder *r, struct tt_trace_ranges *g, const struct tt_op *op, double start,
                     double end);
void tt_trace_close(struct tt_recorder *r, struct tt_trace_ranges *g);

/* By track, start, longest first. */
void tt_trace_sort(struct tt_profile_event *events, int n);

#endif
