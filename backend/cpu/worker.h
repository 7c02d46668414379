/* The thread that does what runs beside computation: collectives, and waits that stand for them. It takes one task
 * after the other in the order they were added, whatever their streams. A task has a ticket, counted from 1; 0 stands
 * for nothing to wait for. The thread is started for the first task. */
#ifndef TT_CPU_WORKER_H
#define TT_CPU_WORKER_H

#include "backend/backend.h"

struct cpu_worker;

/* Only the fields that `run` reads need a value. */
struct cpu_task {
    tt_status (*run)(const struct cpu_task *task); /* NULL: nothing but the stamp */
    void *self;
    struct tt_collective collective;
    double seconds;
    tt_event stamp; /* gets the time and the ticket; NULL: none */
};

tt_status tt_cpu_worker_start(struct cpu_worker **out);
/* Does what was added, then ends. False: a task failed, and those after it were not run. */
bool tt_cpu_worker_stop(struct cpu_worker *w);

/* Waits only while too many are queued. */
uint64_t tt_cpu_worker_add(struct cpu_worker *w, const struct cpu_task *task);
bool tt_cpu_worker_done(struct cpu_worker *w, uint64_t ticket);
/* The first failure of all tasks so far; the ones behind it are not run, so it is everyone's. */
tt_status tt_cpu_worker_wait(struct cpu_worker *w, uint64_t ticket);
/* The event goes away, or is recorded again: the tasks that would stamp it do not. */
void tt_cpu_worker_forget(struct cpu_worker *w, tt_event e);

#endif
