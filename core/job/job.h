/* A job: several processes (ranks) that train together, and what their hosts say to each other. Every rank has a
 * connection to rank 0; tensors do not travel here, but through the device's collectives (backend/backend.h).
 *
 * Where there is no job there is one rank, and a NULL job: all functions take it, and do what a single rank does. */
#ifndef TT_JOB_H
#define TT_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"

/* Which of how many processes this one is, as whoever started it says in the environment (place.c). */
struct tt_place {
    int rank, ranks;             /* of the job */
    int local_rank, local_ranks; /* of those on this machine; its GPU is local_rank */
    char address[256];           /* where rank 0 listens: a host's name or number; "" where nobody says */
    int port;                    /* 0: nobody says */
    char id[128];                /* tells this job from others, the same on all its ranks; "" where nobody says */
    char starter[32];            /* who said it: "torchrun", "SLURM", "Open MPI", "MPI (PMI)", "tt --ranks", "" */
};

/* 0 ranks: this process was started alone. An environment that contradicts itself is TT_USAGE. */
tt_status tt_place_find(struct tt_place *out);

struct tt_job_options {
    struct tt_place place;
    const char *file; /* where rank 0 writes its address for the others (--comm-file); NULL or "": nowhere */
    double timeout;   /* seconds without a sign of life after which a rank counts as gone */
};

struct tt_job;

/* Connects to the others, waiting for them until the timeout, and from then on watches them: when one is gone, this
 * process says which and ends with TT_RANK_LOST. *out is NULL for a job of one rank. Until its first call of another
 * function a rank is busy (tt_job_busy). */
tt_status tt_job_open(const struct tt_job_options *options, struct tt_job **out);

int tt_job_rank(const struct tt_job *j);
int tt_job_ranks(const struct tt_job *j); /* 1 without a job */
static inline bool tt_job_leads(const struct tt_job *j) { return tt_job_rank(j) == 0; }

/* ---- all ranks call these in the same order ---- */

/* Rank 0's bytes to every rank. */
tt_status tt_job_share(struct tt_job *j, void *bytes, size_t size);
/* Each rank's bytes to every rank, in the order of ranks: all[rank * size]. */
tt_status tt_job_gather(struct tt_job *j, const void *mine, size_t size, void *all);
/* The same to rank 0 alone, of as many bytes of each as sizes[rank] says, which all ranks know; elsewhere `all` may be
 * NULL. */
tt_status tt_job_collect(struct tt_job *j, const void *mine, const size_t *sizes, void *all);
/* The sum over the ranks, added in their order, so that all have the same bits. */
tt_status tt_job_sum(struct tt_job *j, double *value);
/* A failure of one is a failure of all: returns `st` where it is one; elsewhere, when another rank failed, that
 * rank's message with its rank and host before it. Without a failure on any rank it returns TT_OK. */
tt_status tt_job_agree(struct tt_job *j, tt_status st);
/* Refuses unless `text` (lines) is the same on every rank: names the rank, its host, and the first line that
 * differs. `what` says what it is. Same answer on every rank. */
tt_status tt_job_same(struct tt_job *j, const char *what, const char *text);

/* How far the clock of each rank (tt_seconds) is ahead of rank 0's. Messages go to rank 0 and back a few times: what a
 * rank sent left before rank 0 had it, and what it received left rank 0 after rank 0 began to wait. The narrowest of
 * these bounds give the middle, and how far that may be off. Ranks of one machine have one clock, and are exact. */
struct tt_clock {
    double ahead, within; /* seconds; give or take so many */
};
tt_status tt_job_clocks(struct tt_job *j, struct tt_clock *all);
/* From what one rank and rank 0 noted around each message: before it left, and when the answer was there. */
struct tt_clock tt_clock_between(const double (*theirs)[2], const double (*of_0)[2], int messages);

/* What rank 0 decides after a step, for all: bits whose meaning is the caller's. Rank 0 sends and goes on; the others
 * wait for rank 0's host, not for a device. Called once per step with the number of the step. */
tt_status tt_job_decide(struct tt_job *j, int64_t step, uint32_t *decision);

/* ---- alone ---- */

/* The main thread of this rank has got so far: a sign of life for the others. The step is named when it is lost. */
void tt_job_alive(struct tt_job *j, int64_t step);
/* For a long piece of work without collectives (saving, reading data): the others wait for it without limit until
 * the next call of any other function. */
void tt_job_busy(struct tt_job *j);
/* For struct tt_ranks of a device; `user` is the job. */
tt_status tt_job_share_for_device(void *user, void *bytes, size_t size);

/* The last call. With `st` the others learn that this rank failed, and end (see tt_job_agree); without, it waits for
 * the others to come here too. */
void tt_job_close(struct tt_job *j, tt_status st);

/* ---- starting (start.c) ---- */

/* Starts `ranks` copies of this program on this machine with the same words, in the environment of a job, waits for
 * them and returns their exit code in *code: the first that is not 0, and TT_RANK_LOST only where no other says why.
 * Signals go on to them; output is theirs. Call it before there are threads: before a device is opened.
 * `mpirun`: through that program, which the CPU's collectives need; NULL: without. */
tt_status tt_job_start(int ranks, char **argv, const char *mpirun, int *code);

#endif
