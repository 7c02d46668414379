/* metrics.jsonl in the folder of a run: one JSON object per line. On resume, lines of steps that are about to be run
 * again are cut off. A full disk does not stop a run: the file then ends with its last whole line. */
#ifndef TT_METRICS_FILE_H
#define TT_METRICS_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/status.h"

struct tt_metrics_file {
    FILE *lines;                     /* to write to; NULL: there is none, or it could not be written any more */
    char path[1100], buffer[1 << 14];
    int64_t whole_bytes, whole_step; /* certainly written: this many bytes, with all steps up to this one */
    int error;                       /* errno of the first line that could not be written */
};

/* Opens the file of a run that has done `first` steps. `kept`, if not NULL, is called with each old line that stays. */
tt_status tt_metrics_file_open(struct tt_metrics_file *f, const char *folder, int64_t first,
                               void (*kept)(void *user, long long step, const char *line), void *user);
/* Writes what is buffered; the caller has put all steps up to `step`. False if that fails: `error` says why, and
 * nothing is written from then on. */
bool tt_metrics_file_flush(struct tt_metrics_file *f, int64_t step);
tt_status tt_metrics_file_status(const struct tt_metrics_file *f); /* an error when lines are missing */
void tt_metrics_file_close(struct tt_metrics_file *f);

/* JSON has no NaN or infinity: they are null. */
const char *tt_metrics_number(char out[32], double x);

#endif
