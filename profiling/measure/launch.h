/* What it costs to start a kernel, measured with kernels that do nothing, and to record an event behind one that does
 * something; and a way to let the host run ahead, so that a device which is measured never waits for it. */
#ifndef TT_LAUNCH_H
#define TT_LAUNCH_H

#include "backend/backend.h"
#include "profiling/profile.h"

/* Work that keeps the device busy while the host enqueues what is to be measured behind it. */
struct tt_hold {
    struct tt_backend *backend;
    void *memory; /* NULL: not needed, since the device runs everything as it is enqueued */
    size_t bytes;
    double seconds; /* that one fill of it takes */
};

tt_status tt_hold_open(struct tt_hold *h, struct tt_backend *b);
tt_status tt_hold_enqueue(struct tt_hold *h, double seconds); /* on the stream that computes */
void tt_hold_close(struct tt_hold *h);

/* Fills event_seconds, launch_seconds, empty_kernel_seconds, graph_replay_seconds and graph_kernel_seconds; the graph
 * has `kernels` kernels. `launches`: in a row; 0 for as many as a device queues. */
tt_status tt_measure_launch(struct tt_hold *h, int kernels, int launches, struct tt_profile_launch *out);

#endif
