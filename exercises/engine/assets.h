/* The style sheet of the course's pages, embedded from course.css; see profiling/report/assets.h. */
#ifndef TT_COURSE_ASSETS_H
#define TT_COURSE_ASSETS_H

extern const char tt_course_css[];

#endif
