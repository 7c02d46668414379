/* What tt profile prints of a profile. */
#ifndef TT_PROFILE_PRINT_H
#define TT_PROFILE_PRINT_H

#include "profiling/profile.h"

void tt_profile_print(const struct tt_profile *p, bool brief); /* brief: the step only */
tt_status tt_profile_print_json(const struct tt_profile *p);

#endif
