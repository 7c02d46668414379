/* A command that runs as one of several ranks: which one it is, and the others. */
#ifndef TT_CLI_RANKS_H
#define TT_CLI_RANKS_H

#include "cli/common.h"
#include "core/job/job.h"

/* The words this program was called with, for copies of it; set by main. */
extern char **tt_words;

/* Starts copies of this program with these words, as so many ranks on this machine, and waits for them. If they fail,
 * the status has their exit code and no text, since they have said why. */
tt_status tt_ranks_start(int ranks, char **words);

/* " --ranks 2 --shard weights", for a command that resumes this run: neither is taken from a checkpoint. */
enum { TT_RANKS_WORDS = 64 };
void tt_ranks_words(const struct tt_config *c, char out[TT_RANKS_WORDS]);

/* For several processes that were started with a command which one can do alone (info, eval, data, ...): rank 0 does it
 * and says so. True on the other ranks, which have nothing to do. */
bool tt_left_to_rank_0(const struct tt_options *o);

struct tt_member {
    struct tt_place place;
    struct tt_job *job; /* NULL: this process alone */
    bool done;          /* copies of this process did the work, and have ended */
    bool together;      /* all ranks end with the same status */
};

/* Sets in o->c which rank of how many this is, its device and its threads, and connects to the others. A process that
 * was started alone with --ranks starts them and waits: then `done` is set, and the status has their exit code and no
 * text. */
tt_status tt_member_open(struct tt_member *w, struct tt_options *o);

/* Connects the device with those of the other ranks. */
tt_status tt_member_join(struct tt_member *w, const struct tt_backend *b);

/* Refuses unless all ranks have the same program, options, model and data; `more` are lines of what else must agree. */
tt_status tt_member_compare(struct tt_member *w, const struct tt_options *o, const char *more);

/* Tells the other ranks how this one ended; if all end with the same status, waits for them. Returns the status that
 * this process ends with; its text is empty if rank 0 has printed it. */
tt_status tt_member_close(struct tt_member *w, tt_status st);

#endif
