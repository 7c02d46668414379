/* Properties of this computer: the name of the processor, the threads this process may use and their time, and the
 * memory. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "backend/cpu/cpu.h"
#include "core/base/allowance.h"
#include "core/base/clock.h"

/* ---- threads ---- */

static int threads_of_environment(void)
{
    const char *text = getenv("OMP_NUM_THREADS");
    if (!text) return 0;
    long n = strtol(text, NULL, 10); /* "4,2" is for nested teams; the first level counts */
    return n > 0 && n < 65536 ? (int)n : 0;
}

int tt_cpu_thread_count(void)
{
    int n = threads_of_environment();
    return n ? n : tt_cores();
}

/* ---- matrix units ---- */

#if defined(__x86_64__) && defined(__linux__)
bool tt_cpu_amx_allowed(void)
{
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 }; /* of arch_prctl(2) */
    unsigned a, b, c, d;
    bool tiles = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 24 & 1) && (d >> 22 & 1);
    return tiles && syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}
#else
bool tt_cpu_amx_allowed(void) { return false; }
#endif

/* ---- vectors ---- */

#ifdef __aarch64__
bool tt_cpu_builtin_first(void)
{
#ifdef PR_SVE_GET_VL
    enum { LENGTH = 0xffff, LONG = 64 }; /* bytes */
    int sve = prctl(PR_SVE_GET_VL);
    return sve < 0 || (sve & LENGTH) < LONG;
#else
    return true;
#endif
}
#else
bool tt_cpu_builtin_first(void) { return false; }
#endif

/* ---- clocks ---- */

static double seconds_of(struct timeval t) { return (double)t.tv_sec + 1e-6 * (double)t.tv_usec; }

struct cpu_clocks tt_cpu_clocks(void)
{
    struct cpu_clocks now = {.wall = tt_seconds()};
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0) now.work = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    return now;
}

/* ---- name ---- */

struct arm_part {
    unsigned implementer, part;
    const char *name;
};

/* On arm64 /proc/cpuinfo has numbers instead of a name. */
static const struct arm_part arm_parts[] = {
    {0x41, 0xd03, "Cortex-A53"},     {0x41, 0xd07, "Cortex-A57"},     {0x41, 0xd08, "Cortex-A72"},
    {0x41, 0xd0b, "Cortex-A76"},     {0x41, 0xd0c, "Neoverse-N1"},    {0x41, 0xd40, "Neoverse-V1"},
    {0x41, 0xd49, "Neoverse-N2"},    {0x41, 0xd4f, "Neoverse-V2"},    {0x41, 0xd84, "Neoverse-V3"},
    {0x41, 0xd8e, "Neoverse-N3"},    {0x42, 0x516, "ThunderX2"},      {0x43, 0x0af, "ThunderX2"},
    {0x46, 0x001, "A64FX"},          {0x48, 0xd01, "Kunpeng-920"},    {0x4e, 0x004, "NVIDIA Carmel"},
    {0xc0, 0xac3, "Ampere-1"},       {0xc0, 0xac4, "Ampere-1A"},      {0x61, 0x022, "Apple M1"},
    {0x61, 0x023, "Apple M1"},       {0x61, 0x032, "Apple M2"},       {0x61, 0x033, "Apple M2"},
};

static const char *arm_name(unsigned implementer, unsigned part)
{
    for (size_t i = 0; i < sizeof arm_parts / sizeof *arm_parts; i++)
        if (arm_parts[i].implementer == implementer && arm_parts[i].part == part) return arm_parts[i].name;
    return NULL;
}

/* The value of a "key : value" line, or NULL when the line has another key. */
static char *value_of(char *line, const char *key)
{
    size_t n = strlen(key);
    if (strncmp(line, key, n)) return NULL;
    char *colon = line + n + strspn(line + n, " \t");
    if (*colon != ':') return NULL;
    char *value = colon + 1 + strspn(colon + 1, " \t");
    size_t len = strlen(value);
    while (len && isspace((unsigned char)value[len - 1])) value[--len] = 0;
    return value;
}

void tt_cpu_model_name(char *name, size_t size)
{
    unsigned implementer = 0, part = 0;
    char line[512];
    name[0] = 0;
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && !name[0] && fgets(line, sizeof line, f)) {
        char *value;
        if ((value = value_of(line, "model name"))) snprintf(name, size, "%s", value);
        if ((value = value_of(line, "CPU implementer"))) implementer = (unsigned)strtoul(value, NULL, 0);
        if ((value = value_of(line, "CPU part"))) {
            part = (unsigned)strtoul(value, NULL, 0);
            break; /* the first core only; on big.LITTLE they differ */
        }
    }
    if (f) fclose(f);
    if (name[0]) return;
    const char *known = arm_name(implementer, part);
    if (known)
        snprintf(name, size, "%s", known);
    else if (part)
        snprintf(name, size, "arm64 0x%02x/0x%03x", implementer, part);
    else
        snprintf(name, size, "CPU");
}

/* ---- memory ---- */

void tt_cpu_memory(size_t *total, size_t *free)
{
    *total = *free = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    if (!f) return;
    char line[256];
    while (fgets(line, sizeof line, f)) {
        char *value;
        if ((value = value_of(line, "MemTotal"))) *total = strtoull(value, NULL, 10) * 1024;
        if ((value = value_of(line, "MemAvailable"))) *free = strtoull(value, NULL, 10) * 1024;
    }
    fclose(f);
    struct tt_allowance allowed = tt_allowance();
    if (allowed.memory < (double)*total) *total = (size_t)allowed.memory;
    if (allowed.free < (double)*free) *free = (size_t)allowed.free;
}
