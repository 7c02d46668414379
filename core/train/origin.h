/* Where a run comes from: a checkpoint, and the configuration in it. */
#ifndef TT_ORIGIN_H
#define TT_ORIGIN_H

#include "core/config/options.h"

/* A checkpoint folder, or the newest good one of a run's folder: malloc'd. Takes its configuration into o. */
tt_status tt_use_checkpoint(struct tt_options *o, const char *path, char **checkpoint);
/* The same for a run's folder that may have none yet: then *checkpoint is NULL. */
tt_status tt_use_newest(struct tt_options *o, const char *dir, char **checkpoint);

/* Where --out was not given, the folder of the run that the resumed checkpoint belongs to: runs/a of
 * runs/a/step-00000100. A checkpoint whose folder has another name belongs to no run. */
void tt_stay_in_run(struct tt_options *o, const char *checkpoint);

#endif
