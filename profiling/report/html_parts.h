/* The pieces of a page: its frame, tables that can be sorted, folded parts. For html*.c and the pages of the course. */
#ifndef TT_HTML_PARTS_H
#define TT_HTML_PARTS_H

#include "core/base/text.h"

void html_begin(struct tt_text *t, const char *title);
/* The same with more CSS, and with the seconds after which a browser loads the page again (0: never). */
void html_begin_with(struct tt_text *t, const char *title, const char *css, int refresh);
tt_status html_end(struct tt_text *t, const char *path); /* closes the page, writes it and frees the text */

void html_section(struct tt_text *t, const char *id, const char *heading);
void html_section_end(struct tt_text *t);

/* Short facts in a grid; one without a value is left out. */
void html_facts(struct tt_text *t);
void html_fact(struct tt_text *t, const char *name, const char *value);
void html_facts_end(struct tt_text *t);

/* A paragraph, and a note in small print; the text is escaped. */
void html_paragraph(struct tt_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void html_note(struct tt_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A table. `columns`: names separated by '|'; the name of a column of numbers begins with '#'. */
void html_table(struct tt_text *t, const char *columns);
void html_row(struct tt_text *t);
void html_cell(struct tt_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A cell with a number: shown as `words`, sorted by `value`. */
void html_number(struct tt_text *t, double value, const char *words);
void html_row_end(struct tt_text *t);
void html_table_end(struct tt_text *t);

/* A part that a click on its summary opens and closes. */
void html_fold(struct tt_text *t, const char *summary, bool open);
void html_fold_end(struct tt_text *t);

/* "12.3" or "n/a". */
const char *html_fixed(double value, int digits, char out[32]);

#endif
