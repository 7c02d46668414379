/* The 16-bit number formats in plain arithmetic, so that tests do not depend on the device under test. */
#ifndef TT_TEST_HALF_H
#define TT_TEST_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t to_bf16(double x)
{
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (isnan(f)) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline double from_bf16(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint16_t to_f16(double x)
{
    int sign = signbit(x) ? 0x8000 : 0;
    x = fabs(x);
    if (isnan(x)) return (uint16_t)(sign | 0x7e00);
    if (x >= 65520) return (uint16_t)(sign | 0x7c00);
    int exponent = x < 0x1p-14 ? -14 : ilogb(x);
    int mantissa = (int)lrint(ldexp(x, 10 - exponent)); /* with the hidden bit; 2048 carries into the exponent */
    return (uint16_t)(sign | (((exponent + 14) << 10) + mantissa));
}

static inline double from_f16(uint16_t h)
{
    int exponent = h >> 10 & 31, mantissa = h & 1023;
    double x = exponent == 31  ? (mantissa ? (double)NAN : (double)INFINITY)
               : exponent == 0 ? ldexp(mantissa, -24)
                               : ldexp(1024 + mantissa, exponent - 25);
    return h & 0x8000 ? -x : x;
}

#endif
