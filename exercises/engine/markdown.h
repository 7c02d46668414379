/* The Markdown of the course as HTML: headings, paragraphs, lists, tables, fenced code, links, pictures, `code`,
 * **strong**, *emphasis*, &lt; &gt; &amp;. Everything else is text and is escaped, so no text of the file becomes HTML
 * markup. */
#ifndef TT_EXERCISE_MARKDOWN_H
#define TT_EXERCISE_MARKDOWN_H

#include "core/base/text.h"

struct tt_markdown {
    /* Append the address of a link's or picture's target for this page, already escaped. False: only the words of the
     * link are shown. NULL: false for all. */
    bool (*link)(void *context, const char *target, struct tt_text *out);
    bool (*picture)(void *context, const char *target, struct tt_text *out);
    void *context;
    int deeper; /* added to the level of every heading */
};

/* Appends `text` as HTML. Without memory, out->failed is set. */
void tt_markdown(const struct tt_markdown *m, const char *text, struct tt_text *out);

#endif
