/* Comma-separated values. Reading, as the profilers write them: quotes, doubled quotes and line breaks inside quotes;
 * LF or CRLF; lines of the tool's own chatter before the table are the caller's to skip. Works in place on the text. */
#ifndef TT_CSV_H
#define TT_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/base/text.h"

struct tt_csv {
    char *at, *end;  /* what is left; the byte at `end` is 0 */
    int line;        /* of the next record, from 1 */
    int record_line; /* of the record at hand */
    char **fields;
    int count;
    size_t room;
};

/* `text` of n bytes, 0 after it; it is cut up. Free with tt_csv_free; the text remains the caller's. */
void tt_csv_open(struct tt_csv *c, char *text, size_t n);
void tt_csv_free(struct tt_csv *c);

/* The next record into fields, without the apostrophe that keeps a cell from being a formula; *more is false at the
 * end. A quote that is never closed is an error with its line. */
tt_status tt_csv_next(struct tt_csv *c, bool *more);

/* The column of that name in the record at hand, ignoring case; -1 when there is none. */
int tt_csv_column(const struct tt_csv *c, const char *name);
/* A field, "" when the record is too short. */
const char *tt_csv_field(const struct tt_csv *c, int column);

/* A number that may have thousands separators ("1,234.5") and spaces around it; false when it is none. */
bool tt_csv_number(const char *text, double *out);

/* Writing: cell after cell, then tt_csv_end. Commas and quotes are put in by the writer, quotes where they are needed;
 * a cell that a spreadsheet would compute (=, +, -, @, or a control character first) gets an apostrophe before it. What
 * is not UTF-8 becomes U+FFFD. The reader gives the same cells back. */
void tt_csv_put(struct tt_text *out, const char *cell);
void tt_csv_put_int(struct tt_text *out, int64_t value);
void tt_csv_put_number(struct tt_text *out, double value); /* nine digits; empty when it is not finite */
void tt_csv_end(struct tt_text *out);

/* Whether a cell gets that apostrophe. One that begins with apostrophes and goes on like a formula gets one more. */
bool tt_csv_is_formula(const char *cell);

#endif
