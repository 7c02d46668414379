/* The measured roofs of several runs: which are of one device, and how far one may be too low. */
#include <math.h>
#include <string.h>

#include "exercises/engine/formula_parts.h"
#include "profiling/bound.h"

bool tt_exercise_same_roof(const struct tt_json *a, const struct tt_json *b)
{
    static const char *const of[] = {"backend", "device", "library", "precision"};
    const struct tt_json *run = tt_json_get(a, "run"), *other = tt_json_get(b, "run");
    for (int i = 0; i < 4; i++)
        if (strcmp(tt_json_string(run, of[i], ""), tt_json_string(other, of[i], "")) != 0) return false;
    return true;
}

double tt_exercise_roof(const struct tt_json *profile)
{
    return tt_json_number(tt_json_get(profile, "efficiency"), "gemm_flops_per_second", NAN);
}

bool tt_exercise_roof_doubtful(const struct tt_json *profile)
{
    const struct tt_json *e = tt_json_get(profile, "efficiency");
    return e && tt_roofs_doubtful(tt_json_number(e, "roofs_load", NAN), tt_json_number(e, "gemm_spread", NAN),
                                  tt_json_number(e, "copy_spread", NAN));
}

/* Products measured while other programs ran have been 6.3 times too slow. */
double tt_exercise_roof_times(const struct tt_formula_scope *scope, const struct tt_json *profile)
{
    double roof = tt_exercise_roof(profile), times = tt_exercise_roof_doubtful(profile) ? 10 : 1;
    for (int i = 0; i < scope->count; i++) {
        const struct tt_json *other = scope->runs[i].profile;
        if (other && tt_exercise_same_roof(profile, other)) times = fmax(times, tt_exercise_roof(other) / roof);
    }
    return times;
}
