/* The vtable itself: memory and its counters, copies, fills, streams, events, the device's description of itself, and
 * what it refuses. Every backend must pass. */
#include <stdint.h>
#include <time.h>

#include "backend/backend.h"
#include "tests/test.h"

static struct tt_backend b;

static struct tt_device_info info(void)
{
    struct tt_device_info i;
    CHECK_OK(b.ops->info(b.self, &i));
    return i;
}

static void says_what_it_is(void)
{
    struct tt_device_info i = info();
    CHECK(!strcmp(b.ops->name, tt_backend_name()));
    CHECK(i.name[0] && i.arch[0] && i.library[0], "\"%s\" \"%s\" \"%s\"", i.name, i.arch, i.library);
    CHECK(i.wave_width >= 1 && i.units >= 1);
    CHECK(i.memory_total > 0 && i.memory_free <= i.memory_total);
    CHECK(i.has[TT_FP32]);
    printf("     %s, %s, %s, %d units, %.1f of %.1f GiB free\n", i.name, i.arch, i.library, i.units,
           (double)i.memory_free / 1073741824, (double)i.memory_total / 1073741824);
}

static void takes_the_threads_asked_for(void)
{
    if (strcmp(tt_backend_name(), "cpu")) SKIP("the number of threads is the CPU's");
    for (int threads = 1; threads <= 3; threads++) {
#ifdef _OPENMP
        int want = threads;
#else
        int want = 1;
#endif
        struct tt_backend other;
        struct tt_device_info i;
        CHECK_OK(tt_backend_open(&(struct tt_backend_options){.threads = threads}, &other));
        CHECK_OK(other.ops->info(other.self, &i));
        CHECK(i.units == want, "asked for %d, got %d", threads, i.units);
        tt_backend_close(&other);
        CHECK(!other.ops && !other.self);
    }
}

static void aligns_and_counts_memory(void)
{
    static const size_t sizes[] = {0, 1, 255, 256, 257, 4096, (2 << 20) - 1, 2 << 20, (8 << 20) + 13};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    size_t before = info().memory_used, total = 0;
    void *p[COUNT];
    b.ops->reset_peak(b.self);
    for (int i = 0; i < COUNT; i++) {
        CHECK_OK(b.ops->alloc(b.self, sizes[i], &p[i]));
        CHECK(p[i] && (uintptr_t)p[i] % TT_ALIGN == 0, "%zu bytes at %p", sizes[i], p[i]);
        CHECK_OK(b.ops->fill(b.self, p[i], 0x5a, sizes[i], NULL)); /* all of it is writable */
        total += sizes[i];
    }
    struct tt_device_info full = info();
    CHECK(full.memory_used >= before + total, "%zu used, %zu allocated", full.memory_used - before, total);
    CHECK(full.memory_peak == full.memory_used);
    for (int i = 0; i < COUNT; i++) b.ops->free(b.self, p[i]);
    b.ops->free(b.self, NULL);
    struct tt_device_info empty = info();
    CHECK(empty.memory_used == before, "%zu bytes were not given back", empty.memory_used - before);
    CHECK(empty.memory_peak == full.memory_peak);
    b.ops->reset_peak(b.self);
    CHECK(info().memory_peak == before);
}

static void refuses_more_memory_than_there_is(void)
{
    void *p = NULL;
    tt_status st = b.ops->alloc(b.self, SIZE_MAX - 5, &p);
    CHECK(st && st->code == TT_FAILED);
    tt_status_free(st);
    size_t used = info().memory_used;
    st = b.ops->alloc(b.self, SIZE_MAX / 4, &p);
    CHECK(st && strstr(st->text, "memory"), "%s", st ? st->text : "success");
    tt_status_free(st);
    CHECK(info().memory_used == used);
}

/* Host to device, device to device, and back, at sizes around the pieces that threads copy. */
static void copies(void)
{
    static const size_t sizes[] = {0, 1, 1000, 1 << 20, (1 << 20) + 1, (9 << 20) + 7};
    for (int i = 0; i < 6; i++) {
        size_t n = sizes[i];
        unsigned char *from, *to;
        void *x, *y;
        CHECK_OK(b.ops->host_alloc(b.self, n, (void **)&from));
        CHECK_OK(b.ops->host_alloc(b.self, n, (void **)&to));
        CHECK_OK(b.ops->alloc(b.self, n, &x));
        CHECK_OK(b.ops->alloc(b.self, n, &y));
        for (size_t j = 0; j < n; j++) from[j] = (unsigned char)(j * 7 + j / 251);
        memset(to, 0, n);
        CHECK_OK(b.ops->copy(b.self, x, from, n, TT_TO_DEVICE, NULL));
        CHECK_OK(b.ops->copy(b.self, y, x, n, TT_ON_DEVICE, NULL));
        CHECK_OK(b.ops->copy(b.self, to, y, n, TT_TO_HOST, NULL));
        CHECK_OK(b.ops->stream_sync(b.self, NULL));
        CHECK(!memcmp(from, to, n), "%zu bytes came back changed", n);
        b.ops->free(b.self, x);
        b.ops->free(b.self, y);
        b.ops->host_free(b.self, from);
        b.ops->host_free(b.self, to);
    }
}

static void fills_exactly(void)
{
    enum { N = (6 << 20) + 100, FROM = 37, TO = N - 41 };
    unsigned char *x, *host = malloc(N);
    CHECK_OK(b.ops->alloc(b.self, N, (void **)&x));
    CHECK_OK(b.ops->fill(b.self, x, 1, N, NULL));
    CHECK_OK(b.ops->fill(b.self, x + FROM, 0xfe, TO - FROM, NULL));
    CHECK_OK(b.ops->copy(b.self, host, x, N, TT_TO_HOST, NULL));
    CHECK_OK(b.ops->stream_sync(b.self, NULL));
    int wrong = 0;
    for (int i = 0; i < N; i++) wrong += host[i] != (i >= FROM && i < TO ? 0xfe : 1);
    CHECK(!wrong, "%d of %d bytes", wrong, N);
    b.ops->free(b.self, x);
    free(host);
}

static void orders_streams_with_events(void)
{
    tt_stream s;
    tt_event e;
    float *x, host[4] = {1, 2, 3, 4}, back[4] = {0};
    CHECK_OK(b.ops->stream_create(b.self, &s));
    CHECK_OK(b.ops->event_create(b.self, &e));
    CHECK_OK(b.ops->alloc(b.self, sizeof host, (void **)&x));
    CHECK_OK(b.ops->copy(b.self, x, host, sizeof host, TT_TO_DEVICE, s));
    CHECK_OK(b.ops->event_record(b.self, e, s));
    CHECK_OK(b.ops->stream_wait(b.self, NULL, e));
    struct tt_scale_args scale = {.x = x, .n = 4, .factor = 2};
    CHECK_OK(b.ops->launch(b.self, TT_K_scale, &scale, NULL));
    CHECK_OK(b.ops->copy(b.self, back, x, sizeof back, TT_TO_HOST, NULL));
    CHECK_OK(b.ops->stream_sync(b.self, NULL));
    for (int i = 0; i < 4; i++) CHECK(back[i] == 2 * host[i], "%g", back[i]);
    bool done = false;
    CHECK_OK(b.ops->event_query(b.self, e, &done));
    CHECK(done);
    CHECK_OK(b.ops->event_sync(b.self, e));
    CHECK_OK(b.ops->stream_sync(b.self, s));
    b.ops->free(b.self, x);
    b.ops->event_destroy(b.self, e);
    b.ops->stream_destroy(b.self, s);
}

static void measures_time(void)
{
    tt_event from, to;
    double seconds = -1;
    CHECK_OK(b.ops->event_create(b.self, &from));
    CHECK_OK(b.ops->event_create(b.self, &to));
    CHECK_FAILS(b.ops->event_elapsed(b.self, from, to, &seconds), "record");
    CHECK_OK(b.ops->event_record(b.self, from, NULL));
    CHECK_OK(b.ops->stream_sync(b.self, NULL));
    nanosleep(&(struct timespec){.tv_nsec = 20 * 1000 * 1000}, NULL);
    CHECK_OK(b.ops->event_record(b.self, to, NULL));
    CHECK_OK(b.ops->event_elapsed(b.self, from, to, &seconds));
    CHECK(seconds >= 0.019 && seconds < 10, "20 ms took %g s", seconds);
    b.ops->event_destroy(b.self, from);
    b.ops->event_destroy(b.self, to);
}

static void refuses_what_it_cannot_do(void)
{
    if (info().has[TT_PREC_BF16]) SKIP("this device computes in bf16");
    float x[4] = {1, 2, 3, 4};
    struct tt_scale_args half = {.dtype = TT_BF16, .x = x, .n = 4, .factor = 2};
    tt_status st = b.ops->launch(b.self, TT_K_scale, &half, NULL);
    CHECK(st && st->code == TT_UNSUPPORTED && strstr(st->text, "scale"), "%s", st ? st->text : "success");
    tt_status_free(st);
    CHECK(x[0] == 1 && x[3] == 4);
    CHECK_FAILS(b.ops->launch(b.self, TT_KERNELS, &half, NULL), "kernel");
}

/* If tf32 is accepted but fp32 is used, the device says so. If it has tf32, the device says that it uses it. */
static void says_what_became_of_tf32(void)
{
    struct tt_device_info plain = info(), asked;
    struct tt_backend other;
    CHECK(!strstr(plain.library, "tf32"), "%s", plain.library);
    if (!plain.has[TT_TF32] && !plain.tf32_as_fp32) return;
    CHECK_OK(tt_backend_open(&(struct tt_backend_options){.precision = TT_TF32}, &other));
    CHECK_OK(other.ops->info(other.self, &asked));
    const char *words = plain.has[TT_TF32] ? "fp32 as " : "fp32 in place of tf32";
    CHECK(strstr(asked.library, words), "%s", asked.library);
    tt_backend_close(&other);
}

/* Range marks are optional, but a backend has both calls or neither. They nest. */
static void marks_come_in_pairs(void)
{
    CHECK(!b.ops->range_push == !b.ops->range_pop, "one of the two is missing");
    for (int i = 0; i < 1000 && b.ops->range_push; i++) {
        b.ops->range_push(b.self, "outer");
        b.ops->range_push(b.self, "inner");
        b.ops->range_pop(b.self);
        b.ops->range_pop(b.self);
    }
    CHECK_OK(b.ops->stream_sync(b.self, NULL));
}

int main(void)
{
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){0}, &b));
    TEST(says_what_it_is);
    TEST(takes_the_threads_asked_for);
    TEST(aligns_and_counts_memory);
    TEST(refuses_more_memory_than_there_is);
    TEST(copies);
    TEST(fills_exactly);
    TEST(orders_streams_with_events);
    TEST(measures_time);
    TEST(refuses_what_it_cannot_do);
    TEST(says_what_became_of_tf32);
    TEST(marks_come_in_pairs);
    tt_backend_close(&b);
    return test_end();
}
