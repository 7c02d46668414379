/* Sets of options that take turns, A, B, A, B, ..., each turn a copy of this program. Whatever drifts meanwhile, a
 * clock or other work, slows all of them alike, and each pair of neighbours gives a ratio of its own. */
#ifndef TT_TURNS_H
#define TT_TURNS_H

#include "core/base/json.h"
#include "core/base/range.h"

enum { TT_SIDE_WORDS = 200, TT_SIDE_TEXT = 1000 };

struct tt_side {
    char label[TT_SIDE_TEXT], text[TT_SIDE_TEXT]; /* its options as they were given, and cut into words */
    char *words[TT_SIDE_WORDS];                   /* of its copies; NULL behind the last */
    int word_count;
    int turns;
    struct tt_json **found; /* what the copy of each turn printed; NULL: nothing yet */
};

/* With nothing found yet. To be closed, also after a failure. */
tt_status tt_side_open(struct tt_side *s, int turns);
void tt_side_close(struct tt_side *s);

/* The word itself stays the caller's. */
tt_status tt_side_word(struct tt_side *s, const char *word);
/* The label as options of tt bench: written as there, or as other commands have them, or a version or a size alone.
 * Ends with --json. */
tt_status tt_side_bench(struct tt_side *s);

/* Runs its copy. What that says on stderr is said by this program too, or goes into `said`. */
tt_status tt_side_turn(struct tt_side *s, int turn, struct tt_text *said);
/* The one row that a copy of tt bench timed. */
tt_status tt_side_row(const struct tt_side *s, int turn, const struct tt_json **row);

/* What the copies of n sides waited for a processor, as a part of their time, in the mean of their turns; NaN where
 * none says. */
double tt_sides_waited(const struct tt_side *const *sides, int n);

/* A copy of this program with these words, which end with NULL. What it prints goes to the file `out`, and what it says
 * on stderr to the file `err`, or to stderr where that is -1. */
tt_status tt_copy(char *const *words, int out, int err, const char *label);

/* The median of the figures that the turns gave, and its interval. */
tt_status tt_turns_median(const double *figures, int n, double *median, struct tt_range *range);

#endif
