/* Reading the environment of a job. */
#ifndef TT_PLACE_H
#define TT_PLACE_H

#include <stdbool.h>

#include "core/job/job.h"

/* Set for processes that tt itself starts, to a random word unique to the job. */
#define TT_STARTED "TT_STARTED"
/* Set for rank 0 of these: the file descriptor on which it listens. */
#define TT_LISTEN "TT_LISTEN"
/* Set when tt has started mpirun, and its stdout or stderr is a pipe: the path of that pipe, into which rank 0 prints
 * directly. If it printed through mpirun, all ranks would be ended at once when the reader of the pipe goes away. */
#define TT_OUTPUT "TT_OUTPUT"
#define TT_ERRORS "TT_ERRORS"
/* The path of a pipe into which a rank writes when it has said why the job ends. The exit code of mpirun does not tell
 * whether any rank has. */
#define TT_SAID "TT_SAID"

enum { TT_MOST_RANKS = 65535 };

const char *tt_env(const char *name); /* NULL if unset or empty */

/* ---- slurm.c ---- */

bool tt_slurm_step(void); /* whether srun started this process, and not the shell of sbatch or salloc */
tt_status tt_slurm_place(struct tt_place *out);
/* The machine of rank 0: the first node of the step. "" if unknown. */
void tt_slurm_first_node(char *out, size_t size);

/* An integer variable within bounds. TT_USAGE if it is missing or invalid; `because` is the variable that shows that
 * there is a job. */
tt_status tt_env_number(const char *name, const char *because, long least, long most, int *out);

#endif
