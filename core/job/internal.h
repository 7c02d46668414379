/* struct tt_job, for the files of core/job. Every rank but 0 has two connections to rank 0: one for the calls of the
 * main thread, and one for the watcher's thread (watch.c). */
#ifndef TT_JOB_INTERNAL_H
#define TT_JOB_INTERNAL_H

#include <stdatomic.h>

#include "core/job/job.h"
#include "core/job/wire.h"

enum { TT_HOST = 64, TT_MESSAGE = 1000, TT_NAME = 64 };
enum tt_channel { TT_CALLS, TT_WATCH, TT_CHANNELS };

struct tt_peer {
    int fd[TT_CHANNELS]; /* -1: not connected */
    char host[TT_HOST];
};

/* A failure of a rank, as a message. */
struct tt_failure {
    int32_t code, rank; /* code 0: no failure */
    char text[TT_MESSAGE];
};

/* The progress of the main thread, which writes it; the watcher reads it. */
struct tt_job_progress {
    _Atomic uint64_t calls, signs; /* collective calls so far; all signs of life, calls included */
    _Atomic int64_t step;          /* -1: none yet */
    _Atomic bool busy;             /* tt_job_busy */
    _Atomic int64_t met;           /* latest step that calls have shown the watched ranks to have reached; -1: none */
    _Atomic uint32_t asks;         /* tt_job_ask: bits of this rank; on rank 0 the watcher adds those of the others */
};

struct tt_job {
    int rank, ranks;
    double timeout;
    char host[TT_HOST];
    char name[TT_NAME]; /* of this job, on all ranks but 0; jobs that run at the same time have different ones */
    struct tt_peer *peers; /* (ranks): rank 0 has all but itself, the others have rank 0 only */
    struct tt_job_progress progress;
    _Atomic bool over; /* all ranks know that the job ends: a rank that leaves now is not lost */
    struct tt_watch *watch;
};

/* Seconds between two heartbeats. */
static inline double tt_period(const struct tt_job *j) { return j->timeout / 5 < 1 ? j->timeout / 5 : 1; }

/* job.c: tells the tt that started mpirun that this rank has said why the job ends (TT_SAID). */
void tt_tell_starter(void);

/* rendezvous.c: connects the ranks. */
tt_status tt_rendezvous(struct tt_job *j, const struct tt_job_options *options);

/* watch.c */
tt_status tt_watch_start(struct tt_job *j);
/* Tells the others that this rank leaves or, if st is an error, that it failed. Ends the thread. */
void tt_watch_stop(struct tt_job *j, tt_status st);

#endif
