/* Simulated links: a collective takes the time of a ring, and computation hides that time if the collective has its own
 * stream. */
#include "backend/link.h"
#include "core/base/clock.h"
#include "tests/backend/collective.h"
#include "tests/test.h"

static struct tt_backend real, b;
static struct tt_link l;

enum { RANKS = 8, N = 6250000 }; /* 25 MB */
static const double speed = 1e9, latency = 1e-3;
/* 2·7/8·25 MB at 1 GB/s, and 14 messages of 1 ms */
static const double reduce_seconds = 0.04375 + 0.014;

static bool about(double seconds, double wanted) { return seconds > 0.98 * wanted && seconds < 1.1 * wanted; }

/* The shortest of several tries: on a shared machine a try may be late, but never early. */
static double best(double (*seconds)(void))
{
    double least = INFINITY;
    for (int i = 0; i < 20; i++) least = fmin(least, seconds());
    return least;
}

static float *x;
static tt_stream s;
static tt_event before, after;

static tt_status together(const struct tt_backend *on, enum tt_collective_kind kind, void *p, size_t n,
                          enum tt_dtype type, tt_stream at)
{
    return collective_in_place(on, kind, p, n, type, (struct tt_ranks){.rank = 0, .count = 8}, at);
}

static double on_the_null_stream(void)
{
    double begin = tt_seconds();
    CHECK_OK(together(&b, TT_ALL_REDUCE, x, N, TT_F32, NULL));
    return tt_seconds() - begin;
}

static double by_events(void)
{
    double seconds = 0;
    CHECK_OK(b.ops->event_record(b.self, before, s));
    CHECK_OK(together(&b, TT_ALL_REDUCE, x, N, TT_F32, s));
    CHECK_OK(b.ops->event_record(b.self, after, s));
    CHECK_OK(b.ops->event_elapsed(b.self, before, after, &seconds));
    return seconds;
}

/* A reduce-scatter and an all-gather, each half of an all-reduce. */
static double two_in_a_row(void)
{
    double begin = tt_seconds();
    CHECK_OK(together(&b, TT_REDUCE_SCATTER, x, N, TT_F32, s));
    CHECK_OK(together(&b, TT_ALL_GATHER, x, N, TT_F32, s));
    CHECK_OK(b.ops->stream_sync(b.self, s));
    return tt_seconds() - begin;
}

static void takes_the_time_of_a_ring(void)
{
    CHECK(fabs(2 * tt_link_seconds(&l, N * 4.0) - reduce_seconds) < 1e-9);
    double seconds = best(on_the_null_stream);
    CHECK(about(seconds, reduce_seconds), "%g s", seconds);
    seconds = best(by_events);
    CHECK(about(seconds, reduce_seconds), "%g s", seconds);
    seconds = best(two_in_a_row);
    CHECK(about(seconds, reduce_seconds), "%g s", seconds);
}

static double least_enqueuing = INFINITY; /* seconds */

/* Kernels run for most of the time that the collective takes; together they take no longer than the collective. */
static double beside_computation(void)
{
    float *y;
    CHECK_OK(b.ops->alloc(b.self, 4096 * sizeof *y, (void **)&y));
    CHECK_OK(b.ops->fill(b.self, y, 0, 4096 * sizeof *y, NULL));
    double begin = tt_seconds();
    CHECK_OK(together(&b, TT_ALL_REDUCE, x, N, TT_F32, s));
    CHECK_OK(b.ops->event_record(b.self, after, s));
    least_enqueuing = fmin(least_enqueuing, tt_seconds() - begin);
    for (int kernels = 0; tt_seconds() - begin < 0.8 * reduce_seconds || kernels <= 10; kernels++) {
        struct tt_scale_args scale = {.x = y, .n = 4096, .factor = 2};
        CHECK_OK(b.ops->launch(b.self, TT_K_scale, &scale, NULL));
    }
    CHECK_OK(b.ops->stream_wait(b.self, NULL, after));
    double seconds = tt_seconds() - begin;
    b.ops->free(b.self, y);
    return seconds;
}

static void computation_hides_it(void)
{
    double seconds = best(beside_computation);
    CHECK(about(seconds, reduce_seconds), "%g s", seconds);
    CHECK(least_enqueuing < 0.5 * reduce_seconds, "enqueuing waits");
}

static void leaves_the_data(void)
{
    int wrong = 0;
    for (int i = 0; i < N; i++) wrong += x[i] != (float)i;
    CHECK(!wrong, "%d values", wrong);
}

static void says_what_it_is(void)
{
    struct tt_device_info info;
    CHECK_OK(b.ops->info(b.self, &info));
    CHECK(!strcmp(info.collectives, "simulated links: 8 ranks, 1 GB/s, 1000 us"), "\"%s\"", info.collectives);
    CHECK_OK(b.ops->join(b.self, NULL));
    CHECK_OK(b.ops->join(b.self, &(struct tt_ranks){.rank = 0, .count = 1}));
}

static void one_rank_waits_for_nobody(void)
{
    struct tt_link alone;
    struct tt_backend c;
    CHECK_OK(tt_link_open(&alone, &real, 1, speed, latency, &c));
    CHECK(tt_link_seconds(&alone, 1e12) == 0);
    CHECK_OK(together(&c, TT_ALL_REDUCE, x, N, TT_F32, NULL));
}

static void refuses_nonsense(void)
{
    struct tt_link other;
    struct tt_backend c;
    CHECK_FAILS(tt_link_open(&other, &real, 0, speed, latency, &c), "ranks");
    CHECK_FAILS(tt_link_open(&other, &real, 2, 0, latency, &c), "speed");
    CHECK_FAILS(tt_link_open(&other, &real, 2, NAN, latency, &c), "speed");
    CHECK_FAILS(tt_link_open(&other, &real, 2, speed, -1, &c), "latency");
}

/* If a backend has no delays on a stream, opening a simulated link fails. */
static void needs_a_backend_that_waits(void)
{
    struct tt_backend_ops ops = *real.ops;
    struct tt_backend c = {&ops, real.self}, out;
    struct tt_link other;
    ops.delay = NULL;
    CHECK_FAILS(tt_link_open(&other, &c, 2, speed, latency, &out), "CPU only");
}

int main(void)
{
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){.threads = 1}, &real));
    TEST(needs_a_backend_that_waits);
    if (!real.ops->delay) {
        tt_backend_close(&real);
        return test_end();
    }
    CHECK_OK(tt_link_open(&l, &real, RANKS, speed, latency, &b));
    CHECK_OK(b.ops->alloc(b.self, N * sizeof *x, (void **)&x));
    for (int i = 0; i < N; i++) x[i] = (float)i;
    CHECK_OK(b.ops->stream_create(b.self, &s));
    CHECK_OK(b.ops->event_create(b.self, &before));
    CHECK_OK(b.ops->event_create(b.self, &after));
    TEST(takes_the_time_of_a_ring);
    TEST(computation_hides_it);
    TEST(leaves_the_data);
    TEST(says_what_it_is);
    TEST(one_rank_waits_for_nobody);
    TEST(refuses_nonsense);
    b.ops->event_destroy(b.self, before);
    b.ops->event_destroy(b.self, after);
    b.ops->stream_destroy(b.self, s);
    b.ops->free(b.self, x);
    tt_backend_close(&real);
    return test_end();
}
