/* How much work this machine has: what is timed on a busy one says little. */
#ifndef TT_LOAD_H
#define TT_LOAD_H

#include <stdbool.h>

/* Processes that run or wait to run, per processor, over the last minute; NaN: not known. This program counts too once
 * it computes, so ask before it does. */
double tt_machine_load(void);

/* More than a program that has the machine to itself makes. False where the load is not known. */
bool tt_is_busy(double load);

/* Runs of one program differ by about this part on a quiet machine, however little the steps of each scatter: 0.01 on a
 * GPU, 0.06 on a CPU ("cpu"), whose clock, pages and threads are other ones each time. */
double tt_runs_differ(const char *backend);

/* ---- of this program itself ---- */

/* Seconds since some moment: by the clock, and of all threads together on a processor, and ready to run while none was
 * free. The load is of the minute before a run; this is of the run itself. NaN where the system does not say. */
struct tt_turns {
    double wall, ran, waited;
};

struct tt_turns tt_turns_now(void);
void tt_turns_add(struct tt_turns *sum, const struct tt_turns *from, const struct tt_turns *to);

/* What part of their time threads waited for a processor, 0 to 1. One that sleeps waits for none. */
double tt_turns_waited(const struct tt_turns *sum);
/* The same since that moment. */
double tt_waited_since(const struct tt_turns *before);

/* What the run itself waited decides. The load is of the minute before it, whose programs may have ended: it decides
 * where what the run waited is not known. */
bool tt_was_busy(double load, double waited);
void tt_was_busy_words(double load, double waited, char out[100]);

/* How many times as long as on a quiet machine what was timed may have taken: 1 if it was not busy. A thread that waits
 * for a processor keeps those waiting that work on the same operation, and they use up their own turns by that; others
 * share caches and memory too. So 2 / (1 - waited)^2 is allowed for: beside two busy programs on two cores, where
 * threads waited half of their time, steps took 2 to 7.6 times as long. */
double tt_slowed(double load, double waited);

/* Seconds: what took less may not have waited at all, or may hold a whole turn of another program. */
#define TT_BRIEF 0.05

/* The least that something may have taken alone which took so long and may have been slowed by that factor: others make
 * it longer, never shorter, and what is brief by a turn of theirs, which may be longer than it is itself. */
double tt_alone(double seconds, double slowed);

#endif
