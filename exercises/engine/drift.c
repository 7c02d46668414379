/* How much the machine changed between two runs of the course, by what both have alike. Both are of one build, so what
 * the same operators took longer is the machine, or what else differs and affects them. */
#include <math.h>

#include "exercises/engine/formula_parts.h"

struct tt_control tt_exercise_control(const struct tt_json *above, const struct tt_json *below)
{
    struct tt_profile a, b = {0};
    struct tt_control c = {.times = NAN};
    tt_status st = tt_profile_of_json(above, &a);
    if (!st) st = tt_profile_of_json(below, &b);
    if (!st) c = tt_control(&a, &b);
    tt_status_free(st); /* not a whole profile: it has no control */
    tt_profile_free(&a);
    tt_profile_free(&b);
    return c;
}

double tt_exercise_drift(const struct tt_json *a, const struct tt_json *b)
{
    double times = tt_exercise_control(a, b).times;
    return isfinite(times) && times > 0 ? fmax(times, 1 / times) - 1 : 0;
}

double tt_exercise_noise_between(const struct tt_json *a, const struct tt_json *b)
{
    double slowed = fmax(tt_exercise_slowed(a), tt_exercise_slowed(b));
    double room = fmax(hypot(tt_exercise_scatter(a), tt_exercise_scatter(b)), tt_exercise_drift(a, b));
    if (!tt_exercise_is_timed(a) || !tt_exercise_is_timed(b)) return 1;
    return fmin(1e9, slowed * (1 + fmin(room, 0.99)) - 1);
}
