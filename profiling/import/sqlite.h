/* SQLite, as far as reading other profilers' databases needs it. The library is loaded when a database is opened, so tt
 * builds and runs where it is not installed. A database is opened read-only and as one that nobody else writes. Nothing
 * in it is trusted: a value is read with the type that is expected, and views in the file are not used. */
#ifndef TT_SQLITE_H
#define TT_SQLITE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/status.h"

struct tt_sqlite;      /* an open database */
struct tt_sqlite_rows; /* the rows of a query */

/* Whether a file begins like a database of SQLite; and whether the library can be loaded here. */
bool tt_is_sqlite(const char *path);
bool tt_sqlite_here(void);

/* Where the library is not installed, fails with TT_NO_TOOL and a message that ends in `instead`: what else can be
 * done. */
tt_status tt_sqlite_open(const char *path, const char *instead, struct tt_sqlite **out);
void tt_sqlite_close(struct tt_sqlite *db);

/* Whether there is such a table, or such a column in a table. */
bool tt_sqlite_has_table(struct tt_sqlite *db, const char *table);
bool tt_sqlite_has_column(struct tt_sqlite *db, const char *table, const char *column);

/* Runs a SELECT with `text` in place of each ?; it may be NULL. End with tt_sqlite_end, also after a failure.
 * tt_sqlite_next goes to the next row; *more is false after the last one. */
tt_status tt_sqlite_ask(struct tt_sqlite *db, const char *select, const char *text, struct tt_sqlite_rows **out);
tt_status tt_sqlite_next(struct tt_sqlite_rows *rows, bool *more);
void tt_sqlite_end(struct tt_sqlite_rows *rows);

/* A column of the current row. False or NULL if it holds something else: NULL, a text for a number, bytes for a
 * text. */
bool tt_sqlite_int(struct tt_sqlite_rows *rows, int column, int64_t *out);
const char *tt_sqlite_text(struct tt_sqlite_rows *rows, int column); /* valid until the next row */

#endif
