/* 16-bit floats on the host, rounded to nearest even. */
#ifndef TT_HALF_H
#define TT_HALF_H

#include <stdint.h>
#include <string.h>

#include "core/base/types.h"

uint16_t tt_to_bf16(float x);
uint16_t tt_to_f16(float x);
float tt_from_f16(uint16_t h);

/* n floats to bf16 or f16. */
void tt_narrow(const float *x, uint16_t *out, int64_t n, enum tt_dtype type);

/* Splits each float into its bf16 and its low 16 bits; joining restores the float. If the top bit of `low` is set, the
 * bf16 was rounded up, and joining undoes that. A tie (low bits 0x8000) may round down to even, so ties first get their
 * last bit set, which moves them away from zero and makes them round up. The kernels do the same:
 * backend/gpu/optimizer.h. */
void tt_split_halves(const float *x, uint16_t *high, uint16_t *low, int64_t n);
void tt_join_halves(const uint16_t *high, const uint16_t *low, float *out, int64_t n);

static inline float tt_from_bf16(uint16_t h)
{
    uint32_t u = (uint32_t)h << 16;
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Stochastic rounding of moments in bf16: they are rounded up or down at random, with probabilities that keep their
 * mean. Rounded to nearest, a relative change of less than 1/512 would be lost in every step. The draw depends only on
 * the parameter's index and the step, so it is the same on every stream and in every run. The kernels draw the same:
 * backend/gpu/optimizer.h. */
static inline uint32_t tt_draw(int64_t parameter, int64_t step)
{
    uint32_t x = (uint32_t)parameter ^ (uint32_t)step * 0x9e3779b9u;
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

/* One of the two bf16 neighbours of x, chosen by the lower 16 bits of the draw; infinities and NaN stay what they are.
 */
static inline uint16_t tt_to_bf16_drawn(float x, uint32_t draw)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    uint32_t kept = u >> 16 | (uint32_t)((u & 0x7fffff) != 0) << 6, drawn = (u + (draw & 0xffff)) >> 16;
    return (uint16_t)((u & 0x7f800000) == 0x7f800000 ? kept : drawn);
}

#endif
