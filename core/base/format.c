#include "core/base/format.h"

#include <math.h>
#include <stdio.h>

void tt_format_count(double n, char out[32])
{
    if (n >= 1e12)
        snprintf(out, 32, "%.2f T", n / 1e12);
    else if (n >= 1e9)
        snprintf(out, 32, "%.2f G", n / 1e9);
    else if (n >= 1e6)
        snprintf(out, 32, "%.2f M", n / 1e6);
    else if (n >= 1e3)
        snprintf(out, 32, "%.1f k", n / 1e3);
    else
        snprintf(out, 32, "%.0f", n);
}

void tt_format_bytes(double n, char out[32])
{
    if (n >= 0x1p30)
        snprintf(out, 32, "%.2f GiB", n / 0x1p30);
    else if (n >= 0x1p20)
        snprintf(out, 32, "%.1f MiB", n / 0x1p20);
    else
        snprintf(out, 32, "%.1f KiB", n / 0x1p10);
}

void tt_format_duration(double seconds, char out[32])
{
    long s = seconds > 0 && seconds < 1e9 ? lround(seconds) : 0;
    if (seconds >= 1e9)
        snprintf(out, 32, "%.3g years", seconds / (365.25 * 86400));
    else if (s >= 3600)
        snprintf(out, 32, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else if (s >= 60)
        snprintf(out, 32, "%ld:%02ld", s / 60, s % 60);
    else
        snprintf(out, 32, "%ld s", s);
}
