/* Comma-separated values as the profilers write them: quotes, doubled quotes and line breaks inside quotes; LF or CRLF;
 * lines of the tool's own chatter before the table are the caller's to skip. Works in place on the text. */
#ifndef TT_CSV_H
#define TT_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "backend/status.h"

struct tt_csv {
    char *at, *end;  /* what is left; the byte at `end` is 0 */
    int line;        /* of the next record, from 1 */
    int record_line; /* of the record at hand */
    char **fields;
    int count, cap;
};

/* `text` of n bytes, 0 after it; it is cut up. Free with tt_csv_free; the text remains the caller's. */
void tt_csv_open(struct tt_csv *c, char *text, size_t n);
void tt_csv_free(struct tt_csv *c);

/* The next record into fields; *more is false at the end. A quote that is never closed is an error with its line. */
tt_status tt_csv_next(struct tt_csv *c, bool *more);

/* The column of that name in the record at hand, ignoring case; -1 when there is none. */
int tt_csv_column(const struct tt_csv *c, const char *name);
/* A field, "" when the record is too short. */
const char *tt_csv_field(const struct tt_csv *c, int column);

/* A number that may have thousands separators ("1,234.5") and spaces around it; false when it is none. */
bool tt_csv_number(const char *text, double *out);

#endif
