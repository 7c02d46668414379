/* The course as a page for a browser: one file without anything from outside. A learner's has the walkthrough, the
 * worksheet with its marks, and plots of the runs; a class's says who is where, and what most had wrong. */
#ifndef TT_EXERCISE_PAGE_H
#define TT_EXERCISE_PAGE_H

#include "exercises/engine/exercise.h"

/* A folder in which an exercise was started. */
struct tt_page_part {
    const char *folder;
    struct tt_exercise exercise;
    struct tt_marked marked;
    char failure[1000]; /* why the worksheet could not be marked; "": it was */
};

struct tt_page {
    struct tt_exercise *course; /* every exercise there is */
    int course_count;
    struct tt_page_part *parts;
    int part_count;
};

tt_status tt_page_write(const struct tt_page *p, const char *path);

/* `notes`: lines about what is missing, or NULL. `refresh`: see html_begin_with. Without results the page says so. */
tt_status tt_class_page(struct tt_json *const *results, int n, const char *notes, int refresh, const char *path);

#endif
