/* updates.safetensors of a checkpoint. It has a row for each group of weights: how often it was chosen, and in which
 * update last. The last row is about the choices: how many there were, and the step of the latest. */
#ifndef TT_UPDATES_H
#define TT_UPDATES_H

#include "core/checkpoint/manifest.h"

/* Writes c->updates into the folder, and lists the file. */
tt_status tt_updates_write(const char *folder, const struct tt_checkpoint *c, struct tt_manifest *m);

/* Fills c->updates. A run that updated all weights has no such file: its groups count as chosen in every update. */
tt_status tt_updates_read(const char *folder, const struct tt_manifest *m, struct tt_checkpoint *c);

#endif
