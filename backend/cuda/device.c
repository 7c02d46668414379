/* What an NVIDIA GPU is, what it computes in, and why there is none. */
#include <stdio.h>

#include "backend/gpu/host.h"

tt_status tt_gpu_none(gpu_rt_error e)
{
    static const char *instead = "build for the CPU with -DBACKEND=cpu, or run where there is one";
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    if (e == cudaErrorInsufficientDriver && driver > 0)
        return tt_fail(TT_NO_DEVICE,
                       "the NVIDIA driver is too old: it knows CUDA %d.%d and this tt needs %d.%d; update the "
                       "driver, or build with an older CUDA toolkit",
                       driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    if (e == cudaErrorInsufficientDriver)
        return tt_fail(TT_NO_DEVICE, "no NVIDIA GPU: there is no NVIDIA driver on this machine; %s", instead);
    if (e == cudaErrorNoDevice)
        return tt_fail(TT_NO_DEVICE,
                       "no NVIDIA GPU is visible (nvidia-smi lists them, CUDA_VISIBLE_DEVICES hides them); %s",
                       instead);
    return tt_fail(TT_NO_DEVICE, "no NVIDIA GPU can be used: %s (%s); nvidia-smi shows its state",
                   cudaGetErrorString(e), cudaGetErrorName(e));
}

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
    gpu->tf32 = precision == TT_TF32;
    if (gpu->tf32) snprintf(gpu->arithmetic, sizeof gpu->arithmetic, "fp32 as tf32");
    return TT_OK;
}
