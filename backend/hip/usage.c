/* How busy an AMD GPU is, as the library of rocm-smi says. It is a package of its own, so it is loaded at the first
 * call, and the functions used of its documented interface are declared here. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/gpu/host.h"

/* ---- the library ---- */

enum { RSMI_VRAM = 0 }; /* of its kinds of memory */

struct rsmi_process {
    uint32_t id, address_space;
    uint64_t memory, copied;
    uint32_t units;
};

struct gpu_monitor {
    void *library;
    uint32_t device; /* its number in the library */
    int (*init)(uint64_t flags);
    int (*shut_down)(void);
    int (*status_string)(int error, const char **out);
    int (*count)(uint32_t *out);
    int (*pci_id)(uint32_t device, uint64_t *out);
    int (*busy)(uint32_t device, uint32_t *percent);
    int (*memory_used)(uint32_t device, int kind, uint64_t *bytes);
    int (*memory_total)(uint32_t device, int kind, uint64_t *bytes);
    int (*processes)(struct rsmi_process *out, uint32_t *count);
    int (*devices_of)(uint32_t process, uint32_t *devices, uint32_t *count); /* both NULL: an older library */
};

/* The number in its name is the version of its interface; the functions used here are in all of these versions. */
static void *load(void)
{
    static const char *const names[] = {"librocm_smi64.so.8", "librocm_smi64.so.7", "librocm_smi64.so.1",
                                        "librocm_smi64.so"};
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

static bool find_functions(struct gpu_monitor *m)
{
    *(void **)&m->init = dlsym(m->library, "rsmi_init");
    *(void **)&m->shut_down = dlsym(m->library, "rsmi_shut_down");
    *(void **)&m->status_string = dlsym(m->library, "rsmi_status_string");
    *(void **)&m->count = dlsym(m->library, "rsmi_num_monitor_devices");
    *(void **)&m->pci_id = dlsym(m->library, "rsmi_dev_pci_id_get");
    *(void **)&m->busy = dlsym(m->library, "rsmi_dev_busy_percent_get");
    *(void **)&m->memory_used = dlsym(m->library, "rsmi_dev_memory_usage_get");
    *(void **)&m->memory_total = dlsym(m->library, "rsmi_dev_memory_total_get");
    *(void **)&m->processes = dlsym(m->library, "rsmi_compute_process_info_get");
    *(void **)&m->devices_of = dlsym(m->library, "rsmi_compute_process_gpus_get");
    return m->init && m->shut_down && m->status_string && m->count && m->pci_id && m->busy && m->memory_used &&
           m->memory_total;
}

static tt_status failed(const struct gpu_monitor *m, const char *call, int error)
{
    const char *text = "";
    m->status_string(error, &text);
    return tt_fail(TT_UNSUPPORTED, "%s: error %d, %.100s", call, error, text);
}

/* Domain in the upper 32 bits, bus in bits 8 to 15, device in 3 to 7. The other bits may hold the partition of a
 * divided chip; here its partitions count as one chip. */
static const uint64_t place_bits = 0xffffffff0000fff8u;

static uint64_t place(unsigned domain, unsigned bus, unsigned device)
{
    return (uint64_t)domain << 32 | (uint64_t)(bus & 0xff) << 8 | (device & 0x1f) << 3;
}

/* The library numbers all GPUs of the machine, whatever HIP_VISIBLE_DEVICES says. So the GPU is found by its PCI
 * address. */
static tt_status find_device(struct gpu *gpu, struct gpu_monitor *m)
{
    char address[32] = "";
    unsigned domain, bus, device;
    uint32_t count = 0;
    CHECK(gpu, hipDeviceGetPCIBusId(address, sizeof address, gpu->device));
    if (sscanf(address, "%x:%x:%x", &domain, &bus, &device) != 3)
        return tt_fail(TT_UNSUPPORTED, "hipDeviceGetPCIBusId: \"%s\" is no address on a bus", address);
    int error = m->count(&count);
    if (error) return failed(m, "rsmi_num_monitor_devices", error);
    for (m->device = 0; m->device < count; m->device++) {
        uint64_t id;
        if (!m->pci_id(m->device, &id) && (id & place_bits) == place(domain, bus, device)) return TT_OK;
    }
    return tt_fail(TT_UNSUPPORTED, "rocm-smi does not know the GPU at %s", address);
}

static tt_status start(struct gpu *gpu, struct gpu_monitor *m)
{
    m->library = load();
    if (!m->library) return tt_fail(TT_NO_TOOL, "rocm-smi's library cannot be loaded: %s", dlerror());
    if (!find_functions(m)) return tt_fail(TT_UNSUPPORTED, "rocm-smi's library is too old: a function is missing");
    int error = m->init(0);
    if (error) return failed(m, "rsmi_init", error);
    tt_status st = find_device(gpu, m);
    if (st) m->shut_down();
    return st;
}

static bool has_open(const struct gpu_monitor *m, uint32_t process)
{
    enum { DEVICES = 64 };
    uint32_t devices[DEVICES], count = DEVICES;
    bool open = false;
    if (m->devices_of(process, devices, &count)) return false;
    for (uint32_t i = 0; i < count && i < DEVICES; i++) open |= devices[i] == m->device;
    return open;
}

/* The library lists the processes of all GPUs, and this one is among them. If it lists none, it cannot see the others
 * either. */
static int count_others(const struct gpu_monitor *m)
{
    enum { PROCESSES = 256 };
    struct rsmi_process p[PROCESSES];
    uint32_t count = PROCESSES;
    int open = 0;
    if (!m->processes || !m->devices_of || m->processes(p, &count)) return 0;
    for (uint32_t i = 0; i < count && i < PROCESSES; i++) open += has_open(m, p[i].id);
    return open > 0 ? open - 1 : 0;
}

/* ---- for the backend ---- */

static tt_status open_monitor(struct gpu *gpu)
{
    struct gpu_monitor *m = calloc(1, sizeof *m);
    if (!m) return tt_no_memory("rocm-smi");
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
    uint32_t percent;
    uint64_t used, total;
    if (!gpu->monitor) TT_TRY(open_monitor(gpu));
    struct gpu_monitor *m = gpu->monitor;
    *out = (struct tt_usage){.source = "rocm-smi"};
    int error = m->busy(m->device, &percent);
    if (error) return failed(m, "rsmi_dev_busy_percent_get", error);
    out->busy = percent / 100.0;
    out->others = count_others(m);
    if (m->memory_used(m->device, RSMI_VRAM, &used) || m->memory_total(m->device, RSMI_VRAM, &total)) return TT_OK;
    out->memory_used = (double)used;
    out->memory_total = (double)total;
    return TT_OK;
}

void tt_gpu_usage_close(struct gpu *gpu)
{
    if (!gpu->monitor) return;
    gpu->monitor->shut_down();
    dlclose(gpu->monitor->library);
    free(gpu->monitor);
    gpu->monitor = NULL;
}
