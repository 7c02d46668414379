/* 16-bit floats on the host, rounded to nearest even. */
#ifndef TT_HALF_H
#define TT_HALF_H

#include <stdint.h>

#include "backend/types.h"

uint16_t tt_to_bf16(float x);
uint16_t tt_to_f16(float x);

/* n floats as `type`, which is not TT_F32. */
void tt_narrow(const float *x, uint16_t *out, int64_t n, enum tt_dtype type);

#endif
