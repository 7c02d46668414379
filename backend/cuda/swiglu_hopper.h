/* Matrix products with SwiGLU in them on Hopper, for 16-bit types and dense matrices. */
#ifndef TT_CUDA_SWIGLU_HOPPER_H
#define TT_CUDA_SWIGLU_HOPPER_H

#include "backend/gpu/launch.h"

struct tt_gemm;

/* Launches a kernel; false, without a launch, if it does not support these sizes or this chip. */
bool swiglu_hopper(const struct tt_gemm *g, gpu_stream s, gpu_error *e);

/* x (M, K) and w as swiglu_hopper_product.h has them; gate|up (M, 2F); h (M, F). */
struct swiglu_product {
    enum tt_dtype dtype;
    const void *x, *w;
    void *gu, *h;
    int64_t M, K, F;
};

bool swiglu_hopper_forward(const struct swiglu_product *p, gpu_stream s, gpu_error *e);
bool swiglu_hopper_backward(const struct swiglu_product *p, gpu_stream s, gpu_error *e);

#endif
