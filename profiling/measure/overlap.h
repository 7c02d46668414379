/* How much of a step's communication is hidden behind computation, from the times at which its operations ran. */
#ifndef TT_OVERLAP_H
#define TT_OVERLAP_H

#include "profiling/measure/record.h"

/* exposed[i]: how long operation i, which communicates, ran while nothing computed, because the operations that compute
 * waited for its stream, stood behind it on theirs or had ended; 0 for those that compute. A gap between two
 * of these that do not wait for it is due to the host or to an event, and does not count. */
void tt_exposed(const struct tt_plan *plan, const struct tt_op_time *spans, double *exposed);

#endif
