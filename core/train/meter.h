/* The meter of a run: a progress line on a terminal, a log line every N steps, metrics as JSON lines. Losses come from
 * a ring that the device writes and that is copied back now and then, so the loop never waits for them. meter.c fetches
 * them, meter_print.c prints, meter_files.c writes files, and meter_epochs.c sums up an epoch. */
#ifndef TT_METER_H
#define TT_METER_H

#include "core/config/config.h"
#include "core/plan/engine.h"
#include "core/train/choices.h"
#include "core/train/epochs.h"
#include "core/train/eta.h"
#include "core/train/events.h"
#include "core/train/feed.h"
#include "core/train/metrics_file.h"
#include "core/train/step_clock.h"
#include "core/train/usage.h"

/* A mean of losses, each with the weight of the targets that count in it. */
struct tt_mean {
    double sum, weight;
};

struct tt_meter {
    const struct tt_config *config;
    const struct tt_epochs *epochs;
    struct tt_engine *engine;
    struct tt_metrics *ring; /* pinned copy of the device's */
    struct tt_choices choices; /* for a run that updates chosen groups of weights */
    tt_event ready;
    bool asked;         /* a copy is on its way */
    int64_t asked_step; /* the newest step in it */
    int64_t seen;       /* steps shown so far */
    int64_t first;      /* steps done before this run */
    struct tt_metrics_file file;
    struct tt_events *events; /* TensorBoard's; NULL: none */
    struct tt_eta eta;
    struct tt_usage_log usage;  /* of rank 0's device */
    const struct tt_feed *feed; /* whose waits the progress line shows; NULL: none */
    bool quiet;         /* prints nothing */
    bool terminal;      /* stderr shows a progress line */
    double start, last_paint; /* last_paint: of the progress line */
    struct {
        double busy;         /* seconds spent in steps up to that line */
        int64_t step, ended; /* the step it shows; how many had ended for the host, which may be ahead */
    } last_log;
    double recent;      /* tokens per second between the last two log lines, pauses left out */
    struct tt_step_clock clock;
    double seconds;     /* time of the step that is being shown */
    struct tt_mean sum; /* of the losses since the last log line */
    struct {
        struct tt_mean loss;
        double seconds;
        int64_t steps;
    } epoch;            /* since the epoch began, or since this run did */
    double loss;        /* mean of the last complete log interval; NAN: no target of it counted */
    double scale;       /* the last step's loss scale */
    int64_t skipped;    /* steps so far whose update was skipped */
    int64_t bad_step;   /* first step with a loss or gradients that are not finite; 0 = none */
    bool warned;
};

/* Opens the meter. `epochs` begins where the run does; epochs are shown with --epochs. */
tt_status tt_meter_open(struct tt_meter *m, struct tt_engine *e, const struct tt_config *c,
                        const struct tt_params *params, const struct tt_epochs *epochs);
/* Step `step` (from 1) is enqueued. Looks whether metrics have arrived and shows them; asks for new ones when due. */
tt_status tt_meter_step(struct tt_meter *m, int64_t step);
tt_status tt_meter_finish(struct tt_meter *m, int64_t step); /* waits for everything up to step */
/* Shows the result of a validation, whose time does not count as that of steps. */
tt_status tt_meter_validation(struct tt_meter *m, int64_t step, double loss, bool best);
tt_status tt_meter_saved(struct tt_meter *m); /* a checkpoint was written since the last step */
void tt_meter_clear(struct tt_meter *m); /* wipe the progress line before printing something else */
tt_status tt_meter_status(const struct tt_meter *m); /* an error when lines of metrics.jsonl are missing */
double tt_meter_speed(const struct tt_meter *m, int64_t step); /* overall tokens per second */
/* A step was not finite and --on-nan is stop. It is the last one shown: later steps change nothing. */
bool tt_meter_stops(const struct tt_meter *m);
/* The norm of all gradients before clipping, for a step whose metrics have been copied back. */
double tt_meter_norm(const struct tt_meter *m, int64_t step);
tt_status tt_meter_close(struct tt_meter *m); /* an error if TensorBoard's file is incomplete */

#endif
