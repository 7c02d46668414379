/* The file scales.safetensors of a checkpoint: the scales of 8-bit factors, and the magnitudes that they come from. */
#ifndef TT_CHECKPOINT_SCALES_H
#define TT_CHECKPOINT_SCALES_H

#include "core/checkpoint/checkpoint.h"
#include "core/checkpoint/manifest.h"

tt_status tt_scales_write(const char *folder, const struct tt_checkpoint *c, struct tt_manifest *m);
/* Fills c->scales and sets scales_found, if the checkpoint has scales of c->scale_count tensors. Else it leaves
 * c->scales alone, and scales_found becomes false. */
tt_status tt_scales_read(const char *folder, const struct tt_manifest *m, struct tt_checkpoint *c);

#endif
