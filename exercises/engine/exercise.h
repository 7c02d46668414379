/* Exercises: the contents of check.yaml (described in exercises/CHECKS.md), and the marking of a learner's worksheet
 * against the learner's own profiles. */
#ifndef TT_EXERCISE_H
#define TT_EXERCISE_H

#include "core/base/sha256.h"
#include "core/base/yaml.h"
#include "exercises/engine/formula.h"

enum { TT_EXERCISE_RUNS = 16, TT_ANSWER = 2000 /* bytes of an answer, with the final 0 */ };

enum tt_question_kind { TT_ASK_NUMBER, TT_ASK_RANGE, TT_ASK_CHOICE, TT_ASK_RANKING, TT_ASK_TRUTH, TT_ASK_TEXT,
                       TT_ASK_INTERVAL, TT_ASK_TARGET, TT_ASK_KINDS };

/* A question; the fields are the keys of check.yaml. Texts belong to the exercise's tree; NULL: not given. */
struct tt_question {
    const char *id, *text, *unit, *look, *why, *means, *otherwise, *run;
    const char *figures; /* for a choice by items: what to write behind a figure, " % of the step" */
    enum tt_question_kind kind;
    const char *answer, *at_least, *at_most, *measured, *low, *high, *room, *must, *unlike;
    const struct tt_yaml *choices, *items, *words, *slips, *names;
    double tolerance, slack, points;
    int64_t count;
    bool optional, least;
    int line; /* in check.yaml */
};

struct tt_exercise_run {
    const char *name, *command, *recorded, *file; /* file: in the folder of the run; profile.json if not given */
    const struct tt_yaml *require, *same;
    bool optional;
};

struct tt_exercise {
    char folder[1024];
    struct tt_yaml *tree;
    int64_t number, minutes;
    const char *title;
    struct tt_exercise_run runs[TT_EXERCISE_RUNS];
    int run_count;
    const struct tt_yaml *same, *define; /* NULL: not given */
    struct tt_question *questions;
    int question_count;
};

/* Reads check.yaml in the folder of an exercise. Errors name file and line. Free *out, also after a failure. */
tt_status tt_exercise_read(const char *folder, struct tt_exercise *out);
void tt_exercise_free(struct tt_exercise *e);

/* Writes an empty worksheet.yaml: a key for each run and each question, with the question as a comment. */
void tt_exercise_worksheet(const struct tt_exercise *e, struct tt_text *out);

/* Reads a YAML file; errors begin with its path. Free *out with tt_yaml_free. */
tt_status tt_exercise_yaml(const char *path, struct tt_yaml **out);

/* ---- marking ---- */

enum tt_mark_kind { TT_MARK_RIGHT, TT_MARK_WRONG, TT_MARK_EMPTY, TT_MARK_UNKNOWN, TT_MARK_PASSED, TT_MARK_REFUSED,
                   TT_MARK_KINDS };
extern const char *const tt_mark_names[TT_MARK_KINDS];
/* Shown in place of "right" for a sentence that holds a figure of the run: whether it is true is not checked. */
extern const char tt_mark_named[];

struct tt_mark {
    enum tt_mark_kind kind;
    char given[TT_ANSWER], reason[400]; /* the answer in one line; why it has this mark */
    char means[600]; /* what a right answer says about the run; "" if nothing */
    char right[160]; /* the right answer, shown with --reveal only; "" if there is none to show */
    /* The right number and the given one, for a question for a number; else NaN. A target whose first number is wrong
     * has that one in `number`. */
    double value, number;
    bool named;      /* a mistake explains the number; `off` is its distance from what the mistake gives, relative */
    double off;
    bool known;      /* wrong: by a mistake of the question's own list, or with the figure of another run */
    bool likely;     /* the reason is a guess from the number, which may match by chance */
    bool unfit;      /* wrong, though the figure was read correctly: `must` does not hold in the runs */
    bool misput;     /* wrong by how it was written or read, so the `why` of the question does not apply */
    bool revealed;   /* the right answer was shown before this one was right, so it earns no points */
};

struct tt_marked_run {
    struct tt_json *profile; /* NULL: not there or refused */
    bool absent, recorded;   /* there is no file; it is a recorded profile of the course, not measured by the learner */
    char seal[TT_SHA256_DIGITS + 1], created[32], device[128];
    char written[32];  /* when the file was last changed; for a copy that is later than `created` */
    char refusal[800]; /* why the run was not taken */
};

struct tt_marked {
    const struct tt_exercise *exercise;
    char folder[1024], learner[128], started[32];
    struct tt_json *note; /* exercise.json */
    struct tt_marked_run runs[TT_EXERCISE_RUNS];
    struct tt_mark *marks; /* one for each question */
    /* points: reached in required questions; most: possible in those not passed over; extra: in optional questions. */
    double points, most, extra;
    int revealed; /* questions whose right answer was shown */
    bool passed;  /* all runs were taken or are optional and absent; required questions are right or passed over */
};

/* Marks the worksheet in the learner's folder. `recorded` is the folder of the profiles that come with the course, or
 * NULL. *out refers to `e`. Free it, also after a failure. */
tt_status tt_exercise_mark(const struct tt_exercise *e, const char *folder, const char *recorded,
                           struct tt_marked *out);
void tt_marked_free(struct tt_marked *m);

/* Writes exercise.json, the note that tt exercise start leaves in the folder: the exercise, the time, and the course's
 * variables (PRESET, LONG, ...) that are set and that the exercise's commands use. */
tt_status tt_exercise_note(const struct tt_exercise *e, const char *folder);
/* An error if a variable that the note would take from the environment (PRESET, STEPS, ...) has an invalid value. */
tt_status tt_exercise_check_sizes(const struct tt_exercise *e);
/* The number of the exercise that was started in the folder; 0: there is no note. */
tt_status tt_exercise_noted(const char *folder, int64_t *number);
/* Reads the note of m->folder into *m; an error if m->exercise was not started there. */
tt_status tt_exercise_started(struct tt_marked *m);
/* Copies a command of the exercise to `out` and fills it in. ${NAME} and ${NAME:-otherwise} become the value that the
 * note has for NAME; without one, `otherwise`, and ${NAME} stays as it is. DIR, before a space, becomes the folder. */
void tt_exercise_expand(const struct tt_marked *m, const char *text, char *out, size_t size);
/* Opens the runs of the exercise, and says in `refusal` why one is not taken. `sheet` is the worksheet, `recorded` as
 * above. */
void tt_exercise_open_runs(struct tt_marked *m, const struct tt_yaml *sheet, const char *recorded);
/* Judges one question. `answer` is its value in the worksheet; NULL: not there. An error is a fault of the exercise
 * itself. If scope->lacking is set afterwards, a run that the question needs is missing and the mark does not count. */
tt_status tt_exercise_judge(const struct tt_question *q, const struct tt_yaml *answer, struct tt_formula_scope *scope,
                            struct tt_mark *out);

/* For check --reveal, after marking: sets `revealed` of every mark whose right answer is now shown. */
void tt_marked_reveal(struct tt_marked *m);
enum { TT_MARK_COLUMN = 38 }; /* the column of a line of tt_marked_text where the reply to an answer begins */
/* The marks as tt exercise check prints them, and as result.json has them; with `reveal`, right answers too. */
void tt_marked_text(const struct tt_marked *m, bool reveal, struct tt_text *out);
void tt_marked_json(const struct tt_marked *m, bool reveal, struct tt_text *out);

/* Writes the document of tt exercise report in Markdown. */
tt_status tt_marked_report(const struct tt_marked *m, struct tt_text *out);
/* Writes that document to `path` as a page for a browser. */
tt_status tt_marked_report_page(const struct tt_marked *m, const char *markdown, const char *path);

/* ---- many learners ---- */

/* Reads the results of a class, at most `limit`; *count is how many. Each path is a folder with a result.json, or one
 * with such folders in it, up to three levels down. `notes` gets a line for each path without a result, for each result
 * that cannot be read, and for each worksheet that has changed since. An error if there is no result at all. Free the
 * first *count results, also after a failure. */
tt_status tt_class_read(const char *const *paths, int n, struct tt_json **results, int limit, int *count,
                        struct tt_text *notes);
void tt_class_text(struct tt_json *const *results, int n, struct tt_text *out); /* a table for each exercise */
void tt_class_csv(struct tt_json *const *results, int n, struct tt_text *out);  /* a row for each question */

/* ---- the roadmap ---- */

/* Writes the report on the roadmap.yaml in the folder `path`: predicted and measured speed-ups, and the gates. *passed:
 * every gate holds. */
tt_status tt_roadmap(const char *folder, struct tt_text *out, bool *passed);

#endif
