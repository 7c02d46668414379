/* The course as a page for a browser, in one file that loads nothing else. A learner's page has the walkthroughs, the
 * worksheets with their marks, and plots of the runs. The page of a class shows how far each learner is, and frequent
 * mistakes. */
#ifndef TT_EXERCISE_PAGE_H
#define TT_EXERCISE_PAGE_H

#include "exercises/engine/exercise.h"

/* A folder in which an exercise was started. */
struct tt_page_part {
    const char *folder;
    struct tt_exercise exercise;
    struct tt_marked marked;
    char failure[1000]; /* why the worksheet could not be marked; "": it was marked */
};

struct tt_page {
    struct tt_exercise *course; /* every exercise there is */
    int course_count;
    struct tt_page_part *parts; /* one for each folder, in this order on the page */
    int part_count;
};

/* Writes the page of a learner. */
tt_status tt_page_write(const struct tt_page *p, const char *path);

/* Writes the page of a class. `notes`: lines about what is missing, or NULL. `refresh`: after how many seconds the
 * browser loads the page again, 0: never. Without results, the page says so. */
tt_status tt_class_page(struct tt_json *const *results, int n, const char *notes, int refresh, const char *path);

#endif
