/* A librocm_smi64.so for tests, with GPUs at addresses 0000:41:00.0 and 0000:40:00.0, in this order. The first is busy
 * 41 % of the time; the second, a partition of its chip, 40 %. $FAKE_MONITOR_PROCESSES processes compute on the second,
 * and one more on the first. The call named by $FAKE_MONITOR_FAILS fails. A program that does not shut the library down
 * aborts at its end. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int begun;

static int fails(const char *call)
{
    const char *name = getenv("FAKE_MONITOR_FAILS");
    return name && !strcmp(name, call) ? 2 : 0;
}

int rsmi_init(uint64_t flags)
{
    int error = fails(__func__);
    (void)flags;
    begun += !error;
    return error;
}

int rsmi_shut_down(void) { return begun--, 0; }

int rsmi_status_string(int error, const char **out)
{
    *out = error == 2 ? "Not Supported" : "Unknown";
    return 0;
}

int rsmi_num_monitor_devices(uint32_t *out)
{
    *out = 2;
    return fails(__func__);
}

int rsmi_dev_pci_id_get(uint32_t device, uint64_t *out)
{
    *out = device == 0 ? 0x4100 : 0x10004001;
    return fails(__func__);
}

int rsmi_dev_busy_percent_get(uint32_t device, uint32_t *percent)
{
    *percent = device == 0 ? 41 : 40;
    return fails(__func__);
}

int rsmi_dev_memory_usage_get(uint32_t device, int kind, uint64_t *bytes)
{
    (void)device;
    *bytes = kind == 0 ? 3072 : 1;
    return fails(__func__);
}

int rsmi_dev_memory_total_get(uint32_t device, int kind, uint64_t *bytes)
{
    (void)device;
    *bytes = kind == 0 ? 4096 : 1;
    return fails(__func__);
}

struct process {
    uint32_t id, address_space;
    uint64_t memory, copied;
    uint32_t units;
};

int rsmi_compute_process_info_get(struct process *out, uint32_t *count)
{
    const char *processes = getenv("FAKE_MONITOR_PROCESSES");
    uint32_t n = 1 + (processes ? (uint32_t)atoi(processes) : 0);
    for (uint32_t i = 0; i < n && i < *count; i++) out[i] = (struct process){.id = 1000 + i};
    *count = n;
    return fails(__func__);
}

int rsmi_compute_process_gpus_get(uint32_t process, uint32_t *devices, uint32_t *count)
{
    if (*count < 1) return 1;
    *devices = process == 1000 ? 0 : 1;
    *count = 1;
    return fails(__func__);
}

__attribute__((destructor)) static void end(void)
{
    if (begun) abort();
}
