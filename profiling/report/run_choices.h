/* Which weights a run with --update top-k has changed, step by step: groups.csv and choices.bits of its folder
 * (core/train/choices.h), as a picture of tensors and steps. */
#ifndef TT_RUN_CHOICES_H
#define TT_RUN_CHOICES_H

#include <stdint.h>

#include "core/base/status.h"
#include "core/base/text.h"

/* A tensor, or the layer whose tensors are one group. */
struct tt_choice_row {
    char name[96];
    int groups;
    double share; /* of all its groups and steps that were chosen */
};

struct tt_run_choices {
    struct tt_choice_row *rows;
    int row_count, columns;
    int64_t groups, steps; /* 0: the run changed all weights in every step */
    float *shade;          /* (rows, columns): the share of the column's steps and the row's groups that were chosen */
};

/* Of a folder without these files, or without a step: nothing. Free in any case. */
tt_status tt_run_choices_read(const char *folder, struct tt_run_choices *c);
void tt_run_choices_free(struct tt_run_choices *c);

void html_choices(struct tt_text *t, const struct tt_run_choices *c); /* a section of the page */

#endif
