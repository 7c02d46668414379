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

/* Of what threads of ranks waited for a processor, what other programs made them: ranks that fill the processors also
 * wait for each other's threads that carry messages, 4 to 6 % of the time where two had two quiet cores. */
double tt_ranks_waited(double waited);

/* How many threads work on an operation together, by the names of a backend and its device ("Neoverse-N1, 2 threads"):
 * 1 on a GPU, whose host shares no operation. Where a name does not tell, 2, since several may be meant. */
int tt_threads_of(const char *backend, const char *device);

/* How many times as long as on a quiet machine what so many threads were timed at may have taken: 1 if it was not busy.
 * A thread that waits for a processor keeps those waiting that work on the same operation, and they use up their own
 * turns by that: nobody gets on while one of them waits, and as their waits need not meet, work goes on for only
 * 1 - threads * waited of the time. Others share caches and memory too. So 2 / ((1 - waited) (1 - threads * waited)) is
 * allowed for, 2 / (1 - waited)^2 of one thread, and any factor, infinity, where that is beyond a thousand: two threads
 * that waited half of their time took 33 times as long as alone. */
double tt_slowed(double load, double waited, int threads);
/* "8 times", "any number of times": behind "may have taken", with so many digits. */
const char *tt_slowed_words(double slowed, int digits, char out[32]);
/* Behind a note on a busy machine, what makes the next run less sensitive: "" of one thread. */
const char *tt_fewer_threads(int threads);

/* Seconds: what took less may not have waited at all, or may hold a whole turn of another program. */
#define TT_BRIEF 0.05

/* The least that something may have taken alone which took so long and may have been slowed by that factor: others make
 * it longer, never shorter, and what is brief by a turn of theirs, which may be longer than it is itself. */
double tt_alone(double seconds, double slowed);

#endif
