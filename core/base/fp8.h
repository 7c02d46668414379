/* 8-bit floats, rounded to nearest even: one source for the host and for device kernels.
 *
 *                 exponent, fraction   bias   largest   beyond it
 * TT_E4M3         4, 3                 7      448       NaN 0x7f, 0xff; no infinity     OCP
 * TT_E5M2         5, 2                 15     57344     infinity 0x7c, NaN from 0x7d    OCP
 * TT_E4M3_FNUZ    4, 3                 8      240       NaN 0x80; no infinity, no -0    gfx942
 * TT_E5M2_FNUZ    5, 2                 16     57344     NaN 0x80; no infinity, no -0    gfx942
 *
 * Numbers too large for the format become its largest, infinity too. NaN becomes the NaN 0x7f (0x80 in FNUZ), whatever
 * its sign. With a scale (tt_fp8_code), infinity is NaN as well. */
#ifndef TT_FP8_H
#define TT_FP8_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/types.h"

#ifndef TT_FP8_FUNCTION /* device code says how its functions begin */
#define TT_FP8_FUNCTION static inline
#endif

/* The two formats of a kind of chips. */
TT_FP8_FUNCTION enum tt_dtype tt_fp8_e4m3(bool fnuz) { return fnuz ? TT_E4M3_FNUZ : TT_E4M3; }
TT_FP8_FUNCTION enum tt_dtype tt_fp8_e5m2(bool fnuz) { return fnuz ? TT_E5M2_FNUZ : TT_E5M2; }

TT_FP8_FUNCTION bool tt_is_fp8(enum tt_dtype t) { return t >= TT_E4M3 && t < TT_FACTOR_DTYPES; }
TT_FP8_FUNCTION bool tt_fp8_fnuz(enum tt_dtype t) { return t == TT_E4M3_FNUZ || t == TT_E5M2_FNUZ; }
TT_FP8_FUNCTION uint32_t tt_fp8_fraction(enum tt_dtype t) { return t == TT_E4M3 || t == TT_E4M3_FNUZ ? 3 : 2; }
TT_FP8_FUNCTION uint32_t tt_fp8_bias(enum tt_dtype t) { return (tt_fp8_fraction(t) == 3 ? 7u : 15u) + tt_fp8_fnuz(t); }
TT_FP8_FUNCTION uint32_t tt_fp8_largest(enum tt_dtype t) { return t == TT_E4M3 ? 0x7e : t == TT_E5M2 ? 0x7b : 0x7f; }

TT_FP8_FUNCTION uint8_t tt_to_fp8(float x, enum tt_dtype t)
{
    uint32_t u, fraction = tt_fp8_fraction(t), lowest = 128 - tt_fp8_bias(t); /* exponent of the smallest normal one */
    memcpy(&u, &x, sizeof u);
    uint32_t sign = u >> 24 & 0x80, exponent = u >> 23 & 0xff;
    if ((u & 0x7fffffff) > 0x7f800000) return tt_fp8_fnuz(t) ? 0x80 : 0x7f;
    uint32_t below = exponent < lowest ? lowest - exponent : 0; /* subnormal: one more bit is dropped for each */
    uint32_t drop = 23 - fraction + below;
    if (drop > 24) return (uint8_t)(tt_fp8_fnuz(t) ? 0 : sign); /* less than half of the smallest */
    uint32_t mantissa = (u & 0x7fffff) | 0x800000, half = 1u << (drop - 1), rest = mantissa & ((1u << drop) - 1);
    uint32_t code = mantissa >> drop;
    code += rest > half || (rest == half && (code & 1));
    if (!below) code += (exponent - lowest) << fraction; /* the hidden bit is the first exponent */
    if (code > tt_fp8_largest(t)) code = tt_fp8_largest(t);
    return (uint8_t)(code || !tt_fp8_fnuz(t) ? sign | code : 0);
}

TT_FP8_FUNCTION float tt_from_fp8(uint8_t code, enum tt_dtype t)
{
    uint32_t size = code & 0x7f, fraction = tt_fp8_fraction(t), exponent = size >> fraction, u;
    uint32_t sign = (uint32_t)(code & 0x80) << 24, rest = size & ((1u << fraction) - 1);
    float x;
    if (tt_fp8_fnuz(t) ? code == 0x80 : size > tt_fp8_largest(t))
        u = sign | (t == TT_E5M2 && size == 0x7c ? 0x7f800000 : 0x7fc00000);
    else if (exponent)
        u = sign | (exponent + 127 - tt_fp8_bias(t)) << 23 | rest << (23 - fraction);
    else { /* `rest` times the smallest number */
        u = (128 - tt_fp8_bias(t) - fraction) << 23;
        memcpy(&x, &u, sizeof x);
        x *= (float)rest;
        memcpy(&u, &x, sizeof u);
        u |= sign;
    }
    memcpy(&x, &u, sizeof x);
    return x;
}

/* The scale of a tensor whose largest magnitude is `most`: each code then stands for its number times the scale. It is
 * the smallest power of two with which `most` fits the format, at least 2^-126. A power of two, so that dividing by it
 * loses nothing and every device rounds alike. 1 when all numbers are 0. NaN when `most` is not finite, so that what is
 * computed from the codes is not finite either. */
TT_FP8_FUNCTION float tt_fp8_scale(float most, enum tt_dtype t)
{
    float largest = tt_from_fp8((uint8_t)tt_fp8_largest(t), t), scale;
    uint32_t u, l;
    memcpy(&u, &most, sizeof u);
    memcpy(&l, &largest, sizeof l);
    u &= 0x7fffffff;
    if (u == 0) return 1;
    uint32_t more = (u & 0x7fffff) > (l & 0x7fffff), exponent = (u >> 23) + 127 + more, of = l >> 23;
    u = u >= 0x7f800000 ? 0x7fc00000 : (exponent > of ? exponent - of : 1) << 23;
    memcpy(&scale, &u, sizeof scale);
    return scale;
}

/* 1 / scale, exactly. */
TT_FP8_FUNCTION float tt_fp8_inverse(float scale)
{
    uint32_t u;
    memcpy(&u, &scale, sizeof u);
    if (u < 0x7f800000) u = 0x7f000000 - u;
    memcpy(&scale, &u, sizeof u);
    return scale;
}

/* x / scale, to be rounded to a code. A scale may be older than x, so that x is beyond the format: finite numbers then
 * become its largest, but infinity becomes NaN, so that what is computed from the code is not finite either. */
TT_FP8_FUNCTION float tt_fp8_scaled(float x, float inverse) { return x * inverse + x * 0.0f; }
TT_FP8_FUNCTION uint8_t tt_fp8_code(float x, float inverse, enum tt_dtype t)
{
    return tt_to_fp8(tt_fp8_scaled(x, inverse), t);
}

/* The scale of the next step of a tensor whose largest magnitude in the latest steps is `most`: with room for twice as
 * much in E4M3, whose tensors change slowly. Gradients, in E5M2, may be 15 times those of 16 steps before; room for 32
 * times as much leaves them 25 powers of two of normal numbers. The one it has, `before`, if it was 0 in all steps. */
TT_FP8_FUNCTION float tt_fp8_next_scale(float most, float before, enum tt_dtype t)
{
    float room = tt_fp8_fraction(t) == 3 ? 2 : 32;
    return most > 0 ? room * tt_fp8_scale(most, t) : before;
}

#endif
