/* 8-bit floats against arithmetic in double: every code, and for every bf16 a search for the nearest code. */
#include "core/base/fp8.h"

#include "core/base/half.h"
#include "core/base/rng.h"
#include "tests/test.h"

static const struct format {
    enum tt_dtype type;
    const char *name;
    int fraction, bias;
    bool fnuz;
    double largest;
} formats[] = {{TT_E4M3, "E4M3", 3, 7, false, 448},
               {TT_E5M2, "E5M2", 2, 15, false, 57344},
               {TT_E4M3_FNUZ, "E4M3 FNUZ", 3, 8, true, 240},
               {TT_E5M2_FNUZ, "E5M2 FNUZ", 2, 16, true, 57344}};
enum { FORMATS = sizeof formats / sizeof *formats };

/* The value of a code by the definition of the format. */
static double value(const struct format *f, int code)
{
    int size = code & 0x7f, exponent = size >> f->fraction, rest = size & ((1 << f->fraction) - 1);
    double sign = code & 0x80 ? -1 : 1;
    if (f->fnuz && code == 0x80) return (double)NAN;
    if (f->type == TT_E4M3 && size == 0x7f) return (double)NAN;
    if (f->type == TT_E5M2 && exponent == 31) return rest ? (double)NAN : sign * (double)INFINITY;
    if (!exponent) return sign * ldexp(rest, 1 - f->bias - f->fraction);
    return sign * ldexp(rest + (1 << f->fraction), exponent - f->bias - f->fraction);
}

/* Searches all codes: the nearest, the even one of two equally near, and the largest for anything larger. */
static int nearest(const struct format *f, double x)
{
    int best = 0;
    if (isnan(x)) return f->fnuz ? 0x80 : 0x7f;
    double size = fmin(fabs(x), f->largest);
    for (int code = 1; code < 0x80; code++) {
        double at = value(f, code), off = fabs(at - size), least = fabs(value(f, best) - size);
        if (isfinite(at) && (off < least || (off == least && code % 2 == 0))) best = code;
    }
    return (signbit(x) && (best || !f->fnuz) ? 0x80 : 0) | best;
}

static void check_rounding(const struct format *f, float x)
{
    int got = tt_to_fp8(x, f->type), want = nearest(f, (double)x);
    CHECK(got == want, "%s: %a became %02x, should be %02x", f->name, (double)x, got, want);
}

static void every_code_has_its_value(void)
{
    for (int i = 0; i < FORMATS; i++)
        for (int code = 0; code < 256; code++) {
            const struct format *f = &formats[i];
            double want = value(f, code), got = (double)tt_from_fp8((uint8_t)code, f->type);
            CHECK(isnan(want) ? isnan(got) : got == want && !signbit(got) == !signbit(want), "%s %02x is %g, not %g",
                  f->name, code, got, want);
            if (isfinite(want))
                CHECK(tt_to_fp8((float)want, f->type) == code, "%s %02x became %02x", f->name, code,
                      tt_to_fp8((float)want, f->type));
        }
}

static void every_bf16_becomes_the_nearest_code(void)
{
    for (int i = 0; i < FORMATS; i++)
        for (int h = 0; h < 0x10000; h++) check_rounding(&formats[i], tt_from_bf16((uint16_t)h));
}

/* Exactly between two codes and slightly to each side, where a float is finer than a bf16. */
static void middles_go_to_the_even_code(void)
{
    for (int i = 0; i < FORMATS; i++)
        for (int code = 0; code < 0x7f; code++) {
            double low = value(&formats[i], code), high = value(&formats[i], code + 1);
            float middle = (float)((low + high) / 2);
            if (!isfinite(high)) continue;
            for (int sign = -1; sign <= 1; sign += 2) {
                check_rounding(&formats[i], (float)sign * middle);
                check_rounding(&formats[i], (float)sign * nextafterf(middle, 0));
                check_rounding(&formats[i], (float)sign * nextafterf(middle, INFINITY));
            }
        }
}

static void numbers_beyond_the_format_become_its_largest(void)
{
    for (int i = 0; i < FORMATS; i++) {
        const struct format *f = &formats[i];
        const float beyond[] = {(float)f->largest * 1.01f, (float)f->largest * 2, 3e38f, INFINITY};
        for (int k = 0; k < 4; k++)
            for (int sign = -1; sign <= 1; sign += 2)
                CHECK((double)tt_from_fp8(tt_to_fp8((float)sign * beyond[k], f->type), f->type) == sign * f->largest,
                      "%s: %g", f->name, (double)beyond[k]);
        CHECK(isnan(tt_from_fp8(tt_to_fp8(-NAN, f->type), f->type)), "%s: NaN", f->name);
    }
}

/* The largest number fits, and would not with a scale half as large. */
static void scales_are_the_least_that_fit(void)
{
    for (int i = 0; i < FORMATS; i++) {
        const struct format *f = &formats[i];
        for (uint64_t n = 0; n < 20000; n++) {
            float most = (float)ldexp(1 + tt_uniform(1, 1, n), (int)(tt_random(1, 2, n) % 250) - 126);
            if (n < 256)
                most = (float)f->largest * tt_from_bf16((uint16_t)(0x3f00 + n)); /* about a power of two times it */
            double scale = (double)tt_fp8_scale(most, f->type), fits = (double)most / scale;
            int exponent;
            CHECK(frexp(scale, &exponent) == 0.5, "%s: the scale %a of %a is no power of two", f->name, scale,
                  (double)most);
            CHECK(fits <= f->largest && (2 * fits > f->largest || scale == 0x1p-126), "%s: %a by %a", f->name,
                  (double)most, scale);
            CHECK((double)tt_fp8_inverse((float)scale) * scale == 1, "%s: the inverse of %a", f->name, scale);
        }
        CHECK(tt_fp8_scale(0, f->type) == 1 && tt_fp8_scale(-0.0f, f->type) == 1, "%s: zeros", f->name);
        CHECK((double)tt_fp8_scale(1e-42f, f->type) == 0x1p-126, "%s: a subnormal number", f->name);
        CHECK(isnan(tt_fp8_scale(INFINITY, f->type)) && isnan(tt_fp8_scale(NAN, f->type)), "%s: not finite", f->name);
        CHECK(isnan(tt_fp8_inverse(tt_fp8_scale(NAN, f->type))), "%s: the inverse of NaN", f->name);
    }
}

/* A scale from the history has room for larger numbers than were seen, and keeps digits of numbers a thousand times
 * smaller. */
static void scales_of_a_history_have_room(void)
{
    for (int i = 0; i < FORMATS; i++) {
        const struct format *f = &formats[i];
        float room = tt_fp8_fraction(f->type) == 3 ? 2 : 32;
        for (uint64_t n = 0; n < 1000; n++) {
            float most = (float)ldexp(1 + tt_uniform(1, 3, n), (int)(tt_random(1, 4, n) % 60) - 30);
            float scale = tt_fp8_next_scale(most, 1, f->type), inverse = tt_fp8_inverse(scale);
            for (int k = 0; k < 2; k++) {
                float x = k ? most / 1024 : most * room;
                float back = tt_from_fp8(tt_fp8_code(x, inverse, f->type), f->type) * scale;
                CHECK(fabsf(back - x) <= x / 8, "%s: %a of %a becomes %a", f->name, (double)x, (double)most,
                      (double)back);
            }
        }
        CHECK(tt_fp8_next_scale(0, 3, f->type) == 3, "%s: zeros", f->name);
    }
}

int main(void)
{
    TEST(every_code_has_its_value);
    TEST(every_bf16_becomes_the_nearest_code);
    TEST(middles_go_to_the_even_code);
    TEST(numbers_beyond_the_format_become_its_largest);
    TEST(scales_are_the_least_that_fit);
    TEST(scales_of_a_history_have_room);
    return test_end();
}
