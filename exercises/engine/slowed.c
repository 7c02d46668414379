/* How much a busy machine may have slowed a run: a factor of the step, which comes of the undisturbed steps, and one of
 * the shares, roofs and bounds, which come of the recorded ones. */
#include <math.h>
#include <string.h>

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

double tt_exercise_interrupted(const struct tt_json *profile)
{
    return tt_json_number(tt_json_get(profile, "run"), "interrupted", NAN);
}

void tt_exercise_busy_words(const struct tt_json *profile, double waited, char out[120])
{
    if (tt_is_interrupted(tt_exercise_interrupted(profile)))
        tt_interrupted_words(tt_exercise_interrupted(profile), out);
    else
        tt_was_busy_words(tt_exercise_load(profile), waited, out);
}

bool tt_exercise_was_busy(const struct tt_json *profile)
{
    bool waited = tt_was_busy(tt_exercise_load(profile), tt_exercise_waited(profile));
    return waited || tt_is_interrupted(tt_exercise_interrupted(profile));
}

static const struct tt_json *first_row(const struct tt_json *profile)
{
    const struct tt_json *rows = tt_json_get(profile, "rows");
    return rows && rows->type == TT_JSON_ARRAY ? rows->first : NULL;
}

/* ranks.json says it of each row, whose ranks wait for each other too. */
static int threads_of_row(const struct tt_json *row)
{
    return (int)fmin(1e6, tt_json_number(row, "ranks", 1) * tt_json_number(row, "threads", 2));
}

/* As tt_profile_threads counts them. */
int tt_exercise_threads(const struct tt_json *profile)
{
    const struct tt_json *run = tt_json_get(profile, "run");
    const char *backend = tt_json_string(run, "backend", tt_json_string(profile, "backend", ""));
    double ranks = tt_json_number(tt_json_get(profile, "job"), "ranks", 1);
    int threads = tt_threads_of(backend, tt_json_string(run, "device", ""));
    return strcmp(backend, "cpu") ? threads : (int)fmin(1e6, threads * fmax(1, ranks));
}

static double waited_of_row(const struct tt_json *profile, const struct tt_json *row)
{
    return tt_ranks_waited(tt_json_number(row, "waited", tt_exercise_waited(profile)));
}

bool tt_exercise_row_was_busy(const struct tt_json *profile, const struct tt_json *row)
{
    return tt_was_busy(tt_exercise_load(profile), waited_of_row(profile, row));
}

double tt_exercise_slowed_by(const struct tt_json *profile, double *waited)
{
    bool cpu = !strcmp(tt_json_string(profile, "backend", ""), "cpu");
    double load = tt_exercise_load(profile), most = 1;
    *waited = tt_exercise_waited(profile);
    if (!first_row(profile))
        return fmax(tt_slowed(load, *waited, tt_exercise_threads(profile)),
                    tt_interrupted_slowed(tt_exercise_interrupted(profile)));
    *waited = tt_ranks_waited(*waited);
    for (const struct tt_json *r = first_row(profile); r; r = r->next) {
        double slowed = tt_slowed(load, waited_of_row(profile, r), cpu ? threads_of_row(r) : 1);
        if (slowed > most) most = slowed, *waited = waited_of_row(profile, r);
    }
    return most;
}

double tt_exercise_slowed(const struct tt_json *profile)
{
    double waited;
    return tt_exercise_slowed_by(profile, &waited);
}

double tt_exercise_recorded_waited(const struct tt_json *profile)
{
    return tt_json_number(tt_json_get(profile, "run"), "recorded_waited", tt_exercise_waited(profile));
}

bool tt_exercise_shares_busy(const struct tt_json *profile)
{
    bool waited = tt_was_busy(tt_exercise_load(profile), tt_exercise_recorded_waited(profile));
    return waited || tt_is_interrupted(tt_exercise_interrupted(profile));
}

double tt_exercise_shares_slowed(const struct tt_json *profile)
{
    struct tt_profile p;
    tt_status st = tt_profile_without_lists(profile, &p);
    double load = tt_exercise_load(profile), waited = tt_exercise_recorded_waited(profile);
    double slowed = st ? tt_slowed(load, waited, tt_exercise_threads(profile)) : tt_recorded_slowed(&p);
    tt_status_free(st); /* not a whole profile: what it waited is all that is known */
    tt_profile_free(&p);
    return slowed;
}

double tt_exercise_own(const struct tt_json *profile, double share)
{
    double step = tt_json_number(tt_json_get(profile, "step"), "seconds", NAN);
    return tt_alone(share * step, tt_exercise_shares_slowed(profile)) / step;
}
