/* tt profile --with and --bare: the steps under a vendor's profiler. */
#ifndef TT_PROFILE_WITH_H
#define TT_PROFILE_WITH_H

#include "cli/options.h"
#include "cli/ranks.h"

struct tt_profile_command {
    char sweep[32], with[32];
    bool remeasure, bare;
    int64_t warmup;
};

/* Runs the profiler over this program with --bare and the same options. ncu gets one step unless --num-steps is
 * given. */
tt_status tt_profile_with_tool(struct tt_options *o);

/* Runs the steps and nothing else, the measured ones inside the range that tools look for. */
tt_status tt_profile_bare(struct tt_member *m, const struct tt_config *c, int64_t warmup);

#endif
