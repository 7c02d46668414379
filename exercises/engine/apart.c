/* How far the losses and gradients of two runs differ, by the rules of tt compare. */
#include <math.h>
#include <string.h>

#include "exercises/engine/formula_parts.h"

static const struct tt_json *first_of(const struct tt_json *profile, const char *list)
{
    const struct tt_json *j = tt_json_get(profile, list);
    return j && j->type == TT_JSON_ARRAY ? j->first : NULL;
}

enum { ANYTHING = 1000000000 }; /* the difference if only one of two losses is finite */

static double loss_apart(const struct tt_json *x, const struct tt_json *y)
{
    double here = tt_json_number(x, "loss", NAN), there = tt_json_number(y, "loss", NAN);
    return isfinite(here) == isfinite(there) ? fabs(here - there) : ANYTHING;
}

/* The largest difference of the losses of the same steps. Steps of the same number have the same learning rate only if
 * both runs have equally many: the check that asks has to require that. */
static double losses_apart(const struct tt_json *a, const struct tt_json *b)
{
    double most = NAN;
    for (const struct tt_json *x = first_of(a, "samples"); x; x = x->next)
        for (const struct tt_json *y = first_of(b, "samples"); y; y = y->next)
            if (tt_json_number(x, "step", -1) == tt_json_number(y, "step", -2)) most = fmax(most, loss_apart(x, y));
    return most;
}

/* Norms below a thousandth of the whole gradient's norm are rounding noise. */
static double floor_of(const struct tt_json *profile)
{
    double sum = 0;
    for (const struct tt_json *x = first_of(profile, "gradients"); x; x = x->next) {
        double norm = tt_json_number(x, "first_norm", 0);
        sum += norm * norm;
    }
    return 1e-3 * sqrt(sum);
}

/* The largest difference of a tensor's gradient norms in the first step, relative to its norm in run a. Relative to the
 * floor if both norms are below it; to the norm in b if the one in a is 0. */
static double gradients_apart(const struct tt_json *a, const struct tt_json *b)
{
    double most = NAN, floor = floor_of(a);
    for (const struct tt_json *x = first_of(a, "gradients"); x; x = x->next)
        for (const struct tt_json *y = first_of(b, "gradients"); y; y = y->next) {
            double here = tt_json_number(x, "first_norm", NAN), there = tt_json_number(y, "first_norm", NAN);
            double scale = fmax(here, there) < floor ? floor : here > 0 ? here : there;
            if (strcmp(tt_json_string(x, "name", ""), tt_json_string(y, "name", "?")) == 0 && scale > 0)
                most = fmax(most, fabs(here - there) / scale);
        }
    return most;
}

double tt_exercise_apart(const struct tt_json *a, const struct tt_json *b, bool gradients)
{
    return gradients ? gradients_apart(a, b) : losses_apart(a, b);
}
