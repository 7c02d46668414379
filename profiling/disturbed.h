/* Which figures of a profile may be off because other programs used the machine.
 *
 * A profile times its steps twice:
 * - The undisturbed steps run as configured. The step time, tokens/s and MFU come from them.
 * - The recorded steps have an event after each operation. The times of operators and groups, shares, roofs and bounds
 *   come from them.
 * "Undisturbed" means only: not slowed by recording. Other programs may have slowed either kind of step and not the
 * other, so each is judged by itself: the undisturbed steps by tt_step_*, the recorded ones by tt_recorded_*. */
#ifndef TT_DISTURBED_H
#define TT_DISTURBED_H

#include "profiling/profile.h"

/* Whether the backend is the CPU. There the host runs the kernels that it launches, so none of its time is overhead. */
bool tt_host_computes(const struct tt_profile *p);

/* How many threads work on an operation together, so that all are held up while one of them waits for a processor. On
 * a CPU: the threads of all ranks, since ranks wait for each other too. On a GPU: 1. See tt_threads_of. */
int tt_profile_threads(const struct tt_profile *p);

/* Whether another program used the GPU during the measurement. Its time slices lengthen the operations that they fall
 * into, but not other operations of the same kind. `interrupted` is run.interrupted, the larger of two ratios:
 * - the time of all recorded operations, over their time if each took the median of its kind;
 * - the longest undisturbed steps (p95) over the median step, where that is more than 1.5.
 * NaN: not known, or no GPU; then the answer is false. */
bool tt_is_interrupted(double interrupted);
/* How many times as long as alone the GPU may have taken: twice `interrupted`, since that is a mean and single
 * operations may be worse; 1 if it was not interrupted. */
double tt_interrupted_slowed(double interrupted);
/* A sentence that the device was interrupted, with the ratio. */
void tt_interrupted_words(double interrupted, char out[120]);

/* How many times as long as on a quiet machine the undisturbed step may have taken, at most. 1: nothing suggests that
 * it was slowed; infinity: there is no limit. */
double tt_step_slowed(const struct tt_profile *p);
/* Whether the machine was busy in the undisturbed steps: threads waited too much for a processor, or the GPU was
 * interrupted. */
bool tt_step_busy(const struct tt_profile *p);
/* The same in words; "" where it was not busy. */
void tt_step_busy_words(const struct tt_profile *p, char out[120]);

/* The fraction of the time, 0 to 1, that the recorded steps lost to other programs. For a GPU that was interrupted:
 * 1 - 1 / interrupted. Else: the time that threads waited for a processor; an old profile does not have it, and then it
 * is that of the undisturbed steps. */
double tt_recorded_waited(const struct tt_profile *p);
/* Whether the machine was busy in the recorded steps: threads of a CPU waited too much, or a GPU was interrupted. */
bool tt_recorded_busy(const struct tt_profile *p);

/* The fraction of the time that threads waited for a processor while the roofs were measured. An old profile does not
 * have it; if its own run measured the roofs on a CPU, it is run.waited. NaN: not known, or measured on a GPU. */
double tt_roofs_waited(const struct tt_profile_efficiency *e, const struct tt_profile_run *run);
/* Whether the roofs may be too low, by how they were measured (tt_roofs_doubtful). */
bool tt_profile_roofs_doubtful(const struct tt_profile *p);

/* The spread of the undisturbed steps, (p95 - fastest) / median; NaN for a single step. */
double tt_steps_apart(const struct tt_profile *p);

/* How many times as long as on a quiet machine the recorded operations may have taken, at most; 1 where nothing
 * suggests that they were slowed. Shares, roofs and bounds come from these operations. The larger of two estimates:
 * - What waiting allows for: tt_slowed on a CPU, tt_interrupted_slowed on a GPU.
 * - 2 (1 + e), where e is by how much longer the recorded steps took than the undisturbed ones, less three times what
 *   their events cost. It counts if e is above 10 % and above the spread of the undisturbed steps, or above 25 %
 *   however large that spread. It is doubled since e is a mean: where recorded steps took 1.35 times as long, single
 *   products took 2.1 times. */
double tt_recorded_slowed(const struct tt_profile *p);
/* "the recorded steps took 54 % more time than the others", or how much they waited; "" where they were not slowed. */
void tt_recorded_words(const struct tt_profile *p, char out[120]);

#endif
