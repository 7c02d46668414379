/* How long steps took by the device's own clock: an event follows each. The host enqueues steps ahead of the device, so
 * its clock knows the time of many steps, but not of one. */
#ifndef TT_STEP_CLOCK_H
#define TT_STEP_CLOCK_H

#include "backend/backend.h"

struct tt_step_clock {
    struct tt_backend *backend;
    tt_event *ends; /* of the last `count` steps; the end of a step is also where the next one begins */
    int64_t count;
};

/* `step` steps are done. Up to `unread` steps may be enqueued before their times are read. */
tt_status tt_step_clock_open(struct tt_step_clock *k, struct tt_backend *b, int64_t unread, int64_t step);
/* Call it when step `step` is enqueued. Call it again after a pause, so that the pause is not part of the next step. */
tt_status tt_step_clock_mark(struct tt_step_clock *k, int64_t step);
tt_status tt_step_clock_read(struct tt_step_clock *k, int64_t step, double *seconds); /* waits for the step */
void tt_step_clock_close(struct tt_step_clock *k);

#endif
