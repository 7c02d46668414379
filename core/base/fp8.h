/* 8-bit floats, rounded to nearest even: one source for the host and for device kernels.
 *
 *                 exponent, fraction   bias   largest   codes beyond it                 chips
 * TT_E4M3         4, 3                 7      448       NaN 0x7f, 0xff; no infinity     OCP
 * TT_E5M2         5, 2                 15     57344     infinity 0x7c, NaN from 0x7d    OCP
 * TT_E4M3_FNUZ    4, 3                 8      240       NaN 0x80; no infinity, no -0    gfx942
 * TT_E5M2_FNUZ    5, 2                 16     57344     NaN 0x80; no infinity, no -0    gfx942
 *
 * Numbers too large for the format become its largest, and so does infinity. NaN becomes the NaN 0x7f (0x80 in FNUZ),
 * whatever its sign. With a scale (tt_fp8_code), infinity becomes NaN instead. */
#ifndef TT_FP8_H
#define TT_FP8_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/types.h"

#ifndef TT_FP8_FUNCTION /* device code defines its own function prefix */
#define TT_FP8_FUNCTION static inline
#endif

/* The formats of a chip: some have the FNUZ formats, the others those of OCP. */
TT_FP8_FUNCTION enum tt_dtype tt_fp8_e4m3(bool fnuz) { return fnuz ? TT_E4M3_FNUZ : TT_E4M3; }
TT_FP8_FUNCTION enum tt_dtype tt_fp8_e5m2(bool fnuz) { return fnuz ? TT_E5M2_FNUZ : TT_E5M2; }

TT_FP8_FUNCTION bool tt_is_fp8(enum tt_dtype t) { return t >= TT_E4M3 && t < TT_FACTOR_DTYPES; }
TT_FP8_FUNCTION bool tt_fp8_fnuz(enum tt_dtype t) { return t == TT_E4M3_FNUZ || t == TT_E5M2_FNUZ; }
TT_FP8_FUNCTION uint32_t tt_fp8_fraction(enum tt_dtype t) { return t == TT_E4M3 || t == TT_E4M3_FNUZ ? 3 : 2; }
TT_FP8_FUNCTION uint32_t tt_fp8_bias(enum tt_dtype t) { return (tt_fp8_fraction(t) == 3 ? 7u : 15u) + tt_fp8_fnuz(t); }
TT_FP8_FUNCTION uint32_t tt_fp8_largest(enum tt_dtype t) { return t == TT_E4M3 ? 0x7e : t == TT_E5M2 ? 0x7b : 0x7f; }

TT_FP8_FUNCTION uint8_t tt_to_fp8(float x, enum tt_dtype t)
{
    uint32_t u, fraction = tt_fp8_fraction(t), lowest = 128 - tt_fp8_bias(t); /* fp32 exponent of the smallest normal */
    memcpy(&u, &x, sizeof u);
    uint32_t sign = u >> 24 & 0x80, exponent = u >> 23 & 0xff;
    if ((u & 0x7fffffff) > 0x7f800000) return tt_fp8_fnuz(t) ? 0x80 : 0x7f;
    uint32_t below = exponent < lowest ? lowest - exponent : 0; /* subnormal: one more bit is dropped for each */
    uint32_t drop = 23 - fraction + below;
    if (drop > 24) return (uint8_t)(tt_fp8_fnuz(t) ? 0 : sign); /* less than half of the smallest */
    uint32_t mantissa = (u & 0x7fffff) | 0x800000, half = 1u << (drop - 1), rest = mantissa & ((1u << drop) - 1);
    uint32_t code = mantissa >> drop;
    code += rest > half || (rest == half && (code & 1));
    if (!below) code += (exponent - lowest) << fraction; /* the hidden bit already adds 1 */
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

/* The scale of a tensor whose largest magnitude is `most`: each code stands for its number times the scale. It is the
 * smallest power of two with which `most` fits the format, at least 2^-126. Dividing by a power of two is exact, so
 * every device rounds alike. 1 if all numbers are 0. NaN if `most` is not finite, so that results computed from the
 * codes are not finite either. */
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

/* x / scale, which is then rounded to a code. The scale may come from earlier steps, so x / scale may exceed the
 * format: finite numbers then become its largest. Infinity becomes NaN, so that results computed from the code are not
 * finite either. */
TT_FP8_FUNCTION float tt_fp8_scaled(float x, float inverse) { return x * inverse + x * 0.0f; }
TT_FP8_FUNCTION uint8_t tt_fp8_code(float x, float inverse, enum tt_dtype t)
{
    return tt_to_fp8(tt_fp8_scaled(x, inverse), t);
}

/* The scale for a tensor's next step, where `most` is its largest magnitude in the latest steps. In E4M3 it leaves room
 * for twice as much, since those tensors change slowly. Gradients, in E5M2, may be 15 times those of 16 steps before:
 * room for 32 times as much still leaves them 25 powers of two of normal numbers. If the tensor was 0 in all these
 * steps, it keeps its scale `before`. */
TT_FP8_FUNCTION float tt_fp8_next_scale(float most, float before, enum tt_dtype t)
{
    float room = tt_fp8_fraction(t) == 3 ? 2 : 32;
    return most > 0 ? room * tt_fp8_scale(most, t) : before;
}

#endif
