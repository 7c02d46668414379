/* The arguments of the kernels that make the 8-bit factors of products; included by kernels.h. The formats and scales
 * are those of core/base/fp8.h.
 *
 * Both factors of an 8-bit product are stored with the dimension that is summed along their rows. So a tensor that is
 * summed along its columns in another product is stored a second time, transposed. */
#ifndef TT_KERNELS_FP8_H
#define TT_KERNELS_FP8_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/run_state.h"
#include "core/base/types.h"

/* A kernel that writes a tensor can also find its largest magnitude. Its `amax` becomes the maximum of its old value
 * and of the magnitudes of the tensor as stored. They are compared as bits, so NaN is larger than all numbers, and the
 * order in which blocks of threads do so does not matter. Before, amax must be a number >= 0. */

/* partial[i] = the largest magnitude in rows [i·step, (i+1)·step) of x, step = rows / parts rounded up; 0 without such
 * rows, NaN if one of them has a NaN. */
#define TT_FP8_PARTS 512 /* the most parts there can be */
struct tt_fp8_amax_args {
    enum tt_dtype dtype;
    const void *x;  /* (rows, cols), ldx apart */
    float *partial; /* (parts) */
    int64_t rows, cols, ldx, parts;
};

/* out = x / scale in the format `to`, rounded (tt_fp8_code); transposed = the same transposed. With `partial`, the
 * scale follows from its largest element (tt_fp8_scale) and is written to new_scale; else it is read from `scale`. With
 * `rstd`, x·rstd·weight, as RMSNorm would store it, takes the place of x. */
struct tt_fp8_cast_args {
    enum tt_dtype dtype;
    enum tt_dtype to;
    const void *x;        /* (rows, cols), ldx apart */
    const float *partial; /* (parts) or NULL */
    float *new_scale;     /* with partial */
    const float *scale;   /* without */
    float *amax;          /* of x, or NULL */
    const float *rstd;    /* (rows) or NULL */
    const void *weight;   /* (cols), with rstd */
    uint8_t *out;         /* (rows, cols) or NULL */
    uint8_t *transposed;  /* (cols, rows) or NULL */
    int64_t rows, cols, ldx, parts;
};

/* The same with a scale per row (--fp8-scaling row). A product sums along the rows of its factors, so each row can have
 * its own scale; the rows of the transposed matrix are the columns of x. `amax` of both kernels is (rows + cols): first
 * the rows of x, then its columns.
 *
 * Each amax becomes the maximum of its old value and of the magnitudes of its row or column, compared as bits. Before,
 * it must be a number >= 0. */
struct tt_fp8_amax_rows_args {
    enum tt_dtype dtype;
    const void *x; /* (rows, cols), ldx apart */
    float *amax;
    int64_t rows, cols, ldx;
};

/* out = x / scale of its row, transposed = x / scale of its column, in the format `to`, rounded (tt_fp8_code). With
 * `amax`, the scales of rows and columns follow from it (tt_fp8_scale) and are written to new_scale; else they are read
 * from `scale`. */
struct tt_fp8_cast_rows_args {
    enum tt_dtype dtype;
    enum tt_dtype to;    /* TT_E4M3 or TT_E4M3_FNUZ */
    const void *x;       /* (rows, cols), ldx apart */
    const float *amax;   /* (rows + cols) or NULL */
    float *new_scale;    /* (rows + cols), with amax */
    const float *scale;  /* (rows + cols), without */
    uint8_t *out;        /* (rows, cols) or NULL */
    uint8_t *transposed; /* (cols, rows) or NULL */
    int64_t rows, cols, ldx;
};

/* swiglu, whose result is codes in the format `to`. */
struct tt_fp8_swiglu_args {
    enum tt_dtype dtype;
    enum tt_dtype to;   /* TT_E4M3 or TT_E4M3_FNUZ */
    const void *gu;     /* (rows, 2F) */
    const float *scale; /* of h */
    float *amax;        /* of h */
    uint8_t *h;         /* (rows, F) */
    int64_t rows, F;
};

/* swiglu_backward, whose results are codes: dgu in the format `to`, as it is and transposed, with a scale as in
 * fp8_cast; and h transposed in E4M3 (FNUZ if `to` is), with the scale h_scale. Rows and F are multiples of 16 and all
 * matrices are aligned, as products of 8-bit factors need them. */
struct tt_fp8_swiglu_backward_args {
    enum tt_dtype dtype;
    enum tt_dtype to;        /* TT_E5M2 or TT_E5M2_FNUZ */
    const void *gu, *dh;     /* (rows, 2F), (rows, F) */
    const float *partial;    /* (1) amax of dgu, as swiglu_backward computes it; or NULL */
    float *new_scale;        /* of dgu, with partial */
    const float *scale;      /* of dgu, without */
    float *amax;             /* of dgu, in which a NaN need not count; or NULL */
    const float *h_scale;
    uint8_t *dgu;            /* (rows, 2F) */
    uint8_t *dgu_transposed; /* (2F, rows) */
    uint8_t *h_transposed;   /* (F, rows) */
    int64_t rows, F;
};

/* The end of a step with scales from a history (--fp8-scaling delayed), of n tensors: amax, the largest magnitudes of
 * this step, goes to its row of the history and becomes 0, and the scales become those of the next step
 * (tt_fp8_next_scale of the history's largest). What is not finite counts as 0. The first `numbers` tensors are E4M3,
 * the others E5M2. When the run has stopped (tt_state), nothing changes. */
#define TT_FP8_HISTORY 16 /* steps */
#define TT_FP8_APART 4    /* floats from a scale to the next: products want scales at multiples of 16 bytes */
struct tt_fp8_history_args {
    enum tt_dtype dtype;
    const struct tt_state *state;
    float *scale;   /* (n, TT_FP8_APART); only the first of each row is used */
    float *history; /* (TT_FP8_HISTORY, n): step s is row (s - 1) % TT_FP8_HISTORY */
    float *amax;    /* (ranks, n) */
    int64_t n, numbers, ranks;
    bool fnuz;
};

#endif
