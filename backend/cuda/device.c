/* Which GPU, and what it is. */
#include <stdio.h>
#include <string.h>

#include "backend/cuda/cuda.h"
#include "backend/gpu/launch.h"

static const char *instead = "build for the CPU with -DBACKEND=cpu, or run where there is one";

static tt_status no_device(cudaError_t e)
{
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

/* cudaSetDevice alone may leave the work to the first call that needs the GPU. */
static cudaError_t make_current(int device)
{
    cudaError_t e = cudaSetDevice(device);
    return e ? e : cudaFree(NULL);
}

static tt_status cannot_use(int device, cudaError_t e)
{
    cudaGetLastError();
    if (e == cudaErrorDevicesUnavailable)
        return tt_fail(TT_NO_DEVICE,
                       "GPU %d is busy: another program has it to itself; choose another with --device, or see "
                       "nvidia-smi",
                       device);
    if (e == cudaErrorMemoryAllocation)
        return tt_fail(TT_NO_DEVICE,
                       "GPU %d has no memory left even to start; choose another with --device, or see nvidia-smi",
                       device);
    return tt_fail(TT_NO_DEVICE, "GPU %d cannot be used: %s (%s); choose another with --device, or see nvidia-smi",
                   device, cudaGetErrorString(e), cudaGetErrorName(e));
}

static int attribute(const struct cuda *cuda, enum cudaDeviceAttr which)
{
    int value = 0;
    return cudaDeviceGetAttribute(&value, which, cuda->device) ? 0 : value;
}

tt_status tt_cuda_choose(struct cuda *cuda, int device)
{
    int count = 0;
    cudaError_t e = cudaGetDeviceCount(&count);
    if (!e && count == 0) e = cudaErrorNoDevice;
    if (e) return no_device(e);
    if (device < 0 || device >= count)
        return tt_fail(TT_NO_DEVICE, "--device %d: this machine shows %d GPU%s, numbered from 0", device, count,
                       count == 1 ? "" : "s");
    cuda->device = device;
    struct cudaDeviceProp properties;
    e = make_current(device);
    if (!e) e = cudaGetDeviceProperties(&properties, device);
    if (e) return cannot_use(device, e);
    snprintf(cuda->name, sizeof cuda->name, "%.*s", (int)sizeof cuda->name - 1, properties.name);
    cuda->sm = 10 * properties.major + properties.minor;
    cuda->units = properties.multiProcessorCount;
    return TT_OK;
}

static void fill_peaks(const struct cuda *cuda, struct tt_device_info *out)
{
    struct cuda_peaks peaks = tt_cuda_peaks(cuda->name);
    out->peak_flops[TT_F32] = 1e12 * (cuda->tf32 ? peaks.tf32 : peaks.fp32);
    out->peak_flops[TT_BF16] = cuda_has_bf16(cuda) ? 1e12 * peaks.half : 0;
    out->peak_flops[TT_F16] = 1e12 * peaks.half;
    out->peak_bandwidth = 1e9 * peaks.bandwidth;
}

tt_status tt_cuda_info(void *self, struct tt_device_info *out)
{
    struct cuda *cuda = self;
    size_t version = cublasLtGetVersion();
    *out = (struct tt_device_info){
        .wave_width = attribute(cuda, cudaDevAttrWarpSize), .units = cuda->units, .flash_head = TT_CUDA_FLASH_HEAD};
    snprintf(out->name, sizeof out->name, "%s", cuda->name);
    snprintf(out->arch, sizeof out->arch, "sm_%d", cuda->sm);
    snprintf(out->library, sizeof out->library, "cuBLASLt %zu.%zu.%zu%s", version / 10000, version / 100 % 100,
             version % 100, cuda->tf32 ? ", fp32 as tf32" : "");
    const char *native = cuda->portable ? NULL : tt_gpu_native();
    if (native) snprintf(out->kernels, sizeof out->kernels, "native (%s), else portable", native);
    else snprintf(out->kernels, sizeof out->kernels, "portable");
    out->shared_bytes = (size_t)attribute(cuda, cudaDevAttrMaxSharedMemoryPerBlockOptin);
    CHECK(cuda, cudaSetDevice(cuda->device));
    CHECK(cuda, cudaMemGetInfo(&out->memory_free, &out->memory_total));
    pthread_mutex_lock(&cuda->ledger.lock);
    out->memory_used = cuda->ledger.used;
    out->memory_peak = cuda->ledger.peak;
    pthread_mutex_unlock(&cuda->ledger.lock);
    fill_peaks(cuda, out);
    out->has[TT_FP32] = true;
    out->has[TT_TF32] = cuda->sm >= 80;
    out->has[TT_PREC_BF16] = cuda_has_bf16(cuda);
    out->has[TT_PREC_FP16] = cuda->sm >= 75;
    return TT_OK;
}
