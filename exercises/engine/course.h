/* What the course adds to the commands of tt: --fault, --own-kernel and --link. It uses the hooks that any extension
 * may use (core/config/hooks.h) and wraps the backend (backend/relay.h). */
#ifndef TT_COURSE_H
#define TT_COURSE_H

#include "core/config/config.h"
#include "core/config/hooks.h"
#include "core/config/options.h"
#include "profiling/profile.h"

/* The options of the course. They lie in the bytes that a configuration keeps for an extension (c->guest). */
struct tt_course_options {
    char own_kernel[1024], fault[32], link[32];
};
extern const struct tt_rows tt_course_rows;

static inline struct tt_course_options *tt_course_told(struct tt_config *c)
{
    return (struct tt_course_options *)(void *)c->guest;
}
static inline const struct tt_course_options *tt_course_of(const struct tt_config *c) { return (const void *)c->guest; }

extern const struct tt_hooks tt_course; /* the hooks for `fault` and `own_kernel` of a configuration */

/* Wraps *b as --own-kernel and --link of the configuration ask; without them *b stays as it is. After an error *b is
 * closed. */
tt_status tt_course_wrap(const struct tt_config *c, struct tt_backend *b);

tt_status tt_course_check_link(const char *text); /* an error if it is not a value of --link */
/* The simulated link in bytes/s; NaN: there is none. *latency gets the seconds per message; `latency` may be NULL. */
double tt_course_link(const struct tt_config *c, double *latency);

/* Fills in the fields of `run` that belong to the course, for a profile measured on this backend: the fault, and the
 * learner's kernel. */
tt_status tt_course_label(const struct tt_config *c, const struct tt_backend *b, struct tt_profile_run *run);

#endif
