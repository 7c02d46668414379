/* How much of a step's communication is hidden behind computation, by the times at which its operations ran. */
#ifndef TT_OVERLAP_H
#define TT_OVERLAP_H

#include "profiling/measure/record.h"

/* Sets exposed[i] for each operation i of the plan. If it communicates: how long it ran while nothing computed. That is
 * while the operations that compute waited for its stream, were queued behind it on their own, or had ended. If it
 * computes: 0. A gap between two operations that compute and do not wait for communication is due to the host or to an
 * event, and does not count. */
void tt_exposed(const struct tt_plan *plan, const struct tt_op_time *spans, double *exposed);

#endif
