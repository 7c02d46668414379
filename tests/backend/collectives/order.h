/* The order of collectives and of other work beside, before and after them: streams, events, graphs, slow links, and
 * ranks that disagree. */
#ifndef TT_TEST_COLLECTIVES_ORDER_H
#define TT_TEST_COLLECTIVES_ORDER_H

#include "backend/link.h"
#include "tests/backend/collectives/ranks.h"

/* A collective on its own stream does not block its caller: rank 0 enqueues it, sees that it is not done, and only then
 * lets the other ranks begin. Later work on that stream, or work that waits for its event, sees the sums. */
static void runs_beside_computation(void)
{
    enum { N = 100003 };
    float *x = malloc(N * sizeof *x);
    for (size_t i = 0; i < N; i++) x[i] = value(rank, i);
    tt_stream s;
    tt_event before, after, unused;
    CHECK_OK(b.ops->stream_create(b.self, &s));
    CHECK_OK(b.ops->event_create(b.self, &before));
    CHECK_OK(b.ops->event_create(b.self, &after));
    CHECK_OK(b.ops->event_create(b.self, &unused));
    float *p = device(x, N * sizeof *x), *q = device(x, N * sizeof *x);
    char note = 1;
    if (rank > 0) CHECK(read_note("begin", &note, 1));
    CHECK_OK(b.ops->event_record(b.self, before, s));
    CHECK_OK(all_reduce(p, N, TT_F32, s));
    CHECK_OK(b.ops->event_record(b.self, unused, s));
    CHECK_OK(b.ops->event_record(b.self, after, s));
    b.ops->event_destroy(b.self, unused);
    if (rank == 0) {
        bool done = true;
        CHECK_OK(b.ops->event_query(b.self, after, &done));
        CHECK(ranks == 1 || !done, "nobody else has begun");
        struct tt_scale_args twice = {.x = q, .n = N, .factor = 2};
        CHECK_OK(b.ops->launch(b.self, TT_K_scale, &twice, NULL));
        CHECK_OK(b.ops->event_query(b.self, after, &done));
        CHECK(ranks == 1 || !done);
        write_note("begin", &note, 1);
    }
    CHECK_OK(b.ops->stream_wait(b.self, NULL, after));
    struct tt_scale_args half = {.x = p, .n = N, .factor = 0.5f};
    CHECK_OK(b.ops->launch(b.self, TT_K_scale, &half, NULL));
    fetch(x, p, N * sizeof *x);
    size_t wrong = 0;
    for (size_t i = 0; i < N; i += 7) wrong += !right_sum(2 * x[i], i);
    CHECK(!wrong, "%zu", wrong);
    double seconds = -1;
    CHECK_OK(b.ops->event_elapsed(b.self, before, after, &seconds));
    CHECK(seconds > 0 && seconds < 60, "%g", seconds);
    b.ops->event_destroy(b.self, before);
    b.ops->event_destroy(b.self, after);
    b.ops->stream_destroy(b.self, s);
    b.ops->free(b.self, p);
    b.ops->free(b.self, q);
    free(x);
}

/* Copies, fills and kernels that follow a collective on its stream run after it; so does a stream that waits for its
 * event. */
static void work_comes_after_a_collective(void)
{
    enum { N = 200001 };
    float *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
    tt_stream s, t;
    tt_event e;
    CHECK_OK(b.ops->stream_create(b.self, &s));
    CHECK_OK(b.ops->stream_create(b.self, &t));
    CHECK_OK(b.ops->event_create(b.self, &e));
    for (size_t i = 0; i < N; i++) x[i] = value(rank, i);
    float *p = device(x, N * sizeof *x), *q = device(x, N * sizeof *x);
    for (int round = 0; round < 3; round++) {
        CHECK_OK(b.ops->copy(b.self, p, x, N * sizeof *x, TT_TO_DEVICE, s));
        CHECK_OK(all_reduce(p, N, TT_F32, s));
        if (round == 0) {
            CHECK_OK(b.ops->copy(b.self, q, p, N * sizeof *x, TT_ON_DEVICE, s));
            CHECK_OK(b.ops->event_record(b.self, e, s));
            CHECK_OK(b.ops->event_sync(b.self, e));
        } else if (round == 1) {
            CHECK_OK(b.ops->event_record(b.self, e, s));
            CHECK_OK(b.ops->stream_wait(b.self, t, e));
            CHECK_OK(b.ops->copy(b.self, q, p, N * sizeof *x, TT_ON_DEVICE, t));
            CHECK_OK(b.ops->stream_sync(b.self, t));
        } else {
            struct tt_scale_args same = {.x = p, .n = N, .factor = 1};
            CHECK_OK(b.ops->launch(b.self, TT_K_scale, &same, s));
            CHECK_OK(b.ops->copy(b.self, q, p, N * sizeof *x, TT_ON_DEVICE, s));
            CHECK_OK(b.ops->fill(b.self, p, 0, N * sizeof *x, s));
            CHECK_OK(b.ops->stream_sync(b.self, s));
        }
        fetch(y, q, N * sizeof *y);
        size_t wrong = 0;
        for (size_t i = 0; i < N; i += 7) wrong += !right_sum(y[i], i);
        CHECK(!wrong, "%zu in round %d", wrong, round);
    }
    b.ops->event_destroy(b.self, e);
    b.ops->stream_destroy(b.self, s);
    b.ops->stream_destroy(b.self, t);
    b.ops->free(b.self, p);
    b.ops->free(b.self, q);
    free(x), free(y);
    if (rank == 0) forget_notes(); /* every rank has read them */
}

/* A captured and replayed step contains its collectives. */
static void can_be_captured(void)
{
    if (!b.ops->graph_begin) SKIP("this backend has no graphs");
    enum { N = 50021 };
    static float x[N], y[N];
    for (size_t i = 0; i < N; i++) x[i] = value(rank, i);
    tt_stream s;
    tt_event fork, join;
    tt_graph g;
    CHECK_OK(b.ops->stream_create(b.self, &s));
    CHECK_OK(b.ops->event_create(b.self, &fork));
    CHECK_OK(b.ops->event_create(b.self, &join));
    float *p = device(x, sizeof x), *from = device(x, sizeof x);
    CHECK_OK(b.ops->graph_begin(b.self, NULL));
    CHECK_OK(b.ops->copy(b.self, p, from, sizeof x, TT_ON_DEVICE, NULL));
    CHECK_OK(b.ops->event_record(b.self, fork, NULL));
    CHECK_OK(b.ops->stream_wait(b.self, s, fork));
    CHECK_OK(all_reduce(p, N, TT_F32, s));
    CHECK_OK(b.ops->event_record(b.self, join, s));
    CHECK_OK(b.ops->stream_wait(b.self, NULL, join));
    CHECK_OK(b.ops->graph_end(b.self, NULL, &g));
    for (int round = 0; round < 3; round++) {
        CHECK_OK(b.ops->fill(b.self, p, 0xff, sizeof x, NULL));
        CHECK_OK(b.ops->graph_replay(b.self, g, NULL));
        fetch(y, p, sizeof y);
        size_t wrong = 0;
        for (size_t i = 0; i < N; i++) wrong += !right_sum(y[i], i);
        CHECK(!wrong, "%zu in replay %d", wrong, round);
    }
    b.ops->graph_destroy(b.self, g);
    b.ops->event_destroy(b.self, fork);
    b.ops->event_destroy(b.self, join);
    b.ops->stream_destroy(b.self, s);
    b.ops->free(b.self, p);
    b.ops->free(b.self, from);
}

/* A simulated slow link delays the real sums, as if there were 4 ranks. */
static void can_be_slowed_down(void)
{
    enum { N = 1000 };
    static float x[N];
    struct tt_backend slow;
    struct tt_link l;
    if (!b.ops->delay) SKIP("this backend cannot wait on a stream");
    CHECK_OK(tt_link_open(&l, &b, 4, 1e6, 1e-3, &slow));
    l.joined = true;
    for (size_t i = 0; i < N; i++) x[i] = value(rank, i);
    float *p = device(x, sizeof x);
    double begin = tt_seconds();
    CHECK_OK(collective_in_place(&slow, TT_ALL_REDUCE, p, N, TT_F32, (struct tt_ranks){.rank = rank, .count = ranks},
                                 NULL));
    double seconds = tt_seconds() - begin;
    CHECK(seconds >= 2 * tt_link_seconds(&l, sizeof x), "%g", seconds);
    fetch(x, p, sizeof x);
    size_t wrong = 0;
    for (size_t i = 0; i < N; i++) wrong += !right_sum(x[i], i);
    CHECK(!wrong, "%zu", wrong);
    b.ops->free(b.self, p);
}

static void joins_once(void)
{
    int calls = 1000;
    CHECK_FAILS(b.ops->join(b.self, &(struct tt_ranks){rank, ranks, share, &calls}), "already");
}

/* Not a TEST, since the job is broken afterwards: rank 0 expects fewer elements than rank 1 sends. Prints the error
 * that the waiting rank gets (tests/backend/cpu/cpu.cmake looks for its text). */
static int disagree(void)
{
    float x[8] = {0};
    tt_stream s;
    CHECK_OK(b.ops->stream_create(b.self, &s));
    CHECK_OK(all_reduce(x, rank ? 8 : 4, TT_F32, s));
    tt_status st = b.ops->stream_sync(b.self, s);
    if (st) printf("rank %d is told: %s\n", rank, st->text);
    if (st) printf("%s\n", all_reduce(x, 4, TT_F32, NULL) ? "and again" : "and then nothing");
    fflush(stdout);
    _exit(0);
}

#endif
