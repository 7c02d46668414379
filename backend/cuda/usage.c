/* How busy an NVIDIA GPU is, as NVML says, the library of nvidia-smi. The library comes with the driver, but its header
 * with the toolkit. So it is loaded at the first call, and the functions used of its documented interface are declared
 * here. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/gpu/host.h"

/* ---- the library ---- */

typedef struct nvml_device *nvml_device;
struct nvml_utilization {
    unsigned gpu, memory;
}; /* percent of the last sample period */
struct nvml_memory {
    unsigned long long total, free, used;
}; /* bytes */

struct gpu_monitor {
    void *library;
    nvml_device device;
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int error);
    int (*find)(const char *pci_bus_id, nvml_device *out);
    int (*utilization)(nvml_device device, struct nvml_utilization *out);
    int (*memory)(nvml_device device, struct nvml_memory *out);
    int (*processes)(nvml_device device, unsigned *count, void *out); /* NULL: the driver is too old */
};

static bool find_functions(struct gpu_monitor *m)
{
    *(void **)&m->init = dlsym(m->library, "nvmlInit_v2");
    *(void **)&m->shutdown = dlsym(m->library, "nvmlShutdown");
    *(void **)&m->error_string = dlsym(m->library, "nvmlErrorString");
    *(void **)&m->find = dlsym(m->library, "nvmlDeviceGetHandleByPciBusId_v2");
    *(void **)&m->utilization = dlsym(m->library, "nvmlDeviceGetUtilizationRates");
    *(void **)&m->memory = dlsym(m->library, "nvmlDeviceGetMemoryInfo");
    *(void **)&m->processes = dlsym(m->library, "nvmlDeviceGetComputeRunningProcesses_v3");
    return m->init && m->shutdown && m->error_string && m->find && m->utilization && m->memory;
}

static tt_status failed(const struct gpu_monitor *m, const char *call, int error)
{
    return tt_fail(TT_UNSUPPORTED, "%s: %s", call, m->error_string(error));
}

/* NVML numbers all GPUs of the machine, whatever CUDA_VISIBLE_DEVICES says. So the GPU is found by its PCI address. */
static tt_status find_device(struct gpu *gpu, struct gpu_monitor *m)
{
    char address[32] = "";
    CHECK(gpu, cudaDeviceGetPCIBusId(address, sizeof address, gpu->device));
    int error = m->find(address, &m->device);
    return error ? failed(m, "nvmlDeviceGetHandleByPciBusId", error) : TT_OK;
}

static tt_status start(struct gpu *gpu, struct gpu_monitor *m)
{
    m->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!m->library) return tt_fail(TT_NO_TOOL, "NVML, which comes with the driver, cannot be loaded: %s", dlerror());
    if (!find_functions(m)) return tt_fail(TT_UNSUPPORTED, "NVML is too old: a function is missing");
    int error = m->init();
    if (error) return failed(m, "nvmlInit", error);
    tt_status st = find_device(gpu, m);
    if (st) m->shutdown();
    return st;
}

/* Asked with room for none, NVML says how many processes compute on the GPU. This one is among them, under whatever
 * number a container gives it. Where NVML sees no process at all, it cannot see the others either. */
static int count_others(const struct gpu_monitor *m)
{
    enum { TOO_SMALL = 7 };
    unsigned count = 0;
    int error = m->processes ? m->processes(m->device, &count, NULL) : TOO_SMALL;
    return (!error || error == TOO_SMALL) && count > 0 ? (int)count - 1 : 0;
}

/* ---- for the backend ---- */

static tt_status open_monitor(struct gpu *gpu)
{
    struct gpu_monitor *m = calloc(1, sizeof *m);
    if (!m) return tt_no_memory("NVML");
    tt_status st = start(gpu, m);
    if (!st) {
        gpu->monitor = m;
        return TT_OK;
    }
    if (m->library) dlclose(m->library);
    free(m);
    return st;
}

tt_status tt_gpu_usage(void *self, struct tt_usage *out)
{
    struct gpu *gpu = self;
    struct nvml_utilization share;
    struct nvml_memory memory;
    if (!gpu->monitor) TT_TRY(open_monitor(gpu));
    *out = (struct tt_usage){.source = "NVML"};
    int error = gpu->monitor->utilization(gpu->monitor->device, &share);
    if (error) return failed(gpu->monitor, "nvmlDeviceGetUtilizationRates", error); /* a part of a GPU (MIG) has none */
    out->busy = share.gpu / 100.0;
    out->others = count_others(gpu->monitor);
    if (gpu->monitor->memory(gpu->monitor->device, &memory)) return TT_OK;
    out->memory_used = (double)memory.used;
    out->memory_total = (double)memory.total;
    return TT_OK;
}

void tt_gpu_usage_close(struct gpu *gpu)
{
    if (!gpu->monitor) return;
    gpu->monitor->shutdown();
    dlclose(gpu->monitor->library);
    free(gpu->monitor);
    gpu->monitor = NULL;
}
