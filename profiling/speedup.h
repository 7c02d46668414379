/* How far a speed-up between two runs can be trusted if they were not run in turns. tt compare, its gate and the course
 * all use this. */
#ifndef TT_SPEEDUP_H
#define TT_SPEEDUP_H

#include "core/base/range.h"
#include "profiling/control.h"

/* Widens `range`, the interval of the ratio of two runs' step times, so that it also holds:
 * - `times`, the ratio itself, plus and minus what two runs of one program differ by. That can be more than the steps
 *   of each run scatter.
 * - The ratio without what the common operators changed by (`control`), since nobody knows whether the machine or the
 *   change did that. This holds where a run was busy, too.
 * The second is left out where all operators are common and the runs are not known to be of `one_build`: the kernels of
 * another build may be slower, and this would hide it. An interval that is not known or has an infinite end stays as it
 * is. The two backends are those of the two runs. */
void tt_speedup_widen(struct tt_range *range, double times, const struct tt_control *control, bool one_build,
                      const char *backend, const char *other_backend);

/* One of the two runs whose step times are divided. */
struct tt_speedup_side {
    double *steps; /* seconds of `n` single steps; tt_speedup_range changes those of a slowed run */
    int n;
    double seconds; /* the median step */
    double slowed;  /* how many times as long as on a quiet machine they may have taken, at most */
    const char *backend;
};

/* The interval of the ratio a / b of two runs' step times, widened as above, and then by what other programs may have
 * done. They make steps longer, never shorter:
 * - In a slowed run, steps above the median count as the median: the excess says nothing of the run itself.
 * - The low end is divided by a->slowed, as if all of `a` had been slowed; the high end is multiplied by b->slowed.
 * So what the interval excludes is excluded whatever other programs did. The low end is 0, or the high end infinite,
 * where that run may have been slowed by any factor. Both are NaN where no steps are known. */
tt_status tt_speedup_range(const struct tt_speedup_side *a, const struct tt_speedup_side *b,
                           const struct tt_control *control, bool one_build, struct tt_range *out);

/* "0.93 to 1.31". A low end of 0, or a high end of TT_ANY_SPEEDUP or more, is open: "at most 1.31", "0.93 or more",
 * "anything". */
#define TT_ANY_SPEEDUP 1e100
const char *tt_speedup_words(double low, double high, char out[48]);

#endif
