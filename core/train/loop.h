/* The training loop. It hands plans to the backend, feeds them data, and reads the metrics late: between two log lines
 * the host waits only if it is too far ahead of the device. */
#ifndef TT_TRAIN_H
#define TT_TRAIN_H

#include "core/train/run.h"

struct tt_train {
    struct tt_run *run;      /* not started; afterwards its progress says where it ended */
    const char *config_text; /* kept in the checkpoints; NULL: none */
    const char *folder;      /* that paths in config_text are relative to; NULL: not kept */
    const char *command;     /* that resumes the run, for the messages after a signal and a NaN */
};

struct tt_train_result {
    double epochs, epochs_here; /* in all, and of this run; 0: the data never end */
    double loss;          /* mean of the last log interval's training losses */
    double val_loss;      /* of the last validation; NaN: none */
    int64_t val_step;     /* after which it was */
    double tokens_per_second, seconds;
    double data_seconds;  /* of `seconds`: the loop waited for data */
    double validation_seconds, saving_seconds; /* of `seconds`: the steps stood still for validations and saves */
    double device_utilisation;   /* share of the time in which the device computed, 0 to 1; NaN: not known */
    int device_others;           /* other programs that had the device open, the most at a time */
    int64_t steps;        /* run now, not counting those before a resume */
    int64_t skipped;      /* steps of the whole run that changed nothing */
    bool early_stop;
};

tt_status tt_train_run(const struct tt_train *t, struct tt_train_result *result);

#endif
