/* Sets of options that take turns, A, B, A, B, ..., each turn a copy of this program. Whatever drifts meanwhile, a
 * clock or other work, slows all of them alike, and each pair of neighbours gives a ratio of its own. */
#ifndef TT_TURNS_H
#define TT_TURNS_H

#include "core/base/json.h"
#include "core/base/range.h"

enum { TT_SIDE_WORDS = 200, TT_SIDE_TEXT = 1000 };

struct tt_side {
    char label[TT_SIDE_TEXT], text[TT_SIDE_TEXT]; /* its options as they were given; the same cut into words */
    char *words[TT_SIDE_WORDS];                   /* of its copies; NULL behind the last */
    int word_count;
    int turns;
    struct tt_json **found; /* what the copy of each turn printed; NULL: nothing yet */
};

/* Makes room for the results of the turns. To be closed, also after a failure. */
tt_status tt_side_open(struct tt_side *s, int turns);
void tt_side_close(struct tt_side *s);

/* Adds a word to the command of the copies. The word itself stays the caller's. */
tt_status tt_side_word(struct tt_side *s, const char *word);
/* Adds the label as options of tt bench. They may be written as there, as in other commands, or as a version or a size
 * alone. Ends the command with --json. */
tt_status tt_side_bench(struct tt_side *s);

/* Runs a turn: a copy, whose JSON becomes found[turn]. Its stderr is that of this program, or goes into `said` if that
 * is not NULL. */
tt_status tt_side_turn(struct tt_side *s, int turn, struct tt_text *said);
/* The one row that the copy of a turn timed; an error if there are several. */
tt_status tt_side_row(const struct tt_side *s, int turn, const struct tt_json **row);

/* What part of their time the copies of n sides waited for a processor: the mean over their turns; NaN if none says. */
double tt_sides_waited(const struct tt_side *const *sides, int n);

/* Runs a copy of this program with these words, which end with NULL, and waits for it. Its stdout goes to the file
 * `out`; its stderr to the file `err`, or with -1 to this program's. `label` is for messages. */
tt_status tt_copy(char *const *words, int out, int err, const char *label);

/* The median of the figures that the turns gave, and its interval. */
tt_status tt_turns_median(const double *figures, int n, double *median, struct tt_range *range);

#endif
