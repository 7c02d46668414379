/* Exercises: what check.yaml says (exercises/CHECKS.md describes it), and the marking of a learner's worksheet against
 * the learner's own profiles. */
#ifndef TT_EXERCISE_H
#define TT_EXERCISE_H

#include "core/base/sha256.h"
#include "core/base/yaml.h"
#include "exercises/engine/formula.h"

enum { TT_EXERCISE_RUNS = 16, TT_ANSWER = 2000 /* bytes of an answer, with its end */ };

enum tt_question_kind { TT_ASK_NUMBER, TT_ASK_RANGE, TT_ASK_CHOICE, TT_ASK_RANKING, TT_ASK_TRUTH, TT_ASK_TEXT,
                       TT_ASK_INTERVAL, TT_ASK_TARGET, TT_ASK_KINDS };

/* Texts lie in the tree of the exercise; NULL: not given. */
struct tt_question {
    const char *id, *text, *unit, *look, *why, *means, *otherwise, *run;
    const char *figures; /* of a choice by items: what stands behind the figure of one, " % of the step" */
    enum tt_question_kind kind;
    const char *answer, *at_least, *at_most, *measured, *low, *high, *room, *must, *unlike;
    const struct tt_yaml *choices, *items, *words, *slips, *names;
    double tolerance, slack, points;
    int64_t count;
    bool optional, least;
    int line;
};

struct tt_exercise_run {
    const char *name, *command, *recorded, *file; /* file: in its folder; profile.json when not given */
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
    const struct tt_yaml *same, *define;
    struct tt_question *questions;
    int question_count;
};

/* The folder of an exercise. Errors name file and line. Free it, also after a failure. */
tt_status tt_exercise_read(const char *folder, struct tt_exercise *out);
void tt_exercise_free(struct tt_exercise *e);

/* A YAML file, with its path before errors. */
tt_status tt_exercise_yaml(const char *path, struct tt_yaml **out);

/* ---- marking ---- */

enum tt_mark_kind { TT_MARK_RIGHT, TT_MARK_WRONG, TT_MARK_EMPTY, TT_MARK_UNKNOWN, TT_MARK_PASSED, TT_MARK_REFUSED,
                   TT_MARK_KINDS };
extern const char *const tt_mark_names[TT_MARK_KINDS];
/* Of a sentence that holds a figure of the run, in place of right: whether it is true was not looked at. */
extern const char tt_mark_named[];

struct tt_mark {
    enum tt_mark_kind kind;
    char given[TT_ANSWER], reason[400];
    char means[600]; /* what a right answer says about the run; "" when nothing */
    char right[160]; /* shown only when asked for */
    double value, number; /* of a question for a number: the right one, and the one that was given; else NaN. Of a
                             target number is what was, where that is wrong */
    bool busy;       /* the right number is of times of a busy machine */
    bool named;      /* a wrong number: some mistake gives it, and `off` is how far it is from that, as a part of it */
    double off;
    bool known;      /* a wrong one: a mistake that the question knows, or the figure of another run */
    bool likely;     /* the reason is what the number looks like, and a number may look like that by chance */
    bool unfit;      /* a wrong one: rightly read, but the runs are not as the question needs them */
    bool misput;     /* a wrong one, by how it was written or read: why the figure would be wrong does not apply */
    bool revealed;   /* what is right was shown before the answer was right: it earns no points any more */
};

struct tt_marked_run {
    struct tt_json *profile; /* NULL: not there or refused */
    bool absent, recorded;
    char seal[TT_SHA256_DIGITS + 1], created[32], device[128];
    char written[32]; /* the time of the file: of a copy later than `created` */
    char refusal[800];
};

struct tt_marked {
    const struct tt_exercise *exercise;
    char folder[1024], learner[128], started[32];
    struct tt_json *note; /* exercise.json */
    struct tt_marked_run runs[TT_EXERCISE_RUNS];
    struct tt_mark *marks; /* one for each question */
    double points, most, extra; /* reached, of the questions that count, and of optional ones */
    int revealed;               /* questions whose right answer was shown */
    bool passed;
};

/* The learner's folder; `recorded`, the folder of the profiles that come with the course, may be NULL. */
tt_status tt_exercise_mark(const struct tt_exercise *e, const char *folder, const char *recorded,
                           struct tt_marked *out);
void tt_marked_free(struct tt_marked *m);

/* exercise.json, which tt exercise start leaves: the exercise, the time, and those of the course's variables (PRESET,
 * LONG, ...) that its commands name and that were set. */
tt_status tt_exercise_note(const struct tt_exercise *e, const char *folder);
/* Whether the variables that the note would take from the environment (PRESET, STEPS, ...) can be what they are. */
tt_status tt_exercise_check_sizes(const struct tt_exercise *e);
/* The exercise that was started in the folder; 0 where there is no note. */
tt_status tt_exercise_noted(const char *folder, int64_t *number);
/* Reads the note; an error where this exercise was not started in the folder. */
tt_status tt_exercise_started(struct tt_marked *m);
/* ${NAME} and ${NAME:-otherwise} as the folder was started; DIR is the folder. Unknown names without otherwise stay. */
void tt_exercise_expand(const struct tt_marked *m, const char *text, char *out, size_t size);
/* Opens the run or says in `refusal` why not; an error is one of the exercise itself. */
tt_status tt_exercise_open_runs(struct tt_marked *m, const struct tt_yaml *sheet, const char *recorded);
/* One question, with the answer as it stands in the worksheet (NULL: not there). */
tt_status tt_exercise_judge(const struct tt_question *q, const struct tt_yaml *answer, struct tt_formula_scope *scope,
                            struct tt_mark *out);

/* After marking: what check --reveal shows now counts as shown from now on. */
void tt_marked_reveal(struct tt_marked *m);
void tt_marked_text(const struct tt_marked *m, bool reveal, struct tt_text *out);
void tt_marked_json(const struct tt_marked *m, bool reveal, struct tt_text *out);

/* The exercise as one document in Markdown. */
tt_status tt_marked_report(const struct tt_marked *m, struct tt_text *out);
/* The same document as a page for a browser. */
tt_status tt_marked_report_page(const struct tt_marked *m, const char *markdown, const char *path);

/* ---- many learners ---- */

/* Each path is a folder with a result.json, or one of such folders. `notes` gets a line for each that has none, for
 * each result that cannot be read, and for each worksheet that has changed since. */
tt_status tt_class_read(const char *const *paths, int n, struct tt_json **results, int limit, int *count,
                        struct tt_text *notes);
void tt_class_text(struct tt_json *const *results, int n, struct tt_text *out);
void tt_class_csv(struct tt_json *const *results, int n, struct tt_text *out);

/* ---- the roadmap ---- */

/* The learner's roadmap.yaml: predicted and measured speed-ups and the gates. *passed: every gate holds. */
tt_status tt_roadmap(const char *path, struct tt_text *out, bool *passed);

#endif
