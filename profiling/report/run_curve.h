/* What a training run left in its folder: the lines of metrics.jsonl as columns, which weights it chose, and run.json,
 * which is written at its end. */
#ifndef TT_RUN_CURVE_H
#define TT_RUN_CURVE_H

#include "core/base/json.h"
#include "profiling/report/run_choices.h"

enum tt_curve_column { TT_CURVE_LOSS, TT_CURVE_NORM, TT_CURVE_LR, TT_CURVE_SPEED, TT_CURVE_SCALE, TT_CURVE_COLUMNS };

struct tt_curve_step {
    double step, column[TT_CURVE_COLUMNS]; /* NaN: the line does not have it */
};

struct tt_curve {
    struct tt_curve_step *steps;
    struct tt_curve_validation {
        double step, loss;
    } *validations;
    size_t n, room, validation_count, validation_room;
    int64_t not_applied; /* steps that changed no weights */
    struct tt_run_choices choices;
    struct tt_json *end; /* run.json; NULL: there is none, the run has not ended */
};

/* Fails when there is no metrics.jsonl, or it has no step yet. Free in any case. */
tt_status tt_curve_read(const char *folder, struct tt_curve *c);
void tt_curve_free(struct tt_curve *c);

#endif
