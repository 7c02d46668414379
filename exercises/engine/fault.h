/* Faults for learners to find: ways in which a training goes wrong or gets slow in practice. --fault switches one on;
 * without it, all that runs here is a test for an empty name.
 *
 * A fault changes one of these; no other part of tt knows of faults:
 * - the configuration
 * - the plan of a step, before its memory is placed
 * - what the host does after a step
 * - how batches reach the device */
#ifndef TT_FAULT_H
#define TT_FAULT_H

#include "core/train/guest.h"

#define TT_FAULTS(X)                                                                               \
    X(NONE, "", "nothing is wrong")                                                                \
    X(NO_INIT, "no-init", "the weights keep unit variance: nobody scaled them down")               \
    X(WRONG_STRIDE, "wrong-stride",                                                                \
      "the attention's output projection exchanges the strides of its weights, in the forward pass only") \
    X(HOST_WAIT, "host-wait", "the host waits for the device after every step")                    \
    X(NAIVE_MATMUL, "naive-matmul",                                                                \
      "the products of the SwiGLU are made a few rows at a time, and read their weights again for each") \
    X(DROPPED_GRADIENT, "dropped-gradient", "the gradient of one down projection is never computed") \
    X(DOUBLE_SHIFT, "double-shift", "the targets are shifted twice: two tokens ahead instead of one") \
    X(NO_CLIP, "no-clip", "gradients are not clipped, and the learning rate is far too high")      \
    X(TINY_BATCH, "tiny-batch", "a batch is taken one sequence at a time and accumulated")         \
    X(UNPINNED_COPIES, "unpinned-copies", "batches lie in pageable memory")                        \
    X(MASK_REBUILD, "mask-rebuild", "the host builds the causal mask and copies it to the device every step") \
    X(EVAL_EVERY_STEP, "eval-every-step", "a validation follows every step")                       \
    X(HOST_NORM, "host-norm", "the host computes the norm of the gradients, tensor by tensor, every step") \
    X(SLOW_RANK, "slow-rank", "one rank makes the products of its forward pass three times")       \
    X(LATE_BUCKET, "late-bucket",                                                                  \
      "gradients are summed up at the end of the backward pass instead of beside it")              \
    X(HOST_SORT, "host-sort",                                                                      \
      "the host reads the norm of every tensor's gradient, one after the other, and sorts them all, every step")

enum tt_fault {
#define X(id, name, text) TT_FAULT_##id,
    TT_FAULTS(X)
#undef X
    TT_FAULT_COUNT,
    /* random:SEED draws none of the faults from here on: */
    TT_FAULT_OF_RANKS = TT_FAULT_SLOW_RANK,  /* those that only show with several ranks, ... */
    TT_FAULT_OF_UPDATES = TT_FAULT_HOST_SORT /* ... and the one that --update top-k is measured against */
};

extern const char *const tt_fault_names[TT_FAULT_COUNT];
extern const char *const tt_fault_texts[TT_FAULT_COUNT];

/* Finds the fault of a value of --fault: a name, "random:SEED", or "" for none. The same SEED always draws the same
 * fault on the same kind of backend. On the CPU it never draws unpinned-copies, which only show on a GPU. */
tt_status tt_fault_find(const char *text, enum tt_fault *out);
tt_status tt_fault_check(const char *text); /* an error if it is not a value of --fault */
enum tt_fault tt_fault_of(const struct tt_config *c); /* the fault of a checked configuration */

/* What the learner may see of the fault: its name, "hidden" if it was drawn by random:SEED, "" for none. */
const char *tt_fault_shown(const struct tt_config *c);

/* Changes the configuration as the fault wants it. A second call changes nothing more. */
void tt_fault_configure(struct tt_config *c);

/* Changes the operations of a training step as the fault wants it, before their memory is placed. */
tt_status tt_fault_edit(const struct tt_config *c, struct tt_plan *p);

/* fault_ranks.c: the part of tt_fault_edit for the faults of several ranks; does nothing with one rank. */
tt_status tt_fault_edit_ranks(const struct tt_config *c, struct tt_plan *p);
/* The rank that slow-rank slows, drawn from --seed and the number of ranks; -1 with one rank. */
int tt_fault_slow_rank(const struct tt_config *c);

/* open, after_step and close of core/config/hooks.h: what the host does after each step, and in which memory it gathers
 * its batches. Without a fault *work is NULL, and the other two must not be called. */
tt_status tt_fault_open(const struct tt_visit *v, void **work);
tt_status tt_fault_step(void *work, struct tt_backend *b);
void tt_fault_close(void *work);

#endif
