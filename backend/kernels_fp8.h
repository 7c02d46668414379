/* The arguments of the kernels that make the 8-bit factors of products; included by kernels.h. The formats and scales
 * are those of core/base/fp8.h.
 *
 * Both factors of an 8-bit product are stored with the dimension that is summed along their rows. So a tensor that is
 * summed along its columns in another product is stored a second time, transposed. */
#ifndef TT_KERNELS_FP8_H
#define TT_KERNELS_FP8_H

#include <stdint.h>

#include "core/base/types.h"

/* A kernel that writes a tensor can take its largest magnitude with it: `amax` of such a kernel becomes the larger one
 * of itself and that of the tensor as it is stored, compared as bits, so that NaN is larger than all numbers. The order
 * in which blocks of threads do so does not matter. It must be a number >= 0 before. */

/* partial[i] = the largest magnitude in rows [i·step, (i+1)·step) of x, step = rows / parts rounded up; 0 without such
 * rows, NaN if one of them has a NaN. */
#define TT_FP8_PARTS 512 /* the most parts there can be */
struct tt_fp8_amax_args {
    enum tt_dtype dtype;
    const void *x;  /* (rows, cols), ldx apart */
    float *partial; /* (parts) */
    int64_t rows, cols, ldx, parts;
};

/* out = x / scale in the format `to`, rounded; transposed = the same transposed. With `partial`, the scale is that of
 * the largest of it (tt_fp8_scale) and is written to new_scale; without, it is read from `scale`. With `rstd`, it is
 * x·rstd·weight, as RMSNorm would store it, in the place of x. */
struct tt_fp8_cast_args {
    enum tt_dtype dtype;
    enum tt_dtype to;
    const void *x;        /* (rows, cols), ldx apart */
    const float *partial; /* (parts) or NULL */
    float *new_scale;     /* with partial */
    const float *scale;   /* without */
    const float *rstd;    /* (rows) or NULL */
    const void *weight;   /* (cols), with rstd */
    uint8_t *out;         /* (rows, cols) or NULL */
    uint8_t *transposed;  /* (cols, rows) or NULL */
    int64_t rows, cols, ldx, parts;
};

/* swiglu_backward, whose results are codes: dgu in the format `to`, as it is and transposed, with the scale of amax,
 * which is written; and h transposed in E4M3 (FNUZ if `to` is), with a scale that is read. Rows and F are multiples of
 * 16 and all matrices aligned, as products of 8-bit factors want them. */
struct tt_fp8_swiglu_backward_args {
    enum tt_dtype dtype;
    enum tt_dtype to;        /* TT_E5M2 or TT_E5M2_FNUZ */
    const void *gu, *dh;     /* (rows, 2F), (rows, F) */
    const float *amax;       /* of dgu, as swiglu_backward takes it */
    const float *h_scale;
    float *scale;            /* of dgu */
    uint8_t *dgu;            /* (rows, 2F) */
    uint8_t *dgu_transposed; /* (2F, rows) */
    uint8_t *h_transposed;   /* (F, rows) */
    int64_t rows, F;
};

#endif
