/* A failed CUDA call as one line, with a hint of what to do. */
#include "backend/gpu/host.h"

static const char *hint(cudaError_t e)
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
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorHardwareStackError:
        return "a kernel failed; TT_GPU_SYNC=1 with --graph off names it, compute-sanitizer finds the line";
    case cudaErrorInvalidValue:
    case cudaErrorInvalidConfiguration:
    case cudaErrorLaunchOutOfResources:
        return "this GPU does not support this shape or pointer in this call; another --version may work";
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureMerge:
    case cudaErrorStreamCaptureUnmatched:
    case cudaErrorStreamCaptureUnjoined:
    case cudaErrorStreamCaptureIsolation:
    case cudaErrorStreamCaptureImplicit:
    case cudaErrorCapturedEvent:
        return "something in the step cannot be captured in a graph; use --graph off";
    case cudaErrorLaunchTimeout:
        return "this GPU also drives a display, which stops kernels that take seconds; use a smaller "
               "--batch-size, or a GPU without a display";
    case cudaErrorDevicesUnavailable:
        return "another program holds the GPU; nvidia-smi lists who uses it";
    case cudaErrorECCUncorrectable:
        return "the GPU's memory is damaged; use another GPU and tell the administrator";
    default:
        return "nvidia-smi shows the GPU's state";
    }
}

tt_status tt_gpu_failed(const struct gpu *gpu, const char *function, const char *expression, gpu_rt_error e)
{
    cudaGetLastError(); /* clear it, or the next call would report it again */
    return tt_fail(TT_FAILED, "%s: %s: %s (%s) on GPU %d, %s; %s", function, expression, cudaGetErrorString(e),
                   cudaGetErrorName(e), gpu->device, gpu->name, hint(e));
}
