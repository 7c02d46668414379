#include "core/base/allowance.h"

#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the files of one group ---- */

/* Reads one or two numbers from the start of the file and returns how many there are. A variable keeps its value if its
 * number is missing; the word "max" is not a number. */
static int read_numbers(const char *folder, const char *name, double *a, double *b)
{
    char path[1400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    int n = b ? fscanf(f, "%lf %lf", a, b) : fscanf(f, "%lf", a);
    fclose(f);
    return n;
}

/* The value in the line "key 123" of the file; 0 if there is no such line. */
static double read_line(const char *folder, const char *name, const char *key)
{
    char path[1400], line[200], word[100];
    double value, found = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "%99s %lf", word, &value) == 2 && !strcmp(word, key)) found = value;
    if (f) fclose(f);
    return found;
}

static void take_cores(struct tt_allowance *a, double quota, double period)
{
    if (quota > 0 && period > 0) a->cores = fmin(a->cores, quota / period);
}

/* The page cache does not count as used: the system frees it when a program needs the memory. */
static void take_memory(struct tt_allowance *a, const char *folder, double limit, const char *used_in)
{
    double used = 0;
    if (!(limit > 0) || limit >= 0x1p60) return; /* version 1 writes "no limit" as a number close to 2^63 */
    read_numbers(folder, used_in, &used, NULL);
    used -= read_line(folder, "memory.stat", "inactive_file") + read_line(folder, "memory.stat", "active_file");
    a->memory = fmin(a->memory, limit);
    a->free = fmin(a->free, fmax(limit - fmax(used, 0), 0));
}

static void read_group(const char *folder, struct tt_allowance *a)
{
    double quota = 0, period = 0, limit = 0;
    if (read_numbers(folder, "cpu.max", &quota, &period) == 2) take_cores(a, quota, period);
    if (read_numbers(folder, "cpu.cfs_quota_us", &quota, NULL) &&
        read_numbers(folder, "cpu.cfs_period_us", &period, NULL))
        take_cores(a, quota, period);
    if (read_numbers(folder, "memory.max", &limit, NULL)) take_memory(a, folder, limit, "memory.current");
    if (read_numbers(folder, "memory.limit_in_bytes", &limit, NULL))
        take_memory(a, folder, limit, "memory.usage_in_bytes");
}

/* ---- a group and its parents ---- */

static void read_groups(const char *mount, const char *controller, char *path, struct tt_allowance *a)
{
    char folder[1300];
    if (strstr(path, "..")) *path = 0; /* outside of what this container sees */
    for (;;) {
        snprintf(folder, sizeof folder, "%s%s%s%s", mount, controller[0] ? "/" : "", controller, path);
        read_group(folder, a);
        char *last = strrchr(path, '/');
        if (!last) return;
        *last = 0;
    }
}

static bool has_word(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (; *list; list += strcspn(list, ","), list += *list == ',')
        if (strcspn(list, ",") == n && !strncmp(list, word, n)) return true;
    return false;
}

struct tt_allowance tt_allowance_in(const char *groups, const char *mount)
{
    struct tt_allowance a = {INFINITY, INFINITY, INFINITY};
    char line[1200];
    FILE *f = fopen(groups, "r");
    while (f && fgets(line, sizeof line, f)) { /* "0::/a/b" of version 2, "4:memory:/a/b" of version 1 */
        line[strcspn(line, "\n")] = 0;
        char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
        if (!path) continue;
        *path++ = 0;
        if (!names[1]) read_groups(mount, "", path, &a);
        if (has_word(names + 1, "memory")) read_groups(mount, "memory", path, &a);
        if (has_word(names + 1, "cpu")) read_groups(mount, "cpu", path, &a);
    }
    if (f) fclose(f);
    return a;
}

struct tt_allowance tt_allowance(void) { return tt_allowance_in("/proc/self/cgroup", "/sys/fs/cgroup"); }

/* ---- processors ---- */

static int cores_of_affinity(void)
{
    /* A fixed cpu_set_t has 1024 bits; larger machines need a larger set. */
    for (int bits = 1024; bits <= 65536; bits *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)bits);
        if (!set) break;
        size_t bytes = CPU_ALLOC_SIZE((size_t)bits);
        int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (count > 0) return count;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

int tt_cores(void)
{
    int n = cores_of_affinity();
    double quota = ceil(tt_allowance().cores);
    return quota < n ? (quota > 1 ? (int)quota : 1) : n;
}
