/* What the files that judge an answer share. */
#ifndef TT_EXERCISE_PARTS_H
#define TT_EXERCISE_PARTS_H

#include "exercises/engine/exercise.h"

void tt_exercise_because(struct tt_mark *m, enum tt_mark_kind kind, const char *reason);

/* judge.c */

void tt_exercise_decide(struct tt_mark *m, bool right, const char *reason);
/* The answer as one line; of a list its values with commas. */
void tt_exercise_take(const struct tt_yaml *answer, struct tt_mark *m);
/* NaN where the run does not have the figure. */
tt_status tt_exercise_formula(const struct tt_question *q, const char *formula, struct tt_formula_scope *scope,
                              double *out);

/* Says that the word is none of those that may be chosen; the names are to follow it. */
void tt_exercise_none_of(struct tt_mark *m, const char *word);
/* The names in the order of the alphabet: that of a profile would tell the answer. */
void tt_exercise_or_any(struct tt_mark *m, const char **names, int n);
/* Whether it is one of the words that may be chosen; when not, says so. */
bool tt_exercise_allowed(const struct tt_question *q, struct tt_mark *m, const char *word);

/* order.c */

tt_status tt_exercise_judge_item(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m);
tt_status tt_exercise_judge_ranking(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m);
/* Of a right answer where several are: two of them with their figures, and behind the first what these are, or NULL. */
void tt_exercise_say_ahead(const char *first, double ahead, const char *second, double behind, const char *figures,
                           struct tt_mark *m);

/* foresee.c */

tt_status tt_exercise_judge_range(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m);
tt_status tt_exercise_judge_interval(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m);
tt_status tt_exercise_judge_target(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m);
/* The mark in a word: right, wrong, ..., or named. */
const char *tt_exercise_mark_word(const struct tt_question *q, const struct tt_mark *m);
/* Before the reason: "likely: " where it is what the number looks like. */
const char *tt_exercise_likely(const struct tt_mark *m);

/* Of what was foreseen and is possible: how it came out, as the first sentence of what the answer means. */
tt_status tt_exercise_came_out(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m);

/* words.c */

/* Without the quotes, the full stop and the exclamation mark around it, and with a point for a decimal comma; a
 * sentence stays as it is. */
void tt_exercise_plain(const struct tt_question *q, struct tt_mark *m);
/* How much of what stands behind a number is not the noun that the question asks for: "636 kernels" to how many. */
size_t tt_exercise_before_noun(const struct tt_question *q, const char *behind);
/* The first n letters of a are b: "Mask rebuild" is mask-rebuild, "64 x 64" is 64x64, "the mean." is mean. */
bool tt_exercise_same_word(const char *a, size_t n, const char *b);
bool tt_exercise_same_name(const char *a, const char *b);
bool tt_exercise_listed(const struct tt_yaml *list, const char *word);
/* "undecided", or another word for it. */
bool tt_exercise_is_open(const char *word);
/* The choice that another word for it means, or the word itself. */
const char *tt_exercise_meant(const struct tt_question *q, const char *word);

/* number.c */

/* "118.5 %" to how many times: right where the hundredth of it is, and else not known, as it may be meant otherwise. */
bool tt_exercise_as_percent(const struct tt_question *q, const struct tt_mark *m, double right, double *out);
/* Reads the number that was given, with or without its unit; where there is none, says in the mark why. */
bool tt_exercise_number(const struct tt_question *q, struct tt_mark *m, double *out);
bool tt_exercise_near(const struct tt_question *q, double x, double right);
/* Near, or rounded the way tt prints large numbers. */
bool tt_exercise_right(const struct tt_question *q, const struct tt_mark *m, double x, double right);
/* What a wrong number looks like; the mark notes how well that fits. `measured`: the right one comes from a run. */
const char *tt_exercise_slip(const struct tt_question *q, struct tt_mark *m, double x, double right, bool measured);
const char *tt_exercise_outside(bool below, bool measured);

/* Digits as they were written, without zeros in front. */
int tt_exercise_digits(const char *given);
/* The right number, rounded to the digits that were given. */
bool tt_exercise_rounded(const char *given, double x, double right);
/* The same of a wrong answer: it was written with too few digits. */
bool tt_exercise_too_short(const struct tt_question *q, const char *given, double x, double right);
/* 1e6 of "M", as tt prints large numbers, or "million"; 0 of what is neither. */
double tt_exercise_scale(const char *text);

/* reason.c: what a right answer means, and why a wrong one is. */
tt_status tt_exercise_reason(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m);

/* slip.c */

/* Of a wrong answer the reason: the slip that comes nearest. */
tt_status tt_exercise_name_slip(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m);
/* Makes a right answer a wrong one where it is, to its digits, what a slip gives. */
tt_status tt_exercise_is_a_slip(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m);
/* "2" or "2.0" is what theory says, and nobody's 1 / 0.495 or quotient of 1.999. */
bool tt_exercise_by_chance(const char *given, double x, double mistaken);
/* Of a whole worksheet: numbers that are right answers to other questions. */
void tt_exercise_swapped(struct tt_marked *m);

/* quoted.c */

struct tt_unit;

/* A number in a sentence: as it was written, times the k, M or G behind it (0: there is none), and its unit or NULL. */
struct tt_quoted {
    const char *begin, *end; /* in the sentence, without a unit */
    char given[40];
    double number, scaled;
    const struct tt_unit *unit;
};

/* The unit that the text begins with; NULL: none that is known. */
const struct tt_unit *tt_exercise_unit(const char *text);

/* "" of NULL. */
const char *tt_exercise_unit_name(const struct tt_unit *unit);

/* What a number in the one unit is multiplied by to be in the other; NaN where they are not of one kind. */
double tt_exercise_convert(const char *from, const char *to);

/* The next one from *at on, which is left behind it; false: there is none. */
bool tt_exercise_quoted(const char *sentence, const char **at, struct tt_quoted *out);
/* What it may stand for in the unit of a figure (NULL: it has none); returns how many values those are. */
int tt_exercise_quoted_as(const struct tt_quoted *q, const struct tt_unit *unit, double as[2]);

/* named.c */

/* A figure that a sentence may hold: a number, or a word where that is not NULL. */
struct tt_figure {
    double value;
    const struct tt_unit *unit; /* NULL: it has none */
    const char *word, *from;    /* from: the question that it answers */
    const char *name;           /* what it is; {row} stands for the row */
    const char *words;          /* other words for that, "copy copies"; NULL: none */
    bool column;                /* one of many: by chance one of them is near most numbers */
    char row[48];               /* where that has a name; else "" */
    const char *unlike;         /* the run that it has to tell from the learner's; NULL: none */
    double other;               /* the figure of that run */
    bool busy;                  /* of times of a busy machine */
};

enum { TT_HELD = 8 };

/* A number of a sentence, or a word. */
struct tt_held {
    char given[40];
    bool unit;                 /* it has one */
    const struct tt_figure *f; /* the figure that it is; NULL: none that counts */
    double is;                 /* that figure in the unit that the number was given in */
    bool more;                 /* it may be others as well */
    bool shared;               /* a figure of the run which a figure has to tell from the learner's */
    bool untold;               /* a figure, if the sentence said of what: it has neither a unit nor a word of it */
};

/* Returns how many the sentence has that may be figures, TT_HELD at the most. `scope` may be NULL. */
int tt_exercise_find_held(const char *sentence, const struct tt_figure *f, int n, const struct tt_formula_scope *scope,
                          struct tt_held out[TT_HELD]);

/* sentence.c */

/* Marks a sentence by the figures that it may hold; passed over where there are none. `scope` may be NULL. */
void tt_exercise_sentence(struct tt_mark *m, const struct tt_figure *f, int n, const struct tt_formula_scope *scope);
/* Of a whole worksheet: sentences whose questions name no figures may hold the right answer of any other question. */
void tt_exercise_sentences(struct tt_marked *m);

/* curve.c */

enum { TT_CURVE_FIGURES = 6 };

/* What a run of tt train in the folder ended with, its largest loss, and how far its losses are from those of another
 * one. Returns how many figures there are: none without both runs. */
int tt_exercise_curve_figures(const char *folder, const char *run, const char *beside, const char *unlike,
                              struct tt_figure out[TT_CURVE_FIGURES]);

enum { TT_FAULT_WORDS = 48 };

/* The --fault that a run of tt train in the folder was made with, "" for none; false: it is not known. */
bool tt_exercise_curve_fault(const char *folder, const char *run, char out[TT_FAULT_WORDS]);

/* figures.c */

enum { TT_FIGURES = 256 };

/* Sentences by the figures that their question lists. */
tt_status tt_exercise_judge_names(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m);
/* mark.c */
/* Formulas over the runs of the worksheet, with the definitions of the exercise; `runs` has to outlive it. */
void tt_exercise_scope(const struct tt_marked *m, struct tt_formula_run runs[TT_EXERCISE_RUNS],
                       struct tt_formula_scope *out);
double tt_exercise_points(const struct tt_question *q, const struct tt_mark *mark);
/* "." where a sentence still needs it before another one follows. */
const char *tt_exercise_stop(const char *reason);

/* revealed.c: takes over from the result of the last check which right answers were shown. */
void tt_exercise_recall(struct tt_marked *m);

/* sheet.c */

enum { TT_SLIPS = 256 };

/* An answer that is not valid YAML, or that YAML readers understand differently. */
struct tt_slip {
    int line;
    bool broken;  /* its value could not be made out */
    bool comment; /* it can be read, and ends where a comment begins */
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

/* noise.c: a line for each run of a busy machine, and one about the right answers that are speed-ups within
 * the noise of their runs; nothing where none is. */
void tt_exercise_noise(const struct tt_marked *m, struct tt_text *out);
/* noise_ranks.c: the lines of runs of several ranks. */
void tt_exercise_noise_ranks(const struct tt_marked *m, struct tt_text *out);
/* What the report says of a busy machine: the part of their time that threads waited, in percent, also in the recorded
 * steps, and the load. Returns how many of the three there are. */
int tt_exercise_busy_figures(const struct tt_json *profile, struct tt_figure out[3]);

/* class.c, shared.c */

const char *tt_class_learner(const struct tt_json *result);
double tt_class_exercise(const struct tt_json *result);
double tt_class_points(const struct tt_json *result);
/* How many right answers tt exercise check --reveal has shown. */
double tt_class_revealed(const struct tt_json *result);
/* The sheet has no name of a learner: its folder stands for one. */
bool tt_class_nameless(const struct tt_json *result);
/* The mark of a sentence, which is never right. */
bool tt_class_is_named(const struct tt_json *question);
/* NULL where the result has no such question. */
const struct tt_json *tt_class_question(const struct tt_json *result, const char *id);
/* "+" right, "-" wrong, and so on; " " for NULL and for a mark that is not known. */
const char *tt_class_sign(const struct tt_json *question);
/* After a learner's marks: with whom a run is shared, and whose file is older. */
void tt_class_shares(struct tt_json *const *results, int n, int own, struct tt_text *out);
/* A line for each run that several learners have. */
void tt_class_shared(struct tt_json *const *results, int n, struct tt_text *out);

#endif
