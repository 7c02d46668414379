/* Runs side by side: profiles, benchmarks and training runs; the first is what the others are measured against. */
#ifndef TT_COMPARE_H
#define TT_COMPARE_H

#include "core/base/range.h"
#include "core/base/text.h"
#include "profiling/control.h"
#include "profiling/profile.h"

enum { TT_COMPARE_LIMIT = 16 };

struct tt_compared {
    char label[96];
    struct tt_profile profile; /* lists are empty where it is not a profile */
    double seconds;            /* of a step; NaN here and below: not known */
    double tokens_per_second, mfu_percent, memory_bytes, kernels;
    double loss;               /* the last */
    int base;                  /* the run it is measured against, see below */
    double speedup;            /* against that one */
    struct tt_range range;     /* of it, from single steps, what runs differ by and busy machines, see speedup.h */
    struct tt_control control; /* what it has alike with that one */
    bool one_build;            /* with that one, so that the range holds what all operators changed by */
    bool in_turns;             /* with the first: the range is of the ratios of pairs, and holds drift too */
    bool busy;           /* one of the two ran on a busy machine, and not in turns: the range is that much wider */
    bool undecided;      /* it is, and so wide that it holds 1 or is not known */
    bool rows_disturbed; /* groups and operators of one of the two are of disturbed steps: their quotients may be off */
    bool other_roof;     /* its MFU is of another measured rate than that of the first */
    bool same_model;     /* shape as in the first, so that speeds may be compared */
    bool other_length;   /* not, and by the length of its sequences alone */
    bool same_task;      /* shape, data and seed as in the first, so that losses may be compared */
    bool same_steps;     /* as many steps, where both know: else their learning rates differ, and so do their losses */
    double loss_difference;           /* largest against the first, over the steps that both have; NaN of other steps */
    int gradients, missing_gradients; /* tensors; those with only zeros or anything not finite */
    double gradient_difference;       /* largest of a tensor's norm in the first step, as a part of the first run's */
};

struct tt_compare_row {
    char name[192];
    double seconds[TT_COMPARE_LIMIT]; /* a step; 0: that run has none of it; NaN: that run is not a profile */
};

/* What `first` means above and below: the first run of all. Where the first path has several runs, rows of a benchmark,
 * a run of a later path is measured against the one of the same name there. */
struct tt_comparison {
    struct tt_compared runs[TT_COMPARE_LIMIT];
    int n, rows; /* rows: runs of the first path, where later ones are held against them; else 1 */
    struct tt_compare_row *groups, *operators; /* groups as in a step; operators that changed most first */
    int group_count, operator_count;
    struct tt_text warnings; /* a line each: why the comparison may mislead */
};

/* Each path is a folder or profile.json of tt profile, a bench.json (a run for each of its rows), or the folder of a
 * training run. Free with tt_compare_free, also after a failure. */
tt_status tt_compare(const char *const *paths, int n, struct tt_comparison *out);
void tt_compare_free(struct tt_comparison *c);

/* Of the speed-up of one run against another. */
tt_status tt_compare_range(const struct tt_compared *base, const struct tt_compared *r, struct tt_range *out);
/* Whether both name their build and it is the same, so that what changes in all operators alike is no change of
 * kernels. */
bool tt_compare_one_build(const struct tt_compared *a, const struct tt_compared *b);

/* Whether both profiles measured as many steps after as many of warm-up, where they say: a learning rate depends on how
 * many there are, so that losses after the first step differ where they do not. */
bool tt_compare_same_steps(const struct tt_profile *a, const struct tt_profile *b);

/* What was compared does the same work in both, operator by operator, and these alone took longer or less long, so that
 * it is the machine unless the builds or the values differ. */
bool tt_compare_same_work(const struct tt_compared *r);
/* Their losses or gradients differ by more than rounding: other values may take other times in the same operations. */
bool tt_compare_other_values(const struct tt_compared *r);

/* The runs of one path to those there are; for tt_compare. */
tt_status tt_compare_add(struct tt_comparison *c, const char *path);
/* A line for each reason why comparing a run with that one may mislead; for tt_compare. */
void tt_compare_warn(struct tt_comparison *c, struct tt_compared *r, const struct tt_compared *base);

void tt_compare_text(const struct tt_comparison *c, struct tt_text *out);  /* for a terminal */
void tt_compare_brief(const struct tt_comparison *c, struct tt_text *out); /* the runs and the warnings alone */
void tt_compare_json(const struct tt_comparison *c, struct tt_text *out);
tt_status tt_compare_write_html(const struct tt_comparison *c, const char *path); /* compare.html */

/* `conditions`, separated by commas: slower:5%, memory:10%, loss:0.02, gradients. tt_compare_gate_check says whether
 * they can be read. The gate fails with TT_GATE when one holds for any run against the first, else with TT_UNDECIDED
 * when one cannot be decided. A slowdown counts when it exceeds the limit and its interval excludes no change at all;
 * it is denied when the interval stays within the limit; else it is undecided, as with an interval of less than
 * TT_GATE_CONFIDENCE. On a busy machine, where the speed-up itself may be off, it counts when the whole interval lies
 * beyond the limit. `said` gets a line for each condition and run; it may be NULL. */
#define TT_GATE_CONFIDENCE 0.9
tt_status tt_compare_gate_check(const char *conditions);
tt_status tt_compare_gate(const struct tt_comparison *c, const char *conditions, struct tt_text *said);

#endif
