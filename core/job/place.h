/* What the environment says of a job beyond this process's place in it. */
#ifndef TT_PLACE_H
#define TT_PLACE_H

#include <stdbool.h>

#include "core/job/job.h"

/* Set for the processes that tt itself starts, to a word that no other job has. */
#define TT_STARTED "TT_STARTED"
/* The file descriptor on which rank 0 of them listens. */
#define TT_LISTEN "TT_LISTEN"
/* Where rank 0 prints when tt has started mpirun and prints into a pipe: directly, since an mpirun whose reader goes
 * away ends all ranks at once. */
#define TT_OUTPUT "TT_OUTPUT"
#define TT_ERRORS "TT_ERRORS"

enum { TT_MOST_RANKS = 65535 };

const char *tt_env(const char *name); /* NULL also where it is empty */

/* ---- slurm.c ---- */

bool tt_slurm_step(void); /* srun started this process, and it is not just the shell of sbatch or salloc */
tt_status tt_slurm_place(struct tt_place *out);
/* The machine of rank 0: the first of the step's nodes. "" where SLURM does not say. */
void tt_slurm_first_node(char *out, size_t size);

/* A whole number from the environment, within bounds. What is missing or wrong is TT_USAGE and names it; `because` is
 * the variable that says that there is a job. */
tt_status tt_env_number(const char *name, const char *because, long least, long most, int *out);

#endif
