/* Which figures of a profile others disturbed. The step, its tokens a second and its MFU are of undisturbed steps; the
 * times of operators and groups, their shares, roofs and bounds are of recorded ones, with an event after each
 * operation. Either may have been measured beside other work, and the other not. */
#ifndef TT_DISTURBED_H
#define TT_DISTURBED_H

#include "profiling/profile.h"

/* Launching and computing are the same then, so that no time of the host is overhead. */
bool tt_host_computes(const struct tt_profile *p);

/* How many threads nobody of whom gets on while one of them waits: of all ranks; 1 where a device computes. */
int tt_profile_threads(const struct tt_profile *p);

/* Of a device (run.interrupted; NaN: not known, or of none): by how many times its recorded operations together exceed
 * the medians of their kinds, or the longest steps their median where that is beyond half more. A turn of another
 * program makes the operation longer that it falls into; others that do the same do not know it. */
bool tt_is_interrupted(double interrupted);
/* How many times as long as alone the device may have taken: twice that, as it is a mean; 1 if it was not. */
double tt_interrupted_slowed(double interrupted);
void tt_interrupted_words(double interrupted, char out[120]);

/* How many times as long as on a quiet machine the step may have taken; 1: nothing says so, infinity: any number. */
double tt_step_slowed(const struct tt_profile *p);
/* Its threads waited too much, or its device was interrupted; and that in words, "" where nothing says so. */
bool tt_step_busy(const struct tt_profile *p);
void tt_step_busy_words(const struct tt_profile *p, char out[120]);

/* What part of their time threads waited for a processor in the recorded steps, or of its operations a device that was
 * interrupted. An old profile does not say, and then it is that of the undisturbed ones. */
double tt_recorded_waited(const struct tt_profile *p);
/* They did so too much, where the host computes, or the device was interrupted. */
bool tt_recorded_busy(const struct tt_profile *p);

/* What threads waited while the roofs were measured. An old profile does not say: of roofs that its own run measured it
 * is what that waited. NaN: not known, or a device's. */
double tt_roofs_waited(const struct tt_profile_efficiency *e, const struct tt_profile_run *run);
/* Whether they may be too low by how they were measured. */
bool tt_profile_roofs_doubtful(const struct tt_profile *p);

/* How far the undisturbed steps lie apart, as a part of one; NaN of a single one. */
double tt_steps_apart(const struct tt_profile *p);

/* How many times as long as undisturbed the recorded operations may have taken, of which shares, roofs and bounds are;
 * 1 if nothing says so: they waited for processors, or took a tenth more than events and the scatter of steps explain,
 * or a quarter more than events. By twice that then, since it is a mean: where recorded steps took 1.35 times as long
 * single products took 2.1 times. */
double tt_recorded_slowed(const struct tt_profile *p);
/* "the recorded steps took 54 % more time than the others", or what they waited; "" where they were not slowed. */
void tt_recorded_words(const struct tt_profile *p, char out[120]);

#endif
