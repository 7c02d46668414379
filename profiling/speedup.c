#include "profiling/speedup.h"

#include <math.h>

#include "core/base/load.h"

static void hold(struct tt_range *range, double low, double high)
{
    range->low = fmin(range->low, low); /* a NaN is no number to hold */
    range->high = fmax(range->high, high);
}

void tt_speedup_widen(struct tt_range *range, double times, const struct tt_control *control, bool one_build,
                      const char *backend, const char *other_backend)
{
    double differ = hypot(tt_runs_differ(backend), tt_runs_differ(other_backend));
    if (!isfinite(range->low) || !isfinite(range->high)) return;
    hold(range, times * (1 - differ), times * (1 + differ));
    if (isfinite(control->times) && (one_build || !control->all))
        hold(range, range->low * control->times, range->high * control->times);
}
