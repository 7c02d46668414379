/* 16-bit floats on the host, rounded to nearest even. */
#ifndef TT_HALF_H
#define TT_HALF_H

#include <stdint.h>

#include "core/base/types.h"

uint16_t tt_to_bf16(float x);
uint16_t tt_to_f16(float x);

/* n floats as `type`, which is not TT_F32. */
void tt_narrow(const float *x, uint16_t *out, int64_t n, enum tt_dtype type);

/* A float as its bf16 and its lower 16 bits. The bf16 was rounded up when the highest of those is set, so the float can
 * be restored. Halfway between two bf16 (lower bits 0x8000) it cannot when the even one lies below; such a float is
 * moved by its last bit, away from zero, before it is split. Kernels do the same: backend/gpu/optimizer.h. */
void tt_split_halves(const float *x, uint16_t *high, uint16_t *low, int64_t n);
void tt_join_halves(const uint16_t *high, const uint16_t *low, float *out, int64_t n);

#endif
