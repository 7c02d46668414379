/* What the course adds to tt, for the commands: --fault, --own-kernel and --link, plugged in where any guest of a run
 * may (core/config/hooks.h, backend/relay.h). */
#ifndef TT_COURSE_H
#define TT_COURSE_H

#include "core/config/config.h"
#include "core/config/hooks.h"
#include "core/config/options.h"
#include "profiling/profile.h"

/* Its options, in the place that a configuration has for its guests. */
struct tt_course_options {
    char own_kernel[1024], fault[32], link[32];
};
extern const struct tt_rows tt_course_rows;

static inline struct tt_course_options *tt_course_told(struct tt_config *c)
{
    return (struct tt_course_options *)(void *)c->guest;
}
static inline const struct tt_course_options *tt_course_of(const struct tt_config *c) { return (const void *)c->guest; }

extern const struct tt_hooks tt_course; /* does what `fault` and `own_kernel` of a configuration ask for */

/* The backend with what is asked for around it: nothing most of the time. After an error it is closed. */
tt_status tt_course_wrap(const struct tt_config *c, struct tt_backend *b);

tt_status tt_course_check_link(const char *text); /* whether it is a value of --link */
/* The simulated link: bytes/s, NaN where there is none; *latency, which may be NULL, is seconds of a message. */
double tt_course_link(const struct tt_config *c, double *latency);

/* What a profile that was measured on this backend says of it. */
tt_status tt_course_label(const struct tt_config *c, const struct tt_backend *b, struct tt_profile_run *run);

#endif
