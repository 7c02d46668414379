/* How long a run still takes. Steps, validations and saves are timed separately, so that a pause does not make the
 * steps look slow. The first steps, in which libraries set themselves up, do not count. The caller passes the time
 * (`now`). */
#ifndef TT_ETA_H
#define TT_ETA_H

#include <stdint.h>

enum { TT_ETA_MARKS = 64 };

enum tt_pause { TT_PAUSE_VALIDATION, TT_PAUSE_SAVE, TT_PAUSES };

struct tt_eta {
    double last;   /* when the last step, wait or pause ended */
    double busy;   /* seconds spent in steps */
    int64_t steps; /* that have ended */
    struct tt_eta_mark {
        int64_t step;
        double busy;
    } marks[TT_ETA_MARKS]; /* every `apart` steps; twice as far apart whenever the list is full */
    int count;
    int64_t apart;
    struct {
        double seconds;
        int64_t count;
    } pauses[TT_PAUSES];
};

/* What is still to be done. */
struct tt_eta_work {
    int64_t steps, pauses[TT_PAUSES];
    double validation_steps; /* how many steps a validation takes: a guess until the first is timed */
};

void tt_eta_start(struct tt_eta *e, double now);
void tt_eta_step(struct tt_eta *e, double now); /* a step has ended */
void tt_eta_wait(struct tt_eta *e, double now); /* the time since `last` belongs to the steps */
void tt_eta_pause(struct tt_eta *e, enum tt_pause what, double now); /* a pause has ended */

double tt_eta_busy(const struct tt_eta *e, double now); /* seconds spent in steps, including the current one */

/* Seconds until the work is done; 0 as long as no step has ended. */
double tt_eta_left(const struct tt_eta *e, const struct tt_eta_work *work);

/* How often the loop will do something that it does every `interval` steps and at the end: the multiples of `interval`
 * in (done, end], and one more if `end` is not a multiple. */
int64_t tt_eta_times(int64_t done, int64_t end, int64_t interval);

#endif
