/* What the files of the meter share. */
#ifndef TT_METER_PARTS_H
#define TT_METER_PARTS_H

#include "core/train/meter.h"

/* ---- meter.c ---- */

int64_t tt_meter_step_tokens(const struct tt_meter *m);
void tt_mean_add(struct tt_mean *mean, double loss, double weight); /* weight 0: there is no loss to add */
double tt_mean_of(const struct tt_mean *mean);                      /* NAN if nothing was added */

/* ---- meter_print.c: what is printed ---- */

const char *tt_loss_text(double loss, char out[32]); /* "-" if there is none */
void tt_meter_print_log(struct tt_meter *m, const struct tt_metrics *e); /* the line of every --log-interval steps */
/* Whether it is time for the progress line: on a terminal, a few times a second. */
bool tt_meter_print_due(struct tt_meter *m);
void tt_meter_print_progress(struct tt_meter *m, int64_t step);
void tt_meter_print_validation(struct tt_meter *m, int64_t step, double loss, bool best);

/* ---- meter_files.c: metrics.jsonl, TensorBoard's events, the choices of updates ---- */

tt_status tt_meter_files_open(struct tt_meter *m);
void tt_meter_files_step(struct tt_meter *m, const struct tt_metrics *e);
void tt_meter_files_validation(struct tt_meter *m, int64_t step, double loss);
void tt_meter_files_flush(struct tt_meter *m);

/* ---- meter_epochs.c ---- */

/* Counts a step in its epoch. If the step ends one, prints and writes the epoch's line. */
void tt_meter_count_epoch(struct tt_meter *m, const struct tt_metrics *e);

#endif
