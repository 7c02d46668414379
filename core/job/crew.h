/* The processes that tt starts for a job, and the one that waits for them. They are a process group of their own, so
 * that a Ctrl-C at the terminal reaches the waiting process only, which passes it on once: to a run, a second one means
 * to stop at once. When the waiting process is killed, the system ends them. */
#ifndef TT_CREW_H
#define TT_CREW_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/base/status.h"

struct tt_crew {
    int started, left;
    pid_t *pids; /* 0: it has ended */
    pid_t group;
    bool through_mpirun; /* there is one, which has the ranks */
    int code;            /* the first that is not 0 and says why */
    int killed, by;      /* the first that a signal ended; which */
    double deadline;     /* for the next signal that hurries them; 0: all is well */
    int hurried, asked;  /* how often they were hurried; how often signals were passed on */
    sigset_t before;     /* the mask of signals */
};

tt_status tt_crew_open(struct tt_crew *c, int most); /* from here on signals wait until they are passed on */
/* Like fork, 0 in the child: it has the group and the signals that it needs, and ends with its parent. */
pid_t tt_crew_fork(struct tt_crew *c);
tt_status tt_crew_wait(struct tt_crew *c, int *code); /* for all of them */
void tt_crew_close(struct tt_crew *c);                /* who is still there is killed */

#endif
