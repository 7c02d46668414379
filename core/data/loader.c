/* The background thread that prefetches steps.
 *
 * Three counters only grow: steps filled by the thread, taken by next(), released by release(). Step k is in buffer
 * k mod count, so the thread may fill the next step while filled - released < count. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/data/data.h"

struct tt_loader {
    struct tt_loader_options o;
    int32_t **buffers; /* a copy of o.buffers */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t filled, taken, released;
    int64_t asked; /* with on_demand: steps that next() has asked for */
    bool stop;
    tt_status error; /* of the thread, which then ends */
    double waited;
};

static bool stopped(struct tt_loader *l)
{
    pthread_mutex_lock(&l->lock);
    bool stop = l->stop;
    pthread_mutex_unlock(&l->lock);
    return stop;
}

static tt_status fill(struct tt_loader *l, int64_t step)
{
    int32_t *to = l->buffers[step % l->o.count];
    int64_t stride = l->o.stride ? l->o.stride : l->o.rows;
    for (int64_t row = 0; row < l->o.rows && !stopped(l); row++) {
        uint64_t position = l->o.position + (uint64_t)(step * stride + row);
        TT_TRY(tt_data_sample(l->o.data, l->o.split, position, to + row * (l->o.seq_len + 1)));
    }
    return TT_OK;
}

static void *work(void *arg)
{
    struct tt_loader *l = arg;
    pthread_mutex_lock(&l->lock);
    while (!l->stop && !l->error) {
        if (l->filled - l->released == l->o.count || (l->o.on_demand && l->filled == l->asked)) {
            pthread_cond_wait(&l->changed, &l->lock);
            continue;
        }
        int64_t step = l->filled;
        pthread_mutex_unlock(&l->lock);
        tt_status st = fill(l, step);
        pthread_mutex_lock(&l->lock);
        if (st)
            l->error = st;
        else
            l->filled++;
        pthread_cond_broadcast(&l->changed);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* Starts the thread with all signals blocked, so that the main thread gets them. */
static int start(struct tt_loader *l)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = pthread_create(&l->thread, NULL, work, l);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void destroy(struct tt_loader *l)
{
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
    tt_status_free(l->error);
    free(l->buffers);
    free(l);
}

tt_status tt_loader_open(const struct tt_loader_options *options, struct tt_loader **out)
{
    if (options->count < 1 || options->rows < 1)
        return tt_fail(TT_USAGE, "loading needs at least one buffer and one row, not %d and %lld", options->count,
                       (long long)options->rows);
    struct tt_loader *l = calloc(1, sizeof *l);
    int32_t **buffers = calloc((size_t)options->count, sizeof *buffers);
    if (!l || !buffers) {
        free(l);
        free(buffers);
        return tt_no_memory("data");
    }
    memcpy(buffers, options->buffers, (size_t)options->count * sizeof *buffers);
    l->o = *options;
    l->buffers = buffers;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    int error = start(l);
    if (error) {
        destroy(l);
        return tt_fail(TT_FAILED, "cannot start the thread that loads data: %s; see 'ulimit -u' and 'ulimit -v'",
                       strerror(error));
    }
    *out = l;
    return TT_OK;
}

tt_status tt_loader_next(struct tt_loader *l, int32_t **buffer)
{
    tt_status st = TT_OK;
    pthread_mutex_lock(&l->lock);
    if (l->taken - l->released == l->o.count) {
        st = tt_fail(TT_FAILED, "all %d buffers of the loader are in use; release one before asking for the next",
                     l->o.count);
    } else if (l->filled == l->taken && !l->error) {
        double since = tt_seconds();
        l->asked = l->taken + 1;
        pthread_cond_broadcast(&l->changed);
        while (l->filled == l->taken && !l->error) pthread_cond_wait(&l->changed, &l->lock);
        l->waited += tt_seconds() - since;
    }
    if (!st && l->filled > l->taken) /* steps filled before an error are still valid */
        *buffer = l->buffers[l->taken++ % l->o.count];
    else if (!st)
        st = tt_fail(l->error->code, "%s", l->error->text);
    pthread_mutex_unlock(&l->lock);
    return st;
}

void tt_loader_release(struct tt_loader *l)
{
    pthread_mutex_lock(&l->lock);
    if (l->released < l->taken) l->released++;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

double tt_loader_waited(const struct tt_loader *l) { return l->waited; }

void tt_loader_close(struct tt_loader *l)
{
    if (!l) return;
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    pthread_join(l->thread, NULL);
    destroy(l);
}
