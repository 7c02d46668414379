/* updates.safetensors of a checkpoint: how often each group of weights was chosen, and in which update last; the
 * last row is that of the choices: how many, and the step of the latest. */
#ifndef TT_UPDATES_H
#define TT_UPDATES_H

#include "core/checkpoint/manifest.h"

/* Writes c->updates into the folder, and lists the file. */
tt_status tt_updates_write(const char *folder, const struct tt_checkpoint *c, struct tt_manifest *m);

/* Fills c->updates. A run that updated all weights has no such file; its groups were chosen in every update. */
tt_status tt_updates_read(const char *folder, const struct tt_manifest *m, struct tt_checkpoint *c);

#endif
