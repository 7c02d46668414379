#include "profiling/measure/launch.h"

#include <math.h>

#include "core/base/clock.h"
#include "core/base/stats.h"

/* Launches in a row. MOST: fewer than a device queues before the host has to wait. SHORT: few enough to fit into one
 * time slice of a shared device. */
enum { MOST = 400, ROUNDS = 9, SHORT = 25, MOST_IN_GRAPH = 4000, MOST_FILLS = 400, SHORTEST = 1 << 18 };
static const double LASTING = 30e-6; /* seconds of a kernel, by whose end the next one is ready, as in most of a step */

/* ---- running ahead ---- */

tt_status tt_hold_open(struct tt_hold *h, struct tt_backend *b)
{
    struct tt_device_info info;
    tt_event from, to;
    *h = (struct tt_hold){.backend = b};
    TT_TRY(b->ops->info(b->self, &info));
    if (info.shares_memory) return TT_OK;
    h->bytes = (size_t)256 << 20;
    while (h->bytes > info.memory_free / 8 && h->bytes > 1 << 20) h->bytes /= 2;
    TT_TRY(b->ops->alloc(b->self, h->bytes, &h->memory));
    TT_TRY(b->ops->event_create(b->self, &from));
    tt_status st = b->ops->event_create(b->self, &to);
    if (!st) {
        for (int i = 0; i < 3 && !st; i++) {
            st = b->ops->event_record(b->self, from, NULL);
            if (!st) st = b->ops->fill(b->self, h->memory, 0, h->bytes, NULL);
            if (!st) st = b->ops->event_record(b->self, to, NULL);
            if (!st) st = b->ops->event_elapsed(b->self, from, to, &h->seconds);
        }
        b->ops->event_destroy(b->self, to);
    }
    b->ops->event_destroy(b->self, from);
    return st;
}

tt_status tt_hold_enqueue(struct tt_hold *h, double seconds)
{
    if (!h->memory || !(h->seconds > 0)) return TT_OK;
    int fills = (int)fmin(ceil(seconds / h->seconds), MOST_FILLS);
    for (int i = 0; i < fills; i++) TT_TRY(h->backend->ops->fill(h->backend->self, h->memory, 0, h->bytes, NULL));
    return TT_OK;
}

void tt_hold_close(struct tt_hold *h)
{
    if (h->memory) h->backend->ops->free(h->backend->self, h->memory);
    *h = (struct tt_hold){0};
}

/* ---- empty kernels ---- */

struct bench {
    struct tt_hold *hold;
    struct tt_backend *b;
    struct tt_zero_args args;
    int launches;
    tt_event events[MOST + 1];
    double host; /* seconds to enqueue one, with its event */
};

static tt_status launch(struct bench *m) { return m->b->ops->launch(m->b->self, TT_K_zero, &m->args, NULL); }
static tt_status sync(struct bench *m) { return m->b->ops->stream_sync(m->b->self, NULL); }

/* Enqueues a row of kernels, with an event after each or only after the last. Gives the seconds per kernel that the
 * host and the device need. */
static tt_status row_of_launches(struct bench *m, bool events, double *host, double *device)
{
    const struct tt_backend_ops *ops = m->b->ops;
    TT_TRY(sync(m));
    TT_TRY(tt_hold_enqueue(m->hold, 2 * m->host * m->launches));
    TT_TRY(ops->event_record(m->b->self, m->events[0], NULL));
    double start = tt_seconds();
    for (int i = 1; i <= m->launches; i++) {
        TT_TRY(launch(m));
        if (events || i == m->launches) TT_TRY(ops->event_record(m->b->self, m->events[i], NULL));
    }
    *host = (tt_seconds() - start) / m->launches;
    TT_TRY(ops->event_elapsed(m->b->self, m->events[0], m->events[m->launches], device));
    *device /= m->launches;
    return TT_OK;
}

static tt_status measure_launches(struct bench *m, struct tt_profile_launch *out)
{
    double host[ROUNDS], device[ROUNDS];
    TT_TRY(row_of_launches(m, true, &m->host, &device[0]));
    for (int i = 0; i < ROUNDS; i++) TT_TRY(row_of_launches(m, false, &host[i], &device[i]));
    out->launch_seconds = tt_quantile(host, ROUNDS, 0.5);
    out->empty_kernel_seconds = tt_quantile(device, ROUNDS, 0); /* other programs make it longer, never shorter */
    return TT_OK;
}

/* Makes each kernel write enough to take LASTING. */
static tt_status last(struct bench *m)
{
    int64_t most = (int64_t)(m->hold->bytes / sizeof(float));
    double host, device = 0;
    for (m->args.n = SHORTEST; device < LASTING && 2 * m->args.n <= most; m->args.n *= 2)
        TT_TRY(row_of_launches(m, false, &host, &device));
    return TT_OK;
}

/* What an event costs after a kernel that takes a while, as those of a step do. By its end the device has the next one
 * ready; in a row of empty kernels it does not. */
static tt_status measure_events(struct bench *m, struct tt_profile_launch *out)
{
    enum { ROWS = ROUNDS * MOST / SHORT };
    double host, plain[ROWS], with_events[ROWS];
    int launches = m->launches, rows = ROUNDS * (launches > SHORT ? launches / SHORT : 1);
    if (m->hold->memory) TT_TRY(last(m));
    if (launches > SHORT) m->launches = SHORT;
    for (int i = 0; i < rows; i++) {
        TT_TRY(row_of_launches(m, true, &m->host, &with_events[i]));
        TT_TRY(row_of_launches(m, false, &host, &plain[i]));
    }
    m->args.n = 1;
    m->launches = launches;
    /* from the quietest rows, since its noise would be subtracted from every operation */
    out->event_seconds = fmax(0, tt_quantile(with_events, rows, 0) - tt_quantile(plain, rows, 0));
    return TT_OK;
}

static tt_status replay(struct bench *m, tt_graph graph, int kernels, struct tt_profile_launch *out)
{
    const struct tt_backend_ops *ops = m->b->ops;
    double host[ROUNDS], device[ROUNDS], start;
    for (int i = -1; i < ROUNDS; i++) {
        int at = i < 0 ? 0 : i; /* the first one warms up */
        TT_TRY(sync(m));
        TT_TRY(ops->event_record(m->b->self, m->events[0], NULL));
        start = tt_seconds();
        TT_TRY(ops->graph_replay(m->b->self, graph, NULL));
        host[at] = tt_seconds() - start;
        TT_TRY(ops->event_record(m->b->self, m->events[1], NULL));
        TT_TRY(ops->event_elapsed(m->b->self, m->events[0], m->events[1], &device[at]));
    }
    out->graph_replay_seconds = tt_quantile(host, ROUNDS, 0.5);
    out->graph_kernel_seconds = tt_quantile(device, ROUNDS, 0) / kernels;
    return TT_OK;
}

static tt_status measure_graph(struct bench *m, int kernels, struct tt_profile_launch *out)
{
    const struct tt_backend_ops *ops = m->b->ops;
    tt_graph graph = NULL;
    out->graph_replay_seconds = out->graph_kernel_seconds = NAN;
    if (!ops->graph_begin) return TT_OK;
    if (kernels > MOST_IN_GRAPH) kernels = MOST_IN_GRAPH;
    if (kernels < 1) kernels = 1;
    TT_TRY(ops->graph_begin(m->b->self, NULL));
    tt_status st = TT_OK;
    for (int i = 0; i < kernels && !st; i++) st = launch(m);
    tt_status end = ops->graph_end(m->b->self, NULL, &graph);
    if (st)
        tt_status_free(end);
    else
        st = end;
    if (!st) st = replay(m, graph, kernels, out);
    if (graph) ops->graph_destroy(m->b->self, graph);
    return st;
}

tt_status tt_measure_launch(struct tt_hold *h, int kernels, int launches, struct tt_profile_launch *out)
{
    const struct tt_backend_ops *ops = h->backend->ops;
    struct bench m = {.hold = h, .b = h->backend, .args = {.n = 1}, .host = 1e-5};
    m.launches = launches > 0 && launches < MOST ? launches : MOST;
    void *memory = NULL;
    tt_status st = h->memory ? TT_OK : ops->alloc(m.b->self, TT_ALIGN, &memory);
    m.args.x = h->memory ? h->memory : memory;
    for (int i = 0; i <= m.launches && !st; i++) st = ops->event_create(m.b->self, &m.events[i]);
    if (!st) st = measure_launches(&m, out);
    if (!st) st = measure_events(&m, out);
    if (!st) st = measure_graph(&m, launches > 0 && kernels > launches ? launches : kernels, out);
    for (int i = 0; i <= m.launches; i++)
        if (m.events[i]) ops->event_destroy(m.b->self, m.events[i]);
    if (memory) ops->free(m.b->self, memory);
    return st;
}
