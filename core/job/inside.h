/* What the files of this room know of a job. Every rank but 0 has two connections to rank 0: one for the calls, which
 * the main thread uses, and one for the watch, which only the watcher's thread uses (watch.c). */
#ifndef TT_JOB_INSIDE_H
#define TT_JOB_INSIDE_H

#include <stdatomic.h>

#include "core/job/job.h"
#include "core/job/wire.h"

enum { TT_HOST = 64, TT_MESSAGE = 1000 };
enum tt_channel { TT_CALLS, TT_WATCH, TT_CHANNELS };

struct tt_peer {
    int fd[TT_CHANNELS]; /* -1: not connected */
    char host[TT_HOST];
};

/* What rank 0 tells the others of a failure. */
struct tt_verdict {
    int32_t code, rank; /* 0: there is none; of whom */
    char text[TT_MESSAGE];
};

/* How far the main thread has got. It writes, the watcher reads. */
struct tt_progress {
    _Atomic uint64_t calls, signs; /* calls of all ranks; these and every sign of life */
    _Atomic int64_t step;          /* -1: none yet */
    _Atomic bool busy;
};

struct tt_job {
    int rank, ranks;
    double timeout;
    char host[TT_HOST];
    struct tt_peer *peers; /* (ranks): rank 0 has all but itself, the others have rank 0 only */
    struct tt_progress progress;
    _Atomic bool over; /* all ranks know that the job ends: who leaves now is not lost */
    struct tt_watch *watch;
};

/* Between two signs of life. */
static inline double tt_period(const struct tt_job *j) { return j->timeout / 5 < 1 ? j->timeout / 5 : 1; }

/* meet.c: connects the ranks. */
tt_status tt_meet(struct tt_job *j, const struct tt_job_options *options);

/* watch.c */
tt_status tt_watch_start(struct tt_job *j);
/* Says goodbye, or (where st is an error) that this rank failed, and ends the thread. */
void tt_watch_stop(struct tt_job *j, tt_status st);

#endif
