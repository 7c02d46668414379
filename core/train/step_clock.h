/* How long steps took by the device's own clock: an event follows each. The host enqueues steps ahead of the device, so
 * its clock knows the time of many steps, but not of one. */
#ifndef TT_STEP_CLOCK_H
#define TT_STEP_CLOCK_H

#include "backend/backend.h"

struct tt_step_clock {
    struct tt_backend *backend;
    tt_event *ends; /* of the last `count` steps; that of a step that is known also says when the next could begin */
    int64_t count;
};

/* Step `step` is done, or none is and it is 0; up to `unread` steps are enqueued before their time is asked for. */
tt_status tt_step_clock_open(struct tt_step_clock *k, struct tt_backend *b, int64_t unread, int64_t step);
/* Step `step` is enqueued; or, once more, what came after it and is no part of a step has ended. */
tt_status tt_step_clock_mark(struct tt_step_clock *k, int64_t step);
tt_status tt_step_clock_read(struct tt_step_clock *k, int64_t step, double *seconds); /* waits for the step */
void tt_step_clock_close(struct tt_step_clock *k);

#endif
