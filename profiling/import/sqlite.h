/* SQLite, as far as reading other profilers' databases needs it. The library is loaded when a database is opened, so
 * that tt builds and runs where it is not installed. A database is opened read-only and as one that nobody else writes;
 * nothing in it is trusted: a value is asked for with the type that is expected, and views of the file are not used. */
#ifndef TT_SQLITE_H
#define TT_SQLITE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/status.h"

struct tt_sqlite;      /* an open database */
struct tt_sqlite_rows; /* the answer to a question */

/* Whether a file begins as a database of SQLite does, and whether the library can be loaded here. */
bool tt_is_sqlite(const char *path);
bool tt_sqlite_here(void);

/* Fails with TT_NO_TOOL and `instead`, what else can be done, where the library is not installed. */
tt_status tt_sqlite_open(const char *path, const char *instead, struct tt_sqlite **out);
void tt_sqlite_close(struct tt_sqlite *db);

/* Whether there is a table of that name, and a column in it. */
bool tt_sqlite_has_table(struct tt_sqlite *db, const char *table);
bool tt_sqlite_has_column(struct tt_sqlite *db, const char *table, const char *column);

/* A SELECT; `text` is put in place of each ?, or NULL. End with tt_sqlite_end, also after a failure. */
tt_status tt_sqlite_ask(struct tt_sqlite *db, const char *select, const char *text, struct tt_sqlite_rows **out);
tt_status tt_sqlite_next(struct tt_sqlite_rows *rows, bool *more);
void tt_sqlite_end(struct tt_sqlite_rows *rows);

/* A column of the row at hand. False or NULL when it holds something else: NULL, text for a number, bytes for a text.
 */
bool tt_sqlite_int(struct tt_sqlite_rows *rows, int column, int64_t *out);
const char *tt_sqlite_text(struct tt_sqlite_rows *rows, int column); /* until the next row */

#endif
