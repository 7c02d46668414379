/* How much work this machine has: what is timed on a busy one says little. */
#ifndef TT_LOAD_H
#define TT_LOAD_H

#include <stdbool.h>

/* Processes that run or wait to run, per processor, over the last minute; NaN: not known. This program counts too once
 * it computes, so ask before it does. */
double tt_machine_load(void);

/* More than a program that has the machine to itself makes. False where the load is not known. */
bool tt_is_busy(double load);

/* "the machine is busy: 3.2 processes wait for each processor", or "" where it is not. */
void tt_busy_words(double load, char out[100]);

#endif
