/* 16-bit floats on the host against arithmetic in double: the nearest, and the even one of two equally near. */
#include "core/base/half.h"
#include "core/base/rng.h"
#include "tests/test.h"

/* The value of a 16-bit pattern with e exponent and m mantissa bits. */
static double value(uint16_t h, int e, int m)
{
    int bias = (1 << (e - 1)) - 1, exponent = h >> m & ((1 << e) - 1), mantissa = h & ((1 << m) - 1);
    double sign = h >> 15 ? -1 : 1;
    if (exponent == (1 << e) - 1) return mantissa ? (double)NAN : sign * (double)INFINITY;
    if (!exponent) return sign * ldexp(mantissa, 1 - bias - m);
    return sign * ldexp(mantissa + (1 << m), exponent - bias - m);
}

static void check_nearest(float x, uint16_t h, int e, int m)
{
    double at = value(h, e, m);
    if (isinf(at)) {
        double largest = value((uint16_t)((((1 << e) - 1) << m) - 1), e, m), step = ldexp(1, ilogb(largest) - m);
        CHECK(fabs((double)x) >= largest + step / 2, "%a became infinite", (double)x);
        return;
    }
    double down = value((uint16_t)(h - 1), e, m), up = value((uint16_t)(h + 1), e, m), off = fabs((double)x - at);
    if (h & 0x7fff)
        CHECK(off < fabs((double)x - down) || (off == fabs((double)x - down) && !(h & 1)), "%a became %a", (double)x,
              at);
    if (!isinf(up))
        CHECK(off < fabs((double)x - up) || (off == fabs((double)x - up) && !(h & 1)), "%a became %a", (double)x, at);
}

static void patterns_round_trip(void)
{
    for (int h = 0; h < 0x10000; h++) {
        double f16 = value((uint16_t)h, 5, 10), bf16 = value((uint16_t)h, 8, 7);
        if (!isnan(f16)) CHECK(tt_to_f16((float)f16) == h, "f16 %04x became %04x", h, tt_to_f16((float)f16));
        if (!isnan(bf16)) CHECK(tt_to_bf16((float)bf16) == h, "bf16 %04x became %04x", h, tt_to_bf16((float)bf16));
    }
    CHECK(isnan(value(tt_to_f16(NAN), 5, 10)) && isnan(value(tt_to_bf16(NAN), 8, 7)), "NaN stays");
}

static void values_round_to_the_nearest(void)
{
    for (uint64_t i = 0; i < 200000; i++) {
        float x = (float)ldexp(tt_uniform(1, 1, i) * 2 - 1, (int)(tt_random(1, 2, i) % 48) - 30);
        check_nearest(x, tt_to_f16(x), 5, 10);
        check_nearest(x, tt_to_bf16(x), 8, 7);
        float tie = (float)(value((uint16_t)(tt_random(1, 3, i) & 0x77ff), 5, 10) + ldexp(1, -25));
        check_nearest(tie, tt_to_f16(tie), 5, 10);
    }
}

/* Joining the halves of a float restores it. Only a float exactly between two bf16 changes, by one bit. */
static void check_halves(uint32_t bits)
{
    float x, back;
    uint16_t high, low;
    memcpy(&x, &bits, sizeof x);
    tt_split_halves(&x, &high, &low, 1);
    tt_join_halves(&high, &low, &back, 1);
    if (isnan(x)) {
        CHECK(isnan(back) && isnan(value(high, 8, 7)), "NaN %08x did not stay one", bits);
        return;
    }
    uint32_t want = bits | ((bits & 0xffff) == 0x8000), got;
    memcpy(&got, &back, sizeof got);
    CHECK(got == want, "%08x became %08x", bits, got);
    CHECK(high == tt_to_bf16(back), "%08x: the high half is not the rounded value", bits);
}

static void halves_are_the_whole(void)
{
    for (uint32_t high = 0; high < 0x10000; high++)
        for (int i = 0; i < 6; i++)
            check_halves(high << 16 | (const uint32_t[]){0, 1, 0x7fff, 0x8000, 0x8001, 0xffff}[i]);
    for (uint64_t i = 0; i < 200000; i++) check_halves((uint32_t)tt_random(1, 4, i));
}

/* Stochastic rounding gives one of the two neighbours, and the mean of many draws is the number. */
static void check_drawn(float x, uint64_t which)
{
    enum { DRAWS = 4096 };
    double sum = 0, low = INFINITY, high = -INFINITY;
    for (int64_t step = 0; step < DRAWS; step++) {
        double got = value(tt_to_bf16_drawn(x, tt_draw((int64_t)which, step)), 8, 7);
        sum += got;
        low = got < low ? got : low;
        high = got > high ? got : high;
    }
    double apart = high - low, error = fabs(sum / DRAWS - (double)x);
    CHECK(low <= (double)x && (double)x <= high, "%.9g is not in [%.9g, %.9g]", (double)x, low, high);
    CHECK(apart <= fabs((double)x) / 128 + ldexp(1, -133), "%.9g became %.9g and %.9g", (double)x, low, high);
    CHECK(error <= 5 * apart / sqrt(4.0 * DRAWS), "the mean of %.9g is off by %.3g of %.3g", (double)x, error, apart);
}

static void draws_keep_the_mean(void)
{
    for (uint64_t i = 0; i < 500; i++)
        check_drawn((float)ldexp(1 + (double)(tt_random(1, 5, i) % 65537) / 65536, (int)(i % 60) - 30), i);
    for (uint64_t i = 0; i < 500; i++) check_drawn((float)(-1e-3 * (double)(tt_random(1, 6, i) % 65537)), i << 33 | i);
    check_drawn(0, 7);
    check_drawn(1.5f, 8);
    for (uint32_t draw = 0; draw < 0x10000; draw += 0x1111) {
        CHECK(isinf(value(tt_to_bf16_drawn(-INFINITY, draw), 8, 7)), "an infinity did not stay one");
        CHECK(isnan(value(tt_to_bf16_drawn(NAN, draw), 8, 7)), "NaN did not stay one");
    }
}

/* Neighbours and successive steps have independent draws: no pair of bits is correlated. */
static void draws_are_apart(void)
{
    enum { N = 1 << 14 };
    for (int bit = 0; bit < 32; bit++) {
        int neighbours = 0, steps = 0, ones = 0;
        for (int64_t i = 0; i < N; i++) {
            uint32_t a = tt_draw(i, 3);
            ones += a >> bit & 1;
            neighbours += (a ^ tt_draw(i + 1, 3)) >> bit & 1;
            steps += (a ^ tt_draw(i, 4)) >> bit & 1;
        }
        int most = (int)(5 * sqrt(N) / 2);
        CHECK(abs(ones - N / 2) < most && abs(neighbours - N / 2) < most && abs(steps - N / 2) < most,
              "bit %d: %d ones, %d unlike the neighbour, %d unlike the next step, of %d", bit, ones, neighbours, steps,
              N);
    }
}

int main(void)
{
    TEST(patterns_round_trip);
    TEST(values_round_to_the_nearest);
    TEST(halves_are_the_whole);
    TEST(draws_keep_the_mean);
    TEST(draws_are_apart);
    return test_end();
}
