/* A failed HIP call as one line, with a hint of what to do. */
#include "backend/gpu/host.h"

static const char *hint(gpu_rt_error e)
{
    switch (e) {
    case hipErrorOutOfMemory:
        return "use a smaller --batch-size or --recompute block, or free the GPU (" GPU_RT_MONITOR
               " lists who uses it)";
    case hipErrorNoBinaryForGpu:
    case hipErrorInvalidDeviceFunction:
    case hipErrorInvalidImage:
    case hipErrorInvalidKernelFile:
        return "tt was built for " TT_HIP_ARCHITECTURES "; build it where the GPU is, or name its architecture with "
               "-DGPU_TARGETS; a chip close to one of these may run with HSA_OVERRIDE_GFX_VERSION";
    case hipErrorInsufficientDriver:
        return "the amdgpu driver is too old for this ROCm; update it, or build with an older ROCm";
    case hipErrorIllegalAddress:
    case hipErrorLaunchFailure:
        return "a kernel failed; TT_GPU_SYNC=1 with --graph off names it, AMD_LOG_LEVEL=3 shows every launch";
    case hipErrorInvalidValue:
    case hipErrorInvalidConfiguration:
    case hipErrorLaunchOutOfResources:
        return "this GPU does not support this shape or pointer in this call; another --version may work";
    case hipErrorStreamCaptureUnsupported:
    case hipErrorStreamCaptureInvalidated:
    case hipErrorStreamCaptureImplicit:
        return "something in the step cannot be captured in a graph; use --graph off";
    case hipErrorContextAlreadyInUse:
        return "another program holds the GPU; " GPU_RT_MONITOR " lists who uses it";
    case hipErrorECCNotCorrectable:
        return "the GPU's memory is damaged; use another GPU and tell the administrator";
    default:
        return GPU_RT_MONITOR " shows the GPU's state";
    }
}

tt_status tt_gpu_failed(const struct gpu *gpu, const char *function, const char *expression, gpu_rt_error e)
{
    gpu_rt_clear_error(); /* or the next call would report it again */
    return tt_fail(TT_FAILED, "%s: %s: %s (%s) on GPU %d, %s; %s", function, expression, hipGetErrorString(e),
                   hipGetErrorName(e), gpu->device, gpu->name, hint(e));
}
