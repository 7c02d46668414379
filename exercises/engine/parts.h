/* What the files that judge an answer share. */
#ifndef TT_EXERCISE_PARTS_H
#define TT_EXERCISE_PARTS_H

#include "exercises/engine/exercise.h"

void tt_exercise_because(struct tt_mark *m, enum tt_mark_kind kind, const char *reason);

/* exercise_number.c */

/* Reads the number that was given, with or without its unit; where there is none, says in the mark why. */
bool tt_exercise_number(const struct tt_question *q, struct tt_mark *m, double *out);
bool tt_exercise_near(const struct tt_question *q, double x, double right);
/* What a wrong number looks like. `measured`: the right one comes from a run. */
const char *tt_exercise_slip(const struct tt_question *q, double x, double right, const char *given, bool measured);
const char *tt_exercise_outside(bool below, bool measured);

/* exercise_sheet.c */

enum { TT_SLIPS = 256 };

/* An answer that is not valid YAML, or that YAML readers understand differently. */
struct tt_slip {
    int line;
    bool broken; /* its value could not be made out */
    char reason[300];
};

struct tt_sheet {
    struct tt_yaml *tree; /* with what was written, as if it had been in quotes */
    struct tt_slip *slips;
    int slip_count;
};

/* Errors only where what cannot be read is not an answer. Free it, also after a failure. */
tt_status tt_sheet_read(const char *path, struct tt_sheet *out);
const struct tt_slip *tt_sheet_slip(const struct tt_sheet *sheet, const struct tt_yaml *answer);
void tt_sheet_free(struct tt_sheet *sheet);

/* exercise_noise.c: a line for each run of a busy machine, and one about the right answers that are speed-ups within
 * the noise of their runs; nothing where none is. */
void tt_exercise_noise(const struct tt_marked *m, struct tt_text *out);

/* exercise_class.c, exercise_shared.c */

const char *tt_class_learner(const struct tt_json *result);
double tt_class_exercise(const struct tt_json *result);
/* How many right answers tt exercise check --reveal has shown. */
double tt_class_revealed(const struct tt_json *result);
/* NULL where the result has no such question. */
const struct tt_json *tt_class_question(const struct tt_json *result, const char *id);
/* "+" right, "-" wrong, and so on; " " for NULL and for a mark that is not known. */
const char *tt_class_sign(const struct tt_json *question);
/* After a learner's marks: with whom a run is shared, and whose file is older. */
void tt_class_shares(struct tt_json *const *results, int n, int own, struct tt_text *out);
/* A line for each run that several learners have. */
void tt_class_shared(struct tt_json *const *results, int n, struct tt_text *out);

#endif
