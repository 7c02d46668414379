/* The child processes that tt starts for a job: the ranks, or mpirun. They are in their own process group, so that a
 * Ctrl-C at the terminal reaches only the parent, which forwards it once. (A second one would stop a run at once.) If
 * the parent is killed, the system ends them. */
#ifndef TT_CHILDREN_H
#define TT_CHILDREN_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/base/status.h"

struct tt_children {
    int started, left;
    pid_t *pids; /* 0: it has ended */
    pid_t group;
    bool through_mpirun; /* the only child is mpirun, which starts the ranks */
    int code;            /* the first exit code that is not 0; TT_RANK_LOST only if there is no other */
    int killed, by;      /* the first child that was killed by a signal, or -1; the signal */
    int said[2];         /* with mpirun: the pipe of TT_SAID */
    bool told;           /* a rank has written into that pipe: it has said why the job ends */
    double deadline;     /* when to send SIGTERM, then SIGKILL; 0: no child has failed */
    int hurried, asked;  /* how many of these were sent; how many signals were forwarded */
    sigset_t before;     /* the original signal mask */
};

tt_status tt_children_open(struct tt_children *c, int most); /* blocks signals, which tt_children_wait forwards */
/* Like fork. The child joins the process group, has the original signal mask, and ends with its parent. */
pid_t tt_children_fork(struct tt_children *c);
tt_status tt_children_wait(struct tt_children *c, int *code); /* until all have ended */
void tt_children_close(struct tt_children *c);                /* kills those that still run */

#endif
