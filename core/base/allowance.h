/* What this process may use of the machine. A container or a batch job may have less than there is: fewer processors, a
 * part of their time, less memory. */
#ifndef TT_ALLOWANCE_H
#define TT_ALLOWANCE_H

/* Processors that its threads may run on, and of which the control groups give it the time; at least 1. */
int tt_cores(void);

/* What the tightest of its control groups allows, of both versions of them. INFINITY: no limit. */
struct tt_allowance {
    double cores;        /* of their time */
    double memory, free; /* bytes; free: without what the system would give back when it is needed */
};

struct tt_allowance tt_allowance(void);

/* The same of other files than /proc/self/cgroup and /sys/fs/cgroup, for tests. */
struct tt_allowance tt_allowance_in(const char *groups, const char *mount);

#endif
