/* Which weights a run with --update top-k changed, step by step: groups.csv and choices.bits of its folder
 * (core/train/choices.h), as a grid of tensors and steps. */
#ifndef TT_RUN_CHOICES_H
#define TT_RUN_CHOICES_H

#include <stdint.h>

#include "core/base/status.h"
#include "core/base/text.h"

/* A tensor, or the layer whose tensors are one group. */
struct tt_choice_row {
    char name[96];
    int groups;
    double share; /* how often its groups were chosen, 0 to 1: the mean over its groups and all steps */
};

struct tt_run_choices {
    struct tt_choice_row *rows;
    int row_count, columns;
    int64_t groups, steps; /* 0: the run changed all weights in every step */
    float *shade;          /* (rows, columns): how often the row's groups were chosen in the column's steps, 0 to 1 */
};

/* A folder without these files, or without a step, gives nothing. Free in any case. */
tt_status tt_run_choices_read(const char *folder, struct tt_run_choices *c);
void tt_run_choices_free(struct tt_run_choices *c);

void html_choices(struct tt_text *t, const struct tt_run_choices *c); /* a section of the page */

#endif
