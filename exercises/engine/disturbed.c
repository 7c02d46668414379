/* Whether other programs disturbed a run, judged by what the run itself recorded. The course says which runs were
 * disturbed, but marks answers by what they show: it does not estimate what a quiet machine would have shown. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/load.h"
#include "exercises/engine/formula_parts.h"
#include "exercises/engine/parts.h"
#include "profiling/disturbed.h"

/* A profile has the load in `run`, ranks.json at the top level. */
static double load_of(const struct tt_json *profile)
{
    return tt_json_number(tt_json_get(profile, "run"), "load", tt_json_number(profile, "load", NAN));
}

static double waited_of(const struct tt_json *profile)
{
    return tt_json_number(tt_json_get(profile, "run"), "waited", NAN);
}

/* The part of a row's waiting that other programs caused: ranks that fill the processors also wait for each other. */
static double row_waited(const struct tt_json *profile, const struct tt_json *row)
{
    return tt_ranks_waited(tt_json_number(row, "waited", waited_of(profile)));
}

bool tt_exercise_row_disturbed(const struct tt_json *profile, const struct tt_json *row)
{
    return tt_was_busy(load_of(profile), row_waited(profile, row));
}

/* The words for the row of ranks.json that was disturbed most; "" if none was. */
static void ranks_words(const struct tt_json *profile, const struct tt_json *rows, char out[120])
{
    double most = 0;
    out[0] = 0;
    for (const struct tt_json *r = rows->type == TT_JSON_ARRAY ? rows->first : NULL; r; r = r->next) {
        double waited = row_waited(profile, r);
        if (!tt_exercise_row_disturbed(profile, r) || waited < most) continue;
        tt_was_busy_words(load_of(profile), waited, out);
        most = waited;
    }
}

void tt_exercise_disturbed_words(const struct tt_json *profile, char out[120])
{
    const struct tt_json *rows = tt_json_get(profile, "rows");
    struct tt_profile p;
    out[0] = 0;
    if (rows) {
        ranks_words(profile, rows, out);
        return;
    }
    tt_status st = tt_profile_without_lists(profile, &p);
    if (!st) tt_step_busy_words(&p, out);
    if (!st && !out[0]) tt_recorded_words(&p, out);
    tt_status_free(st); /* not a profile: nothing is known */
    tt_profile_free(&p);
}

bool tt_exercise_disturbed(const struct tt_json *profile)
{
    char words[120];
    tt_exercise_disturbed_words(profile, words);
    return words[0] != 0;
}

int tt_exercise_disturbed_figures(const struct tt_json *profile, struct tt_figure out[TT_DISTURBED_FIGURES])
{
    const struct tt_json *run = tt_json_get(profile, "run"), *launch = tt_json_get(profile, "launch");
    const struct tt_unit *percent = tt_exercise_unit("%");
    const struct tt_figure all[TT_DISTURBED_FIGURES] = {
        {.value = 100 * waited_of(profile), .unit = percent,
         .name = "what the threads of a run waited for a processor"},
        {.value = 100 * tt_json_number(run, "recorded_waited", NAN), .unit = percent,
         .name = "what the threads of a run waited for a processor in its recorded steps"},
        {.value = 100 * tt_json_number(launch, "recorded_overhead", NAN), .unit = percent,
         .name = "how much longer the recorded steps of a run took than the others"},
        {.value = tt_json_number(run, "interrupted", NAN),
         .name = "how many times their medians the operations or steps of a run took"},
        {.value = load_of(profile), .name = "the load per processor before a run"}};
    int n = 0;
    if (!profile || !tt_exercise_disturbed(profile)) return 0;
    for (int i = 0; i < TT_DISTURBED_FIGURES; i++)
        if (isfinite(all[i].value)) out[n++] = all[i];
    return n;
}
