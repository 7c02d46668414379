/* How busy the device is while a run goes on: asked once a second, by the host between two steps, and never in a way
 * that waits for the device. */
#ifndef TT_USAGE_H
#define TT_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"

struct tt_usage_log {
    struct tt_backend *backend; /* NULL: nobody can say */
    struct tt_usage now;        /* the newest answer */
    double asked;               /* when that was, or the start */
    double share, seconds;      /* sum of share x seconds, and of seconds, that the answers are for */
};

void tt_usage_open(struct tt_usage_log *u, struct tt_backend *b, double now);
/* Asks if the last answer is a second old. */
void tt_usage_ask(struct tt_usage_log *u, double now);
/* The run has ended: one that took less than a second has not been asked about yet. */
void tt_usage_end(struct tt_usage_log *u, double now);

bool tt_usage_known(const struct tt_usage_log *u);  /* `now` is of this run */
double tt_usage_mean(const struct tt_usage_log *u); /* over the run, 0 to 1; NaN: not known */

/* "gpu 98 %", "threads 97 %"; "" where nothing is known. */
void tt_usage_text(const struct tt_usage_log *u, char out[32]);
/* "12.1 of 139.8 GiB"; "" where the device has no memory of its own. */
void tt_usage_memory_text(const struct tt_usage_log *u, char out[48]);

#endif
