/* The collectives of a backend between processes, against float64. A process whose environment names no rank is alone:
 * on a CPU it checks what is refused, and mpirun starts the ranks (tests/backend/cpu); on a GPU it starts them itself,
 * 1, 2, 3 and 4 of them, all on that GPU. */
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/link.h"
#include "core/base/clock.h"
#include "core/base/crc32.h"
#include "core/base/half.h"
#include "core/base/rng.h"
#include "tests/backend/collective.h"
#include "tests/test.h"

static struct tt_backend b;
static int rank, ranks;
static uint64_t seed;

static bool on_cpu(void) { return !strcmp(tt_backend_name(), "cpu"); }

/* ---- between the processes, which have one parent: files in a folder named after it ---- */

static void folder(char *out, size_t size)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(out, size, "%s/tt_collectives.%ld", tmp ? tmp : "/tmp", (long)getppid());
}

static void forget_notes(void)
{
    char at[300], path[400];
    folder(at, sizeof at);
    snprintf(path, sizeof path, "%s/begin", at);
    unlink(path);
    rmdir(at);
}

static void write_note(const char *name, const void *bytes, size_t size)
{
    char at[300], draft[400], path[400];
    folder(at, sizeof at);
    mkdir(at, 0700);
    snprintf(draft, sizeof draft, "%s/%s.draft", at, name);
    snprintf(path, sizeof path, "%s/%s", at, name);
    FILE *f = fopen(draft, "wb");
    CHECK(f && fwrite(bytes, 1, size, f) == size, "%s: %s", draft, strerror(errno));
    CHECK(f && !fclose(f) && !rename(draft, path), "%s: %s", path, strerror(errno));
}

static bool read_note(const char *name, void *bytes, size_t size)
{
    char at[300], path[400];
    folder(at, sizeof at);
    snprintf(path, sizeof path, "%s/%s", at, name);
    double end = tt_seconds() + 60;
    FILE *f = NULL;
    while (!(f = fopen(path, "rb")) && tt_seconds() < end) nanosleep(&(struct timespec){0, 1000000}, NULL);
    bool ok = f && fread(bytes, 1, size, f) == size;
    if (f) fclose(f);
    return ok;
}

static tt_status share(void *user, void *bytes, size_t size)
{
    int *calls = user;
    char name[32];
    snprintf(name, sizeof name, "shared%d", (*calls)++);
    if (rank == 0)
        write_note(name, bytes, size);
    else if (!read_note(name, bytes, size))
        return tt_fail(TT_FAILED, "rank 0 shares nothing");
    return TT_OK;
}

/* ---- values that every rank can compute for all ---- */

static float value(int of, size_t i) { return (float)(2 * tt_uniform(seed, (uint64_t)of, i) - 1); }
static int whole_value(int of, size_t i) { return (int)(tt_random(seed, 100 + (uint64_t)of, i) % 17) - 8; }

static double exact_sum(size_t i, double *size)
{
    double sum = 0;
    *size = 0;
    for (int r = 0; r < ranks; r++) {
        sum += value(r, i);
        *size += fabs(value(r, i));
    }
    return sum;
}

/* Within what `ranks` roundings can do; on the CPU, exactly what adding in the order of ranks gives. */
static bool right_sum(float got, size_t i)
{
    double size, sum = exact_sum(i, &size);
    if (on_cpu()) {
        float in_order = value(0, i);
        for (int r = 1; r < ranks; r++) in_order += value(r, i);
        if (got != in_order) return false;
    }
    return fabs(got - sum) <= ranks * 6e-8 * size;
}

static void *device(const void *host, size_t bytes)
{
    void *p = NULL;
    CHECK_OK(b.ops->alloc(b.self, bytes, &p));
    CHECK_OK(b.ops->copy(b.self, p, host, bytes, TT_TO_DEVICE, NULL));
    CHECK_OK(b.ops->stream_sync(b.self, NULL));
    return p;
}

static void fetch(void *host, const void *p, size_t bytes)
{
    CHECK_OK(b.ops->copy(b.self, host, p, bytes, TT_TO_HOST, NULL));
    CHECK_OK(b.ops->stream_sync(b.self, NULL));
}

/* In place. */
static tt_status together(enum tt_collective_kind kind, void *p, size_t n, enum tt_dtype type, tt_stream s)
{
    return collective_in_place(&b, kind, p, n, type, (struct tt_ranks){.rank = rank, .count = ranks}, s);
}
#define all_reduce(...) together(TT_ALL_REDUCE, __VA_ARGS__)
#define reduce_scatter(...) together(TT_REDUCE_SCATTER, __VA_ARGS__)
#define all_gather(...) together(TT_ALL_GATHER, __VA_ARGS__)

/* The same bytes on every rank? */
static void check_same_everywhere(const void *bytes, size_t size)
{
    float all[64] = {0}; /* bits that all_gather must not look into */
    uint32_t crc = tt_crc32(0, bytes, size);
    memcpy(&all[rank], &crc, sizeof crc);
    float *p = device(all, sizeof all);
    CHECK_OK(all_gather(p, (size_t)ranks, TT_F32, NULL));
    fetch(all, p, sizeof all);
    b.ops->free(b.self, p);
    for (int r = 0; r < ranks; r++) CHECK(!memcmp(&all[r], &crc, sizeof crc), "rank %d has other bits", r);
}

/* ---- the collectives ---- */

static const size_t counts[] = {1, 2, 3, 5, 7, 64, 1000, 4099, 262144 * 4 + 1, 3000017};
enum { COUNTS = sizeof counts / sizeof *counts };

/* What is left in every buffer of the device's own must not matter: make it NaN. */
static void poison(void)
{
    size_t n = 3200000 / (size_t)ranks * (size_t)ranks;
    float *x = malloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = NAN;
    float *p = device(x, n * sizeof *x);
    CHECK_OK(all_reduce(p, n, TT_F32, NULL));
    fetch(x, p, n * sizeof *x);
    CHECK(isnan(x[0]) && isnan(x[n - 1]));
    b.ops->free(b.self, p);
    free(x);
}

static void sums_everywhere(void)
{
    poison();
    for (int c = 0; c < COUNTS; c++) {
        size_t n = counts[c], bytes = n * sizeof(float), wrong = 0;
        float *x = malloc(bytes), *first = malloc(bytes), *second = malloc(bytes);
        for (size_t i = 0; i < n; i++) x[i] = value(rank, i);
        float *p = device(x, bytes);
        CHECK_OK(all_reduce(p, n, TT_F32, NULL));
        fetch(first, p, bytes);
        for (size_t i = 0; i < n; i += n > 100000 ? 61 : 1) wrong += !right_sum(first[i], i);
        wrong += !right_sum(first[n - 1], n - 1);
        CHECK(!wrong, "%zu of %zu sums, seed %llu", wrong, n, (unsigned long long)seed);
        check_same_everywhere(first, bytes);
        CHECK_OK(b.ops->copy(b.self, p, x, bytes, TT_TO_DEVICE, NULL));
        CHECK_OK(all_reduce(p, n, TT_F32, NULL));
        fetch(second, p, bytes);
        CHECK(!memcmp(first, second, bytes), "%zu sums have other bits the second time", n);
        b.ops->free(b.self, p);
        free(x), free(first), free(second);
    }
}

static void sums_each_part_on_its_rank(void)
{
    for (int c = 0; c < COUNTS; c++) {
        size_t part = counts[c] < 1000000 ? counts[c] : counts[c] / (size_t)ranks, n = part * (size_t)ranks, wrong = 0;
        size_t mine = (size_t)rank * part, bytes = n * sizeof(float);
        float *x = malloc(bytes);
        for (size_t i = 0; i < n; i++) x[i] = value(rank, i);
        float *p = device(x, bytes);
        CHECK_OK(reduce_scatter(p, n, TT_F32, NULL));
        fetch(x, p, bytes);
        for (size_t i = mine; i < mine + part; i += part > 100000 ? 61 : 1) wrong += !right_sum(x[i], i);
        wrong += !right_sum(x[mine + part - 1], mine + part - 1);
        CHECK(!wrong, "%zu of %zu sums, seed %llu", wrong, part, (unsigned long long)seed);
        b.ops->free(b.self, p);
        free(x);
    }
}

static void gathers_every_part(enum tt_dtype type)
{
    static const size_t parts[] = {1, 3, 1000, 1300001};
    for (int c = 0; c < 4; c++) {
        size_t part = parts[c] * sizeof(uint32_t) / tt_dtype_size(type), bytes = parts[c] * sizeof(uint32_t);
        size_t wrong = 0;
        uint32_t *x = malloc(bytes * (size_t)ranks);
        for (size_t i = 0; i < parts[c] * (size_t)ranks; i++)
            x[i] = i / parts[c] == (size_t)rank ? (uint32_t)tt_random(seed, (uint64_t)rank, i) : 0xdeadbeef;
        void *p = device(x, bytes * (size_t)ranks);
        CHECK_OK(all_gather(p, part * (size_t)ranks, type, NULL));
        fetch(x, p, bytes * (size_t)ranks);
        for (size_t i = 0; i < parts[c] * (size_t)ranks; i++)
            wrong += x[i] != (uint32_t)tt_random(seed, i / parts[c], i);
        CHECK(!wrong, "%zu of %zu words, type %d", wrong, parts[c] * (size_t)ranks, (int)type);
        b.ops->free(b.self, p);
        free(x);
    }
}

/* Sums go elsewhere, and what they were made of stays; they are gathered from there into a third place. */
static void from_one_place_to_another(void)
{
    enum { PART = 70001 };
    size_t n = PART * (size_t)ranks, bytes = n * sizeof(float), wrong = 0;
    float *x = malloc(bytes), *got = malloc(bytes);
    for (size_t i = 0; i < n; i++) x[i] = value(rank, i);
    float *p = device(x, bytes), *part = device(x, bytes), *all = device(x, bytes);
    struct tt_collective sum = {TT_REDUCE_SCATTER, p, part, (int64_t)n, TT_F32, ranks};
    struct tt_collective gather = {TT_ALL_GATHER, part, all, (int64_t)n, TT_F32, ranks};
    CHECK_OK(b.ops->collective(b.self, &sum, NULL));
    CHECK_OK(b.ops->collective(b.self, &gather, NULL));
    fetch(got, p, bytes);
    CHECK(!memcmp(got, x, bytes), "what was summed up has changed");
    fetch(got, part, bytes);
    CHECK(!memcmp(got + PART, x + PART, bytes - PART * sizeof *got), "more than a part was written");
    fetch(got, all, bytes);
    for (size_t i = 0; i < n; i += 7) wrong += !right_sum(got[i], i);
    CHECK(!wrong, "%zu sums", wrong);
    check_same_everywhere(got, bytes);
    b.ops->free(b.self, p), b.ops->free(b.self, part), b.ops->free(b.self, all);
    free(x), free(got);
}

static void gathers_every_type(void)
{
    for (int t = 0; t < TT_DTYPES; t++) gathers_every_part(t);
}

/* Whole numbers whose sums every type has exactly. */
static void sums_sixteen_bits(enum tt_dtype type)
{
    enum { N = 5003 };
    static uint16_t x[N], got[N];
    for (size_t i = 0; i < N; i++) {
        float own = (float)whole_value(rank, i);
        x[i] = type == TT_BF16 ? tt_to_bf16(own) : tt_to_f16(own);
    }
    void *p = device(x, sizeof x);
    CHECK_OK(all_reduce(p, N, type, NULL));
    fetch(got, p, sizeof got);
    int wrong = 0;
    for (size_t i = 0; i < N; i++) {
        float sum = 0;
        for (int r = 0; r < ranks; r++) sum += (float)whole_value(r, i);
        wrong += got[i] != (type == TT_BF16 ? tt_to_bf16(sum) : tt_to_f16(sum));
    }
    CHECK(!wrong, "%d of %d, type %d", wrong, N, (int)type);
    b.ops->free(b.self, p);
}

static void sums_or_refuses_sixteen_bits(void)
{
    struct tt_device_info info;
    CHECK_OK(b.ops->info(b.self, &info));
    if (!on_cpu()) {
        if (info.has[TT_PREC_BF16]) sums_sixteen_bits(TT_BF16);
        sums_sixteen_bits(TT_F16);
        return;
    }
    uint16_t x[64] = {0};
    tt_status st = all_reduce(x, (size_t)ranks, TT_BF16, NULL);
    CHECK(st && st->code == TT_UNSUPPORTED && strstr(st->text, "fp32"));
    tt_status_free(st);
    CHECK_FAILS(reduce_scatter(x, (size_t)ranks, TT_F16, NULL), "fp32");
}

static void refuses_uneven_parts(void)
{
    float *p = device((float[64]){0}, 64 * sizeof(float));
    if (ranks > 1) {
        CHECK_FAILS(reduce_scatter(p, (size_t)ranks + 1, TT_F32, NULL), "multiple");
        CHECK_FAILS(all_gather(p, (size_t)ranks + 1, TT_F32, NULL), "multiple");
    }
    CHECK_OK(all_gather(p, 0, TT_F32, NULL));
    CHECK_OK(all_reduce(p, 0, TT_F32, NULL));
    b.ops->free(b.self, p);
}

static void says_who_carries_them(void)
{
    struct tt_device_info info;
    CHECK_OK(b.ops->info(b.self, &info));
    char word[32] = "";
    int major = 0;
    const char *number = info.collectives + strcspn(info.collectives, "0123456789");
    CHECK(sscanf(info.collectives, "%31s", word) == 1 && sscanf(number, "%d.", &major) == 1 && major > 0, "\"%s\"",
          info.collectives);
    if (rank == 0) printf("     %s, %d ranks\n", info.collectives, ranks);
}

/* ---- order ---- */

/* On a stream of its own a collective does not keep its caller: rank 0 enqueues it, sees that it is not done, and only
 * then lets the others begin. What comes later on that stream, or waits for its event, sees the sums. */
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

/* Copies, fills and kernels on the stream of a collective come after it; so does a stream that waits for its event. */
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
    if (rank == 0) forget_notes(); /* all have read them */
}

/* A step that is captured once and replayed has its collectives in it. */
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

/* The real sums, later: as if the ranks were 4 on slow links. */
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

/* Not a test of its own, since the job is broken afterwards: the first rank expects less than the second sends. The
 * words are what whoever waits gets to read (tests/backend/cpu/cpu.cmake looks for them). */
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

/* ---- one rank ---- */

/* The seed is rank 0's, and different each time. */
static void choose_seed(void)
{
    uint64_t mine[64] = {0};
    mine[rank] = (uint64_t)time(NULL) * 1000003 + (uint64_t)getpid();
    void *p = device(mine, sizeof mine);
    CHECK_OK(all_gather(p, 2 * (size_t)ranks, TT_F32, NULL));
    fetch(mine, p, sizeof mine);
    b.ops->free(b.self, p);
    seed = mine[0];
    if (rank == 0) forget_notes(); /* of an earlier process with our parent's number */
}

static int run_rank(bool broken)
{
    int calls = 0;
    alarm(240); /* instead of waiting for a rank that is lost */
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){.threads = 1}, &b));
    if (!b.ops->join) {
        printf("skipped: this build has no collectives\n");
        return 77;
    }
    tt_status st = b.ops->join(b.self, &(struct tt_ranks){rank, ranks, share, &calls});
    if (st) {
        printf("rank %d of %d: %s\n", rank, ranks, st->text);
        int code = st->code == TT_NO_TOOL ? 77 : 1; /* the library is not here */
        tt_status_free(st);
        tt_backend_close(&b);
        return code;
    }
    if (broken) return disagree();
    choose_seed();
    TEST(says_who_carries_them);
    TEST(joins_once);
    TEST(sums_everywhere);
    TEST(sums_each_part_on_its_rank);
    TEST(gathers_every_type);
    TEST(from_one_place_to_another);
    TEST(sums_or_refuses_sixteen_bits);
    TEST(refuses_uneven_parts);
    TEST(runs_beside_computation);
    TEST(work_comes_after_a_collective);
    TEST(can_be_captured);
    TEST(can_be_slowed_down);
    tt_backend_close(&b);
    return test_end();
}

/* ---- alone ---- */

static void refuses_before_joining(void)
{
    float x[4] = {0};
    ranks = 1; /* of what is asked */
    CHECK_FAILS(all_reduce(x, 4, TT_F32, NULL), "join");
    CHECK_FAILS(reduce_scatter(x, 4, TT_F32, NULL), "join");
    CHECK_FAILS(all_gather(x, 4, TT_F32, NULL), "join");
}

static void says_that_mpirun_is_missing(void)
{
    int calls = 0;
    CHECK(tt_backend_mpirun() && !access(tt_backend_mpirun(), X_OK));
    CHECK_FAILS(b.ops->join(b.self, &(struct tt_ranks){0, 4, share, &calls}),
                "MPI sees 1 rank, not 4: start with mpirun");
    CHECK_FAILS(b.ops->join(b.self, &(struct tt_ranks){0, 1, share, &calls}), "twice");
}

static void start_rank(char **argv, int of, int r)
{
    char number[16];
    snprintf(number, sizeof number, "%d", r);
    setenv("RANK", number, 1);
    snprintf(number, sizeof number, "%d", of);
    setenv("WORLD_SIZE", number, 1);
    setenv("TT_TEST_RANKS_ON_ONE_GPU", "1", 1);
    execv(argv[0], argv);
    _exit(126);
}

static int start_ranks(char **argv, int of)
{
    pid_t pids[8];
    int first = 0; /* exit code that is not 0: the others would wait for that rank */
    fflush(stdout);
    for (int r = 0; r < of; r++)
        if ((pids[r] = fork()) == 0) start_rank(argv, of, r);
    for (int left = of; left; left--) {
        int status = 0;
        pid_t ended = wait(&status);
        for (int r = 0; r < of; r++)
            if (pids[r] == ended) pids[r] = 0;
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        if (!code || first) continue;
        first = code;
        for (int r = 0; r < of; r++)
            if (pids[r] > 0) kill(pids[r], SIGTERM);
    }
    char command[400];
    snprintf(command, sizeof command, "rm -rf '%s/tt_collectives.%ld'", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
             (long)getpid());
    return system(command) ? 1 : first;
}

static int run_alone(char **argv)
{
    if (!on_cpu()) {
        int code = 0;
        for (int of = test_few() ? 2 : 1; of <= (test_few() ? 2 : 4) && !code; of++) code = start_ranks(argv, of);
        return code;
    }
    CHECK_OK(tt_backend_open(NULL, &b));
    if (!b.ops->join) {
        CHECK(!tt_backend_mpirun());
        printf("skipped: this build has no collectives\n");
        return test_failures ? 1 : 77;
    }
    TEST(refuses_before_joining);
    TEST(says_that_mpirun_is_missing);
    tt_backend_close(&b);
    return test_end();
}

/* As torchrun, Open MPI's mpirun and MPICH's say it. */
static bool find_place(void)
{
    static const char *const names[][2] = {
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"}, {"RANK", "WORLD_SIZE"}};
    for (int i = 0; i < 3; i++) {
        const char *r = getenv(names[i][0]), *n = getenv(names[i][1]);
        if (!r || !n) continue;
        rank = atoi(r);
        ranks = atoi(n);
        return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    return find_place() ? run_rank(argc > 1 && !strcmp(argv[1], "disagree")) : run_alone(argv);
}
