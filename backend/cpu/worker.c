/* One thread and a ring buffer of tasks. `added` and `done` only grow; a task is done when `done` >= its ticket. */
#include "backend/cpu/worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/cpu/cpu.h"

enum { ROOM = 1024 };

struct cpu_worker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t added_one, done_one;
    struct cpu_task ring[ROOM];
    uint64_t added;
    atomic_uint_fast64_t done;
    bool stop;
    struct tt_error failure; /* code 0: none */
};

static void finish_task(struct cpu_worker *w, tt_status st)
{
    uint64_t done = atomic_load(&w->done);
    tt_event e = w->ring[done % ROOM].stamp; /* read again: it may have been forgotten since */
    if (e) clock_gettime(CLOCK_MONOTONIC, &e->at);
    if (st) w->failure = *st;
    tt_status_free(st);
    atomic_store(&w->done, done + 1);
    pthread_cond_broadcast(&w->done_one);
}

static void *work(void *arg)
{
    struct cpu_worker *w = arg;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        uint64_t done = atomic_load(&w->done);
        if (w->added == done) {
            if (w->stop) break;
            pthread_cond_wait(&w->added_one, &w->lock);
            continue;
        }
        struct cpu_task task = w->ring[done % ROOM];
        bool runs = task.run && !w->failure.code;
        pthread_mutex_unlock(&w->lock);
        tt_status st = runs ? task.run(&task) : TT_OK;
        pthread_mutex_lock(&w->lock);
        finish_task(w, st);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static void destroy(struct cpu_worker *w)
{
    pthread_cond_destroy(&w->added_one);
    pthread_cond_destroy(&w->done_one);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

tt_status tt_cpu_worker_start(struct cpu_worker **out)
{
    struct cpu_worker *w = calloc(1, sizeof *w);
    if (!w) return tt_fail(TT_FAILED, "no memory for the queue of collectives");
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->added_one, NULL);
    pthread_cond_init(&w->done_one, NULL);
    sigset_t all, before; /* block all signals in the thread, so that the main thread gets them */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = pthread_create(&w->thread, NULL, work, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        destroy(w);
        return tt_fail(TT_FAILED, "cannot start the thread for collectives: %s; see 'ulimit -u' and 'ulimit -v'",
                       strerror(error));
    }
    *out = w;
    return TT_OK;
}

bool tt_cpu_worker_stop(struct cpu_worker *w)
{
    if (!w) return true;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->added_one);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    bool ok = !w->failure.code;
    destroy(w);
    return ok;
}

uint64_t tt_cpu_worker_add(struct cpu_worker *w, const struct cpu_task *task)
{
    pthread_mutex_lock(&w->lock);
    while (w->added - atomic_load(&w->done) == ROOM) pthread_cond_wait(&w->done_one, &w->lock);
    w->ring[w->added % ROOM] = *task;
    uint64_t ticket = ++w->added;
    if (task->stamp) task->stamp->ticket = ticket;
    pthread_cond_signal(&w->added_one);
    pthread_mutex_unlock(&w->lock);
    return ticket;
}

bool tt_cpu_worker_done(struct cpu_worker *w, uint64_t ticket) { return !ticket || atomic_load(&w->done) >= ticket; }

tt_status tt_cpu_worker_wait(struct cpu_worker *w, uint64_t ticket)
{
    if (!ticket) return TT_OK;
    pthread_mutex_lock(&w->lock);
    while (atomic_load(&w->done) < ticket) pthread_cond_wait(&w->done_one, &w->lock);
    struct tt_error failure = w->failure;
    pthread_mutex_unlock(&w->lock);
    return failure.code ? tt_fail(failure.code, "%s", failure.text) : TT_OK;
}

void tt_cpu_worker_forget(struct cpu_worker *w, tt_event e)
{
    if (!e->ticket) return;
    pthread_mutex_lock(&w->lock);
    for (uint64_t i = atomic_load(&w->done); i < w->added; i++)
        if (w->ring[i % ROOM].stamp == e) w->ring[i % ROOM].stamp = NULL;
    pthread_mutex_unlock(&w->lock);
}
