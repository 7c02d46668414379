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
    double device_bytes; /* peak, if the device has memory of its own; else 0 */
    bool flash_refused;  /* the heads were too large for the device's flash attention */
    bool interrupted;
    double load, waited; /* tt_machine_load before the run; tt_turns_waited of the run */
    int threads;         /* as tt_threads_of says */
    const char *device, *model; /* as the run's first lines name them */
    const char *sample;         /* what the model writes; NULL: none was made */
};

void tt_summary_text(const struct tt_summary *s); /* time, speed, memory, losses */
void tt_summary_next(const struct tt_summary *s); /* where it was saved, and how to go on */
tt_status tt_summary_json(const struct tt_summary *s);
/* Writes run.json, which tt report reads. Before the first step there is no result, and it has what is known by
 * then. */
tt_status tt_summary_save(const struct tt_summary *s);

#endif
