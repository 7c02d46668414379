/* The recorder: sees the operations of a step pass through a relay, and puts events and clock readings around them. */
#ifndef TT_RECORD_H
#define TT_RECORD_H

#include "backend/relay.h"
#include "core/plan/plan.h"
#include "profiling/measure/launch.h"
#include "profiling/profile.h"

enum tt_record_mode {
    TT_RECORD_NOTHING, /* `events` has one for each step, which the caller may record */
    TT_RECORD_PHASES,  /* an event and a clock reading where the phase changes; many steps before they are read */
    TT_RECORD_OPS,     /* an event after each operation, the host running ahead of the device; where ranks communicate
                          beside computation, one before it too, since then it need not follow the one before it */
    TT_RECORD_TRACE,   /* events before and after each operation, in the order and at the pace of the host */
};

/* When an operation ran, in seconds. */
struct tt_op_time {
    double start, end;
};

/* Times of one step in seconds. Phases: on the device's clock from first to last operation, and of the host. */
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

    tt_event *events; /* from the pool below */
    int event_room;
    tt_event origin, end; /* the caller's: before the first step and after the last */
    struct tt_copy_events *copy_events;
    int copy_room;
    int copies;    /* of this step */
    int at;        /* operations of this step so far */
    int used;      /* events of this step */
    int first;     /* index of this step's first event */
    int segments;  /* phase changes in a step, + 1 */
    double *clock; /* as many as events: the host's time at each, for TT_RECORD_PHASES */

    /* TT_RECORD_TRACE */
    struct tt_profile_event *trace;
    int trace_count;
    size_t trace_room;
    double zero; /* the clock at the origin */
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
void tt_recorder_close(struct tt_recorder *r); /* the trace is the caller's when it took it */

/* From here on, and with events for that many steps when none is read in between. */
tt_status tt_recorder_mode(struct tt_recorder *r, enum tt_record_mode mode, int steps);

/* A step begins; for TT_RECORD_PHASES it is number `index` of those that are not read in between. */
void tt_recorder_step(struct tt_recorder *r, int index, int64_t step);

/* After the device is done: the phases of a step and the time from `from` to its end; seconds of each operation; of the
 * copies; the trace of the step that just ended. `spans`, of a plan with collectives, are since the first operation
 * began. */
tt_status tt_recorder_phases(struct tt_recorder *r, int index, struct tt_phase_times *out);
tt_event tt_recorder_last_event(const struct tt_recorder *r, int index);
tt_status tt_recorder_ops(struct tt_recorder *r, double *seconds, double *whole);
tt_status tt_recorder_spans(struct tt_recorder *r, struct tt_op_time *spans, double *whole);
tt_status tt_recorder_copies(struct tt_recorder *r, double *seconds, double *bytes, int *count);
tt_status tt_recorder_trace(struct tt_recorder *r);

/* Ranges of the host that the caller opens itself. */
void tt_recorder_push(struct tt_recorder *r, const char *name);
void tt_recorder_pop(struct tt_recorder *r);

#endif
