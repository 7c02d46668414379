/* From raw times and the plan to the tables of a profile. */
#ifndef TT_DERIVE_H
#define TT_DERIVE_H

#include "core/job/job.h"
#include "profiling/bound.h"
#include "profiling/measure/ceiling.h"
#include "profiling/measure/passes.h"

/* "1024x512x2048", "32x(128x128x64)", or "" for what is not a GEMM. */
void tt_op_shape(const struct tt_op *op, char out[64]);

/* Roofs for tt_bound_by, with `rate` as the compute roof: for a row, which was timed in the recorded steps, and for the
 * whole step, which was timed undisturbed. */
struct tt_roofs tt_roofs_of_row(const struct tt_ceilings *c, double rate, const struct tt_profile *p);
struct tt_roofs tt_roofs_of_step(const struct tt_ceilings *c, double rate, const struct tt_profile *p);

/* Fills step, launch, operators, groups, and r->t.median; the second, after it, phases and components. */
tt_status tt_derive_times(struct tt_passes *r, const struct tt_ceilings *c, struct tt_profile *out);
tt_status tt_derive_parts(struct tt_passes *r, struct tt_profile *out);
/* The time that a step, launched operation by operation, takes outside its phases, with what follows it: the host's
 * work between steps. The median over the steps. */
double tt_outside_phases(struct tt_passes *r);

/* FLOPs of a step's forward pass: only the matrix products of the model's mathematics. `forward` counts the half of
 * causal attention that is needed, `forward_full` all of S x S. */
struct tt_model_work {
    double forward, forward_full;
};
struct tt_model_work tt_model_work(const struct tt_model *m);
/* "low", "moderate", "good", "high"; "n/a" for NaN. */
const char *tt_mfu_class(double percent);

/* Fills efficiency, roofs and points; after tt_derive_times. */
tt_status tt_derive_efficiency(const struct tt_passes *r, const struct tt_ceilings *c, struct tt_profile *out);

/* Fill memory, memory_kinds, activations and memory_phases; and sweeps, which are planned here and not run. */
tt_status tt_derive_memory(const struct tt_passes *r, struct tt_profile *out);
tt_status tt_derive_sweeps(const struct tt_passes *r, struct tt_profile *out);

/* Fills job, collectives, ranks and rank_events of a profile that has all the rest; nothing for a plan without
 * collectives. All ranks call it; rank 0 then has the events of all. */
tt_status tt_derive_ranks(struct tt_passes *r, struct tt_job *job, struct tt_profile *out);

/* Reads the gradients of the first step; to be called right after it. The second fills samples and gradients, and the
 * step's loss and grad_norm, once all steps are done. */
tt_status tt_take_first_gradients(struct tt_passes *r);
tt_status tt_derive_training(struct tt_passes *r, struct tt_profile *out);

#endif
