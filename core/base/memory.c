#include "core/base/memory.h"

#include <stdio.h>
#include <sys/resource.h>

/* On Linux the peak that getrusage reports may be that of the program that started this one, so it comes second. */
double tt_peak_memory(void)
{
    struct rusage usage;
    double kib = -1;
    char line[128];
    FILE *f = fopen("/proc/self/status", "r");
    while (f && kib < 0 && fgets(line, sizeof line, f)) sscanf(line, "VmHWM: %lf kB", &kib);
    if (f) fclose(f);
    if (kib < 0) kib = getrusage(RUSAGE_SELF, &usage) ? 0 : (double)usage.ru_maxrss;
    return kib * 1024;
}
