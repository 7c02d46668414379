/* What it costs to start a kernel, measured with empty kernels, and to record an event after a kernel, measured with
 * kernels that take a while. Also a way to keep the host ahead of a device that is measured, so that it never waits. */
#ifndef TT_LAUNCH_H
#define TT_LAUNCH_H

#include "backend/backend.h"
#include "profiling/profile.h"

/* Work that keeps the device busy while the host enqueues what is to be measured after it: fills of some memory. */
struct tt_hold {
    struct tt_backend *backend;
    void *memory; /* NULL: not needed, since a CPU runs everything as it is enqueued */
    size_t bytes;
    double seconds; /* that one fill of it takes */
};

tt_status tt_hold_open(struct tt_hold *h, struct tt_backend *b);
tt_status tt_hold_enqueue(struct tt_hold *h, double seconds); /* so much work, on the stream that computes */
void tt_hold_close(struct tt_hold *h);

/* Fills event_seconds, launch_seconds, empty_kernel_seconds, graph_replay_seconds and graph_kernel_seconds.
 * `kernels`: how many the graph has. `launches`: kernels that are launched in a row, to time one; 0: as many as a
 * device queues. */
tt_status tt_measure_launch(struct tt_hold *h, int kernels, int launches, struct tt_profile_launch *out);

#endif
