/* What bounds an operator, and whether the figures bear it out. */
#ifndef TT_BOUND_H
#define TT_BOUND_H

#include <stdbool.h>

/* What is known of how two roofs were measured; NaN: not known. */
struct tt_roofs_measured {
    double load;                      /* of the machine in the minute before */
    double waited;                    /* what part of their time threads waited meanwhile, where the host computes */
    double flops_spread, bytes_spread; /* by how much the median of the samples falls short of the best */
};

/* Roofs measured on a busy machine, while threads waited, or from samples that differ much, may be too low. Samples of
 * a machine that was busy throughout agree: a roof of an eighth had a spread of 0.06 %. */
bool tt_roofs_doubtful(const struct tt_roofs_measured *m);

struct tt_roofs {
    double flops, bandwidth;
    bool doubtful;
    /* Other programs had the processors that the work ran on: for this part of the time it waited for them, and alone
     * it may have taken so many times less. 0: nothing waited. */
    double waited, slowed;
};

/* Of what the two roofs allow, compute takes longest, "compute", or memory; "uncertain" where doubtful roofs could
 * change that; "": there is no telling. Time has no part in it. */
const char *tt_roof_above(bool doubtful, double compute, double memory);

/* "compute" or "memory": the roof that the work comes nearer to. "latency": it stays below a fifth of either, also
 * alone on the machine, so that neither is what it waits for. "uncertain": doubtful roofs could change which of the two
 * it is, or it stays below a fifth by more than waiting explains, and by no more than others can be blamed for: brief
 * work may hold a whole turn of theirs. "": there is no telling. */
const char *tt_bound_by(const struct tt_roofs *roofs, double flops, double bytes, double seconds);

#endif
