/* How much of the machine this process may use. A container or a batch job may get less than the whole machine: fewer
 * processors, a share of their time, less memory. */
#ifndef TT_ALLOWANCE_H
#define TT_ALLOWANCE_H

/* How many processors this process may use, at least 1: those that its threads may run on (affinity), but not more
 * than the CPU quota of its control groups, rounded up. */
int tt_cores(void);

/* The limits of the process's control groups, version 1 and 2: for each value that of the tightest group. INFINITY: no
 * limit. */
struct tt_allowance {
    double cores;        /* CPU time per second of wall time */
    double memory, free; /* bytes; free: what is left below the limit, where page cache does not count as used */
};

struct tt_allowance tt_allowance(void);

/* The same, but read from other files than /proc/self/cgroup and /sys/fs/cgroup; for tests. */
struct tt_allowance tt_allowance_in(const char *groups, const char *mount);

#endif
