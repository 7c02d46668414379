/* How busy the device is during a run. The host asks once a second, between two steps, and never waits for the device.
 */
#ifndef TT_USAGE_H
#define TT_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"

struct tt_usage_log {
    struct tt_backend *backend; /* NULL: nobody can say */
    struct tt_usage now;        /* the newest answer */
    double asked;               /* when that was asked, or the start */
    int others;                 /* the most other programs that any answer named */
    double share, seconds;      /* over all answers: sum of share x seconds, and of the seconds that they are for */
};

void tt_usage_open(struct tt_usage_log *u, struct tt_backend *b, double now);
/* Asks if the last answer is a second old. */
void tt_usage_ask(struct tt_usage_log *u, double now);
/* Call it when the run has ended. Asks if it has not been asked yet, since the run took less than a second. */
void tt_usage_end(struct tt_usage_log *u, double now);

bool tt_usage_known(const struct tt_usage_log *u);  /* whether `now` is of this run */
double tt_usage_mean(const struct tt_usage_log *u); /* over the run, 0 to 1; NaN: not known */

/* How many other programs have the device open; 0 also if that is not known. Not for the loop: it asks the device's
 * library. And for a note: "another program has the GPU open", "2 other programs have ..."; "" if none has. */
int tt_usage_others(struct tt_backend *b);
void tt_usage_others_words(int others, char out[80]);

/* "gpu 98 %", "threads 97 %"; "" if nothing is known. */
void tt_usage_text(const struct tt_usage_log *u, char out[32]);
/* "12.1 of 139.8 GiB"; "" if the device has no memory of its own. */
void tt_usage_memory_text(const struct tt_usage_log *u, char out[48]);

#endif
