/* Operators that two runs have alike. What else differs between the runs should leave them as they are, so they show
 * whether the machine was the same in both. */
#ifndef TT_CONTROL_H
#define TT_CONTROL_H

#include "profiling/profile.h"

struct tt_control {
    int operators; /* alike in kernel, shape, phase, calls, FLOPs and bytes */
    double share;  /* of the first run's step, as it was timed undisturbed */
    double there;  /* of the second's */
    double seconds, seconds_there; /* these steps */
    double times;  /* how many times as long they took in the second: the median of single operators, weighted by their
                    * time; NaN: there is no control */
    double least, most; /* the same; where one was recorded on a busy machine, what half of the weight lies between */
    bool moved;    /* by more than two runs of one program differ, and than a busy machine explains */
    bool disturbed; /* one was recorded in steps that took longer than its others: these are shares of such steps */
    bool busy;      /* while other programs had the processors */
    bool all;      /* nothing differs but the build, the machine or the values */
};

/* There is none where the runs differ in what makes a kernel (device, library, precision), or nearly nothing is alike.
 * That one was busy does not say that nothing else changed: operators of a busy run have been faster than those of a
 * quiet one, whose clock was lower. So there is a control then too, of which `times` is less sure. Whether both are of
 * one build is not asked here. */
struct tt_control tt_control(const struct tt_profile *a, const struct tt_profile *b);

#endif
