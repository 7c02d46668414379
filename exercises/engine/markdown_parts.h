/* What the two files of the Markdown renderer share. */
#ifndef TT_MARKDOWN_PARTS_H
#define TT_MARKDOWN_PARTS_H

#include "exercises/engine/markdown.h"

/* markdown_inline.c: appends `n` bytes from within a block as HTML. tt_markdown_escape takes them as plain text. */
void tt_markdown_inline(const struct tt_markdown *m, const char *s, size_t n, struct tt_text *out);
void tt_markdown_escape(const char *s, size_t n, struct tt_text *out);

#endif
