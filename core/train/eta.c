#include "core/train/eta.h"

#include <stddef.h>

enum { SETTLING = 2 }; /* steps: the first sets libraries up, the second may be captured as a graph */

void tt_eta_start(struct tt_eta *e, double now) { *e = (struct tt_eta){.last = now, .apart = 1}; }

static double since(struct tt_eta *e, double now)
{
    double seconds = now > e->last ? now - e->last : 0;
    e->last = now;
    return seconds;
}

static void mark(struct tt_eta *e)
{
    if (e->steps < SETTLING || (e->steps - SETTLING) % e->apart) return;
    if (e->count == TT_ETA_MARKS) {
        for (int i = 0; i < TT_ETA_MARKS / 2; i++) e->marks[i] = e->marks[2 * i];
        e->count = TT_ETA_MARKS / 2;
        e->apart *= 2;
        if ((e->steps - SETTLING) % e->apart) return;
    }
    e->marks[e->count++] = (struct tt_eta_mark){e->steps, e->busy};
}

void tt_eta_step(struct tt_eta *e, double now)
{
    e->busy += since(e, now);
    e->steps++;
    mark(e);
}

void tt_eta_wait(struct tt_eta *e, double now) { e->busy += since(e, now); }

double tt_eta_busy(const struct tt_eta *e, double now) { return e->busy + (now > e->last ? now - e->last : 0); }

void tt_eta_pause(struct tt_eta *e, enum tt_pause what, double now)
{
    e->pauses[what].seconds += since(e, now);
    e->pauses[what].count++;
}

/* Over the last three quarters of the steps: long enough to even out noise, and it follows a machine that slows
 * down. */
static double step_seconds(const struct tt_eta *e)
{
    const struct tt_eta_mark *from = NULL;
    for (int i = 0; i < e->count && (!from || e->marks[i].step <= SETTLING + (e->steps - SETTLING) / 4); i++)
        from = &e->marks[i];
    if (from && e->steps > from->step) return (e->busy - from->busy) / (double)(e->steps - from->step);
    return e->steps ? e->busy / (double)e->steps : 0;
}

double tt_eta_left(const struct tt_eta *e, const struct tt_eta_work *work)
{
    double step = step_seconds(e), seconds = step * (double)work->steps;
    for (int p = 0; p < TT_PAUSES; p++) {
        double each = e->pauses[p].count ? e->pauses[p].seconds / (double)e->pauses[p].count : 0;
        if (!e->pauses[p].count && p == TT_PAUSE_VALIDATION) each = step * work->validation_steps;
        seconds += each * (double)work->pauses[p];
    }
    return seconds;
}

int64_t tt_eta_times(int64_t done, int64_t end, int64_t interval)
{
    if (interval <= 0 || done >= end) return 0;
    return end / interval - done / interval + (end % interval != 0);
}
