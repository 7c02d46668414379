/* The measured roofs of several runs: which are of one device, and how far one may be too low. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/load.h"
#include "exercises/engine/formula_parts.h"
#include "profiling/bound.h"
#include "profiling/disturbed.h"

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

/* As tt_roofs_waited has it. */
static double roofs_waited(const struct tt_json *profile)
{
    const struct tt_json *e = tt_json_get(profile, "efficiency"), *run = tt_json_get(profile, "run");
    const struct tt_json *kept = tt_json_get(e, "roofs_kept");
    struct tt_profile_efficiency of = {.roofs_waited = tt_json_number(e, "roofs_waited", NAN)};
    struct tt_profile_run by = {.waited = tt_json_number(run, "waited", NAN)};
    of.roofs_kept = kept && kept->boolean;
    snprintf(of.roofs_measured, sizeof of.roofs_measured, "%.31s", tt_json_string(e, "roofs_measured", ""));
    snprintf(by.backend, sizeof by.backend, "%.15s", tt_json_string(run, "backend", ""));
    return tt_roofs_waited(&of, &by);
}

bool tt_exercise_roof_doubtful(const struct tt_json *profile)
{
    const struct tt_json *e = tt_json_get(profile, "efficiency");
    return e && tt_roofs_doubtful(&(struct tt_roofs_measured){
                    tt_json_number(e, "roofs_load", NAN), roofs_waited(profile), tt_json_number(e, "gemm_spread", NAN),
                    tt_json_number(e, "copy_spread", NAN)});
}

/* Products measured while other programs ran have been 8.1 times too slow. What waiting explains may be more, if not as
 * much as of a step: the best of many samples is the roof. */
static double doubt_of(const struct tt_json *profile)
{
    double waits = tt_slowed(NAN, roofs_waited(profile), tt_exercise_threads(profile));
    return tt_exercise_roof_doubtful(profile) ? fmin(100, fmax(10, waits)) : 1;
}

double tt_exercise_roof_times(const struct tt_formula_scope *scope, const struct tt_json *profile)
{
    double roof = tt_exercise_roof(profile), times = doubt_of(profile);
    for (int i = 0; i < scope->count; i++) {
        const struct tt_json *other = scope->runs[i].profile;
        if (other && tt_exercise_same_roof(profile, other)) times = fmax(times, tt_exercise_roof(other) / roof);
    }
    return times;
}
