/* What CUDA and cuBLASLt answer when a call fails, as one line with a hint of what to do. */
#include "backend/cuda/cuda.h"

static const char *cuda_hint(cudaError_t e)
{
    switch (e) {
    case cudaErrorMemoryAllocation:
        return "use a smaller --batch-size or --recompute block, or free the GPU (nvidia-smi lists who uses it)";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorInvalidDeviceFunction:
        return "tt was built for " TT_CUDA_ARCHITECTURES "; build it where the GPU is, or give its architecture with "
               "-DCMAKE_CUDA_ARCHITECTURES";
    case cudaErrorInsufficientDriver:
        return "the NVIDIA driver is too old for this build; update it, or build with an older CUDA toolkit";
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorMisalignedAddress:
    case cudaErrorIllegalInstruction:
        return "a kernel went wrong; TT_CUDA_SYNC=1 with --graph off names it, compute-sanitizer finds the line";
    case cudaErrorInvalidValue:
    case cudaErrorInvalidConfiguration:
    case cudaErrorLaunchOutOfResources:
        return "such a shape or pointer is not for this call on this GPU; another --version may take it";
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureImplicit:
        return "something in the step cannot be captured; go without: --graph off";
    case cudaErrorDevicesUnavailable:
        return "another program holds the GPU; nvidia-smi lists who uses it";
    case cudaErrorECCUncorrectable:
        return "the GPU's memory is damaged; use another GPU and tell the administrator";
    default:
        return "nvidia-smi shows the GPU's state";
    }
}

tt_status tt_cuda_failed(const struct cuda *cuda, const char *function, const char *expression, cudaError_t e)
{
    cudaGetLastError(); /* or the next call would report this one again */
    return tt_fail(TT_FAILED, "%s: %s: %s (%s) on GPU %d, %s; %s", function, expression, cudaGetErrorString(e),
                   cudaGetErrorName(e), cuda->device, cuda->name, cuda_hint(e));
}

static const char *cublas_hint(cublasStatus_t e)
{
    switch (e) {
    case CUBLAS_STATUS_ALLOC_FAILED:
        return "use a smaller --batch-size, or free the GPU (nvidia-smi lists who uses it)";
    case CUBLAS_STATUS_NOT_INITIALIZED:
        return "the cuBLASLt that was found does not fit the driver or the CUDA runtime; check LD_LIBRARY_PATH";
    case CUBLAS_STATUS_ARCH_MISMATCH:
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return "this GPU or this cuBLASLt cannot multiply that; try --precision fp32";
    case CUBLAS_STATUS_EXECUTION_FAILED:
        return "an earlier kernel may have gone wrong; TT_CUDA_SYNC=1 with --graph off names it";
    default:
        return "CUBLASLT_LOG_LEVEL=5 in the environment shows what cuBLASLt was asked";
    }
}

tt_status tt_cublas_failed(const struct cuda *cuda, const char *function, const char *expression, cublasStatus_t e)
{
    cudaGetLastError();
    return tt_fail(TT_FAILED, "%s: %s: %s (%s) on GPU %d, %s; %s", function, expression, cublasLtGetStatusString(e),
                   cublasLtGetStatusName(e), cuda->device, cuda->name, cublas_hint(e));
}
