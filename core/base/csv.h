/* Comma-separated values. The reader understands what the profilers write: quotes, with doubled quotes and line breaks
 * inside; LF or CRLF. The caller skips lines that a tool prints before its table. Works in place on the text. */
#ifndef TT_CSV_H
#define TT_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/base/text.h"

struct tt_csv {
    char *at, *end;  /* the text not yet read; the byte at `end` is 0 */
    int line;        /* of the next record, from 1 */
    int record_line; /* of the current record */
    char **fields;
    int count;
    size_t room;
};

/* `text` has n bytes and a 0 after them; reading overwrites it. tt_csv_free does not free the text. */
void tt_csv_open(struct tt_csv *c, char *text, size_t n);
void tt_csv_free(struct tt_csv *c);

/* Reads the next record into `fields`, without the apostrophe that tt_csv_put adds before a formula. *more is false at
 * the end. A quote that is never closed is an error that names its line. */
tt_status tt_csv_next(struct tt_csv *c, bool *more);

/* The index of this name in the current record, ignoring case, or -1. */
int tt_csv_column(const struct tt_csv *c, const char *name);
/* A field, "" when the record is too short. */
const char *tt_csv_field(const struct tt_csv *c, int column);

/* Reads a number, which may have thousands separators ("1,234.5") and spaces around it. False if it is not a number. */
bool tt_csv_number(const char *text, double *out);

/* Writing: put cell after cell, then tt_csv_end. The writer adds commas, and quotes where they are needed. A text that
 * a spreadsheet would take for a formula (it starts with =, +, -, @, tab, CR or LF) gets an apostrophe before it.
 * Invalid UTF-8 becomes U+FFFD. The reader returns the same cells. */
void tt_csv_put(struct tt_text *out, const char *cell);
void tt_csv_put_int(struct tt_text *out, int64_t value);
void tt_csv_put_number(struct tt_text *out, double value); /* nine digits; empty when it is not finite */
void tt_csv_end(struct tt_text *out);

/* Whether a cell gets that apostrophe: it is a formula, or apostrophes followed by one. */
bool tt_csv_is_formula(const char *cell);

#endif
