/* A job: several processes (ranks) that train together, and the messages between their hosts. Every rank has a
 * connection to rank 0. Tensors do not go through here but through the collectives of the device (backend/backend.h).
 *
 * A single process has a NULL job. All functions accept it and do what a job of one rank would do. */
#ifndef TT_JOB_H
#define TT_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"

/* The rank of this process, from the environment that the launcher set (place.c). */
struct tt_place {
    int rank, ranks;             /* of the job */
    int local_rank, local_ranks; /* on this machine; local_rank is also the number of the GPU */
    char address[256];           /* host name or IP address of rank 0; "": not set */
    int port;                    /* 0: not set */
    char id[128];                /* unique to this job and the same on all its ranks; "": not set */
    char starter[32];            /* the launcher: "torchrun", "SLURM", "Open MPI", "MPI (PMI)", "tt --ranks", "" */
};

/* 0 ranks: this process was started alone. TT_USAGE if the environment contradicts itself. */
tt_status tt_place_find(struct tt_place *out);

struct tt_job_options {
    struct tt_place place;
    const char *file; /* --comm-file: rank 0 writes its address there; NULL or "": none */
    double timeout;   /* seconds: a rank that is silent for this long counts as lost */
};

struct tt_job;

/* Connects to the other ranks, waiting for them until the timeout. From then on a thread watches them: when one is
 * lost, the reason is printed and this process ends with TT_RANK_LOST. *out is NULL for a job of one rank. A rank
 * counts as busy (tt_job_busy) until its next call. */
tt_status tt_job_open(const struct tt_job_options *options, struct tt_job **out);

int tt_job_rank(const struct tt_job *j);
int tt_job_ranks(const struct tt_job *j); /* 1 without a job */
static inline bool tt_job_leads(const struct tt_job *j) { return tt_job_rank(j) == 0; }

/* ---- collective calls: all ranks make them in the same order ---- */

/* Broadcasts rank 0's bytes. */
tt_status tt_job_share(struct tt_job *j, void *bytes, size_t size);
/* All-gather: each rank's bytes to every rank, at all[rank * size]. */
tt_status tt_job_gather(struct tt_job *j, const void *mine, size_t size, void *all);
/* Gather to rank 0: sizes[rank] bytes of each rank, known to all; `all` may be NULL elsewhere. */
tt_status tt_job_collect(struct tt_job *j, const void *mine, const size_t *sizes, void *all);
/* The sum over the ranks, added in rank order, so that all get the same bits. */
tt_status tt_job_sum(struct tt_job *j, double *value);
/* Makes a failure of one rank a failure of all. A rank that failed gets its own `st` back; the others get the message
 * of the first rank that failed, with its rank and host. TT_OK if no rank failed. */
tt_status tt_job_agree(struct tt_job *j, tt_status st);
/* Whether the last of these calls ended with a failure that all ranks know of. */
bool tt_job_agreed_to_end(const struct tt_job *j);
/* An error on all ranks unless `text` is the same on every rank. It names the rank, its host and the first line that
 * differs; `what` names the text. */
tt_status tt_job_same(struct tt_job *j, const char *what, const char *text);

/* How far the clock of each rank (tt_seconds) is ahead of rank 0's. Messages go to rank 0 and back a few times. What a
 * rank sends leaves it before rank 0 has it, and what it receives leaves rank 0 after rank 0 began to wait; so each
 * message bounds the difference from both sides. `ahead` is the middle of the narrowest bounds, and `within` how far it
 * may be off. Ranks of one machine share a clock, so both are 0. */
struct tt_clock {
    double ahead, within; /* seconds */
};
tt_status tt_job_clocks(struct tt_job *j, struct tt_clock *all);
/* The same from the times that one rank and rank 0 noted for each message: before it left, and when the answer came. */
struct tt_clock tt_clock_between(const double (*theirs)[2], const double (*of_0)[2], int messages);

/* Broadcasts rank 0's decision after a step, with what others have asked for; the caller defines the bits. Rank 0 does
 * not wait; the others wait for the host of rank 0, not for a device. Called once per step with the number of the step.
 */
tt_status tt_job_decide(struct tt_job *j, int64_t step, uint32_t *decision);

/* ---- calls of one rank ---- */

/* Adds these bits to a decision of rank 0 soon, and to all that follow it. Nobody waits: the bits travel with the next
 * heartbeat. Bits that rank 0 itself asks for are in its next decision. */
void tt_job_ask(struct tt_job *j, uint32_t bits);

/* A sign of life: the main thread has reached this step. The message about a lost rank names its step. */
void tt_job_alive(struct tt_job *j, int64_t step);
/* Before long work without collectives (saving, reading data): the others wait without a timeout until the next call of
 * any other function. */
void tt_job_busy(struct tt_job *j);
/* tt_job_share as a callback for struct tt_ranks; `user` is the job. */
tt_status tt_job_share_for_device(void *user, void *bytes, size_t size);

/* The last call. If `st` is an error, it tells the other ranks that this one failed, and they end. Otherwise it waits
 * until all ranks have called it. */
void tt_job_close(struct tt_job *j, tt_status st);

/* ---- starting (start.c) ---- */

/* Starts `ranks` copies of this program on this machine with the same arguments and the environment of a job, and waits
 * for them. *code is the first exit code that is not 0; TT_RANK_LOST only if there is no other. Signals are forwarded
 * to them; they share stdout and stderr. Call it before there are threads, that is before a device is opened. `mpirun`:
 * the launcher to use, which collectives on the CPU need; NULL: start them directly. */
tt_status tt_job_start(int ranks, char **argv, const char *mpirun, int *code);

#endif
