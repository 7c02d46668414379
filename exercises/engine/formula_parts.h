/* What the parser of formulas, its paths and its functions share. */
#ifndef TT_FORMULA_PARTS_H
#define TT_FORMULA_PARTS_H

#include "exercises/engine/formula.h"
#include "profiling/control.h"

enum { TT_FORMULA_ARGS = 4, TT_FORMULA_DEPTH = 32 };

struct tt_formula_parser {
    const char *text, *at;
    struct tt_formula_scope *scope;
    int depth;
    bool lenient; /* inside has(): what does not exist is missing, and no error */
};

tt_status tt_formula_error(const struct tt_formula_parser *p, const char *format,
                           ...) __attribute__((format(printf, 2, 3)));
void tt_formula_skip(struct tt_formula_parser *p);                 /* spaces */
bool tt_formula_take(struct tt_formula_parser *p, const char *token); /* and the spaces before it */
bool tt_formula_word(struct tt_formula_parser *p, char *out, size_t size); /* letters, digits and _ */
tt_status tt_formula_quoted(struct tt_formula_parser *p, char *out, size_t size);

/* A path whose first word was read already; a run before it is looked for here. */
tt_status tt_formula_path(struct tt_formula_parser *p, const char *first, struct tt_formula_value *out);

/* formula_define.c: formulas that check.yaml has given a name: `far: 2 * step.seconds`, or with parameters
 * `gain(group): groups[$group].share`. */
struct tt_formula_bound {
    const struct tt_yaml *definition;
    const struct tt_formula_value *values;
};
/* NULL: there is none of that name and so many parameters (0: without brackets). */
const struct tt_yaml *tt_formula_definition(const struct tt_formula_scope *scope, const char *name, int parameters);
tt_status tt_formula_defined(struct tt_formula_parser *p, const struct tt_yaml *definition,
                             const struct tt_formula_value *args, struct tt_formula_value *out);
/* The parameter whose name follows the $ that was read. */
tt_status tt_formula_parameter(struct tt_formula_parser *p, struct tt_formula_value *out);

/* Whether there is such a function, and its value; `args` stay the caller's. */
bool tt_formula_has_function(const char *name);
tt_status tt_formula_call(struct tt_formula_parser *p, const char *name, struct tt_formula_value *args, int n,
                          struct tt_formula_value *out);

/* formula_runs.c: the run that is read for the one at that place, and the functions of one run and of two. */
const struct tt_formula_run *tt_formula_read(struct tt_formula_parser *p, int place);
tt_status tt_formula_share(struct tt_formula_parser *p, const char *name, const struct tt_formula_value *args,
                           struct tt_formula_value *out);
tt_status tt_formula_one_run(struct tt_formula_parser *p, const char *name, const struct tt_formula_value *args,
                             struct tt_formula_value *out);
tt_status tt_formula_two_runs(struct tt_formula_parser *p, const char *name, const struct tt_formula_value *args,
                              struct tt_formula_value *out);

/* slowed.c: how many times as long as on a quiet machine the step of a run may have taken, and what was recorded of it,
 * of which its shares, roofs and bounds are; 1 where it was not busy. */
double tt_exercise_slowed(const struct tt_json *profile);
/* The same, and what part of their time threads waited for that: of ranks.json in the row that it is of, the most. */
double tt_exercise_slowed_by(const struct tt_json *profile, double *waited);
bool tt_exercise_row_was_busy(const struct tt_json *profile, const struct tt_json *row); /* of ranks.json */
int tt_exercise_threads(const struct tt_json *profile); /* that wait for each other */
double tt_exercise_shares_slowed(const struct tt_json *profile);
/* What at least was its own of that share of the recorded time. */
double tt_exercise_own(const struct tt_json *profile, double share);
bool tt_exercise_shares_busy(const struct tt_json *profile); /* by what the recorded steps waited */
bool tt_exercise_was_busy(const struct tt_json *profile);
/* run.interrupted of a profile; NaN: not known. */
double tt_exercise_interrupted(const struct tt_json *profile);
void tt_exercise_busy_words(const struct tt_json *profile, double waited, char out[120]);
double tt_exercise_load(const struct tt_json *profile);
double tt_exercise_waited(const struct tt_json *profile);
/* In the recorded steps; an old profile knows only of the others. */
double tt_exercise_recorded_waited(const struct tt_json *profile);

/* noise.c: two errors of a run's mean step, as a part of it, and no less than runs differ by, which is all that counts
 * of a busy one; 1e9 where a single step was all. The same with what a busy machine makes of it; 1 or more decides
 * nothing. */
double tt_exercise_scatter(const struct tt_json *profile);
double tt_exercise_noise_of(const struct tt_json *profile);
bool tt_exercise_is_timed(const struct tt_json *profile); /* more than one step was measured */

/* roofs.c: one product was measured for both; the rate of it, in FLOP/s; it may be too low by itself; and by how many
 * times, by itself and by what other runs of the exercise have for that device. */
bool tt_exercise_same_roof(const struct tt_json *a, const struct tt_json *b);
double tt_exercise_roof(const struct tt_json *profile);
bool tt_exercise_roof_doubtful(const struct tt_json *profile);
double tt_exercise_roof_times(const struct tt_formula_scope *scope, const struct tt_json *profile);

/* drift.c: what two runs have alike, as tt compare has it; how far its times moved, as a part, 0 where there is no such
 * thing; and what the quotient of their steps may be off by: the noise of both, no less than that, and times what a
 * busy machine may have slowed one of them by; 1 where a single step was all. */
struct tt_control tt_exercise_control(const struct tt_json *above, const struct tt_json *below);
double tt_exercise_drift(const struct tt_json *a, const struct tt_json *b);
double tt_exercise_noise_between(const struct tt_json *a, const struct tt_json *b);

/* The interval of the quotient of two runs' steps; false, and 0 to 1e9, where nothing is known. Of runs that a busy
 * machine may have slowed by any factor an end is 0, or TT_ANY_SPEEDUP. */
bool tt_exercise_range(const struct tt_json *above, const struct tt_json *below, double *low, double *high);

/* apart.c: the largest difference of the losses of the same steps, or of the norms of a tensor's gradient in the first
 * step, as a part of it; NaN where the two have none in common. */
double tt_exercise_apart(const struct tt_json *a, const struct tt_json *b, bool gradients);

static inline struct tt_formula_value tt_formula_number(double x)
{
    bool finite = x - x == 0;
    return (struct tt_formula_value){.kind = finite ? TT_FORMULA_NUMBER : TT_FORMULA_MISSING, .number = finite ? x : 0};
}

static inline struct tt_formula_value tt_formula_truth(bool x)
{
    return (struct tt_formula_value){.kind = TT_FORMULA_TRUTH, .number = x};
}

#endif
