/* Properties of an NVIDIA GPU, its precisions, and why no GPU can be used. */
#include <stdio.h>
#include <stdlib.h>

#include "backend/gpu/host.h"

/* ---- no GPU ---- */

const char *tt_gpu_reason(gpu_rt_error e)
{
    switch (e) {
    case cudaErrorSystemDriverMismatch:
        return "the NVIDIA driver's library is of another version than its kernel module, as after an update; "
               "reboot the machine, or restart the container";
    case cudaErrorCompatNotSupportedOnDevice:
        return "the driver library found first is for forward compatibility (cuda-compat), which this GPU does not "
               "support; remove its folder from LD_LIBRARY_PATH";
    case cudaErrorStubLibrary:
        return "the driver library found first is the toolkit's stub, which is only for linking; remove the folder "
               "\"stubs\" from LD_LIBRARY_PATH";
    case cudaErrorSystemNotReady:
        return "the system is not ready yet; where GPUs share an NVSwitch, the administrator must start "
               "nvidia-fabricmanager";
    case cudaErrorInitializationError:
    case cudaErrorOperatingSystem:
    case cudaErrorUnknown:
        return "the NVIDIA driver does not start; see whether nvidia-smi works, and whether this user may open "
               "/dev/nvidiactl and /dev/nvidia-uvm (nvidia-modprobe -u makes the latter)";
    case cudaErrorDevicesUnavailable:
        return "they are busy: other programs use them exclusively; nvidia-smi lists who uses them";
    case cudaErrorDeviceNotLicensed:
        return "this virtual GPU has no licence; ask the administrator (nvidia-smi -q shows the licence's state)";
    case cudaErrorMpsConnectionFailed:
    case cudaErrorMpsRpcFailure:
        return "MPS does not answer; start nvidia-cuda-mps-control -d, or unset CUDA_MPS_PIPE_DIRECTORY to go without";
    case cudaErrorMpsServerNotReady:
        return "MPS is not ready to take another program; try again in a moment";
    case cudaErrorMpsMaxClientsReached:
    case cudaErrorMpsMaxConnectionsReached:
        return "it is busy: MPS has reached its limit of programs; wait until one ends, or choose another GPU";
    default:
        return NULL;
    }
}

static tt_status driver_too_old(int driver, int runtime)
{
    return tt_fail(TT_NO_DEVICE,
                   "the NVIDIA driver is too old: it knows CUDA %d.%d and this tt needs %d.%d; update the driver, or "
                   "build with a CUDA toolkit not newer than the driver",
                   driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
}

static tt_status none_visible(const char *instead)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (visible)
        return tt_fail(TT_NO_DEVICE,
                       "no NVIDIA GPU is visible: CUDA_VISIBLE_DEVICES is \"%.60s\"; unset it, or name GPUs that "
                       "nvidia-smi -L lists",
                       visible);
    return tt_fail(TT_NO_DEVICE, "no NVIDIA GPU is visible (nvidia-smi -L lists them); %s", instead);
}

tt_status tt_gpu_none(gpu_rt_error e)
{
    static const char *instead = "build for the CPU with -DBACKEND=cpu, or run where there is one";
    int driver = 0, runtime = 0;
    const char *reason = tt_gpu_reason(e);
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    if (e == cudaErrorInsufficientDriver && driver == 0)
        return tt_fail(TT_NO_DEVICE,
                       "no NVIDIA GPU: there is no NVIDIA driver on this machine (a container gets it with "
                       "--gpus all); %s", instead);
    if (e == cudaErrorInsufficientDriver && driver < runtime) return driver_too_old(driver, runtime);
    if (e == cudaErrorNoDevice) return none_visible(instead);
    if (reason) return tt_fail(TT_NO_DEVICE, "no NVIDIA GPU can be used: %s", reason);
    return tt_fail(TT_NO_DEVICE, "no NVIDIA GPU can be used: %s (%s); nvidia-smi shows its state",
                   cudaGetErrorString(e), cudaGetErrorName(e));
}

/* ---- properties ---- */

static int attribute(const struct gpu *gpu, enum cudaDeviceAttr which)
{
    int value = 0;
    return cudaDeviceGetAttribute(&value, which, gpu->device) ? 0 : value;
}

gpu_rt_error tt_gpu_describe(struct gpu *gpu)
{
    struct cudaDeviceProp properties;
    cudaError_t e = cudaGetDeviceProperties(&properties, gpu->device);
    if (e) return e;
    int sm = 10 * properties.major + properties.minor;
    snprintf(gpu->name, sizeof gpu->name, "%.*s", (int)sizeof gpu->name - 1, properties.name);
    snprintf(gpu->arch, sizeof gpu->arch, "sm_%d", sm);
    gpu->units = properties.multiProcessorCount;
    gpu->wave = attribute(gpu, cudaDevAttrWarpSize);
    gpu->shared_bytes = (size_t)attribute(gpu, cudaDevAttrMaxSharedMemoryPerBlockOptin);
    gpu->has[TT_FP32] = true;
    gpu->has[TT_TF32] = gpu->has[TT_PREC_BF16] = sm >= 80;
    gpu->has[TT_PREC_FP16] = sm >= 70;
    gpu->has[TT_PREC_FP8] = sm >= 89;
    return cudaSuccess;
}

void tt_gpu_versions(char *out, size_t size)
{
    int driver = 0, runtime = 0;
    if (cudaDriverGetVersion(&driver) || cudaRuntimeGetVersion(&runtime)) return;
    snprintf(out, size, "driver for CUDA %d.%d, runtime %d.%d", driver / 1000, driver % 1000 / 10, runtime / 1000,
             runtime % 1000 / 10);
}

tt_status tt_gpu_accept(struct gpu *gpu, enum tt_precision precision)
{
    if ((precision == TT_TF32 || precision == TT_PREC_BF16) && !gpu->has[precision])
        return tt_fail(TT_USAGE, "%s is %s and has no %s, which needs sm_80; use --precision fp16 or fp32", gpu->name,
                       gpu->arch, precision == TT_TF32 ? "tf32" : "bf16");
    if (precision == TT_PREC_FP8 && !gpu->has[precision])
        return tt_fail(TT_USAGE, "%s is %s and has no fp8, which needs sm_89; use --precision %s", gpu->name, gpu->arch,
                       gpu->has[TT_PREC_BF16] ? "bf16" : "fp16");
    gpu->tf32 = precision == TT_TF32;
    if (gpu->tf32) snprintf(gpu->arithmetic, sizeof gpu->arithmetic, "fp32 as tf32");
    return TT_OK;
}
