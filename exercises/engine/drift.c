/* How much the machine changed between two runs of the course, by what both have alike. Both are of one build, so what
 * the same operators took longer is the machine, or what else differs and affects them. */
#include <math.h>

#include "exercises/engine/formula_parts.h"

struct tt_control tt_exercise_control(const struct tt_json *above, const struct tt_json *below)
{
    struct tt_profile a, b = {0};
    struct tt_control c = {.times = NAN, .least = NAN, .most = NAN};
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
    struct tt_control c = tt_exercise_control(a, b);
    return c.least > 0 && isfinite(c.most) ? fmax(c.most, 1 / c.least) - 1 : 0;
}

double tt_exercise_noise_between(const struct tt_json *a, const struct tt_json *b)
{
    double slowed = fmin(1e9, fmax(tt_exercise_slowed(a), tt_exercise_slowed(b))); /* as slowed() has it in formulas */
    double room = fmax(hypot(tt_exercise_scatter(a), tt_exercise_scatter(b)), tt_exercise_drift(a, b));
    if (!tt_exercise_is_timed(a) || !tt_exercise_is_timed(b)) return 1;
    return slowed * (1 + fmin(room, 0.99)) - 1;
}
