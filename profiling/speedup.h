/* How far a speed-up of one run against another can be trusted, where they were not run in turns: one answer for
 * tt compare, its gate and the course. */
#ifndef TT_SPEEDUP_H
#define TT_SPEEDUP_H

#include "core/base/range.h"
#include "profiling/control.h"

/* Makes the interval of the quotient of two runs' steps hold that quotient, `times`; what two runs of one program
 * differ by, however little the steps of each scatter; and the quotient without what the operators changed by that both
 * have alike, since nobody knows whether that is the machine or the change. Where all of them are alike, that would
 * hide every kernel that became slower: it is the machine only where both runs are known to be of `one_build`. An
 * interval that is not known stays so. */
void tt_speedup_widen(struct tt_range *range, double times, const struct tt_control *control, bool one_build,
                      const char *backend, const char *other_backend);

#endif
