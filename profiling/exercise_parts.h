/* What the files that judge an answer share. */
#ifndef TT_EXERCISE_PARTS_H
#define TT_EXERCISE_PARTS_H

#include "profiling/exercise.h"

void tt_exercise_because(struct tt_mark *m, enum tt_mark_kind kind, const char *reason);

/* exercise_number.c */

/* Reads the number that was given, with or without its unit; where there is none, says in the mark why. */
bool tt_exercise_number(const struct tt_question *q, struct tt_mark *m, double *out);
bool tt_exercise_near(const struct tt_question *q, double x, double right);
/* What a wrong number looks like. `measured`: the right one comes from a run. */
const char *tt_exercise_slip(const struct tt_question *q, double x, double right, const char *given, bool measured);
const char *tt_exercise_outside(bool below, bool measured);

/* exercise_noise.c: a line about the right answers that are speed-ups within the noise of their runs; nothing where none is. */
void tt_exercise_noise(const struct tt_marked *m, struct tt_text *out);

#endif
