/* Number formats, shared by host code and device kernels. */
#ifndef TT_TYPES_H
#define TT_TYPES_H

#include <stddef.h>

/* Of weights and activations; then those that only the factors of a product may have (fp8.h). */
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

/* What a run computes in. TF32 stores fp32 and rounds the inputs of each matrix multiplication. */
enum tt_precision { TT_FP32, TT_TF32, TT_PREC_BF16, TT_PREC_FP16, TT_PRECISIONS };

static inline size_t tt_dtype_size(enum tt_dtype t) { return t == TT_F32 ? 4 : t < TT_DTYPES ? 2 : 1; }

#endif
