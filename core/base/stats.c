#include "core/base/stats.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

double tt_quantile(double *x, int n, double q)
{
    if (n < 1) return NAN;
    qsort(x, (size_t)n, sizeof *x, ascending);
    double at = q * (n - 1);
    int low = (int)at, high = low + 1 < n ? low + 1 : low;
    return x[low] + (at - low) * (x[high] - x[low]);
}
