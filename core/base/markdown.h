/* Markdown for CommonMark and GitHub: escaped text, and tables of escaped cells. */
#ifndef TT_MARKDOWN_H
#define TT_MARKDOWN_H

#include "core/base/text.h"

/* Appends a text that is shown literally: punctuation that would be markup is escaped, a line break or a tab becomes a
 * space, other control characters and invalid UTF-8 become U+FFFD. */
void tt_md_text(struct tt_text *out, const char *s);
void tt_md_printf(struct tt_text *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A table: the head, then for every row its cells and tt_md_end. In `columns`, names are separated by bars; a column
 * whose name ends with a colon is right-aligned. */
void tt_md_head(struct tt_text *out, const char *columns);
void tt_md_cell(struct tt_text *out, const char *text);
void tt_md_cellf(struct tt_text *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tt_md_markup_cell(struct tt_text *out, const char *markup); /* the program's own markup: only bars are escaped */
void tt_md_end(struct tt_text *out);

#endif
