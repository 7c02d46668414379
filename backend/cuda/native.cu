/* The kernels that only NVIDIA chips can run, and what each of them is for. */
#include "backend/cuda/flash_hopper.h"

bool tt_cuda_native(enum tt_kernel kernel, const void *args, gpu_stream s, gpu_error *e)
{
    bool hopper = gpu_attribute(cudaDevAttrComputeCapabilityMajor) == 9;
    if (kernel == TT_K_flash && hopper) return flash_hopper((const struct tt_flash_args *)args, s, e);
    if (kernel == TT_K_flash_backward && hopper)
        return flash_hopper_backward((const struct tt_flash_backward_args *)args, s, e);
    return false;
}
