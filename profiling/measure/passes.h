/* The passes of a measurement over a training run, and what they leave. Shared by the files that measure. */
#ifndef TT_PASSES_H
#define TT_PASSES_H

#include "core/base/load.h"
#include "model/session.h"
#include "profiling/measure/measure.h"
#include "profiling/measure/record.h"

/* Raw times; a row of `steps` for each operation. */
struct tt_times {
    int steps, ops;
    double *step;      /* undisturbed, as configured */
    double *launched;  /* undisturbed, operation by operation */
    double *op;        /* [ops][steps], without the cost of events; of collectives only what is exposed */
    double *beside;    /* [ops][steps]: of collectives, all of it; NULL in a plan without any */
    double *recorded;  /* steps with an event after each operation */
    double *copy;      /* copies of a step */
    double *data_host; /* in which the host made the next batch ready */
    double *scratch;   /* steps */
    int64_t *number;   /* of the undisturbed steps in the run */
    double *one;       /* ops: of one step */
    struct tt_op_time *spans; /* ops: of one step, of a plan with collectives */
    double *median;    /* ops: derived from op, so that all add up */
    double scale;      /* what their own medians were multiplied with for that */
    double copy_median;
    struct tt_phase_times *phase; /* steps of them */
    double wall;                  /* of the undisturbed steps, per step */
    struct tt_turns turns;        /* in all of them */
    struct tt_turns recorded_turns;
    double copy_bytes;
    int copy_count;
    double waits;
    double graph_pool; /* bytes; NaN: no graph */
};

struct tt_passes {
    const struct tt_profile_options *o;
    struct tt_config config;
    struct tt_device_info before; /* the device before anything was allocated */
    struct tt_device_info after;  /* and after the warm-up, when all is in place */
    bool serial;                  /* the device runs copies and kernels one after the other */
    struct tt_relay relay;
    struct tt_backend backend; /* the relay's */
    struct tt_session session;
    struct tt_data *data;
    struct tt_run run;
    struct tt_hold hold;
    struct tt_recorder recorder;
    struct tt_profile_launch launch;
    struct tt_profile_gradient *first_gradients; /* of the first step, a row for each parameter; NULL: not taken */
    int64_t warmed; /* steps before anything was measured */
    bool graph;
    int traced; /* steps of the trace */
    struct tt_times t;
};

/* Opens model, memory, data and recorder for config; o and config are set. */
tt_status tt_passes_open(struct tt_passes *r);
void tt_passes_close(struct tt_passes *r);

/* Warm-up, then every pass; only the undisturbed steps without `record`. */
tt_status tt_passes_run(struct tt_passes *r, bool record);

/* Median of a row of t.steps numbers that stays in its order. */
double tt_passes_median(struct tt_passes *r, const double *row);

#endif
