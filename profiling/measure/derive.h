/* From raw times and the plan to the tables of a profile. */
#ifndef TT_DERIVE_H
#define TT_DERIVE_H

#include "core/job/job.h"
#include "profiling/bound.h"
#include "profiling/measure/ceiling.h"
#include "profiling/measure/passes.h"

/* "1024x512x2048", "32x(128x128x64)", or "" for what is not a GEMM. */
void tt_op_shape(const struct tt_op *op, char out[64]);

/* The roofs of work whose compute roof is `rate`: of a row, whose times are of the recorded steps, and of the step. */
struct tt_roofs tt_roofs_of_row(const struct tt_ceilings *c, double rate, const struct tt_profile *p);
struct tt_roofs tt_roofs_of_step(const struct tt_ceilings *c, double rate, const struct tt_profile *p);

/* step, launch, operators, groups; also r->t.median. Then phases and components. */
tt_status tt_derive_times(struct tt_passes *r, const struct tt_ceilings *c, struct tt_profile *out);
tt_status tt_derive_parts(struct tt_passes *r, struct tt_profile *out);
/* What a step that is launched one by one takes outside its phases, and what follows it: the host's work between
 * steps. */
double tt_outside_phases(struct tt_passes *r);

/* FLOPs of the mathematics of a step, over the matrix products alone. */
struct tt_model_work {
    double forward, forward_full;
};
struct tt_model_work tt_model_work(const struct tt_model *m);
const char *tt_mfu_class(double percent);

/* efficiency, roofs, points; after tt_derive_times. */
tt_status tt_derive_efficiency(const struct tt_passes *r, const struct tt_ceilings *c, struct tt_profile *out);

/* memory, memory_kinds, activations, memory_phases; sweeps without running any. */
tt_status tt_derive_memory(const struct tt_passes *r, struct tt_profile *out);
tt_status tt_derive_sweeps(const struct tt_passes *r, struct tt_profile *out);

/* job, collectives, ranks, rank_events, of a profile that has all the rest; nothing in a plan without collectives. All
 * ranks call it; rank 0 has the events of all. */
tt_status tt_derive_ranks(struct tt_passes *r, struct tt_job *job, struct tt_profile *out);

/* The gradients of the first step, right after it; then samples and gradients, from the device. */
tt_status tt_take_first_gradients(struct tt_passes *r);
tt_status tt_derive_training(struct tt_passes *r, struct tt_profile *out);

#endif
