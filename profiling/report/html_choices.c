/* Which weights were changed in which steps: a line for each tensor, steps from left to right. */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/format.h"
#include "profiling/report/html_parts.h"
#include "profiling/report/run_choices.h"
#include "profiling/report/svg.h"

void html_choices(struct tt_text *t, const struct tt_run_choices *c)
{
    char share[32];
    if (!c->steps) return;
    const char **names = calloc((size_t)c->row_count, sizeof *names);
    for (int i = 0; names && i < c->row_count; i++) names[i] = c->rows[i].name;
    html_section(t, "choices", "Which weights were updated");
    if (names)
        tt_svg_grid(t, &(struct tt_grid){.title = "Chosen groups of weights", .x_label = "step", .rows = names,
                                         .row_count = c->row_count, .columns = c->columns, .shade = c->shade,
                                         .first = 1, .last = (double)c->steps});
    html_note(t, "%lld group%s. A line is a tensor, or a layer where a group is a whole layer. A mark stands for one "
              "or more steps: the more of the line's groups were chosen in them, the darker it is.",
              (long long)c->groups, tt_plural(c->groups));
    html_fold(t, "The same as a table", false);
    html_table(t, "weights|#groups|#chosen");
    for (int i = 0; i < c->row_count; i++) {
        html_row(t);
        html_cell(t, "%s", c->rows[i].name);
        snprintf(share, sizeof share, "%d", c->rows[i].groups);
        html_number(t, c->rows[i].groups, share);
        snprintf(share, sizeof share, "%.1f %%", 100 * c->rows[i].share);
        html_number(t, c->rows[i].share, share);
        html_row_end(t);
    }
    html_table_end(t);
    html_fold_end(t);
    html_section_end(t);
    free(names);
}
