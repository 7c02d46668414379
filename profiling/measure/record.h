/* The recorder: watches the operations of a step pass through a relay, and puts events and clock readings around
 * them. */
#ifndef TT_RECORD_H
#define TT_RECORD_H

#include "backend/relay.h"
#include "core/plan/plan.h"
#include "profiling/measure/launch.h"
#include "profiling/profile.h"

enum tt_record_mode {
    TT_RECORD_NOTHING, /* records nothing; `events` has one for each step, for the caller to use */
    TT_RECORD_PHASES,  /* an event and a clock reading where the phase changes; may run many steps before any is read */
    TT_RECORD_OPS,     /* an event after each operation, with the host ahead of the device; in a plan with collectives
                          also one before it, since operations on two streams need not follow each other */
    TT_RECORD_TRACE,   /* events before and after each operation, at the pace of the host */
};

/* When an operation ran, in seconds. */
struct tt_op_time {
    double start, end;
};

/* The phases of one step, in seconds: from first to last operation by the device's clock, and by the host's. */
struct tt_phase_times {
    double wall[TT_PHASES], host[TT_PHASES];
};

/* Around a copy. */
struct tt_copy_events {
    tt_event start, end;
    double bytes;
};

struct tt_recorder {
    struct tt_relay *relay;
    const struct tt_plan *plan;
    struct tt_hold *hold;
    enum tt_record_mode mode;
    double hold_seconds; /* TT_RECORD_OPS: what the host needs to enqueue a step */

    tt_event *events;
    int event_room;
    tt_event origin, end; /* for the caller to record: before the first step and after the last */
    struct tt_copy_events *copy_events;
    int copy_room;
    int copies;    /* of this step so far */
    int at;        /* operations of this step so far */
    int used;      /* events of this step so far */
    int first;     /* index of this step's first event */
    int segments;  /* phase changes in a step, + 1 */
    double *clock; /* TT_RECORD_PHASES: the host's time at each event */

    /* TT_RECORD_TRACE */
    struct tt_profile_event *trace;
    int trace_count;
    size_t trace_room;
    double zero; /* the host's clock at the origin */
    int64_t step;
    struct {
        char name[64];
        double start;
    } open[16];
    int depth;
    double wait_start;
    bool failed; /* out of memory for the trace */
};

tt_status tt_recorder_open(struct tt_recorder *r, struct tt_relay *relay, const struct tt_plan *plan,
                           struct tt_hold *hold);
void tt_recorder_close(struct tt_recorder *r); /* a trace that the caller took stays the caller's */

/* Sets the mode from here on, with events for this many steps before any is read. */
tt_status tt_recorder_mode(struct tt_recorder *r, enum tt_record_mode mode, int steps);

/* To be called when a step begins. `step` is its number in the run; `index`, for TT_RECORD_PHASES, its number, from 0,
 * since the mode was set. */
void tt_recorder_step(struct tt_recorder *r, int index, int64_t step);

/* What was recorded; to be called after the device is done.
 * - phases: the phases of step `index`; last_event: the event at that step's end.
 * - ops: the seconds of each operation and of the whole step. spans: the same for a plan with collectives, as start and
 *   end of each operation since the first one began.
 * - copies: the seconds of all copies, their bytes and their number.
 * - trace: adds the step that just ended to the trace. */
tt_status tt_recorder_phases(struct tt_recorder *r, int index, struct tt_phase_times *out);
tt_event tt_recorder_last_event(const struct tt_recorder *r, int index);
tt_status tt_recorder_ops(struct tt_recorder *r, double *seconds, double *whole);
tt_status tt_recorder_spans(struct tt_recorder *r, struct tt_op_time *spans, double *whole);
tt_status tt_recorder_copies(struct tt_recorder *r, double *seconds, double *bytes, int *count);
tt_status tt_recorder_trace(struct tt_recorder *r);

/* Opens and closes a range on the host's track. */
void tt_recorder_push(struct tt_recorder *r, const char *name);
void tt_recorder_pop(struct tt_recorder *r);

#endif
