/* Number formats, shared by host code and device kernels. */
#ifndef TT_TYPES_H
#define TT_TYPES_H

#include <stdbool.h>
#include <stddef.h>

/* First the formats of weights and activations; from TT_DTYPES on those that only the factors of a matrix product may
 * have (fp8.h). */
enum tt_dtype {
    TT_F32,
    TT_BF16,
    TT_F16,
    TT_DTYPES,
    TT_E4M3 = TT_DTYPES,
    TT_E5M2,
    TT_E4M3_FNUZ,
    TT_E5M2_FNUZ,
    TT_FACTOR_DTYPES
};

/* The precision of a run's computation. TF32 stores fp32 and rounds the inputs of each matrix multiplication. FP8 is
 * BF16 with 8-bit factors in most matrix products. */
enum tt_precision { TT_FP32, TT_TF32, TT_PREC_BF16, TT_PREC_FP16, TT_PREC_FP8, TT_PRECISIONS };

static inline size_t tt_dtype_size(enum tt_dtype t) { return t == TT_F32 ? 4 : t < TT_DTYPES ? 2 : 1; }

/* The precision of everything but the 8-bit products. With fp8 that is bf16, or fp32 on a device without bf16. */
static inline enum tt_precision tt_precision_rest(enum tt_precision p, bool has_bf16)
{
    return p != TT_PREC_FP8 ? p : has_bf16 ? TT_PREC_BF16 : TT_FP32;
}

/* The format in which activations are stored. */
static inline enum tt_dtype tt_precision_dtype(enum tt_precision p, bool has_bf16)
{
    p = tt_precision_rest(p, has_bf16);
    return p == TT_PREC_BF16 ? TT_BF16 : p == TT_PREC_FP16 ? TT_F16 : TT_F32;
}

#endif
