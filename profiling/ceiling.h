/* What a device can do at best, measured: the rate of a large matrix product on random numbers. */
#ifndef TT_CEILING_H
#define TT_CEILING_H

#include "backend/backend.h"

/* FLOP/s, the best of a few. Takes a second or less and up to half a gigabyte. */
tt_status tt_measure_gemm(struct tt_backend *b, enum tt_dtype type, double *flops_per_second);

#endif
