/* tt exercise: the course. list, start N DIR, hint [N] [K|NAME], check [N] [DIR], page [DIR...], report [N] [DIR],
 * solution [N], class DIR..., roadmap DIR. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/exercise.h"
#include "exercises/engine/fault.h"

/* ---- options ---- */

#define AT(field) TT_FIELD(TT_OF_COMMAND, struct tt_exercise_options, field)
// clang-format off
static const struct tt_option rows[] = {
    {"do", AT(words), "Exercise", 1 << TT_CMD_EXERCISE, "", NULL, "WORDS",
     .help = "what to do: list, start N DIR, hint [N] [K|NAME], check [N] [DIR], page [DIR...], report [N] [DIR], "
             "solution [N], class DIR..., roadmap DIR", .list = '\n', .flag_only = true},
    {"recorded", AT(recorded), "Exercise", 1 << TT_CMD_EXERCISE, "false", NULL, NULL,
     .help = "with start: also put the exercise's profiles that were recorded on an H200 into the folder, if it has "
             "any; works later too", .flag_only = true},
    {"reveal", AT(reveal), "Exercise", 1 << TT_CMD_EXERCISE, "false", NULL, NULL,
     .help = "with check: show the right answers; an answer that was shown earns no more points", .flag_only = true},
    {"csv", AT(csv), "Exercise", 1 << TT_CMD_EXERCISE, "", NULL, "FILE",
     .help = "with class: also write the table as CSV; \"\" = do not", .flag_only = true},
    {"html", AT(html), "Exercise", 1 << TT_CMD_EXERCISE, "", NULL, "FILE",
     .help = "with class: also write a page for a browser; with page: the file of the page; \"\" = page.html here "
             "with page, none with class", .flag_only = true},
    {"every", AT(every), "Exercise", 1 << TT_CMD_EXERCISE, "0", "[0, 86400]", "SECONDS",
     .help = "with class --html: seconds after which the page is written again and the browser reloads it; 0 = write "
             "it once",
     .flag_only = true},
    {"fault", AT(fault), "Exercise", 1 << TT_CMD_EXERCISE, "", NULL, "NAME|random:SEED",
     .help = "with solution: explain this fault", .check = tt_fault_check, .flag_only = true},
};
// clang-format on
const struct tt_rows tt_exercise_rows = TT_ROWS(rows);
TT_OWN_FITS(struct tt_exercise_options);

static const struct {
    const char *name;
    tt_status (*run)(const struct tt_exercise_call *k);
    bool without_course;
} actions[] = {
    {"list", tt_exercise_list, false},   {"start", tt_exercise_start, false},       {"hint", tt_exercise_hint, false},
    {"check", tt_exercise_check, false}, {"page", tt_exercise_page, false},
    {"report", tt_exercise_report, false}, {"solution", tt_exercise_solution, false},
    {"class", tt_exercise_class_page, true},
    {"roadmap", tt_exercise_roadmap, true},
};

static tt_status act(struct tt_exercise_call *k)
{
    const char *names[sizeof actions / sizeof *actions];
    int n = sizeof actions / sizeof *actions;
    for (int i = 0; i < n; i++) {
        names[i] = actions[i].name;
        if (strcmp(k->words[0], actions[i].name)) continue;
        if (!actions[i].without_course) TT_TRY(tt_exercise_find_course(k->root));
        return actions[i].run(k);
    }
    const char *near = tt_nearest(k->words[0], names, n);
    return tt_fail(TT_USAGE, "tt exercise does not know \"%.60s\"; %s%s%s", k->words[0],
                   near ? "did you mean " : "it knows list, start, hint, check, page, report, solution, class, roadmap",
                   near ? near : "", near ? "?" : "");
}

tt_status tt_cmd_exercise(const struct tt_options *o)
{
    const struct tt_exercise_options *own = tt_own(o);
    struct tt_exercise_call k = {.c = &o->c, .own = own, .words = calloc(TT_EXERCISE_WORDS, sizeof *k.words)};
    if (!k.words) return tt_no_memory("the command");
    for (const char *at = own->words; k.n < TT_EXERCISE_WORDS &&
         tt_list_next(&at, '\n', k.words[k.n], sizeof k.words[k.n]);)
        k.n++;
    if (!k.n) snprintf(k.words[k.n++], sizeof *k.words, "list");
    tt_status st = act(&k);
    free(k.words);
    return st;
}
