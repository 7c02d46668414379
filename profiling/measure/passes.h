/* The passes of a measurement over a training run, and the times that they take. Shared by the files that measure. */
#ifndef TT_PASSES_H
#define TT_PASSES_H

#include "core/base/load.h"
#include "model/session.h"
#include "profiling/measure/measure.h"
#include "profiling/measure/record.h"

/* Raw times in seconds, for each step; [ops][steps]: a row of steps for each operation. */
struct tt_times {
    int steps, ops;
    double *step;      /* undisturbed, as configured */
    double *launched;  /* the same, launched operation by operation */
    double *op;        /* [ops][steps], without the cost of events; of communication only what is exposed */
    double *beside;    /* [ops][steps]: of communication, all of it; NULL for a plan without collectives */
    double *recorded;  /* the recorded steps, with an event after each operation */
    double *copy;      /* all copies of a step */
    double *data_host; /* the host's time to make the next batch ready */
    double *scratch;   /* room for `steps` values */
    int64_t *number;   /* the numbers of the undisturbed steps in the run */
    double *one;       /* [ops]: room for one step */
    struct tt_op_time *spans; /* [ops]: room for one step of a plan with collectives */
    double *median;    /* [ops]: medians of op, scaled so that they add up (derive_times.c) */
    double scale;      /* the factor of that */
    double copy_median;
    struct tt_phase_times *phase; /* [steps] */
    double wall;                  /* by the host's clock, per undisturbed step */
    struct tt_turns turns;        /* how threads waited in all undisturbed steps */
    struct tt_turns recorded_turns; /* and in all recorded ones */
    double copy_bytes; /* of a step, as is copy_count */
    int copy_count;
    double waits;      /* per step, calls in which the host waits */
    double graph_pool; /* bytes; NaN: no graph */
};

struct tt_passes {
    const struct tt_profile_options *o;
    struct tt_config config;
    struct tt_device_info before; /* the device before anything was allocated */
    struct tt_device_info after;  /* and after the warm-up, when everything is in place */
    bool serial;                  /* a CPU: copies and kernels run one after the other, as they are enqueued */
    struct tt_relay relay;
    struct tt_backend backend; /* the relay's */
    struct tt_session session;
    struct tt_data *data;
    struct tt_run run;
    struct tt_hold hold;
    struct tt_recorder recorder;
    struct tt_profile_launch launch;
    struct tt_profile_gradient *first_gradients; /* of the first step, a row for each parameter; NULL: not taken */
    int64_t warmed; /* steps that ran before anything was measured */
    bool graph;     /* the step is captured and replayed */
    int traced;     /* steps of the trace */
    struct tt_times t;
};

/* Opens model, memory, data and recorder; r->o and r->config must be set. */
tt_status tt_passes_open(struct tt_passes *r);
void tt_passes_close(struct tt_passes *r);

/* Runs the warm-up and then every pass; without `record` only the undisturbed steps. */
tt_status tt_passes_run(struct tt_passes *r, bool record);

/* The median of a row of t.steps numbers. The row stays as it is; t.scratch has it sorted. */
double tt_passes_median(struct tt_passes *r, const double *row);

#endif
