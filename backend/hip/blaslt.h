/* A C interface to hipBLASLt, whose own header is C++. Functions return a hipblasStatus_t as int, 0 for success.
 * Matrices are column-major here. */
#ifndef TT_HIP_BLASLT_H
#define TT_HIP_BLASLT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lt_matrix {
    int64_t rows, cols, ld, stride; /* as stored; stride between the matrices of a batch */
};

struct lt_shape {
    struct lt_matrix left, right, out;
    int32_t batch;
    int transpose_left, transpose_right;
    int type_left, type_right, type_out; /* hipDataType */
    int compute;                         /* hipblasComputeType_t */
    const void *scaled;                  /* any address on the device: both factors have a scale; NULL: none has */
    int row_scales;                      /* each column of a factor, as stored here, has its own scale */
};

struct lt_call {
    const void *left, *right, *c;
    const float *scale_left, *scale_right; /* of scaled factors, on the device */
    void *d;
    float alpha, beta;
    void *workspace, *stream;
    size_t workspace_bytes;
};

enum { LT_ALGORITHM = 32 }; /* bytes of an algorithm */

int tt_lt_open(void **lt);
void tt_lt_close(void *lt);
int tt_lt_version(void *lt); /* 100000·major + 100·minor + patch */

int tt_lt_plan(const struct lt_shape *shape, void **plan);
void tt_lt_plan_free(void *plan);
int tt_lt_propose(void *lt, const void *plan, size_t workspace_bytes, int most, unsigned char (*found)[LT_ALGORITHM],
                  int *count);
int tt_lt_multiply(void *lt, const void *plan, const unsigned char algorithm[LT_ALGORITHM], const struct lt_call *call);

#ifdef __cplusplus
}
#endif

#endif
