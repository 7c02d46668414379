/* The thread that runs collectives, and simulated ones, concurrently with computation. It runs all tasks in the order
 * they were added, whatever their streams. A task has a ticket, counted from 1; ticket 0 means nothing to wait for. */
#ifndef TT_CPU_WORKER_H
#define TT_CPU_WORKER_H

#include "backend/backend.h"

struct cpu_worker;

/* `run` decides which of the other fields are used. */
struct cpu_task {
    tt_status (*run)(const struct cpu_task *task); /* NULL: only the stamp */
    void *self;
    struct tt_collective collective;
    double seconds;
    tt_event stamp; /* event that gets the ticket, and the time when the task is done; or NULL */
};

tt_status tt_cpu_worker_start(struct cpu_worker **out);
/* Finishes all tasks and ends the thread. False: a task failed, and those after it were not run. */
bool tt_cpu_worker_stop(struct cpu_worker *w);

/* Returns the ticket. Waits only while the queue is full. */
uint64_t tt_cpu_worker_add(struct cpu_worker *w, const struct cpu_task *task);
bool tt_cpu_worker_done(struct cpu_worker *w, uint64_t ticket);
/* Waits for the task. Returns the first failure of any task so far, since no task after it was run. */
tt_status tt_cpu_worker_wait(struct cpu_worker *w, uint64_t ticket);
/* Queued tasks no longer stamp the event, because it is destroyed or recorded again. */
void tt_cpu_worker_forget(struct cpu_worker *w, tt_event e);

#endif
