/* How busy this machine is. Times measured on a busy machine say little. */
#ifndef TT_LOAD_H
#define TT_LOAD_H

#include <stdbool.h>

/* The load average of the last minute per processor: processes that run or wait to run. NaN: not known. This program
 * counts too once it computes, so ask before it does. */
double tt_machine_load(void);

/* Whether the load is higher than that of a program that has the machine to itself. False if it is not known. */
bool tt_is_busy(double load);

/* By what fraction the times of two runs of one program differ on a quiet machine, however little the steps within each
 * run scatter: about 0.01 on a GPU, and 0.06 on a CPU ("cpu"), where clock, pages and threads are different in every
 * run. */
double tt_runs_differ(const char *backend);

/* ---- of this program itself ---- */

/* Counters in seconds, of which only differences mean something. wall: by the clock. ran: all threads together on a
 * processor. waited: all threads together, ready to run while no processor was free. ran and waited are NaN if the
 * system does not say. The load covers the minute before a run; this covers the run itself. */
struct tt_turns {
    double wall, ran, waited;
};

struct tt_turns tt_turns_now(void);
/* Adds the interval between two readings, *from and *to. */
void tt_turns_add(struct tt_turns *sum, const struct tt_turns *from, const struct tt_turns *to);

/* The fraction of their time, 0 to 1, that threads waited for a processor; NaN: not known. A sleeping thread does not
 * wait. */
double tt_turns_waited(const struct tt_turns *sum);
/* The same for the time since the reading `before`. */
double tt_waited_since(const struct tt_turns *before);

/* Whether the machine was busy during a run. `waited`, the fraction that the run itself waited, decides. The load
 * counts only if `waited` is not known (NaN): it covers the minute before the run, whose programs may have ended. */
bool tt_was_busy(double load, double waited);
/* The same in words; "" if it was not busy. */
void tt_was_busy_words(double load, double waited, char out[100]);

/* For a run of several ranks, the part of `waited` that other programs caused: 0 if it is small. Ranks that fill the
 * processors also wait for each other's threads that carry messages: two ranks on two quiet cores waited 4 to 6 % of
 * the time. */
double tt_ranks_waited(double waited);

/* How many threads work on one operation together, from the names of a backend and its device ("Neoverse-N1, 2
 * threads"). 1 on a GPU, since the threads of its host share no operation. If the name does not tell, 2, since there
 * may be several. */
int tt_threads_of(const char *backend, const char *device);

/* By what factor, at most, a time may be longer than on a quiet machine, if `threads` threads worked on each operation.
 * 1 if the machine was not busy.
 *
 * While one thread waits for a processor, the threads that work on the same operation wait for it, and use up their own
 * time slices by waiting. In the worst case the waits never overlap, so work goes on for only 1 - threads * waited of
 * the time. Other programs share caches and memory too. The factor is therefore
 * 2 / ((1 - waited) (1 - threads * waited)), which is 2 / (1 - waited)^2 for one thread. Above 1000 it is infinity,
 * which stands for any factor: two threads that waited half of their time took 33 times as long as alone. */
double tt_slowed(double load, double waited, int threads);
/* "8 times", "any number of times": to follow "may have taken". `digits` are significant digits. */
const char *tt_slowed_words(double slowed, int digits, char out[32]);
/* The end of a note on a busy machine: how to make the next run less sensitive. "" for one thread. */
const char *tt_fewer_threads(int threads);

/* Seconds. A shorter measurement may not have waited at all, or may contain a whole time slice of another program. */
#define TT_BRIEF 0.05

/* The least time that a measurement of `seconds` may take alone, if it was slowed by up to that factor (tt_slowed).
 * Other programs make it longer, never shorter. One below TT_BRIEF may also contain a time slice of another program,
 * which may be longer than the work itself. */
double tt_alone(double seconds, double slowed);

#endif
