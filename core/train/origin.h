/* Where a run comes from: a checkpoint, and the configuration in it. */
#ifndef TT_ORIGIN_H
#define TT_ORIGIN_H

#include "core/config/options.h"

/* Finds the checkpoint that `path` names: a checkpoint folder, or the newest undamaged one in a run's folder.
 * *checkpoint is malloc'd. Applies its configuration to `o`. */
tt_status tt_use_checkpoint(struct tt_options *o, const char *path, char **checkpoint);
/* The same for a run's folder that may have none yet: then *checkpoint is NULL. */
tt_status tt_use_newest(struct tt_options *o, const char *dir, char **checkpoint);

/* If --out was not given, sets it to the folder of the run that the resumed checkpoint belongs to: runs/a for
 * runs/a/step-00000100. A checkpoint whose folder has another kind of name belongs to no run. */
void tt_stay_in_run(struct tt_options *o, const char *checkpoint);

#endif
