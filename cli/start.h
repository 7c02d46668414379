/* Where a run begins: the checkpoint that it goes on from, the weights that it begins with, and its folder. */
#ifndef TT_CLI_START_H
#define TT_CLI_START_H

#include "core/config/options.h"

/* By --resume and --init-from, with what the checkpoint adds to o. At most one of them is set, malloc'd: `checkpoint`
 * to go on from, `origin` of a new run's first weights. A run that goes on stays in its folder where --out is not
 * given. */
tt_status tt_choose_start(struct tt_options *o, char **checkpoint, char **origin);

/* Whether the checkpoint to go on from, if any, is in this folder. */
tt_status tt_continues_in(const char *checkpoint, const char *folder, bool *here);

/* An error where all steps are done. */
tt_status tt_check_left(const struct tt_config *c, const char *checkpoint, int64_t done);

#endif
