/* Choosing a GPU and describing it. */
#include <stdio.h>

#include "backend/chips.h"
#include "backend/gpu/gemm.h"
#include "backend/gpu/host.h"
#include "backend/gpu/launch.h"

/* The runtime may initialise the device lazily, at the first call that needs it; so make one. */
static gpu_rt_error make_current(int device)
{
    gpu_rt_error e = gpu_rt_set_device(device);
    return e ? e : gpu_rt_free(NULL);
}

static tt_status cannot_use(int device, gpu_rt_error e)
{
    gpu_rt_clear_error();
    if (e == GPU_RT_BUSY)
        return tt_fail(TT_NO_DEVICE,
                       "GPU %d is busy: another program uses it exclusively, or its compute mode is prohibited; choose "
                       "another with --device, or see " GPU_RT_MONITOR,
                       device);
    if (e == GPU_RT_OUT_OF_MEMORY)
        return tt_fail(TT_NO_DEVICE,
                       "GPU %d has no memory left even to start; choose another with --device, or see " GPU_RT_MONITOR,
                       device);
    const char *reason = tt_gpu_reason(e);
    if (reason) return tt_fail(TT_NO_DEVICE, "GPU %d cannot be used: %s", device, reason);
    return tt_fail(TT_NO_DEVICE, "GPU %d cannot be used: %s (%s); choose another with --device, or see " GPU_RT_MONITOR,
                   device, gpu_rt_error_text(e), gpu_rt_error_name(e));
}

tt_status tt_gpu_choose(struct gpu *gpu, int device)
{
    int count = 0;
    gpu_rt_error e = gpu_rt_device_count(&count);
    if (!e && count == 0) e = GPU_RT_NO_DEVICE;
    if (e) return tt_gpu_none(e);
    if (device < 0 || device >= count)
        return tt_fail(TT_NO_DEVICE, "--device %d: this machine shows %d GPU%s, numbered from 0; " GPU_RT_MONITOR
                       " lists them", device, count, count == 1 ? "" : "s");
    gpu->device = device;
    e = make_current(device);
    if (!e) e = tt_gpu_describe(gpu);
    return e ? cannot_use(device, e) : TT_OK;
}

int tt_backend_devices(void)
{
    int count = 0;
    return gpu_rt_device_count(&count) ? 0 : count;
}

static void fill_peaks(const struct gpu *gpu, struct tt_device_info *out)
{
    const struct tt_chip *chip = tt_chip_of(gpu->name, gpu->units);
    if (!chip) return;
    out->peak_flops[TT_F32] = chip->matrix[gpu->tf32 ? TT_TF32 : TT_FP32];
    out->peak_flops[TT_BF16] = gpu->has[TT_PREC_BF16] ? chip->matrix[TT_PREC_BF16] : 0;
    out->peak_flops[TT_F16] = chip->matrix[TT_PREC_FP16];
    out->peak_fp8 = gpu->has[TT_PREC_FP8] ? chip->matrix[TT_PREC_FP8] : 0;
    out->peak_bandwidth = chip->bandwidth;
}

static void fill_memory(struct gpu *gpu, struct tt_device_info *out)
{
    pthread_mutex_lock(&gpu->ledger.lock);
    out->memory_used = gpu->ledger.used;
    out->memory_peak = gpu->ledger.peak;
    pthread_mutex_unlock(&gpu->ledger.lock);
}

tt_status tt_gpu_info(void *self, struct tt_device_info *out)
{
    struct gpu *gpu = self;
    char library[64];
    *out = (struct tt_device_info){.wave_width = gpu->wave,
                                   .units = gpu->units,
                                   .shared_bytes = gpu->shared_bytes,
                                   .flash_head = TT_GPU_FLASH_HEAD,
                                   .product_epilogues = !gpu->portable && tt_gpu_products_native() > 0,
                                   .tf32_as_fp32 = gpu->tf32_as_fp32};
    tt_blas_name(gpu, library, sizeof library);
    snprintf(out->name, sizeof out->name, "%s", gpu->name);
    snprintf(out->arch, sizeof out->arch, "%s", gpu->arch);
    snprintf(out->library, sizeof out->library, "%s%s%s", library, gpu->arithmetic[0] ? ", " : "", gpu->arithmetic);
    snprintf(out->collectives, sizeof out->collectives, "%s", gpu->collectives_name);
    const char *native = gpu->portable ? NULL : tt_gpu_native();
    if (native)
        snprintf(out->kernels, sizeof out->kernels, "native (%s), else portable", native);
    else
        snprintf(out->kernels, sizeof out->kernels, "portable");
    tt_gpu_versions(out->versions, sizeof out->versions);
    CHECK(gpu, gpu_rt_set_device(gpu->device));
    CHECK(gpu, gpu_rt_memory_info(&out->memory_free, &out->memory_total));
    fill_memory(gpu, out);
    fill_peaks(gpu, out);
    for (int p = 0; p < TT_PRECISIONS; p++) out->has[p] = gpu->has[p];
    out->fp8_fnuz = gpu->fp8_fnuz;
    out->fp8_rows = gpu->fp8_rows;
    return TT_OK;
}
