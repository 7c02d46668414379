/* Matrix products with an epilogue on Hopper, for 16-bit types and dense matrices. */
#ifndef TT_CUDA_PRODUCT_HOPPER_LAUNCH_H
#define TT_CUDA_PRODUCT_HOPPER_LAUNCH_H

#include "backend/gpu/launch.h"

struct tt_gemm;

/* Each launches a kernel; false, without a launch, if it does not support these sizes or this chip. */
bool product_hopper(const struct tt_gemm *g, gpu_stream s, gpu_error *e);

/* SwiGLU in the products around it.
 *
 *   forward    gate|up (M, 2F) = x (M, K)·W^T, W (2F, K); h (M, F) = silu(gate)·up from the rounded numbers. Half of a
 *              tile's columns are of the gate and half of up: a lane has both at the same place
 *   backward   dh (M, F) = dy (M, K)·W, W (K, F), which is only rounded and never stored; gate|up become their
 *              gradients, and h is computed again */
struct swiglu_product {
    enum tt_dtype dtype;
    const void *x, *w;
    void *gu, *h;
    int64_t M, K, F;
    int units; /* as in struct tt_gemm */
};

bool swiglu_hopper_forward(const struct swiglu_product *p, gpu_stream s, gpu_error *e);
bool swiglu_hopper_backward(const struct swiglu_product *p, gpu_stream s, gpu_error *e);

/* x (M, K), w (N, K), qkv (M, N), whose first `turned` columns are heads of D. */
struct rope_product {
    enum tt_dtype dtype;
    const void *x, *w;
    void *qkv;
    const float *cos, *sin;
    int64_t M, N, K, S, D, turned;
    int units;
};

bool rope_hopper(const struct rope_product *p, gpu_stream s, gpu_error *e);

/* x (M, K), w (N, K) and out (M, N) in bf16; shift and sums as tt_gemm_exp has them. */
struct exp_product {
    const void *x, *w;
    void *out;
    const float *shift;
    float *sums;
    int64_t M, N, K;
};

bool exp_hopper(const struct exp_product *p, gpu_stream s, gpu_error *e);

#endif
