/* What tt diagnose finds out before a run: measurements, and what follows from them. */
#ifndef TT_DIAGNOSE_H
#define TT_DIAGNOSE_H

#include "cli/common.h"
#include "cli/ranks.h"
#include "core/base/json.h"
#include "profiling/measure/links.h"
#include "profiling/measure/steps.h"

struct tt_diagnose_options {
    bool quick;
    char cards[512]; /* that are not here; "": this device */
};

enum tt_level { TT_ADVICE, TT_WARN, TT_FATAL };

struct tt_finding {
    enum tt_level level;
    char what[320];   /* with the number that was measured */
    char change[160]; /* what to do about it */
};

struct tt_timing {
    double median, slow; /* seconds of a step; `slow`: 19 of 20 are faster */
    double tokens_per_second;
    double memory; /* bytes of device memory */
    double waited; /* part of the time that threads waited for a processor; NaN: not known */
    int steps;     /* that were timed */
};

enum { TT_SWEEP_ROWS = 5, TT_FINDINGS = 32 };

struct tt_sweep_row {
    int64_t batch_size;
    bool fits;
    struct tt_timing t;
};

/* One of several ranks: its machine, the memory that is free for it, and the most that its device had in use at
 * once. */
struct tt_rank_seat {
    char host[64];
    double room, peak; /* bytes */
};

/* Several ranks: how fast they communicate, and what that costs a step. */
struct tt_rank_diagnosis {
    struct tt_links links;
    struct tt_rank_seat *seats; /* of each rank */
    int collectives;
    double sent;                             /* bytes in a step, by each rank */
    double communication, exposed, own;      /* seconds of a step: two predicted from the links; of kernels, measured */
    struct tt_overlap measured;              /* whole steps */
};

struct tt_diagnosis {
    struct tt_member member;
    struct tt_rank_diagnosis ranks; /* of several */
    struct tt_options o;
    const struct tt_diagnose_options *own;
    struct tt_config *c;
    struct tt_config trial; /* another configuration, to try out */
    char *checkpoint; /* resumed from, or NULL */
    int64_t done;     /* steps of it */
    struct tt_backend backend;
    struct tt_device_info device;
    struct tt_data *data;

    double need, room;                             /* bytes of device memory: needed by a rank; free for it */
    double pinned, pinned_limit;                   /* bytes; no limit: INFINITY */
    double checkpoint_bytes, disk_need, disk_free; /* disk_free < 0: not known */
    int64_t parameters;
    char note[160]; /* what the device does not compute as asked for */
    char note_fp8[160]; /* which products have no 8-bit factors in fp8 */
    double epochs; /* 0: endless data */

    struct tt_timing step;
    double data_seconds;                           /* to gather the data of a step */
    double validation_seconds;                     /* of one validation */
    double step_time, validation_time, total_time; /* of the whole run */
    struct tt_sweep_row rows[TT_SWEEP_ROWS];
    int row_count, sweet; /* sweet: the smallest batch within 5 % of the best; -1: none, or a busy machine hides it */
    double load;          /* as tt_machine_load says */
    int others;           /* other programs that have the device open */

    struct tt_finding findings[TT_FINDINGS];
    int count;
};

/* How many ranks share the device's memory: on a CPU those of a machine, else 1. */
static inline double tt_diagnose_sharing(const struct tt_diagnosis *d)
{
    return d->member.job && d->device.shares_memory ? d->member.place.local_ranks : 1;
}

/* ---- measuring (diagnose_measure.c) ---- */

/* Times at most `most` steps of this configuration, for about `seconds`, after a few to warm up. */
tt_status tt_time_steps(struct tt_diagnosis *d, const struct tt_config *c, int most, double seconds,
                        struct tt_timing *out);
tt_status tt_diagnose_sizes(struct tt_diagnosis *d); /* memory, disk, limits */
tt_status tt_diagnose_speed(struct tt_diagnosis *d); /* step, data, validation, the whole run */
tt_status tt_diagnose_sweep(struct tt_diagnosis *d); /* other batch sizes */
void tt_diagnose_sweet_spot(struct tt_diagnosis *d); /* sets d->sweet from d->rows */
/* How many times as long as on a quiet machine those steps may have taken. */
double tt_diagnose_slowed(const struct tt_diagnosis *d, const struct tt_timing *t);

/* ---- several ranks (diagnose_ranks.c) ---- */

tt_status tt_diagnose_ranks(struct tt_diagnosis *d); /* nothing where there is one */
void tt_diagnose_print_ranks(const struct tt_diagnosis *d);
void tt_diagnose_put_ranks(struct tt_json_writer *w, const struct tt_diagnosis *d);

/* ---- judging (diagnose_judge.c) ---- */

void tt_diagnose_judge_sizes(struct tt_diagnosis *d); /* memory, disk, data; before anything is allocated */
tt_status tt_diagnose_judge_speed(struct tt_diagnosis *d);
void tt_diagnose_judge_ranks(struct tt_diagnosis *d);
/* Adds a finding about a change that was tried, if it is clearly faster however much other programs slowed the step. */
void tt_diagnose_judge_instead(struct tt_diagnosis *d, const struct tt_timing *t, const char *change);
enum tt_level tt_diagnose_worst(const struct tt_diagnosis *d); /* TT_ADVICE when there is nothing worse */

/* ---- for cards that are not here (diagnose_for.c) ---- */

/* Checks the value of --for. */
tt_status tt_check_cards(const char *list);
tt_status tt_diagnose_for(const struct tt_options *o);

/* ---- printing (diagnose_print.c) ---- */

void tt_diagnose_text(const struct tt_diagnosis *d);
tt_status tt_diagnose_json(const struct tt_diagnosis *d);

#endif
