/* How far a speed-up of one run against another can be trusted, where they were not run in turns: one answer for
 * tt compare, its gate and the course. */
#ifndef TT_SPEEDUP_H
#define TT_SPEEDUP_H

#include "core/base/range.h"
#include "profiling/control.h"

/* Makes the interval of the quotient of two runs' steps hold that quotient, `times`; what two runs of one program
 * differ by, however little the steps of each scatter; and the quotient without what the operators changed by that both
 * have alike, since nobody knows whether that is the machine or the change, also where one of them was busy. Where all
 * of them are alike, that would hide every kernel that became slower: it is the machine only where both runs are known
 * to be of `one_build`. An interval that is not known stays so. */
void tt_speedup_widen(struct tt_range *range, double times, const struct tt_control *control, bool one_build,
                      const char *backend, const char *other_backend);

/* One of two runs whose steps are divided. */
struct tt_speedup_side {
    double *steps; /* seconds of single ones, `n` of them; those of a busy run are changed */
    int n;
    double seconds; /* their median */
    double slowed;  /* how many times as long as on a quiet machine they may have taken, as tt_slowed says */
    const char *backend;
};

/* The interval of the quotient a / b, widened as above. A busy machine makes steps longer, never shorter: what a step
 * took beyond the median says nothing of the run itself, and the quotient may be as small as if `a` had taken slowed
 * times as long as alone, and as large as if `b` had. What such an interval excludes is decided whatever the machine
 * did. An end is 0 or infinity where a run may have been slowed by any factor, and NaN where no steps are known. */
tt_status tt_speedup_range(const struct tt_speedup_side *a, const struct tt_speedup_side *b,
                           const struct tt_control *control, bool one_build, struct tt_range *out);

/* "0.93 to 1.31"; where an end is not known "at most 1.31", "0.93 or more" or "anything". */
#define TT_ANY_SPEEDUP 1e100
const char *tt_speedup_words(double low, double high, char out[48]);

#endif
