/* Matrix products that do more on Hopper, for 16-bit types and dense matrices. */
#ifndef TT_CUDA_PRODUCT_HOPPER_LAUNCH_H
#define TT_CUDA_PRODUCT_HOPPER_LAUNCH_H

#include "backend/gpu/launch.h"

struct tt_gemm;

/* Each launches a kernel; false, without a launch, if it does not support these sizes or this chip. */
bool product_hopper(const struct tt_gemm *g, gpu_stream s, gpu_error *e);

/* x (M, K) and w as swiglu_hopper.h has them; gate|up (M, 2F); h (M, F). */
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
