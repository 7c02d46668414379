/* Epochs: times through the training data. An epoch is every window of the training part once, in an order of its own;
 * what is held out for validation is not in it. Steps have whole batches, of all ranks together, so an epoch may end
 * within a step, and the rest of that batch belongs to the next epoch. */
#ifndef TT_EPOCHS_H
#define TT_EPOCHS_H

#include "core/checkpoint/checkpoint.h"
#include "core/config/options.h"
#include "core/data/data.h"

struct tt_epochs {
    int64_t samples;   /* in an epoch; 0: the data never end */
    int64_t rows;      /* samples in a step */
    int64_t first;     /* steps done before this run */
    uint64_t position; /* samples that they took */
};

/* The epochs of a run that goes on from `begin`. `data` may be NULL: then they never end. */
struct tt_epochs tt_epochs_of(const struct tt_config *c, const struct tt_data *data, const struct tt_progress *begin);

double tt_epochs_at(const struct tt_epochs *e, int64_t step);    /* epochs after that step, with their fraction */
int64_t tt_epochs_done(const struct tt_epochs *e, int64_t step); /* whole ones */
/* How many times a multiple of `every` epochs ends within the steps from..to; 0 if the data never end. */
int64_t tt_epochs_times(const struct tt_epochs *e, int64_t from, int64_t to, int64_t every);

/* Turns --epochs into --num-steps: as many steps as it takes to use every sample that often. `checkpoint` is the one
 * that the run resumes from, or NULL. A --num-steps from a stronger source (command line over file over checkpoint)
 * wins and switches --epochs off. */
tt_status tt_take_epochs(struct tt_options *o, const struct tt_data *data, const char *checkpoint);

#endif
