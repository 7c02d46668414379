/* What the files of tt exercise share: the words of the call, the folder of the course, and a function for each
 * action. */
#ifndef TT_CLI_EXERCISE_H
#define TT_CLI_EXERCISE_H

#include "core/config/config.h"
#include "exercises/engine/exercise.h"

struct tt_exercise_options {
    char words[16384]; /* the action and its arguments, one a line */
    bool reveal, recorded;
    char csv[1024], html[1024], fault[32];
    int64_t every; /* seconds; 0: once */
};

enum {
    TT_EXERCISE_WORDS = 256,
    TT_EXERCISE_TEXT = 1 << 26, /* largest file of the course, in bytes */
};

struct tt_exercise_call {
    const struct tt_config *c;
    const struct tt_exercise_options *own;
    char (*words)[1024]; /* the action and its arguments */
    int n;               /* of words */
    char root[1024];     /* the folder exercises */
};

/* exercise_course.c */
/* Finds the folder of the course: TT_EXERCISES, the installed one, or the one of the source tree. */
tt_status tt_exercise_find_course(char out[1024]);
/* Opens the exercise whose number is the second word; without a number, that of the current folder. Free it, also after
 * a failure. */
tt_status tt_exercise_open(const struct tt_exercise_call *k, struct tt_exercise *e);
/* Opens the exercise that was started in this folder. */
tt_status tt_exercise_open_in(const struct tt_exercise_call *k, const char *folder, struct tt_exercise *e);
/* Calls `visit` with every exercise of the course, in their order. */
tt_status tt_exercise_each(const struct tt_exercise_call *k,
                           tt_status (*visit)(const struct tt_exercise *e, void *context), void *context);
tt_status tt_exercise_list(const struct tt_exercise_call *k);
tt_status tt_exercise_hint(const struct tt_exercise_call *k);
tt_status tt_exercise_solution(const struct tt_exercise_call *k);

/* exercise_start.c */
tt_status tt_exercise_start(const struct tt_exercise_call *k);

/* exercise_links.c: the text of a file of `folder`, for a copy that lies elsewhere. Links become absolute if they leave
 * the folder or lead to what `left_behind` names. */
void tt_exercise_links(const char *text, const char *folder, bool (*left_behind)(const char *name),
                       struct tt_text *out);

/* exercise_marks.c */
tt_status tt_exercise_check(const struct tt_exercise_call *k);
tt_status tt_exercise_report(const struct tt_exercise_call *k);
tt_status tt_exercise_whole_class(const struct tt_exercise_call *k);
tt_status tt_exercise_roadmap(const struct tt_exercise_call *k);

/* exercise_page.c */
tt_status tt_exercise_page(const struct tt_exercise_call *k);
/* As tt_exercise_whole_class; with --every, again and again. */
tt_status tt_exercise_class_page(const struct tt_exercise_call *k);

#endif
