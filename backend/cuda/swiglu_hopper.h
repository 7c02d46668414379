/* Matrix products with SwiGLU in them on Hopper, for 16-bit types and dense matrices. */
#ifndef TT_CUDA_SWIGLU_HOPPER_H
#define TT_CUDA_SWIGLU_HOPPER_H

#include "backend/gpu/launch.h"

struct tt_gemm;

/* Launches the kernel; false, without a launch, if it does not support these sizes or this chip. */
bool swiglu_hopper(const struct tt_gemm *g, gpu_stream s, gpu_error *e);

#endif
