/* The loss on held-out data: whole batches of the training's size, always the same ones. */
#ifndef TT_EVALUATE_H
#define TT_EVALUATE_H

#include "core/config/config.h"
#include "core/data/data.h"
#include "core/job/job.h"
#include "core/plan/engine.h"

struct tt_evaluation {
    double loss;              /* the mean over the targets that count */
    int64_t batches, targets; /* whole batches; targets of them that count */
};

/* An error if the validation data are less than a batch, or if none of their targets counts. */
tt_status tt_evaluate_check(const struct tt_config *c, struct tt_data *data);

/* The loss of whole batches of the validation data, with the other ranks of the job (NULL: alone). */
tt_status tt_evaluate(struct tt_engine *e, const struct tt_plan *eval_plan, const struct tt_config *c,
                      struct tt_data *data, struct tt_job *job, struct tt_evaluation *out);

#endif
