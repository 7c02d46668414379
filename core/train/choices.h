/* Which groups of weights each step of a run has changed: a ring of bits that the device writes, copied back with the
 * metrics, and shown as a share and numbers. A run that changes all weights in every step has no such ring. */
#ifndef TT_CHOICES_H
#define TT_CHOICES_H

#include <stdio.h>

#include "core/checkpoint/checkpoint.h"
#include "core/plan/engine.h"
#include "core/train/events.h"

struct tt_choices {
    struct tt_engine *engine; /* NULL: there is nothing to show */
    const struct tt_params *params;
    const struct tt_groups *groups; /* those of params */
    uint32_t *ring; /* pinned copy of the device's */
    int64_t entries, words;
    int file; /* choices.bits; -1: none, or it could not be written any more */
    int64_t *in_layer; /* groups chosen in each layer by the step looked at last; the last entry: outside the layers */
};

tt_status tt_choices_open(struct tt_choices *c, struct tt_engine *e, const struct tt_params *params);
void tt_choices_close(struct tt_choices *c);

/* Enqueues the copy of the ring to the host. */
tt_status tt_choices_ask(struct tt_choices *c);

/* Opens the files in the folder of a run that has done `first` steps. groups.csv says which rows of which tensor belong
 * to a group. choices.bits has TT_CHOICE_WORDS words for each step from the first on, with bit g for group g;
 * tt_choices_write adds those of a step. */
tt_status tt_choices_keep(struct tt_choices *c, const char *folder, int64_t first);
void tt_choices_write(struct tt_choices *c, int64_t step);

/* For a step whose bits have been copied back: how many groups it changed, and which share of all weights they are. */
int64_t tt_choices_count(struct tt_choices *c, int64_t step, double *share);
/* ,"updated":{"groups":7,"share":0.1,"layers":[3,4],"outside":0} in a line of metrics.jsonl: groups chosen, the share
 * of the weights that they are, how many of them belong to each layer, and to none. */
void tt_choices_line(struct tt_choices *c, int64_t step, FILE *to);
/* The same figures for TensorBoard. */
void tt_choices_events(struct tt_choices *c, int64_t step, struct tt_events *e);

#endif
