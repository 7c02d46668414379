/* Where a run begins: the checkpoint that it resumes, or the weights that it begins with, and its folder. */
#ifndef TT_CLI_START_H
#define TT_CLI_START_H

#include "core/config/options.h"

/* Finds the checkpoint that --resume or --init-from asks for, and takes its configuration into o. At most one of the
 * two results is set, malloc'd: `checkpoint` to go on from, or `origin`, whose weights a new run begins with. A resumed
 * run stays in its folder unless --out is given. `found`: what rank 0 found, "" if nothing; NULL: search here. */
tt_status tt_choose_start(struct tt_options *o, const char *found, char **checkpoint, char **origin);

/* Whether the checkpoint to go on from, if any, is in this folder. */
tt_status tt_continues_in(const char *checkpoint, const char *folder, bool *here);

/* An error if all steps are done already. */
tt_status tt_check_left(const struct tt_config *c, const char *checkpoint, int64_t done);

#endif
