#include "profiling/bound.h"

#include <math.h>

#include "core/base/load.h"

bool tt_roofs_doubtful(const struct tt_roofs_measured *m)
{
    const double most = 0.25;
    return tt_is_busy(m->load) || tt_was_busy(NAN, m->waited) || m->flops_spread > most || m->bytes_spread > most;
}

const char *tt_roof_above(bool doubtful, double compute, double memory)
{
    const double factor_in_doubt = 4; /* on a loaded machine, roofs have come out that much too low */
    if (!(fmax(compute, memory) > 0) || !isfinite(compute) || !isfinite(memory)) return "";
    if (doubtful && fmax(compute, memory) < factor_in_doubt * fmin(compute, memory)) return "uncertain";
    return compute >= memory ? "compute" : "memory";
}

const char *tt_bound_by(const struct tt_roofs *roofs, double flops, double bytes, double seconds)
{
    const double least_share = 0.2;
    double compute = flops / roofs->flops, memory = bytes / roofs->bandwidth, longer = fmax(compute, memory);
    double slowed = fmax(roofs->slowed, 1);
    double most = seconds < TT_BRIEF ? seconds : seconds * (1 - roofs->waited); /* brief work may not have waited */
    double least = fmin(most, roofs->waited > 0 ? tt_alone(seconds, slowed) : seconds / slowed);
    if (!(longer > 0) || !(seconds > 0) || !isfinite(longer)) return "";
    if (longer < least_share * least) return "latency";
    if (longer < least_share * most) return "uncertain";
    return tt_roof_above(roofs->doubtful, compute, memory);
}
