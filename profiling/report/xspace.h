/* The trace of a profile for TensorBoard's profile plugin. */
#ifndef TT_XSPACE_H
#define TT_XSPACE_H

#include "core/base/text.h"
#include "profiling/profile.h"

/* The trace of a rank as the plugin's XSpace, a protocol buffer. What a GPU computed is on its own plane, and each
 * operation is tied to its launch on the host's plane. What a CPU computed is on the host's plane. */
tt_status tt_profile_xspace(const struct tt_profile *p, int64_t rank, struct tt_text *out);

/* Writes folder/plugins/profile/name/rankN.xplane.pb for every rank; `tensorboard --logdir folder` finds them there. */
tt_status tt_profile_write_xspace(const struct tt_profile *p, const char *folder, const char *name);

#endif
