/* What the course adds to tt, for the commands: --fault and --own-kernel, plugged in where any guest of a run may
 * (core/config/hooks.h, backend/relay.h). */
#ifndef TT_COURSE_H
#define TT_COURSE_H

#include "core/config/config.h"
#include "core/config/hooks.h"
#include "profiling/profile.h"

extern const struct tt_hooks tt_course; /* does what `fault` and `own_kernel` of a configuration ask for */

/* The backend with what is asked for around it: nothing most of the time. After an error it is closed. */
tt_status tt_course_wrap(const struct tt_config *c, struct tt_backend *b);

/* What a profile that was measured on this backend says of it. */
tt_status tt_course_label(const struct tt_config *c, const struct tt_backend *b, struct tt_profile_run *run);

#endif
