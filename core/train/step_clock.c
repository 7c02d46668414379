#include "core/train/step_clock.h"

#include <stdlib.h>

tt_status tt_step_clock_open(struct tt_step_clock *k, struct tt_backend *b, int64_t unread, int64_t step)
{
    *k = (struct tt_step_clock){.backend = b, .count = unread + 1};
    k->ends = calloc((size_t)k->count, sizeof(tt_event));
    if (!k->ends) return tt_no_memory("the times of steps");
    for (int64_t i = 0; i < k->count; i++) TT_TRY(b->ops->event_create(b->self, &k->ends[i]));
    return tt_step_clock_mark(k, step);
}

tt_status tt_step_clock_mark(struct tt_step_clock *k, int64_t step)
{
    return k->backend->ops->event_record(k->backend->self, k->ends[step % k->count], NULL);
}

tt_status tt_step_clock_read(struct tt_step_clock *k, int64_t step, double *seconds)
{
    tt_event from = k->ends[(step - 1) % k->count], to = k->ends[step % k->count];
    return k->backend->ops->event_elapsed(k->backend->self, from, to, seconds);
}

void tt_step_clock_close(struct tt_step_clock *k)
{
    for (int64_t i = 0; k->ends && i < k->count; i++)
        if (k->ends[i]) k->backend->ops->event_destroy(k->backend->self, k->ends[i]);
    free(k->ends);
    *k = (struct tt_step_clock){0};
}
