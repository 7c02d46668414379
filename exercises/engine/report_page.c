/* The document of an exercise for a browser: its Markdown with the style sheet of the course. */
#include <stdio.h>

#include "exercises/engine/assets.h"
#include "exercises/engine/exercise.h"
#include "exercises/engine/markdown.h"
#include "profiling/report/html_parts.h"

tt_status tt_marked_report_page(const struct tt_marked *m, const char *markdown, const char *path)
{
    struct tt_text t = {0};
    char title[300];
    snprintf(title, sizeof title, "%s%s%s", m->exercise->title, m->learner[0] ? ": " : "", m->learner);
    html_begin_with(&t, title, tt_course_css, 0);
    tt_text_puts(&t, "<main>\n");
    tt_markdown(&(struct tt_markdown){0}, markdown, &t);
    tt_text_puts(&t, "</main>\n");
    return html_end(&t, path);
}
