/* Shared by the tests of a GPU backend's host code: does everything that a run does, once, with a fake runtime that
 * fails on request. Each folder of tests supplies the runtime of fake.h, and its test_host.c includes this file. */
#ifndef TT_TEST_HOST_WORK_H
#define TT_TEST_HOST_WORK_H

#include <pthread.h>
#include <unistd.h>

#include "backend/backend.h"
#include "tests/backend/collective.h"
#include "tests/backend/gpu/fake.h"
#include "tests/test.h"

static bool one_line(const char *text) { return text[0] && !strchr(text, '\n'); }

/* Checks that opening fails with TT_NO_DEVICE (exit code 3) and one line that contains these words, and leaks
 * nothing. */
static void refused(const struct tt_backend_options *options, const char *words)
{
    struct tt_backend b;
    tt_status st = tt_backend_open(options, &b);
    CHECK(st && st->code == TT_NO_DEVICE, "%s", st ? st->text : "it opened");
    CHECK(st && strstr(st->text, words) && one_line(st->text), "wanted \"%s\", got %s", words,
          st ? st->text : "nothing");
    CHECK(!b.ops && !b.self && fake.live == 0, "%ld things were left", fake.live);
    tt_status_free(st);
    if (b.ops) tt_backend_close(&b);
}

/* ---- everything that a run does, once ---- */

struct work {
    struct tt_backend b;
    void *device[3], *host;
    tt_stream stream;
    tt_event events[2];
    tt_graph graph;
};

static inline tt_status multiply(struct work *w, int64_t k, tt_stream s)
{
    struct tt_gemm g = {.a = w->device[0],
                        .b = w->device[1],
                        .c = w->device[2],
                        .m = 4,
                        .n = 4,
                        .k = k,
                        .batch = 2,
                        .lda = k ? k : 1,
                        .ldb = 4,
                        .ldc = 5,
                        .stride_a = 16,
                        .stride_b = 16,
                        .stride_c = 20,
                        .alpha = 1,
                        .beta = 0.5f};
    return w->b.ops->gemm(w->b.self, &g, s);
}

/* A product fused with SwiGLU or RoPE, for which two implementations are timed. */
static inline tt_status multiply_with(struct work *w, enum tt_gemm_with with)
{
    bool backward = with == TT_WITH_SWIGLU_BACKWARD;
    struct tt_gemm g = {.a = w->device[0], .b = w->device[1], .c = w->device[2], .also = w->device[1], .m = 4, .n = 4,
                        .k = 4, .batch = 1, .lda = 4, .ldb = 4, .ldc = 4, .alpha = 1, .trans_b = !backward,
                        .type_a = TT_F16, .type_b = TT_F16, .type_c = TT_F16, .with = with, .rope = {.S = 1, .D = 2}};
    return w->b.ops->gemm(w->b.self, &g, NULL);
}

static tt_status step(struct work *w)
{
    struct tt_zero_args zero = {.x = w->device[0], .n = 4};
    TT_TRY(w->b.ops->launch(w->b.self, TT_K_zero, &zero, NULL));
    return multiply(w, 4, NULL);
}

static tt_status capture(struct work *w)
{
    const struct tt_backend_ops *ops = w->b.ops;
    TT_TRY(ops->graph_begin(w->b.self, NULL));
    tt_status st = step(w), end = ops->graph_end(w->b.self, NULL, &w->graph);
    if (!st) return end;
    tt_status_free(end);
    return st;
}

static tt_status order(struct work *w)
{
    const struct tt_backend_ops *ops = w->b.ops;
    double seconds;
    bool done;
    TT_TRY(ops->stream_create(w->b.self, &w->stream));
    for (int i = 0; i < 2; i++) TT_TRY(ops->event_create(w->b.self, &w->events[i]));
    TT_TRY(ops->event_record(w->b.self, w->events[0], w->stream));
    TT_TRY(multiply(w, 4, w->stream)); /* the stream gets its own workspace */
    TT_TRY(multiply_with(w, TT_WITH_SWIGLU));
    TT_TRY(multiply_with(w, TT_WITH_SWIGLU_BACKWARD));
    TT_TRY(multiply_with(w, TT_WITH_ROPE));
    TT_TRY(ops->event_record(w->b.self, w->events[1], w->stream));
    TT_TRY(ops->stream_wait(w->b.self, NULL, w->events[1]));
    TT_TRY(ops->event_query(w->b.self, w->events[1], &done));
    TT_TRY(ops->event_sync(w->b.self, w->events[1]));
    TT_TRY(ops->event_elapsed(w->b.self, w->events[0], w->events[1], &seconds));
    return ops->stream_sync(w->b.self, w->stream);
}

/* Rank 0 of two, with a rank 1 that needs nothing. */
static tt_status share_alone(void *user, void *bytes, size_t size)
{
    (void)bytes;
    return *(int *)user += size > 0, TT_OK;
}

static tt_status together(struct work *w)
{
    const struct tt_backend_ops *ops = w->b.ops;
    int shared = 0;
    if (!ops->join) return TT_OK;
    struct tt_ranks two = {0, 2, share_alone, &shared};
    TT_TRY(ops->join(w->b.self, &two));
    TT_TRY(collective_in_place(&w->b, TT_ALL_REDUCE, w->device[0], 7, TT_F32, two, w->stream));
    TT_TRY(collective_in_place(&w->b, TT_REDUCE_SCATTER, w->device[0], 8, TT_F32, two, w->stream));
    return collective_in_place(&w->b, TT_ALL_GATHER, w->device[0], 8, TT_F32, two, NULL);
}

static tt_status do_all(struct work *w, const struct tt_backend_options *options)
{
    struct tt_device_info info;
    TT_TRY(tt_backend_open(options, &w->b));
    const struct tt_backend_ops *ops = w->b.ops;
    TT_TRY(ops->info(w->b.self, &info));
    for (int i = 0; i < 3; i++) TT_TRY(ops->alloc(w->b.self, 1024, &w->device[i]));
    TT_TRY(ops->host_alloc(w->b.self, 1024, &w->host));
    TT_TRY(ops->copy(w->b.self, w->device[0], w->host, 1024, TT_TO_DEVICE, NULL));
    TT_TRY(ops->fill(w->b.self, w->device[1], 1, 1024, NULL));
    TT_TRY(multiply(w, 0, NULL));
    TT_TRY(step(w));
    TT_TRY(order(w));
    TT_TRY(together(w));
    TT_TRY(capture(w));
    return ops->graph_replay(w->b.self, w->graph, NULL);
}

static void give_back(struct work *w)
{
    const struct tt_backend_ops *ops = w->b.ops;
    if (!ops) return;
    if (w->graph) ops->graph_destroy(w->b.self, w->graph);
    for (int i = 0; i < 2; i++) ops->event_destroy(w->b.self, w->events[i]);
    ops->stream_destroy(w->b.self, w->stream);
    ops->host_free(w->b.self, w->host);
    for (int i = 0; i < 3; i++) ops->free(w->b.self, w->device[i]);
    tt_backend_close(&w->b);
}

/* A failure while opening is TT_NO_DEVICE, a later one TT_FAILED. Timing may ignore a failed call. */
static void judge(long n, const struct work *w, tt_status st)
{
    CHECK(fake.failed != NULL, "call %ld was not made", n);
    if (st) {
        CHECK(st->code == (w->b.ops ? TT_FAILED : TT_NO_DEVICE), "%s: code %d: %s", fake.failed, (int)st->code,
              st->text);
        CHECK(one_line(st->text), "%s: %s", fake.failed, st->text);
        CHECK(!w->b.ops || !strcmp(fake.failed, "kernel") || strstr(st->text, fake.failed), "%s is not named: %s",
              fake.failed, st->text);
    }
    tt_status_free(st);
}

/* Runs everything with the n-th call failing, or none if n is 0. Returns how many calls could have failed. */
static long with_failure(long n, const char *cache, int *told)
{
    struct work w = {0};
    remove(cache); /* or the run would reuse the choices of the previous one */
    fake_reset();
    fake.fail_at = n;
    tt_status st = do_all(&w, &(struct tt_backend_options){.gemm_tune = TT_TUNE_QUICK, .gemm_cache = cache});
    long calls = fake.calls;
    *told += st != NULL;
    if (n) judge(n, &w, st);
    CHECK(!fake.capturing, "%s left a capture open", fake.failed);
    give_back(&w);
    CHECK(fake.live == 0, "after %s failed: %ld things were not given back", fake.failed, fake.live);
    return calls;
}

/* Lets each call fail once. There are at least `least` calls, and at least `least_told` of the failures are reported:
 * those of timing and trying out algorithms are not. */
static void fail_every_call(long least, long least_told)
{
    char cache[] = "/tmp/tt-test-gemms-XXXXXX";
    int fd = mkstemp(cache), told = 0;
    CHECK(fd >= 0);
    close(fd);
    long calls = with_failure(0, cache, &told);
    CHECK(told == 0 && calls >= least, "%ld calls", calls);
    for (long n = 1; n <= calls; n++) with_failure(n, cache, &told);
    CHECK(told >= least_told, "of %ld failures only %d were told", calls, told);
    remove(cache);
}

static void works_when_nothing_fails(void)
{
    struct work w = {0};
    fake_reset();
    CHECK_OK(do_all(&w, NULL));
    CHECK(fake.live > 8, "%ld things", fake.live);
    give_back(&w);
    CHECK(fake.live == 0 && !fake.capturing, "%ld things were not given back", fake.live);
}

/* ---- how busy the GPU is ---- */

/* FAKE_MONITOR is the source that the fake monitoring library reports. If it is not set, no library knows these
 * GPUs. */
static void says_how_busy_it_is(void)
{
    const char *source = getenv("FAKE_MONITOR");
    for (int device = 0; device < 2; device++) {
        struct tt_backend b;
        struct tt_usage usage = {0};
        fake_reset();
        CHECK_OK(tt_backend_open(&(struct tt_backend_options){.device = device}, &b));
        tt_status st = b.ops->usage(b.self, &usage);
        if (!source) {
            CHECK(st && one_line(st->text), "%s", st ? st->text : "there is a library");
            tt_status_free(st);
        } else {
            CHECK_OK(st);
            CHECK(usage.busy == (40 + device) / 100.0 && !strcmp(usage.source, source), "%g by %s", usage.busy,
                  usage.source);
            CHECK(usage.memory_used == 3072 && usage.memory_total == 4096);
        }
        tt_backend_close(&b);
        CHECK(fake.live == 0);
    }
}

/* If a call of the monitoring library fails, usage fails with a one-line message and the rest goes on. */
static void goes_on_without_a_monitor(const char *const *calls)
{
    bool library = getenv("FAKE_MONITOR") != NULL;
    for (; *calls; calls++) {
        struct tt_backend b;
        struct tt_usage usage;
        struct tt_device_info info;
        fake_reset();
        setenv("FAKE_MONITOR_FAILS", *calls, 1);
        CHECK_OK(tt_backend_open(NULL, &b));
        tt_status st = b.ops->usage(b.self, &usage);
        CHECK(st && one_line(st->text) && (!library || strstr(st->text, "Not Supported")), "%s: %s", *calls,
              st ? st->text : "fine");
        tt_status_free(st);
        CHECK_OK(b.ops->info(b.self, &info));
        unsetenv("FAKE_MONITOR_FAILS");
        st = b.ops->usage(b.self, &usage); /* it is queried again */
        CHECK(!st == library, "%s", st ? st->text : "there is a library");
        tt_status_free(st);
        tt_backend_close(&b);
        CHECK(fake.live == 0);
    }
}

/* This program is one of the processes on its GPU. A library that lists none, or fails, names no others. */
static void counts_other_programs(const char *call)
{
    static const struct {
        const char *processes;
        int others;
    } cases[] = {{"0", 0}, {"1", 0}, {"3", 2}};
    bool library = getenv("FAKE_MONITOR") != NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int fails = 0; fails < 2; fails++) {
            struct tt_backend b;
            struct tt_usage usage = {.others = -1};
            fake_reset();
            setenv("FAKE_MONITOR_PROCESSES", cases[i].processes, 1);
            if (fails) setenv("FAKE_MONITOR_FAILS", call, 1);
            CHECK_OK(tt_backend_open(NULL, &b));
            tt_status st = b.ops->usage(b.self, &usage);
            CHECK(!library || (!st && usage.others == (fails ? 0 : cases[i].others)), "%s processes: %d others, %s",
                  cases[i].processes, usage.others, st ? st->text : "fine");
            tt_status_free(st);
            tt_backend_close(&b);
            unsetenv("FAKE_MONITOR_FAILS");
        }
    unsetenv("FAKE_MONITOR_PROCESSES");
}

/* ---- several GPUs ---- */

static void *copy_in_a_thread(void *p)
{
    struct work *w = p;
    const struct tt_backend_ops *ops = w->b.ops;
    CHECK_OK(ops->copy(w->b.self, w->device[0], w->host, 16, TT_TO_DEVICE, w->stream));
    CHECK_OK(ops->event_record(w->b.self, w->events[0], w->stream));
    CHECK_OK(ops->event_sync(w->b.self, w->events[0]));
    CHECK_OK(ops->fill(w->b.self, w->device[0], 0, 16, w->stream));
    CHECK_OK(ops->stream_sync(w->b.self, w->stream));
    return NULL;
}

/* No context is created on a GPU that was not chosen: it would take hundreds of MB of memory there, or be refused. */
static void leaves_the_other_gpus_alone(void)
{
    struct work w = {0};
    pthread_t thread;
    fake_reset();
    CHECK_OK(do_all(&w, &(struct tt_backend_options){.device = 1}));
    CHECK(!pthread_create(&thread, NULL, copy_in_a_thread, &w) && !pthread_join(thread, NULL));
    give_back(&w);
    CHECK(fake.used[1] && !fake.used[0], "GPU 0 was used");
    CHECK(fake.live == 0);
}

/* ---- several ranks ---- */

static void open_to_work(struct work *w)
{
    fake_reset();
    CHECK_OK(tt_backend_open(NULL, &w->b));
    for (int i = 0; i < 3; i++) CHECK_OK(w->b.ops->alloc(w->b.self, 1024, &w->device[i]));
}

static void asked(const void *from, const void *to, size_t count, int type, tt_stream s)
{
    const struct fake_collective *c = &fake.collective;
    CHECK(c->from == from && c->to == to && c->count == count && c->type == type, "%p %p %zu %d", c->from, c->to,
          c->count, c->type);
    CHECK(c->stream && (!s || c->stream == *(void **)s), "on another stream"); /* which a tt_stream begins with */
}

/* Opens with a second stream. Returns false, with everything freed, if the header of NCCL or RCCL was missing. */
static bool open_together(struct work *w)
{
    open_to_work(w);
    if (!w->b.ops->join) return give_back(w), false;
    CHECK_OK(w->b.ops->stream_create(w->b.self, &w->stream));
    return true;
}

/* In place: a rank's own part lies at its position in the whole buffer. */
static void collectives_are_in_place(void)
{
    struct work w = {0};
    struct tt_device_info info;
    int shared = 0;
    if (!open_together(&w)) SKIP("the header of the library of collectives is not here");
    const struct tt_backend_ops *ops = w.b.ops;
    char *x = w.device[0];
    CHECK_OK(ops->info(w.b.self, &info));
    CHECK(!info.collectives[0], "\"%s\" before anything was loaded", info.collectives);
    CHECK_OK(ops->join(w.b.self, NULL));
    const struct tt_ranks one = {0, 1, share_alone, &shared};
    CHECK_OK(ops->info(w.b.self, &info));
    CHECK(strstr(info.collectives, "CCL 2.28.9"), "\"%s\"", info.collectives);
    CHECK_FAILS(collective_in_place(&w.b, TT_ALL_REDUCE, x, 7, TT_F32, one, NULL), "join a job first");
    CHECK_OK(ops->join(w.b.self, &one));
    CHECK(shared == 1);
    CHECK_FAILS(ops->join(w.b.self, &one), "already");
    CHECK_OK(collective_in_place(&w.b, TT_ALL_REDUCE, x, 7, TT_F32, one, w.stream));
    asked(x, x, 7, 7, w.stream);
    CHECK_OK(collective_in_place(&w.b, TT_ALL_REDUCE, x, 5, TT_BF16, one, NULL));
    asked(x, x, 5, 9, NULL);
    give_back(&w);
    CHECK(fake.live == 0, "%ld things were not given back", fake.live);
}

/* Rank 2 of 3: another rank supplies the id. */
static tt_status share_id(void *user, void *bytes, size_t size)
{
    static const char id[] = "the id of a job that is not there"; /* fake_collectives.h */
    memset(bytes, 0, size);
    memcpy(bytes, id, sizeof id);
    return *(int *)user = (int)size, TT_OK;
}

static void collectives_know_their_part(void)
{
    struct work w = {0};
    int shared = 0;
    if (!open_together(&w)) SKIP("the header of the library of collectives is not here");
    const struct tt_backend_ops *ops = w.b.ops;
    char *x = w.device[0];
    const struct tt_ranks third = {2, 3, share_id, &shared};
    CHECK_OK(ops->join(w.b.self, &third));
    CHECK(shared == 128, "%d", shared);
    CHECK_OK(collective_in_place(&w.b, TT_REDUCE_SCATTER, x, 12, TT_F32, third, w.stream));
    asked(x, x + 8 * sizeof(float), 4, 7, w.stream);
    CHECK_OK(collective_in_place(&w.b, TT_ALL_GATHER, x, 30, TT_F16, third, w.stream));
    asked(x + 20 * 2, x, 10, 6, w.stream);
    CHECK_FAILS(collective_in_place(&w.b, TT_ALL_GATHER, x, 10, TT_F32, third, NULL),
                "10 elements are not a multiple of 3 ranks");
    CHECK_FAILS(collective_in_place(&w.b, TT_REDUCE_SCATTER, x, 13, TT_F32, third, NULL), "multiple");
    give_back(&w);
    CHECK(fake.live == 0, "%ld things were not given back", fake.live);
}

/* Rank 1 of 2: rank 0 failed to make an id. */
static tt_status share_no_id(void *user, void *bytes, size_t size)
{
    memset(bytes, 0, size);
    ++*(int *)user;
    return TT_OK;
}

static void joins_nobody_without_an_id(void)
{
    struct work w = {0};
    int shared = 0;
    if (!open_together(&w)) SKIP("the header of the library of collectives is not here");
    const struct tt_ranks second = {1, 2, share_no_id, &shared};
    CHECK_FAILS(w.b.ops->join(w.b.self, &second), "rank 0 got no id");
    CHECK(shared == 1, "%d", shared);
    give_back(&w);
    CHECK(fake.live == 0, "%ld things were not given back", fake.live);
}

static void says_that_two_ranks_share_a_gpu(void)
{
    struct work w = {0};
    int shared = 0;
    open_to_work(&w);
    if (!w.b.ops->join) {
        give_back(&w);
        SKIP("the header of the library of collectives is not here");
    }
    fake.fails = "ncclCommInitRank", fake.fails_from = 1;
    fake.last_words = "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000";
    CHECK_FAILS(w.b.ops->join(w.b.self, &(struct tt_ranks){0, 2, share_alone, &shared}),
                "ranks 1 and 0 share a GPU");
    fake.last_words = "the net is down";
    CHECK_FAILS(w.b.ops->join(w.b.self, &(struct tt_ranks){0, 2, share_alone, &shared}),
                "ncclCommInitRank: as the test wants: the net is down");
    CHECK(!getenv("NCCL_HOSTID"));
    setenv("TT_TEST_RANKS_ON_ONE_GPU", "1", 1);
    fake.fails = NULL;
    CHECK_OK(w.b.ops->join(w.b.self, &(struct tt_ranks){0, 2, share_alone, &shared}));
    const char *host = getenv("NCCL_HOSTID");
    CHECK(host && strstr(host, "rank-0"));
    unsetenv("TT_TEST_RANKS_ON_ONE_GPU");
    unsetenv("NCCL_HOSTID");
    give_back(&w);
    CHECK(fake.live == 0, "%ld things were not given back", fake.live);
}

/* ---- several streams ---- */

enum { STREAMS = 5 };

static struct fake_product last_product(void) { return fake.products[(fake.multiplied - 1) % FAKE_PRODUCTS]; }

/* Two streams would write at once to whatever they share. */
static void share_nothing(const struct fake_product *p, int count)
{
    for (int i = 0; i < count; i++) {
        CHECK(FAKE_HANDLE_PER_STREAM || p[i].workspace, "stream %d has no workspace", i);
        for (int j = 0; j < i; j++) {
            CHECK(p[i].stream != p[j].stream, "streams %d and %d are one", j, i);
            CHECK(!p[i].workspace || p[i].workspace != p[j].workspace, "streams %d and %d share a workspace", j, i);
            CHECK(!FAKE_HANDLE_PER_STREAM || p[i].handle != p[j].handle, "streams %d and %d share a handle", j, i);
        }
    }
}

static void multiply_on(struct work *w, tt_stream s, struct fake_product *out)
{
    int before = fake.multiplied;
    CHECK_OK(multiply(w, 4, s));
    CHECK(fake.multiplied == before + 1);
    *out = last_product();
}

static void streams_that_multiply_share_nothing(void)
{
    struct work w = {0};
    tt_stream s[STREAMS];
    struct fake_product p[STREAMS + 1], again;
    open_to_work(&w);
    multiply_on(&w, NULL, &p[STREAMS]);
    for (int i = 0; i < STREAMS; i++) {
        CHECK_OK(w.b.ops->stream_create(w.b.self, &s[i]));
        multiply_on(&w, s[i], &p[i]);
    }
    share_nothing(p, STREAMS + 1);
    for (int i = 0; i < STREAMS; i++) {
        multiply_on(&w, s[i], &again);
        CHECK(!memcmp(&again, &p[i], sizeof again), "stream %d multiplies with something else now", i);
    }
    w.b.ops->stream_destroy(w.b.self, s[1]); /* a new stream may reuse its handle and workspace; the others may not */
    CHECK_OK(w.b.ops->stream_create(w.b.self, &s[1]));
    multiply_on(&w, s[1], &p[1]);
    share_nothing(p, STREAMS + 1);
    for (int i = 0; i < STREAMS; i++) w.b.ops->stream_destroy(w.b.self, s[i]);
    give_back(&w);
    CHECK(fake.live == 0, "%ld things were not given back", fake.live);
}

/* Like several models in one program: each captures a step with a side stream, which multiplies there for the first
 * time. */
static void a_capture_makes_nothing(void)
{
    struct work w = {0};
    tt_stream s[STREAMS];
    tt_graph graphs[STREAMS];
    struct fake_product p[STREAMS + 1];
    open_to_work(&w);
    multiply_on(&w, NULL, &p[STREAMS]);
    for (int i = 0; i < STREAMS; i++) {
        CHECK_OK(w.b.ops->stream_create(w.b.self, &s[i]));
        CHECK_OK(w.b.ops->graph_begin(w.b.self, NULL));
        multiply_on(&w, s[i], &p[i]);
        CHECK_OK(w.b.ops->graph_end(w.b.self, NULL, &graphs[i]));
    }
    CHECK(fake.made_in_capture == 0, "%ld things were made in a capture", fake.made_in_capture);
    share_nothing(p, STREAMS + 1);
    for (int i = 0; i < STREAMS; i++) {
        w.b.ops->graph_destroy(w.b.self, graphs[i]);
        w.b.ops->stream_destroy(w.b.self, s[i]);
    }
    give_back(&w);
    CHECK(fake.live == 0, "%ld things were not given back", fake.live);
}

/* A second new stream in one capture cannot be served: its multiply fails with a message and the capture stays
 * intact. */
static void two_new_streams_in_a_capture_are_refused(void)
{
    struct work w = {0};
    tt_stream s[2];
    struct fake_product p;
    open_to_work(&w);
    for (int i = 0; i < 2; i++) CHECK_OK(w.b.ops->stream_create(w.b.self, &s[i]));
    CHECK_OK(w.b.ops->graph_begin(w.b.self, NULL));
    multiply_on(&w, s[0], &p);
    CHECK_FAILS(multiply(&w, 4, s[1]), "two streams multiply for the first time in this capture");
    CHECK_OK(w.b.ops->graph_end(w.b.self, NULL, &w.graph));
    CHECK(fake.made_in_capture == 0);
    multiply_on(&w, s[1], &p);
    for (int i = 0; i < 2; i++) w.b.ops->stream_destroy(w.b.self, s[i]);
    give_back(&w);
    CHECK(fake.live == 0, "%ld things were not given back", fake.live);
}

#endif
