/* Properties of an AMD GPU, its precisions, and why no GPU can be used. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "backend/gpu/host.h"

/* ---- no GPU ---- */

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value != NULL;
}

/* A sentence about the first variable that is set and may hide devices; NULL: none. */
static const char *chosen(void)
{
    static const char *const names[] = {"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES",
                                        "GPU_DEVICE_ORDINAL"};
    static char text[160];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_set(names[i])) {
            snprintf(text, sizeof text, "%s is \"%.40s\" here, which may hide them; try without: unset %s", names[i],
                     getenv(names[i]), names[i]);
            return text;
        }
    return NULL;
}

/* The driver is /dev/kfd, GPUs are in /dev/dri; users need the right groups to open them. */
static const char *reason(void)
{
    if (access("/dev/kfd", F_OK))
        return "there is no /dev/kfd, so no amdgpu driver is loaded here (in a container: --device=/dev/kfd "
               "--device=/dev/dri)";
    if (access("/dev/kfd", R_OK | W_OK) && errno == EACCES)
        return "/dev/kfd may not be opened by this user; join its group: sudo usermod -aG render,video $USER, then log "
               "in again";
    if (access("/dev/dri", F_OK)) return "there is /dev/kfd but no /dev/dri (in a container: --device=/dev/dri too)";
    if (access("/dev/dri/renderD128", R_OK | W_OK) && errno == EACCES)
        return "/dev/dri/renderD128 may not be opened by this user; join its group: sudo usermod -aG render,video "
               "$USER, then log in again";
    const char *hidden = chosen();
    return hidden ? hidden : "rocminfo shows what the runtime finds; a chip it does not know may need "
                             "HSA_OVERRIDE_GFX_VERSION";
}

const char *tt_gpu_reason(gpu_rt_error e)
{
    (void)e;
    return NULL; /* HIP has no specific errors for a driver that does not start */
}

tt_status tt_gpu_none(gpu_rt_error e)
{
    static const char *instead = "build for the CPU with -DBACKEND=cpu, or run where there is one";
    if (strcmp(GPU_RT_MAKER, "AMD"))
        return tt_fail(TT_NO_DEVICE, "no " GPU_RT_MAKER " GPU for HIP: %s (%s); %s", hipGetErrorString(e),
                       hipGetErrorName(e), instead);
    if (e == hipErrorNoDevice || e == hipErrorInsufficientDriver || e == hipErrorNotInitialized ||
        access("/dev/kfd", R_OK | W_OK))
        return tt_fail(TT_NO_DEVICE, "no AMD GPU: %s; %s", reason(), instead);
    return tt_fail(TT_NO_DEVICE, "no AMD GPU can be used: %s (%s); " GPU_RT_MONITOR " shows its state",
                   hipGetErrorString(e), hipGetErrorName(e));
}

/* ---- properties ---- */

/* "gfx90a:sramecc+:xnack-" gives 0x90a; 0 if it is not a gfx. */
static unsigned long chip(const char *arch) { return strncmp(arch, "gfx", 3) ? 0 : strtoul(arch + 3, NULL, 16); }

/* Whether the matrix instructions that the kernels use have bf16: CDNA 2 and later, RDNA 3 and later. */
static bool has_bf16(unsigned long gfx) { return gfx == 0x90a || (gfx >= 0x940 && gfx < 0xa00) || gfx >= 0x1100; }

/* 8-bit numbers in its matrix instructions: CDNA 3 and later, RDNA 4. */
static bool has_fp8(unsigned long gfx) { return (gfx >= 0x940 && gfx < 0xa00) || gfx >= 0x1200; }
static bool is_fnuz(unsigned long gfx) { return gfx >= 0x940 && gfx < 0x950; }

static void name_arch(const hipDeviceProp_t *p, char *out, size_t size)
{
    int length = (int)strcspn(p->gcnArchName, ":");
    if (chip(p->gcnArchName))
        snprintf(out, size, "%.*s", length < 31 ? length : 31, p->gcnArchName);
    else
        snprintf(out, size, "sm_%d", 10 * p->major + p->minor); /* HIP on an NVIDIA GPU */
}

gpu_rt_error tt_gpu_describe(struct gpu *gpu)
{
    hipDeviceProp_t p;
    memset(&p, 0, sizeof p);
    hipError_t e = hipGetDeviceProperties(&p, gpu->device);
    if (e != hipSuccess) return e;
    name_arch(&p, gpu->arch, sizeof gpu->arch);
    snprintf(gpu->name, sizeof gpu->name, "%.*s", (int)sizeof gpu->name - 1, p.name[0] ? p.name : gpu->arch);
    gpu->units = p.multiProcessorCount;
    gpu->wave = p.warpSize;
    gpu->shared_bytes = p.sharedMemPerBlock;
    unsigned long gfx = chip(gpu->arch);
    bool ampere = !gfx && p.major >= 8;
    gpu->has[TT_FP32] = gpu->has[TT_PREC_FP16] = true;
    gpu->has[TT_TF32] = gfx == 0x942 || ampere; /* gfx942 calls it xf32 */
    gpu->has[TT_PREC_BF16] = has_bf16(gfx) || ampere;
    gpu->has[TT_PREC_FP8] = has_fp8(gfx);
    gpu->fp8_fnuz = is_fnuz(gfx);
    gpu->tf32_as_fp32 = true;
    return hipSuccess;
}

/* The amdgpu driver has its own version if it was installed separately from the kernel. hipDriverGetVersion would
 * return the version of the runtime. */
static void name_driver(char *out, size_t size)
{
    struct utsname system;
    char text[32] = "";
    FILE *f = fopen("/sys/module/amdgpu/version", "r");
    bool own = f && fscanf(f, "%31s", text) == 1;
    if (f) fclose(f);
    if (!own && uname(&system) == 0)
        snprintf(out, size, "driver of Linux %.40s", system.release);
    else
        snprintf(out, size, "driver amdgpu %s", own ? text : "unknown");
}

/* The version 60443484 is HIP 6.4. */
void tt_gpu_versions(char *out, size_t size)
{
    int runtime = 0;
    char driver[80] = "";
    if (hipRuntimeGetVersion(&runtime) != hipSuccess) return;
    if (strcmp(GPU_RT_MAKER, "AMD"))
        snprintf(driver, sizeof driver, "over CUDA %d.%d", runtime / 1000, runtime % 1000 / 10);
    else
        name_driver(driver, sizeof driver);
    if (runtime >= 10000000)
        snprintf(out, size, "HIP runtime %d.%d, %s", runtime / 10000000, runtime / 100000 % 100, driver);
    else
        snprintf(out, size, "HIP %s", driver);
}

static tt_status no_fp8(const struct gpu *gpu)
{
    const char *instead = gpu->has[TT_PREC_BF16] ? "bf16" : "fp16";
    unsigned long gfx = chip(gpu->arch);
    if (!gfx)
        return tt_fail(TT_USAGE, "tt has no fp8 by HIP on %s; use --precision %s, or build with -DBACKEND=cuda",
                       gpu->name, instead);
    if (has_fp8(gfx))
        return tt_fail(TT_USAGE,
                       "%s is %s and has fp8, but there is no hipBLASLt with 8-bit products for it; use --precision "
                       "%s, or install one (ROCm 6.2 or later for gfx942, 6.4 for gfx12, 7.0 for gfx950)",
                       gpu->name, gpu->arch, instead);
    return tt_fail(TT_USAGE, "%s is %s and has no fp8, which needs gfx942, gfx950 or gfx12; use --precision %s",
                   gpu->name, gpu->arch, instead);
}

/* fp32 is at least as accurate as tf32, so a chip without tf32 computes in fp32 and says so. */
tt_status tt_gpu_accept(struct gpu *gpu, enum tt_precision precision)
{
    if (precision == TT_PREC_BF16 && !gpu->has[precision])
        return tt_fail(TT_USAGE,
                       "%s is %s and has no bf16, which needs gfx90a, gfx942, gfx950, gfx11 or gfx12; use --precision "
                       "fp16 or fp32",
                       gpu->name, gpu->arch);
    if (precision == TT_PREC_FP8 && !gpu->has[precision]) return no_fp8(gpu);
    gpu->tf32 = precision == TT_TF32 && gpu->has[TT_TF32];
    if (gpu->tf32)
        snprintf(gpu->arithmetic, sizeof gpu->arithmetic, "fp32 as %s", chip(gpu->arch) ? "xf32" : "tf32");
    else if (precision == TT_TF32)
        snprintf(gpu->arithmetic, sizeof gpu->arithmetic, "fp32 in place of tf32, which %.12s lacks", gpu->arch);
    return TT_OK;
}
