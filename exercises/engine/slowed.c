/* How much a busy machine may have slowed a run: a factor of the step, which comes of the undisturbed steps, and one of
 * the shares, roofs and bounds, which come of the recorded ones. */
#include <math.h>

#include "core/base/load.h"
#include "exercises/engine/formula_parts.h"
#include "profiling/disturbed.h"

/* ranks.json has it beside the run, not in it. */
double tt_exercise_load(const struct tt_json *profile)
{
    return tt_json_number(tt_json_get(profile, "run"), "load", tt_json_number(profile, "load", NAN));
}

double tt_exercise_waited(const struct tt_json *profile)
{
    return tt_json_number(tt_json_get(profile, "run"), "waited", NAN);
}

bool tt_exercise_was_busy(const struct tt_json *profile)
{
    return tt_was_busy(tt_exercise_load(profile), tt_exercise_waited(profile));
}

double tt_exercise_slowed(const struct tt_json *profile)
{
    return tt_slowed(tt_exercise_load(profile), tt_exercise_waited(profile));
}

/* In the recorded steps; an old profile knows only of the others. */
static double recorded_waited(const struct tt_json *profile)
{
    return tt_json_number(tt_json_get(profile, "run"), "recorded_waited", tt_exercise_waited(profile));
}

bool tt_exercise_shares_busy(const struct tt_json *profile)
{
    return tt_was_busy(tt_exercise_load(profile), recorded_waited(profile));
}

double tt_exercise_shares_slowed(const struct tt_json *profile)
{
    struct tt_profile p;
    tt_status st = tt_profile_of_json(profile, &p);
    double slowed = st ? tt_slowed(tt_exercise_load(profile), recorded_waited(profile)) : tt_recorded_slowed(&p);
    tt_status_free(st); /* not a whole profile: what it waited is all that is known */
    tt_profile_free(&p);
    return slowed;
}

double tt_exercise_own(const struct tt_json *profile, double share)
{
    double step = tt_json_number(tt_json_get(profile, "step"), "seconds", NAN);
    return tt_alone(share * step, tt_exercise_shares_slowed(profile)) / step;
}
