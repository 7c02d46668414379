/* Everything that a matrix tile can do, run by one wave: the kernel of tests/backend/gpu/test_tiles.c. */
#ifndef TT_TEST_TILES_H
#define TT_TEST_TILES_H

#include "backend/gpu/launch.h"

/* The 16x16 matrices that the kernel computes from A and B, in this order. R(X) is X rounded to the 16-bit type. */
enum tiles_result {
    TILES_PRODUCT,            /* P = 1/2 + A·B */
    TILES_LEFT_TRANSPOSED,    /* A^T·B */
    TILES_RIGHT_TRANSPOSED,   /* A·B^T */
    TILES_ROUNDED,            /* R(P)·B */
    TILES_ROUNDED_TRANSPOSED, /* A·R(P)^T */
    TILES_PAIR,               /* P + 100·row + column */
    TILES_ROWS,               /* the maxima of P's rows, then their sums; the rest is unwritten */
    TILES_RESULTS,
};

#ifdef __cplusplus
extern "C" {
#endif
/* stored = R(P). The type is TT_BF16 or TT_F16; all pointers are device pointers. */
gpu_error tiles_launch(enum tt_dtype type, const void *a, const void *b, float *results, void *stored, gpu_stream s);
#ifdef __cplusplus
}
#endif

#endif
