/* The ranks of the collective tests: which rank this is, notes between them in files, and values that each rank can
 * compute for all the others. */
#ifndef TT_TEST_COLLECTIVES_RANKS_H
#define TT_TEST_COLLECTIVES_RANKS_H

#include <errno.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/crc32.h"
#include "core/base/rng.h"
#include "tests/backend/collective.h"
#include "tests/test.h"

static struct tt_backend b;
static int rank, ranks;
static uint64_t seed;

static bool on_cpu(void) { return !strcmp(tt_backend_name(), "cpu"); }

/* ---- notes between the processes: files in a folder named after their common parent process ---- */

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

/* Within `ranks` rounding errors; on the CPU exactly the sum in rank order. */
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

/* A collective in place. */
static tt_status together(enum tt_collective_kind kind, void *p, size_t n, enum tt_dtype type, tt_stream s)
{
    return collective_in_place(&b, kind, p, n, type, (struct tt_ranks){.rank = rank, .count = ranks}, s);
}
#define all_reduce(...) together(TT_ALL_REDUCE, __VA_ARGS__)
#define reduce_scatter(...) together(TT_REDUCE_SCATTER, __VA_ARGS__)
#define all_gather(...) together(TT_ALL_GATHER, __VA_ARGS__)

/* Checks that every rank has the same bytes. */
static void check_same_everywhere(const void *bytes, size_t size)
{
    float all[64] = {0}; /* checksums sent as floats: all_gather must copy the bits unchanged */
    uint32_t crc = tt_crc32(0, bytes, size);
    memcpy(&all[rank], &crc, sizeof crc);
    float *p = device(all, sizeof all);
    CHECK_OK(all_gather(p, (size_t)ranks, TT_F32, NULL));
    fetch(all, p, sizeof all);
    b.ops->free(b.self, p);
    for (int r = 0; r < ranks; r++) CHECK(!memcmp(&all[r], &crc, sizeof crc), "rank %d has other bits", r);
}

#endif
