#include "profiling/speedup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/load.h"

static void hold(struct tt_range *range, double low, double high)
{
    range->low = fmin(range->low, low); /* fmin and fmax pass over a NaN */
    range->high = fmax(range->high, high);
}

void tt_speedup_widen(struct tt_range *range, double times, const struct tt_control *control, bool one_build,
                      const char *backend, const char *other_backend)
{
    double differ = hypot(tt_runs_differ(backend), tt_runs_differ(other_backend));
    if (!isfinite(range->low) || !isfinite(range->high)) return;
    hold(range, times * (1 - differ), times * (1 + differ));
    if (isfinite(control->times) && (one_build || !control->all))
        hold(range, range->low * control->least, range->high * control->most);
}

static void leave_out_others(const struct tt_speedup_side *side)
{
    for (int i = 0; i < side->n && side->slowed > 1; i++) side->steps[i] = fmin(side->steps[i], side->seconds);
}

const char *tt_speedup_words(double low, double high, char out[48])
{
    if (low > 0 && high < TT_ANY_SPEEDUP)
        snprintf(out, 48, "%.2f to %.2f", low, high);
    else if (low > 0)
        snprintf(out, 48, "%.2f or more", low);
    else if (high < TT_ANY_SPEEDUP)
        snprintf(out, 48, "at most %.2f", high);
    else
        strcpy(out, "anything");
    return out;
}

tt_status tt_speedup_range(const struct tt_speedup_side *a, const struct tt_speedup_side *b,
                           const struct tt_control *control, bool one_build, struct tt_range *out)
{
    leave_out_others(a);
    leave_out_others(b);
    TT_TRY(tt_ratio_range(a->steps, a->n, b->steps, b->n, out));
    tt_speedup_widen(out, a->seconds / b->seconds, control, one_build, a->backend, b->backend);
    out->low /= a->slowed;
    out->high *= b->slowed;
    return TT_OK;
}
