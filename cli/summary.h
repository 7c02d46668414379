/* The result of a run: as text, as JSON, and as run.json in its folder. */
#ifndef TT_SUMMARY_H
#define TT_SUMMARY_H

#include "core/config/config.h"
#include "core/data/data.h"
#include "core/train/loop.h"

struct tt_summary {
    const struct tt_config *config;
    const struct tt_data *data;
    const struct tt_train_result *result; /* NULL: the run has not begun */
    const struct tt_progress *progress;
    double device_bytes; /* most at once, where the device has memory of its own; else 0 */
    bool flash_refused;  /* the heads were too large for the device's flash attention */
    bool interrupted;
    double load, waited; /* of the machine before the run, as tt_machine_load says; of the run, tt_turns_waited */
    int threads;         /* that wait for each other, as tt_threads_of says */
    const char *device, *model; /* as the run's first lines name them */
    const char *sample;         /* what the model writes; NULL: none was made */
};

void tt_summary_text(const struct tt_summary *s); /* time, speed, memory, losses */
void tt_summary_next(const struct tt_summary *s); /* where it was saved, and how to go on */
tt_status tt_summary_json(const struct tt_summary *s);
/* run.json, which tt report reads; without a result, before the first step, what is known by then. */
tt_status tt_summary_save(const struct tt_summary *s);

#endif
