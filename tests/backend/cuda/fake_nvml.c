/* A libnvidia-ml.so.1 for tests, with GPUs at addresses 0000:40:00.0 and 0000:41:00.0, busy 40 % and 41 % of the time.
 * $FAKE_MONITOR_PROCESSES processes compute on each.
 * The call named by $FAKE_MONITOR_FAILS fails. A program that does not shut the library down aborts at its end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct utilization { unsigned gpu, memory; };
struct memory { unsigned long long total, free, used; };

static int begun;

static int fails(const char *call)
{
    const char *name = getenv("FAKE_MONITOR_FAILS");
    return name && !strcmp(name, call) ? 3 : 0;
}

int nvmlInit_v2(void)
{
    int error = fails(__func__);
    begun += !error;
    return error;
}

int nvmlShutdown(void) { return begun--, 0; }

const char *nvmlErrorString(int error) { return error == 3 ? "Not Supported" : "Unknown"; }

int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **out)
{
    unsigned bus = 0;
    if (sscanf(address, "0000:%x:00.0", &bus) != 1 || bus < 0x40 || bus > 0x41) return 6;
    *out = (void *)(size_t)bus;
    return fails(__func__);
}

int nvmlDeviceGetUtilizationRates(void *device, struct utilization *out)
{
    out->gpu = (unsigned)(size_t)device - 0x40 + 40;
    return fails(__func__);
}

int nvmlDeviceGetMemoryInfo(void *device, struct memory *out)
{
    (void)device;
    *out = (struct memory){4096, 1024, 3072};
    return fails(__func__);
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, void *out)
{
    const char *processes = getenv("FAKE_MONITOR_PROCESSES");
    (void)device;
    if (*count || out) abort();
    *count = processes ? (unsigned)atoi(processes) : 0;
    return fails(__func__) ? fails(__func__) : *count ? 7 : 0;
}

__attribute__((destructor)) static void end(void)
{
    if (begun) abort();
}
