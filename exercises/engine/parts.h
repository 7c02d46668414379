/* What the files that judge an answer share. */
#ifndef TT_EXERCISE_PARTS_H
#define TT_EXERCISE_PARTS_H

#include "exercises/engine/exercise.h"

/* Sets the kind and the reason of the mark, and clears `likely`. */
void tt_exercise_because(struct tt_mark *m, enum tt_mark_kind kind, const char *reason);

/* judge.c */

/* Marks the answer right, or wrong for that reason. */
void tt_exercise_decide(struct tt_mark *m, bool right, const char *reason);
/* Copies the answer into m->given as one line; the values of a list are separated by commas. */
void tt_exercise_take(const struct tt_yaml *answer, struct tt_mark *m);
/* Evaluates a formula that gives a number; NaN: the run does not have the figure. */
tt_status tt_exercise_formula(const struct tt_question *q, const char *formula, struct tt_formula_scope *scope,
                              double *out);

/* Marks the answer unknown: the word is none of those that may be chosen. The caller then appends the names. */
void tt_exercise_none_of(struct tt_mark *m, const char *word);
/* Appends the names in alphabetical order: the order in the profile would give the answer away. */
void tt_exercise_or_any(struct tt_mark *m, const char **names, int n);
/* Whether the word is one of the question's items or choices, if it has any. If not, the mark says so. */
bool tt_exercise_allowed(const struct tt_question *q, struct tt_mark *m, const char *word);

/* order.c: judges a choice by its items, and a ranking. */

tt_status tt_exercise_judge_item(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m);
tt_status tt_exercise_judge_ranking(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m);
/* For a right answer where several are right: says in m->means that two of them are that close, with their figures.
 * `figures` follows the first figure, " % of the step"; it may be NULL. */
void tt_exercise_say_ahead(const char *first, double ahead, const char *second, double behind, const char *figures,
                           struct tt_mark *m);

/* foresee.c: judges answers that predict a number. */

tt_status tt_exercise_judge_range(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m);
tt_status tt_exercise_judge_interval(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m);
tt_status tt_exercise_judge_target(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m);
/* mark.c: the mark in a word: right, wrong, ..., or named. */
const char *tt_exercise_mark_word(const struct tt_question *q, const struct tt_mark *m);
/* mark.c: what stands before the reason: "likely: " if the reason is a guess from the number, else "". */
const char *tt_exercise_likely(const struct tt_mark *m);

/* For a right prediction: says how it came out, as the first sentence of m->means. */
tt_status tt_exercise_came_out(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m);

/* words.c */

/* Cleans m->given: removes quotes, full stops and exclamation marks around it; of a single number also "about", and its
 * decimal comma becomes a point. A sentence stays as it is. */
void tt_exercise_plain(const struct tt_question *q, struct tt_mark *m);
/* `behind` is the text behind a number. Returns its length without the noun that the question asks for, as in "636
 * kernels" where it asks how many kernels. */
size_t tt_exercise_before_noun(const struct tt_question *q, const char *behind);
/* Whether the first n bytes of `a` are the same word as `b`, however people write it: "Mask rebuild" is mask-rebuild,
 * "64 x 64" is 64x64, "the mean." is mean. tt_exercise_same_name takes all of `a`. */
bool tt_exercise_same_word(const char *a, size_t n, const char *b);
bool tt_exercise_same_name(const char *a, const char *b);
/* Whether a list has the word, or a map has it as a key. */
bool tt_exercise_listed(const struct tt_yaml *list, const char *word);
/* Whether it is "undecided" or another word for that. */
bool tt_exercise_is_open(const char *word);
/* The choice that the word stands for: by `words` of the question, or as another word for "undecided"; else the word
 * itself. */
const char *tt_exercise_meant(const struct tt_question *q, const char *word);

/* number.c */

/* For a ratio that was written as a percentage, "118.5 %": true, with *out a hundredth of it, if that is right. Else
 * false: what was meant is not known. */
bool tt_exercise_as_percent(const struct tt_question *q, const struct tt_mark *m, double right, double *out);
/* Reads the number that was given, with or without a unit, into *out in the question's unit. If it cannot, it returns
 * false and the mark is unknown with the reason. */
bool tt_exercise_number(const struct tt_question *q, struct tt_mark *m, double *out);
/* Whether x is within the question's tolerance and slack of the right number. */
bool tt_exercise_near(const struct tt_question *q, double x, double right);
/* Whether x is near, or is the right number as tt prints it: "4.19 M", "0.33x". */
bool tt_exercise_right(const struct tt_question *q, const struct tt_mark *m, double x, double right);
/* The reason for a wrong number: the mistake it looks like, or that it is too large or small. Sets `named` and `off` of
 * the mark. `measured`: the right number comes from a run. */
const char *tt_exercise_slip(const struct tt_question *q, struct tt_mark *m, double x, double right, bool measured);
/* The reason for a number outside of its limits. */
const char *tt_exercise_outside(bool below, bool measured);

/* How many digits a number has as it was written, without leading zeros: 3 for 0.0140. */
int tt_exercise_digits(const char *given);
/* Whether x, which was written as `given`, is the right number rounded to the digits or decimals written. */
bool tt_exercise_rounded(const char *given, double x, double right);
/* The same for an answer that is not near: it was rounded too far. A single digit has to be close, too. */
bool tt_exercise_too_short(const struct tt_question *q, const char *given, double x, double right);
/* The factor that a text begins with: 1e6 for "M", as tt prints large numbers, or "million"; 0: none. */
double tt_exercise_scale(const char *text);

/* reason.c: completes a mark. A right answer gets what it means, and a wrong one its reason. One that is right only
 * within the tolerance becomes wrong if a mistake gives exactly that (tt_exercise_is_a_slip). */
tt_status tt_exercise_reason(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m);

/* slip.c */

/* For a wrong answer: if it is one of the question's slips, or the figure of another run, and that is nearer than the
 * mistake found before, the nearest becomes its reason. */
tt_status tt_exercise_name_slip(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m);
/* Makes a right answer wrong if it is, to its digits, what a slip gives, and not what is right. */
tt_status tt_exercise_is_a_slip(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m);
/* Whether a small whole number matches `mistaken` by chance: "2" or "2.0" comes from theory, and is not somebody's 1 /
 * 0.495 or ratio of 1.999. */
bool tt_exercise_by_chance(const char *given, double x, double mistaken);
/* Over all questions: finds wrong numbers that are the right answer to another question, and says so as their reason. A
 * number that is right only within the tolerance becomes wrong if it is exactly the other answer. */
void tt_exercise_swapped(struct tt_marked *m);

/* quoted.c */

struct tt_unit;

/* A number in a sentence. */
struct tt_quoted {
    const char *begin, *end;    /* in the sentence, without the unit */
    char given[40];             /* as it was written, without thousands marks */
    double number, scaled;      /* scaled: times the k, M or G behind it; 0: there is none */
    const struct tt_unit *unit; /* NULL: none */
};

/* The unit that the text begins with; NULL: no known one. */
const struct tt_unit *tt_exercise_unit(const char *text);

/* "" for NULL. */
const char *tt_exercise_unit_name(const struct tt_unit *unit);

/* The factor from one unit to another, "MB" to "GB" or "MB/s" to "GB/s"; NaN: they measure different things. */
double tt_exercise_convert(const char *from, const char *to);

/* Finds the next number of the sentence from *at on, and moves *at behind it; false: there is none. */
bool tt_exercise_quoted(const char *sentence, const char **at, struct tt_quoted *out);
/* The values that the number may have in the unit of a figure (NULL: it has none); returns how many: 0, 1 or 2. */
int tt_exercise_quoted_as(const struct tt_quoted *q, const struct tt_unit *unit, double as[2]);

/* named.c */

/* A figure that a sentence may hold: a number, or `word` if that is not NULL. */
struct tt_figure {
    double value;
    const struct tt_unit *unit; /* NULL: it has none */
    const char *word, *from;    /* from: id of the question that it answers, or NULL */
    const char *name;           /* what it is, with {row} for the name of the row; NULL: not known */
    const char *words;          /* other words for that, "copy copies"; NULL: none */
    bool column;                /* one of a column: of so many, one is near most numbers by chance */
    char row[48];               /* the name of its row; "": none */
    const char *unlike;         /* the figure has to tell the learner's run from this one; NULL: no such run */
    double other;               /* the figure of that run */
};

enum { TT_HELD = 8 };

/* A number or word of a sentence that may be a figure. */
struct tt_held {
    char given[40];
    bool unit;                 /* it has a unit */
    const struct tt_figure *f; /* the figure that it is; NULL: none that counts */
    double is;                 /* that figure in the unit that the number was given in */
    bool more;                 /* it may be other figures as well */
    bool shared;               /* it may be a figure of the run `unlike`, so it does not count */
    bool untold;               /* it would be a figure, but the sentence has neither a unit nor a word for it */
};

/* Finds the numbers and words of a sentence that may be one of the n figures; returns how many, at most TT_HELD.
 * `scope` has the names of the runs, which do not describe a figure; it may be NULL. */
int tt_exercise_find_held(const char *sentence, const struct tt_figure *f, int n, const struct tt_formula_scope *scope,
                          struct tt_held out[TT_HELD]);

/* sentence.c */

/* Marks a sentence by the n figures that it may hold: right (shown as "named") if it holds one, else unknown; passed
 * over if there are no figures. `scope` as above. */
void tt_exercise_sentence(struct tt_mark *m, const struct tt_figure *f, int n, const struct tt_formula_scope *scope);
/* Over all questions: marks the sentences whose question lists no figures (`names`). They may hold the right number of
 * any other question. */
void tt_exercise_sentences(struct tt_marked *m);

/* curve.c */

enum { TT_CURVE_FIGURES = 6 };

/* The figures of `run`, a folder of tt train in the learner's folder: the loss that it ended with, its largest loss,
 * and how far its losses are from those of the run `beside`. `unlike` is copied into them. Returns how many there are:
 * none unless both runs can be read. */
int tt_exercise_curve_figures(const char *folder, const char *run, const char *beside, const char *unlike,
                              struct tt_figure out[TT_CURVE_FIGURES]);

enum { TT_FAULT_WORDS = 48 };

/* The --fault that a run of tt train in the folder was made with, "" for none; false: it is not known. */
bool tt_exercise_curve_fault(const char *folder, const char *run, char out[TT_FAULT_WORDS]);

/* figures.c */

enum { TT_FIGURES = 256 };

/* Judges a sentence by the figures that its question lists. If it lists none, that is left to tt_exercise_sentences. */
tt_status tt_exercise_judge_names(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m);

/* mark.c */

/* The scope for formulas over the runs of the worksheet, with the definitions of the exercise. It refers to `runs`. */
void tt_exercise_scope(const struct tt_marked *m, struct tt_formula_run runs[TT_EXERCISE_RUNS],
                       struct tt_formula_scope *out);
/* The points that an answer earned. */
double tt_exercise_points(const struct tt_question *q, const struct tt_mark *mark);
/* "." if the reason needs a full stop before another sentence follows, else "". */
const char *tt_exercise_stop(const char *reason);

/* revealed.c: marks the questions whose right answer was shown, by the result.json of the last check. */
void tt_exercise_recall(struct tt_marked *m);

/* sheet.c */

enum { TT_SLIPS = 256 };

/* An answer that is not valid YAML, or that YAML readers understand differently. */
struct tt_slip {
    int line;
    bool broken;      /* its value could not be read at all */
    bool comment;     /* it can be read, but a comment follows it that may be meant as a part of it */
    char reason[300]; /* how to mend it */
};

struct tt_sheet {
    struct tt_yaml *tree; /* answers with slips are in it as if they had been written in quotes */
    struct tt_slip *slips;
    int slip_count;
};

/* Reads a worksheet; an error only if something other than an answer cannot be read. Free *out, also after one. */
tt_status tt_sheet_read(const char *path, struct tt_sheet *out);
/* The slip of an answer; NULL: none. */
const struct tt_slip *tt_sheet_slip(const struct tt_sheet *sheet, const struct tt_yaml *answer);
void tt_sheet_free(struct tt_sheet *sheet);

/* noise.c: appends the lines "noise: ..." on disturbed runs, on roofs that may be too low, and on right answers that
 * are speed-ups whose interval includes 1. Nothing if there are none. noise_ranks.c: the lines on runs of several
 * ranks, which tt_exercise_noise includes. */
void tt_exercise_noise(const struct tt_marked *m, struct tt_text *out);
void tt_exercise_noise_ranks(const struct tt_marked *m, struct tt_text *out);

enum { TT_DISTURBED_FIGURES = 5 };

/* disturbed.c: the figures that the report has on a disturbed run, for sentences. `profile` may be NULL. Returns how
 * many: 0 if the run was not disturbed. */
int tt_exercise_disturbed_figures(const struct tt_json *profile, struct tt_figure out[TT_DISTURBED_FIGURES]);

/* class.c, shared.c: `result` is a result.json, `question` one of its questions. */

/* The name of the learner; without one, the folder. */
const char *tt_class_learner(const struct tt_json *result);
double tt_class_exercise(const struct tt_json *result);
/* The points of the required questions, added up anew. */
double tt_class_points(const struct tt_json *result);
/* How many right answers tt exercise check --reveal has shown. */
double tt_class_revealed(const struct tt_json *result);
/* Whether the worksheet names no learner, so that the folder stands for one. */
bool tt_class_nameless(const struct tt_json *result);
/* Whether the mark is `named`: a sentence that holds a figure. */
bool tt_class_is_named(const struct tt_json *question);
/* The question with that id; NULL: the result has none. */
const struct tt_json *tt_class_question(const struct tt_json *result, const char *id);
/* The mark as one character: "+" right or named, "-" wrong, ...; " " for NULL and for an unknown mark. */
const char *tt_class_sign(const struct tt_json *question);
/* Appends to a learner's line with whom the result `own` shares a run, and whose file is older; nothing if nobody. */
void tt_class_shares(struct tt_json *const *results, int n, int own, struct tt_text *out);
/* Appends a line for each run that several learners have. */
void tt_class_shared(struct tt_json *const *results, int n, struct tt_text *out);

#endif
