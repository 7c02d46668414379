#include "profiling/import/sqlite.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/file.h"
#include "core/base/text.h"

/* ---- the library: its documented interface, as much as is used ---- */

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;

enum { SQL_OK = 0, SQL_CORRUPT = 11, SQL_NOT_A_DATABASE = 26, SQL_ROW = 100, SQL_DONE = 101 };
enum { SQL_INTEGER = 1, SQL_TEXT = 3 };
enum { OPEN_READONLY = 0x1, OPEN_URI = 0x40 };

struct library {
    void *handle;
    int (*open_v2)(const char *, sqlite3 **, int, const char *);
    int (*close)(sqlite3 *);
    int (*prepare_v2)(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
    int (*bind_text)(sqlite3_stmt *, int, const char *, int, void (*)(void *));
    int (*bind_parameter_count)(sqlite3_stmt *);
    int (*step)(sqlite3_stmt *);
    int (*finalize)(sqlite3_stmt *);
    int (*column_type)(sqlite3_stmt *, int);
    int64_t (*column_int64)(sqlite3_stmt *, int);
    const unsigned char *(*column_text)(sqlite3_stmt *, int);
    const char *(*errmsg)(sqlite3 *);
};

static bool load(struct library *l)
{
    static const char *const names[] = {"open_v2", "close",    "prepare_v2",  "bind_text",    "bind_parameter_count",
                                        "step",    "finalize", "column_type", "column_int64", "column_text",
                                        "errmsg"};
    void *functions[sizeof names / sizeof *names];
    *l = (struct library){.handle = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL)};
    if (!l->handle) return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[64];
        snprintf(name, sizeof name, "sqlite3_%s", names[i]);
        functions[i] = dlsym(l->handle, name);
        if (functions[i]) continue;
        dlclose(l->handle);
        return false;
    }
    memcpy(&l->open_v2, functions, sizeof functions); /* the members after the handle, in the order of the names */
    return true;
}

_Static_assert(sizeof(struct library) == 12 * sizeof(void *), "a function of the library has no name");

struct tt_sqlite {
    struct library l;
    sqlite3 *db;
};

struct tt_sqlite_rows {
    struct tt_sqlite *of;
    sqlite3_stmt *statement;
};

bool tt_sqlite_here(void)
{
    struct library l;
    if (!load(&l)) return false;
    dlclose(l.handle);
    return true;
}

bool tt_is_sqlite(const char *path)
{
    char head[16];
    FILE *f = tt_is_file(path) ? fopen(path, "rb") : NULL; /* looking into a pipe would consume it */
    bool yes = f && fread(head, 1, sizeof head, f) == sizeof head && memcmp(head, "SQLite format 3", 16) == 0;
    if (f) fclose(f);
    return yes;
}

/* ---- opening ---- */

static tt_status failed(struct tt_sqlite *db, int code)
{
    bool damaged = code == SQL_CORRUPT || code == SQL_NOT_A_DATABASE;
    return tt_fail(TT_FAILED, "%s: %s%s", damaged ? "the database is damaged" : "the database cannot be read",
                   db->db ? db->l.errmsg(db->db) : "out of memory",
                   damaged ? "; was the run that wrote it ended early?" : "");
}

/* file:PATH?immutable=1: no lock, no journal, nothing written beside it. */
static void put_uri(struct tt_text *out, const char *path)
{
    tt_text_puts(out, "file:");
    for (const unsigned char *c = (const unsigned char *)path; *c; c++) {
        bool plain =
            (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || strchr("/._-", *c);
        tt_text_printf(out, plain ? "%c" : "%%%02x", *c);
    }
    tt_text_puts(out, "?mode=ro&immutable=1");
}

/* A journal beside the file holds what the writer had not moved into it yet. */
static tt_status refuse_unfinished(const char *path)
{
    static const char *const ends[] = {"-wal", "-journal"};
    char beside[4200];
    struct stat s;
    for (int i = 0; i < 2; i++) {
        snprintf(beside, sizeof beside, "%s%s", path, ends[i]);
        if (stat(beside, &s) == 0 && s.st_size > 0)
            return tt_fail(TT_FAILED, "the program that wrote this database has not closed it: %s is still there; is "
                                      "the program still running?", beside);
    }
    return TT_OK;
}

static tt_status run(struct tt_sqlite *db, const char *statement)
{
    struct tt_sqlite_rows *rows = NULL;
    bool more;
    tt_status st = tt_sqlite_ask(db, statement, NULL, &rows);
    if (!st) st = tt_sqlite_next(rows, &more);
    tt_sqlite_end(rows);
    return st;
}

tt_status tt_sqlite_open(const char *path, const char *instead, struct tt_sqlite **out)
{
    struct tt_text uri = {0};
    *out = NULL;
    TT_TRY(refuse_unfinished(path));
    struct tt_sqlite *db = calloc(1, sizeof *db);
    if (!db) return tt_no_memory("a database");
    if (!load(&db->l)) {
        free(db);
        return tt_fail(TT_NO_TOOL, "this is a database, and SQLite (libsqlite3.so.0) is not installed here; %s",
                       instead);
    }
    put_uri(&uri, path);
    tt_status st = tt_text_status(&uri);
    int code = st ? SQL_OK : db->l.open_v2(uri.s, &db->db, OPEN_READONLY | OPEN_URI, NULL);
    tt_text_free(&uri);
    if (code != SQL_OK) st = failed(db, code);
    if (!st) st = run(db, "PRAGMA trusted_schema = OFF");
    if (!st) st = run(db, "SELECT count(*) FROM sqlite_master"); /* whether it can be read at all */
    if (st)
        tt_sqlite_close(db);
    else
        *out = db;
    return st;
}

void tt_sqlite_close(struct tt_sqlite *db)
{
    if (!db) return;
    if (db->db) db->l.close(db->db);
    dlclose(db->l.handle);
    free(db);
}

/* ---- asking ---- */

tt_status tt_sqlite_ask(struct tt_sqlite *db, const char *select, const char *text, struct tt_sqlite_rows **out)
{
    struct tt_sqlite_rows *rows = calloc(1, sizeof *rows);
    *out = rows;
    if (!rows) return tt_no_memory("a database");
    rows->of = db;
    int code = db->l.prepare_v2(db->db, select, -1, &rows->statement, NULL);
    for (int i = 1; code == SQL_OK && text && i <= db->l.bind_parameter_count(rows->statement); i++)
        code = db->l.bind_text(rows->statement, i, text, -1, NULL);
    return code == SQL_OK ? TT_OK : failed(db, code);
}

tt_status tt_sqlite_next(struct tt_sqlite_rows *rows, bool *more)
{
    int code = rows->of->l.step(rows->statement);
    *more = code == SQL_ROW;
    return code == SQL_ROW || code == SQL_DONE ? TT_OK : failed(rows->of, code);
}

void tt_sqlite_end(struct tt_sqlite_rows *rows)
{
    if (!rows) return;
    rows->of->l.finalize(rows->statement);
    free(rows);
}

bool tt_sqlite_int(struct tt_sqlite_rows *rows, int column, int64_t *out)
{
    const struct library *l = &rows->of->l;
    if (l->column_type(rows->statement, column) != SQL_INTEGER) return false;
    *out = l->column_int64(rows->statement, column);
    return true;
}

const char *tt_sqlite_text(struct tt_sqlite_rows *rows, int column)
{
    const struct library *l = &rows->of->l;
    if (l->column_type(rows->statement, column) != SQL_TEXT) return NULL;
    return (const char *)l->column_text(rows->statement, column);
}

/* ---- what there is ---- */

/* Whether a row of the query has the text `wanted`; a query that cannot be run has no rows. */
static bool any(struct tt_sqlite *db, const char *select, const char *text, const char *wanted)
{
    struct tt_sqlite_rows *rows = NULL;
    bool more = true, found = false;
    tt_status st = tt_sqlite_ask(db, select, text, &rows);
    while (!st && more && !found) {
        st = tt_sqlite_next(rows, &more);
        const char *name = !st && more ? tt_sqlite_text(rows, 0) : NULL;
        found = name && strcmp(name, wanted) == 0;
    }
    tt_sqlite_end(rows);
    tt_status_free(st);
    return found;
}

bool tt_sqlite_has_table(struct tt_sqlite *db, const char *table)
{
    return any(db, "SELECT name FROM sqlite_master WHERE type = 'table' AND name = ?", table, table);
}

bool tt_sqlite_has_column(struct tt_sqlite *db, const char *table, const char *column)
{
    return any(db, "SELECT name FROM pragma_table_info(?)", table, column);
}
