/* The measured roofs of several runs: which are of one device, and which may be too low. */
#include <math.h>
#include <string.h>

#include "exercises/engine/formula_parts.h"
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

bool tt_exercise_roof_doubtful(const struct tt_json *profile)
{
    struct tt_profile p;
    tt_status st = tt_profile_without_lists(profile, &p);
    bool doubtful = !st && tt_profile_roofs_doubtful(&p);
    tt_profile_free(&p);
    tt_status_free(st); /* not a profile: nothing is known */
    return doubtful;
}
