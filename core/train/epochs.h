/* Epochs: times through the training data. An epoch is every window of the training part once, in an order of its own;
 * what is held out for validation is not in it. Steps have whole batches, of all ranks together, so an epoch may end
 * within a step, and the rest of the batch is of the next. */
#ifndef TT_EPOCHS_H
#define TT_EPOCHS_H

#include "core/checkpoint/checkpoint.h"
#include "core/config/options.h"
#include "core/data/data.h"

struct tt_epochs {
    int64_t samples;   /* in an epoch; 0: the data never end */
    int64_t rows;      /* samples in a step */
    int64_t first;     /* steps done before, */
    uint64_t position; /* and the samples that they took */
};

struct tt_epochs tt_epochs_of(const struct tt_config *c, const struct tt_data *data, const struct tt_progress *begin);

double tt_epochs_at(const struct tt_epochs *e, int64_t step);    /* epochs after that step, with their fraction */
int64_t tt_epochs_done(const struct tt_epochs *e, int64_t step); /* whole ones */
/* How many multiples of `every` epochs end with the steps from..to; 0 where the data never end. */
int64_t tt_epochs_times(const struct tt_epochs *e, int64_t from, int64_t to, int64_t every);

/* --epochs becomes --num-steps: as many as see every sample so many times, going on from `checkpoint`, which may be
 * NULL. A --num-steps that was given more strongly wins, and there are no epochs then. */
tt_status tt_take_epochs(struct tt_options *o, const struct tt_data *data, const char *checkpoint);

#endif
