/* Lines on runs of several ranks. Some show that the machine did not stay the same during the measurements, though it
 * was not busy. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/load.h"
#include "exercises/engine/formula_parts.h"
#include "exercises/engine/parts.h"

/* Several ranks, each with the same work as one alone and with communication besides, cannot be faster than that on a
 * machine that stays the same. */
static void faster_than_alone(const char *name, const struct tt_json *profile, struct tt_text *out)
{
    const struct tt_json *rows = profile ? tt_json_get(profile, "rows") : NULL;
    for (const struct tt_json *r = rows && rows->type == TT_JSON_ARRAY ? rows->first : NULL; r; r = r->next) {
        double percent = tt_json_number(r, "efficiency_percent", NAN);
        if (!(percent > 110)) continue;
        tt_text_printf(out, "noise: %s: an efficiency of %.0f %% on %g ranks: one rank alone was slower than each of "
                            "several with the same work. Measure it again before you judge the scaling\n",
                       name, percent, tt_json_number(r, "ranks", 0));
    }
}

/* Whether pairs of steps differ too much to tell how much communication is hidden. False for a disturbed run, which has
 * a line of its own. */
static bool hides_unknown(const struct tt_json *profile)
{
    const struct tt_json *rows = profile && !tt_exercise_disturbed(profile) ? tt_json_get(profile, "rows") : NULL;
    for (const struct tt_json *r = rows && rows->type == TT_JSON_ARRAY ? rows->first : NULL; r; r = r->next) {
        const struct tt_json *known = tt_json_get(r, "hidden_known");
        if (known && !known->boolean && tt_json_number(r, "communication_ms", 0) > 0) return true;
    }
    return false;
}

static void unknown_hidden(const struct tt_marked *m, struct tt_text *out)
{
    int n = 0;
    for (int i = 0; i < m->exercise->run_count; i++)
        if (hides_unknown(m->runs[i].profile))
            tt_text_printf(out, "%s %s", n++ ? "," : "noise:", m->exercise->runs[i].name);
    if (n)
        tt_text_puts(out, ": what is hidden is not measurable, since it may be off by more than a third of the "
                          "communication. More steps, or another LINK, may show it\n");
}

/* ---- one rank alone, which is the same program in several files ---- */

/* The row of one rank alone in ranks.json; NULL: there is none, or the run was disturbed and has a line for that. */
static const struct tt_json *alone(const struct tt_json *profile)
{
    const struct tt_json *rows = profile && !tt_exercise_disturbed(profile) ? tt_json_get(profile, "rows") : NULL;
    const struct tt_json *r = rows && rows->type == TT_JSON_ARRAY ? rows->first : NULL;
    return r && tt_json_number(r, "ranks", 0) == 1 && tt_json_number(r, "median_ms", 0) > 0 ? r : NULL;
}

static double operations_of(const struct tt_json *row)
{
    const struct tt_json *each = tt_json_get(row, "each");
    return each && each->first ? tt_json_number(each->first, "operations", 0) : 0;
}

static bool same_program(const struct tt_json *a, const struct tt_json *b)
{
    return !strcmp(tt_json_string(a, "size", ""), tt_json_string(b, "size", "?")) &&
           !strcmp(tt_json_string(a, "version", ""), tt_json_string(b, "version", "?")) &&
           tt_json_number(a, "batch_size", 0) == tt_json_number(b, "batch_size", -1) &&
           tt_json_number(a, "threads", 0) == tt_json_number(b, "threads", -1) && operations_of(a) == operations_of(b);
}

/* Says if the same step of one rank alone took far longer in one file than in another. Figures computed from it are
 * then off by as much. */
static void apart_alone(const struct tt_marked *m, struct tt_text *out)
{
    const struct tt_json *first = NULL;
    double least = INFINITY, most = 0;
    const char *backend = "";
    char names[300] = "";
    for (int i = 0; i < m->exercise->run_count; i++) {
        const struct tt_json *row = alone(m->runs[i].profile);
        if (!row || (first && !same_program(first, row))) continue;
        if (!first) backend = tt_json_string(m->runs[i].profile, "backend", ""), first = row;
        size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", m->exercise->runs[i].name);
        least = fmin(least, tt_json_number(row, "median_ms", NAN));
        most = fmax(most, tt_json_number(row, "median_ms", NAN));
    }
    if (!first || most / least - 1 <= sqrt(2) * tt_runs_differ(backend)) return;
    tt_text_printf(out, "noise: %s: one rank alone is the same program in each, and took %.4g to %.4g ms. What "
                        "is computed from that row (efficiency, limits) may be off by as much: measure them again\n",
                   names, least, most);
}

void tt_exercise_noise_ranks(const struct tt_marked *m, struct tt_text *out)
{
    for (int i = 0; i < m->exercise->run_count; i++)
        faster_than_alone(m->exercise->runs[i].name, m->runs[i].profile, out);
    apart_alone(m, out);
    unknown_hidden(m, out);
}
