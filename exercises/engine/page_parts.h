/* What the files of the two pages share. */
#ifndef TT_EXERCISE_PAGE_PARTS_H
#define TT_EXERCISE_PAGE_PARTS_H

#include "exercises/engine/page.h"

/* A table cell with a bar and "3 of 12"; `done`: the exercise is passed. */
void page_points(struct tt_text *t, double points, double most, bool done);
/* The class in course.css for a mark, given by its name, such as "right"; "": there is no such mark. */
const char *page_mark_class(const char *mark);
/* Each line of the text as a paragraph of notes. */
void page_notes(struct tt_text *t, const char *lines);

/* page_walkthrough.c: the README.md of the exercise, as HTML. */
tt_status page_walkthrough(struct tt_text *t, const struct tt_page *p, const struct tt_exercise *e);
/* page_runs.c: what a learner measured, as a table and as charts. */
void page_runs(struct tt_text *t, const struct tt_marked *m);

#endif
