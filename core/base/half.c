#include "core/base/half.h"

#include <string.h>

static uint32_t bits_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static float float_of(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

uint16_t tt_to_bf16(float x)
{
    uint32_t u = bits_of(x);
    if ((u & 0x7fffffff) > 0x7f800000) return (uint16_t)(u >> 16 | 0x40); /* NaN stays NaN */
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

uint16_t tt_to_f16(float x)
{
    uint32_t u = bits_of(x), sign = u >> 16 & 0x8000;
    u &= 0x7fffffff;
    if (u > 0x7f800000) return (uint16_t)(sign | 0x7e00);
    if (u >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* rounds to 65536 or more */
    if (u < 0x33000001) return (uint16_t)sign;             /* at most half of the smallest f16: rounds to 0 */
    uint32_t exponent = u >> 23, mantissa = (u & 0x7fffff) | 0x800000;
    uint32_t shift = exponent < 113 ? 126 - exponent : 13; /* subnormal below 2^-14: drop more mantissa bits */
    uint32_t half = 1u << (shift - 1), kept = mantissa >> shift, rest = mantissa & ((1u << shift) - 1);
    kept += rest > half || (rest == half && (kept & 1));
    return (uint16_t)(sign | (exponent < 113 ? kept : kept + ((exponent - 113) << 10)));
}

float tt_from_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 0x3ff;
    if (exponent == 31) return float_of(sign | 0x7f800000 | fraction << 13);
    if (exponent) return float_of(sign | (exponent + 112) << 23 | fraction << 13);
    float tiny = (float)fraction * 0x1p-24f; /* zero and subnormal numbers */
    return sign ? -tiny : tiny;
}

void tt_narrow(const float *x, uint16_t *out, int64_t n, enum tt_dtype type)
{
    for (int64_t i = 0; i < n; i++) out[i] = type == TT_BF16 ? tt_to_bf16(x[i]) : tt_to_f16(x[i]);
}

void tt_split_halves(const float *x, uint16_t *high, uint16_t *low, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t u = bits_of(x[i]);
        u |= (u & 0xffff) == 0x8000;
        high[i] = tt_to_bf16(float_of(u));
        low[i] = (uint16_t)u;
    }
}

void tt_join_halves(const uint16_t *high, const uint16_t *low, float *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = float_of((((uint32_t)high[i] << 16) - ((uint32_t)(low[i] & 0x8000) << 1)) | low[i]);
}
