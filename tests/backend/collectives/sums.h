/* Sums and gathered parts are right, in place and from one buffer to another, in every type, and the same on every
 * rank. */
#ifndef TT_TEST_COLLECTIVES_SUMS_H
#define TT_TEST_COLLECTIVES_SUMS_H

#include "core/base/half.h"
#include "tests/backend/collectives/ranks.h"

static const size_t counts[] = {1, 2, 3, 5, 7, 64, 1000, 4099, 262144 * 4 + 1, 3000017};
enum { COUNTS = sizeof counts / sizeof *counts };

/* Few: without the two largest counts. */
static int counted(void) { return test_few() ? COUNTS - 2 : COUNTS; }

/* The previous contents of the device's internal buffers must not matter, so fill them with NaN. */
static void poison(void)
{
    size_t n = (test_few() ? 32000 : 3200000) / (size_t)ranks * (size_t)ranks;
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
    for (int c = 0; c < counted(); c++) {
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
    for (int c = 0; c < counted(); c++) {
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
    for (int c = 0; c < (test_few() ? 3 : 4); c++) {
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

/* The sums go to another buffer and the input stays unchanged; from there they are gathered into a third buffer. */
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

/* Whole numbers whose sums are exact in every type. */
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

static void sums_in_group(int group, int members, float want)
{
    int all = ranks;
    float own = (float)(1 << rank);
    tt_status st = b.ops->split(b.self, group);
    if (st && st->code == TT_UNSUPPORTED) printf("     %s\n", st->text);
    bool able = !st || st->code != TT_UNSUPPORTED;
    tt_status_free(st);
    if (!able) return;
    CHECK(!st);
    ranks = members; /* all_reduce uses this count */
    void *p = device(&own, sizeof own);
    CHECK_OK(all_reduce(p, 1, TT_F32, NULL));
    fetch(&own, p, sizeof own);
    CHECK(own == want, "rank %d: %g, not %g", rank, (double)own, (double)want);
    b.ops->free(b.self, p);
    ranks = all;
}

/* Odd and even ranks form two groups, then each rank is alone, then all are together again. */
static void splits_into_groups(void)
{
    int members[2] = {0}, sums[2] = {0};
    for (int r = 0; r < ranks; r++) members[r % 2]++, sums[r % 2] += 1 << r;
    CHECK(b.ops->split);
    sums_in_group(rank % 2, members[rank % 2], (float)sums[rank % 2]);
    sums_in_group(rank, 1, (float)(1 << rank));
    sums_in_group(-1, ranks, (float)(sums[0] + sums[1]));
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

#endif
