/* The interval of the ratio of two runs' step times. */
#include <math.h>
#include <stdlib.h>

#include "exercises/engine/formula_parts.h"
#include "profiling/compare/compare.h"
#include "profiling/speedup.h"

/* Leaves tokens_per_second unknown: the ratio is that of the step times, even if the batches differ. */
static tt_status side_of(const struct tt_json *profile, struct tt_compared *out)
{
    *out = (struct tt_compared){.seconds = NAN, .tokens_per_second = NAN};
    TT_TRY(tt_profile_of_json(profile, &out->profile));
    out->seconds = out->profile.step.seconds;
    return TT_OK;
}

bool tt_exercise_range(const struct tt_json *above, const struct tt_json *below, double *low, double *high)
{
    struct tt_compared *two = calloc(2, sizeof *two);
    struct tt_range range = {NAN, NAN, NAN};
    tt_status st = two ? side_of(above, &two[0]) : TT_OK;
    if (two && !st) st = side_of(below, &two[1]);
    if (two && !st) st = tt_compare_range(&two[0], &two[1], &range);
    tt_status_free(st); /* not whole profiles: nothing is known */
    for (int i = 0; two && i < 2; i++) tt_profile_free(&two[i].profile);
    free(two);
    bool known = isfinite(range.low) && range.confidence >= TT_GATE_CONFIDENCE; /* of few steps it decides nothing */
    *low = known ? range.low : 0;
    *high = known ? fmin(range.high, TT_ANY_SPEEDUP) : TT_ANY_SPEEDUP;
    return known;
}

double tt_exercise_moved(const struct tt_json *above, const struct tt_json *below)
{
    struct tt_profile a, b = {0};
    struct tt_control c = {0};
    tt_status st = tt_profile_of_json(above, &a);
    if (!st) st = tt_profile_of_json(below, &b);
    if (!st) c = tt_control(&a, &b);
    tt_status_free(st); /* not whole profiles: nothing is known */
    tt_profile_free(&a);
    tt_profile_free(&b);
    return c.moved ? c.times : NAN;
}
