/* 16-bit floats on the host against arithmetic in double: the nearest, and of two equally near the even one. */
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

/* Every float comes back from its halves, but for those in the middle of two bf16, which move by a bit once. */
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

int main(void)
{
    TEST(patterns_round_trip);
    TEST(values_round_to_the_nearest);
    TEST(halves_are_the_whole);
    return test_end();
}
