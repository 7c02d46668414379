/* What of the communication of a step computation hides, from the times at which its operations ran. */
#ifndef TT_OVERLAP_H
#define TT_OVERLAP_H

#include "profiling/measure/record.h"

/* exposed[i]: how long operation i, on the stream of communication, ran while nothing else did, because the operations
 * that compute waited for that stream or had ended; 0 for those that compute. The moment between two of these that do
 * not wait for it is the host's or an event's, and exposes nothing. */
void tt_exposed(const struct tt_plan *plan, const struct tt_op_time *spans, double *exposed);

#endif
