/* Faults to find: ways in which a training goes wrong or slow in practice, switched on by --fault for the course.
 * Without it nothing here runs but a test for an empty name.
 *
 * A fault changes the configuration, the plan of a step before memory is placed, what the host does after a step, or
 * how batches reach the device. Nobody else knows of them. */
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
    TT_FAULT_OF_RANKS = TT_FAULT_SLOW_RANK, /* from here on, those that only several ranks feel */
    TT_FAULT_OF_UPDATES = TT_FAULT_HOST_SORT /* and what --update top-k is measured against; none of these is drawn */
};

extern const char *const tt_fault_names[TT_FAULT_COUNT];
extern const char *const tt_fault_texts[TT_FAULT_COUNT];

/* A name, "random:SEED", or "". A random one is none of those from TT_FAULT_OF_RANKS on, and on the CPU
 * never unpinned-copies, which only a GPU feels. */
tt_status tt_fault_find(const char *text, enum tt_fault *out);
tt_status tt_fault_check(const char *text); /* whether it can be found */
enum tt_fault tt_fault_of(const struct tt_config *c); /* of a configuration that was checked */

/* What may be told of it: its name, "hidden" when it was drawn, "" when there is none. */
const char *tt_fault_shown(const struct tt_config *c);

/* The configuration as the fault has it; the same when done twice. */
void tt_fault_configure(struct tt_config *c);

/* The operations of a training step, before their memory is placed. */
tt_status tt_fault_edit(const struct tt_config *c, struct tt_plan *p);

/* Its part for several ranks: fault_ranks.c */
tt_status tt_fault_edit_ranks(const struct tt_config *c, struct tt_plan *p);
int tt_fault_slow_rank(const struct tt_config *c); /* drawn by --seed and the number of ranks; alone, nobody: -1 */

/* What the host does after each step, and where it gathers its batches: open, after_step and close of
 * core/config/hooks.h. */
tt_status tt_fault_open(const struct tt_visit *v, void **work); /* *work NULL: this fault does nothing of it */
tt_status tt_fault_step(void *work, struct tt_backend *b);
void tt_fault_close(void *work);

#endif
