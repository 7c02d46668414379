/* Operators that two runs have in common, as a control: what was changed between the runs should not change their
 * times, so they show whether the machine was the same in both. */
#ifndef TT_CONTROL_H
#define TT_CONTROL_H

#include "profiling/profile.h"

struct tt_control {
    int operators; /* common ones: same kernel, shape, group, phase, calls, FLOPs and bytes */
    double share;  /* their share of the first run's step, 0 to 1 */
    double there;  /* of the second run's */
    double seconds, seconds_there; /* the undisturbed steps of the two runs */
    double times;  /* time in the second run over time in the first: the median over the operators, weighted by their
                    * time; NaN: there is no control */
    double least, most; /* = times; if a run was recorded on a busy machine, the quartiles in place of the median */
    bool moved;    /* `times` differs from 1 by more than two runs of one program, or a busy machine, explain */
    bool disturbed; /* the recorded steps of a run, from which the shares come, were slowed (tt_recorded_slowed) */
    bool busy;      /* other programs used the machine in the recorded steps of a run (tt_recorded_busy) */
    bool all;      /* all operators of both runs are common: only the build, the machine or the values may differ */
};

/* The control of run b (the second) against run a (the first). There is none where the runs differ in what makes a
 * kernel (device, library, precision, ...), or where the common operators are less than a tenth of either step.
 *
 * A busy run has a control too, which is less certain. That other programs ran does not mean that nothing else changed:
 * operators of a busy run have been faster than those of a quiet one, whose clock was lower. Whether both runs are of
 * one build is not checked here. */
struct tt_control tt_control(const struct tt_profile *a, const struct tt_profile *b);

#endif
