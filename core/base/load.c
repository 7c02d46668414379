#include "core/base/load.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

double tt_machine_load(void)
{
    double load[1];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return getloadavg(load, 1) == 1 && processors > 0 ? load[0] / (double)processors : NAN;
}

bool tt_is_busy(double load) { return load > 1.5; }

void tt_busy_words(double load, char out[100])
{
    out[0] = 0;
    if (tt_is_busy(load)) snprintf(out, 100, "the machine was busy: %.1f processes waited for each processor", load);
}
