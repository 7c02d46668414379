/* 16-bit floats on the host, rounded to nearest even. */
#ifndef TT_HALF_H
#define TT_HALF_H

#include <stdint.h>

#include "core/base/types.h"

uint16_t tt_to_bf16(float x);
uint16_t tt_to_f16(float x);
float tt_from_bf16(uint16_t h);
float tt_from_f16(uint16_t h);

/* n floats to bf16 or f16. */
void tt_narrow(const float *x, uint16_t *out, int64_t n, enum tt_dtype type);

/* Splits each float into its bf16 and its low 16 bits; joining restores the float. If the top bit of `low` is set, the
 * bf16 was rounded up, and joining undoes that. A tie (low bits 0x8000) may round down to even, so ties first get their
 * last bit set, which moves them away from zero and makes them round up. The kernels do the same:
 * backend/gpu/optimizer.h. */
void tt_split_halves(const float *x, uint16_t *high, uint16_t *low, int64_t n);
void tt_join_halves(const uint16_t *high, const uint16_t *low, float *out, int64_t n);

#endif
