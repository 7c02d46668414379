/* The Markdown of the course as HTML: headings, paragraphs, lists, tables, fenced code, links, pictures, `code`,
 * **strong**, *emphasis*, &lt; &gt; &amp;. Everything else is text. No text of the file becomes markup: it is
 * escaped. */
#ifndef TT_EXERCISE_MARKDOWN_H
#define TT_EXERCISE_MARKDOWN_H

#include "core/base/text.h"

struct tt_markdown {
    /* Append where a link leads, or a picture lies, as the page names it, already escaped. False: the words stand
     * alone. NULL is false for all. */
    bool (*link)(void *context, const char *target, struct tt_text *out);
    bool (*picture)(void *context, const char *target, struct tt_text *out);
    void *context;
    int deeper; /* added to the level of every heading */
};

void tt_markdown(const struct tt_markdown *m, const char *text, struct tt_text *out);

#endif
