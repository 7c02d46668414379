/* Runs side by side: profiles, benchmarks and training runs. The first is what the others are compared with. */
#ifndef TT_COMPARE_H
#define TT_COMPARE_H

#include "core/base/range.h"
#include "core/base/text.h"
#include "profiling/control.h"
#include "profiling/profile.h"

enum { TT_COMPARE_LIMIT = 16 };

struct tt_compared {
    char label[96];
    struct tt_profile profile; /* of a benchmark or a training run only what that knows; most lists are empty */
    double seconds;            /* of a step; NaN here and below: not known */
    double tokens_per_second, mfu_percent, memory_bytes, kernels;
    double loss;               /* the last */
    int base;                  /* the run that it is compared with, see below */
    double speedup;            /* over that one */
    struct tt_range range;     /* the interval of the speed-up (tt_compare_range) */
    struct tt_control control; /* the operators in common with that one */
    bool one_build;            /* same build as that one, so the range also holds what all operators changed by */
    bool in_turns;             /* timed in turns with the first: the range is of the ratios of pairs, drift included */
    bool busy;           /* one of the two ran on a busy machine, and not in turns: the range is wider by that */
    bool undecided;      /* `busy`, and the range holds 1 or is not known */
    bool rows_disturbed; /* groups and operators of one of the two are of disturbed steps: their ratios may be off */
    bool other_roof;     /* its MFU is of another measured roof than the first's */
    bool same_model;     /* same shape as the first, so speeds can be compared */
    bool other_length;   /* not the same shape, and only by the length of the sequences */
    bool same_task;      /* same shape, batch, data and seed as the first, so losses can be compared */
    bool same_steps;     /* same numbers of steps and warm-up, or not known; else learning rates and losses differ */
    double loss_difference;           /* the largest from the first, over steps that both have; NaN: not comparable */
    int gradients, missing_gradients; /* tensors; those with a gradient of zeros, or with values that are not finite */
    double gradient_difference;       /* first step: largest difference of a tensor's norm, relative to the first run */
};

struct tt_compare_row {
    char name[192];
    double seconds[TT_COMPARE_LIMIT]; /* per step; 0: that run has no such row; NaN: not known, or no profile */
};

/* Above and below, "the first" is the first of all runs. If the first path has several runs, the rows of a benchmark,
 * then a run of a later path is compared with the row of the same name there. */
struct tt_comparison {
    struct tt_compared runs[TT_COMPARE_LIMIT];
    int n, rows; /* rows: runs of the first path, if later ones are compared with those; else 1 */
    struct tt_compare_row *groups, *operators; /* groups as in a step; operators that changed most come first */
    int group_count, operator_count;
    struct tt_text warnings; /* a line for each reason why the comparison may mislead */
};

/* Each path is a folder or profile.json of tt profile, a bench.json (a run for each of its rows), or the folder of a
 * training run. Free with tt_compare_free, also after a failure. */
tt_status tt_compare(const char *const *paths, int n, struct tt_comparison *out);
void tt_compare_free(struct tt_comparison *c);

/* The interval of the speed-up of `r` over `base`: tt_speedup_range, in tokens per second. */
tt_status tt_compare_range(const struct tt_compared *base, const struct tt_compared *r, struct tt_range *out);
/* Whether both runs name their build, and it and their own kernel, if any, are the same. Then a change of all operators
 * alike is no change of kernels. */
bool tt_compare_one_build(const struct tt_compared *a, const struct tt_compared *b);

/* Whether both profiles measured the same number of steps after the same number of warm-up steps, where they know it.
 * Otherwise learning rates differ, since these depend on the number of steps, and so do losses after the first step. */
bool tt_compare_same_steps(const struct tt_profile *a, const struct tt_profile *b);

/* Whether a run and its base do the same work, operator by operator, and the times of these operators explain the
 * speed-up. Then the reason is the machine, unless the builds or the values differ. */
bool tt_compare_same_work(const struct tt_compared *r);
/* Whether losses or gradients differ by more than rounding: with other values, the same operations may take another
 * time. */
bool tt_compare_other_values(const struct tt_compared *r);

/* Adds the runs of one path; for tt_compare. */
tt_status tt_compare_add(struct tt_comparison *c, const char *path);
/* Adds a warning for each reason why comparing a run with `base` may mislead; for tt_compare. */
void tt_compare_warn(struct tt_comparison *c, struct tt_compared *r, const struct tt_compared *base);

void tt_compare_text(const struct tt_comparison *c, struct tt_text *out);  /* for a terminal */
void tt_compare_brief(const struct tt_comparison *c, struct tt_text *out); /* the runs and the warnings alone */
void tt_compare_json(const struct tt_comparison *c, struct tt_text *out);
tt_status tt_compare_write_html(const struct tt_comparison *c, const char *path); /* compare.html */

/* The gate. `conditions`, separated by commas: slower:5%, memory:10%, loss:0.02, gradients. tt_compare_gate_check tells
 * whether they can be read. The gate fails with TT_GATE if one holds for any run against the first, else with
 * TT_UNDECIDED if one cannot be decided. `said` gets a line for each condition and run; it may be NULL.
 *
 * Whether a run is slower:
 * - It is, if the slowdown exceeds the limit and its interval excludes no change at all. On a busy machine, where the
 *   speed-up itself may be off, the whole interval has to lie beyond the limit.
 * - It is not, if the interval stays within the limit.
 * - Otherwise it is undecided, and also if the confidence of the interval is below TT_GATE_CONFIDENCE. */
#define TT_GATE_CONFIDENCE 0.9
tt_status tt_compare_gate_check(const char *conditions);
tt_status tt_compare_gate(const struct tt_comparison *c, const char *conditions, struct tt_text *said);

#endif
