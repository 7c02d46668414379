/* Streams and events on the CPU. Computation is done before its call returns; an event after it is just the time when
 * it was recorded. Only collectives are queued, for the worker, and only on created streams. Such a stream has the
 * ticket of its last task, an event the ticket of the task before it. The NULL stream never has a pending task. */
#include <stdlib.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/worker.h"

static bool queued(struct cpu *cpu, tt_stream s) { return s && s->last && !tt_cpu_worker_done(cpu->worker, s->last); }

tt_status tt_cpu_stream_create(void *self, tt_stream *out)
{
    (void)self;
    *out = calloc(1, sizeof **out);
    return *out ? TT_OK : tt_no_memory("a stream");
}

void tt_cpu_stream_destroy(void *self, tt_stream s)
{
    (void)self;
    free(s); /* its tasks do not refer to it */
}

tt_status tt_cpu_stream_sync(void *self, tt_stream s)
{
    struct cpu *cpu = self;
    return s && s->last ? tt_cpu_worker_wait(cpu->worker, s->last) : TT_OK;
}

tt_status tt_cpu_stream_wait(void *self, tt_stream s, tt_event e)
{
    struct cpu *cpu = self;
    if (!s) return e->ticket ? tt_cpu_worker_wait(cpu->worker, e->ticket) : TT_OK;
    if (e->ticket > s->last) s->last = e->ticket; /* later tasks run after it anyway */
    return TT_OK;
}

tt_status tt_cpu_enqueue(struct cpu *cpu, const struct cpu_task *task, tt_stream s)
{
    if (!cpu->worker) TT_TRY(tt_cpu_worker_start(&cpu->worker));
    uint64_t ticket = tt_cpu_worker_add(cpu->worker, task);
    if (!s) return tt_cpu_worker_wait(cpu->worker, ticket);
    s->last = ticket;
    return TT_OK;
}

static tt_status sleep_for(const struct cpu_task *task)
{
    struct timespec left = {(time_t)task->seconds, 0};
    left.tv_nsec = (long)(1e9 * (task->seconds - (double)left.tv_sec));
    while (nanosleep(&left, &left)) {}
    return TT_OK;
}

tt_status tt_cpu_delay(void *self, double seconds, tt_stream s)
{
    if (!(seconds >= 0 && seconds < 1e9)) return tt_fail(TT_FAILED, "delay: cannot wait for %g seconds", seconds);
    return tt_cpu_enqueue(self, &(struct cpu_task){.run = sleep_for, .seconds = seconds}, s);
}

tt_status tt_cpu_event_create(void *self, tt_event *out)
{
    (void)self;
    *out = calloc(1, sizeof **out);
    return *out ? TT_OK : tt_no_memory("an event");
}

void tt_cpu_event_destroy(void *self, tt_event e)
{
    struct cpu *cpu = self;
    if (e && e->ticket) tt_cpu_worker_forget(cpu->worker, e);
    free(e);
}

tt_status tt_cpu_event_record(void *self, tt_event e, tt_stream s)
{
    struct cpu *cpu = self;
    if (e->ticket) tt_cpu_worker_forget(cpu->worker, e);
    if (queued(cpu, s)) {
        s->last = tt_cpu_worker_add(cpu->worker, &(struct cpu_task){.stamp = e});
    } else {
        e->ticket = s ? s->last : 0; /* the task is done, but may have failed */
        clock_gettime(CLOCK_MONOTONIC, &e->at);
    }
    e->recorded = true;
    return TT_OK;
}

tt_status tt_cpu_event_query(void *self, tt_event e, bool *done)
{
    struct cpu *cpu = self;
    *done = !e->ticket || tt_cpu_worker_done(cpu->worker, e->ticket); /* true if never recorded */
    return TT_OK;
}

tt_status tt_cpu_event_sync(void *self, tt_event e)
{
    struct cpu *cpu = self;
    return e->ticket ? tt_cpu_worker_wait(cpu->worker, e->ticket) : TT_OK;
}

tt_status tt_cpu_event_elapsed(void *self, tt_event from, tt_event to, double *seconds)
{
    if (!from->recorded || !to->recorded)
        return tt_fail(TT_FAILED, "event_elapsed: both events must be recorded first");
    TT_TRY(tt_cpu_event_sync(self, from));
    TT_TRY(tt_cpu_event_sync(self, to));
    *seconds = (double)(to->at.tv_sec - from->at.tv_sec) + 1e-9 * (double)(to->at.tv_nsec - from->at.tv_nsec);
    return TT_OK;
}
