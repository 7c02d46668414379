/* What bounds an operator (compute, memory or latency), and whether the measurements are good enough to tell. */
#ifndef TT_BOUND_H
#define TT_BOUND_H

#include <stdbool.h>

/* How the two roofs, compute and memory, were measured; NaN: not known. */
struct tt_roofs_measured {
    double load;                      /* of the machine in the minute before, as tt_machine_load says */
    double waited;                    /* on a CPU: fraction of the time that threads waited for a processor meanwhile */
    double flops_spread, bytes_spread; /* how far the median sample falls below the best, 0 to 1 */
};

/* Whether the roofs may be too low: measured on a busy machine, while threads waited, or from samples that differ by
 * more than a quarter. Samples that agree prove nothing if the machine was busy throughout: a roof that was measured at
 * an eighth of its true rate had a spread of 0.06 %. */
bool tt_roofs_doubtful(const struct tt_roofs_measured *m);

struct tt_roofs {
    double flops, bandwidth; /* FLOP/s, bytes/s */
    bool doubtful;           /* tt_roofs_doubtful */
    /* What other programs did to the work that is judged: the fraction of its time that it waited for them (0: none),
     * and how many times as long as alone it may have taken, at most. */
    double waited, slowed;
};

/* Which roof the work lies under, whatever time it took. compute, memory: the time that it needs at each roof, or any
 * two numbers in that proportion. Returns the one that needs longer, "compute" or "memory"; "uncertain" where doubtful
 * roofs could change that; "" where it is not known. */
const char *tt_roof_above(bool doubtful, double compute, double memory);

/* What bounds work of `flops` and `bytes` that took `seconds`:
 * - "compute" or "memory": the roof that it comes nearer to.
 * - "latency": it reaches less than a fifth of either roof, and would do so alone on the machine, too: neither roof
 *   limits it.
 * - "uncertain": doubtful roofs could change which of the two it is. Or it reaches less than a fifth even without the
 *   time that it waited, but might reach more alone on the machine (work shorter than TT_BRIEF may hold a whole time
 *   slice of another program).
 * - "": not known. */
const char *tt_bound_by(const struct tt_roofs *roofs, double flops, double bytes, double seconds);

#endif
