/* Databases of profilers: rocpd, which rocprofv3 and rocprof-sys write, and what nsys export --type sqlite makes of a
 * report. Times are in nanoseconds. Only tables are read, never the views in the file. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "profiling/import/import.h"
#include "profiling/import/sqlite.h"

struct database {
    struct tt_sqlite *db;
    struct tt_imported *out;
    int counts[TT_IN_TABLES];
};

/* The current row: columns 0 and 1 are its start and end, 2 is its name. */
struct event {
    struct tt_sqlite_rows *rows;
    int number; /* of the row, from 1 */
    double start, length;
};

/* Takes a row into the tables, or leaves it out. */
typedef tt_status take_event(struct database *d, const struct event *e);

static tt_status read_times(struct event *e)
{
    int64_t start, end, length;
    if (!tt_sqlite_int(e->rows, 0, &start) || !tt_sqlite_int(e->rows, 1, &end) ||
        __builtin_sub_overflow(end, start, &length) || length < 0)
        return tt_fail(TT_FAILED, "row %d: start and end must be whole numbers, the end not before the start",
                       e->number);
    e->start = (double)start;
    e->length = (double)length;
    return TT_OK;
}

static tt_status name_of(const struct event *e, const char **out)
{
    *out = tt_sqlite_text(e->rows, 2);
    if (*out && **out) return TT_OK;
    return tt_fail(TT_FAILED, "row %d: its name is not in the database", e->number);
}

static tt_status read_table(struct database *d, const char *table, const char *select, take_event *take)
{
    struct event e = {0};
    bool more = true;
    if (!tt_sqlite_has_table(d->db, table)) return TT_OK;
    tt_status st = tt_sqlite_ask(d->db, select, NULL, &e.rows);
    while (!st && more) {
        st = tt_sqlite_next(e.rows, &more);
        if (st || !more) break;
        e.number++;
        st = take(d, &e);
    }
    tt_sqlite_end(e.rows);
    return st ? tt_context(st, "%s", table) : TT_OK;
}

static tt_status add(struct database *d, enum tt_imported_table table, const char *name, const struct event *e,
                     double bytes)
{
    d->counts[table]++;
    return tt_imported_add(d->out, table, name, e->start, e->length, bytes);
}

static tt_status take_kernel(struct database *d, const struct event *row)
{
    struct event e = *row;
    const char *name;
    TT_TRY(read_times(&e));
    TT_TRY(name_of(&e, &name));
    return add(d, TT_IN_KERNELS, name, &e, NAN);
}

static void name_device(struct database *d, const char *table, const char *select)
{
    struct tt_sqlite_rows *rows = NULL;
    bool more = false;
    if (d->out->device[0] || !tt_sqlite_has_table(d->db, table)) return;
    tt_status st = tt_sqlite_ask(d->db, select, NULL, &rows);
    if (!st) st = tt_sqlite_next(rows, &more);
    const char *name = !st && more ? tt_sqlite_text(rows, 0) : NULL;
    if (name) snprintf(d->out->device, sizeof d->out->device, "%s", name);
    tt_sqlite_end(rows);
    tt_status_free(st); /* a report is good without the name of its device */
}

/* ---- rocpd: a set of tables for each process, whose names end in its number ---- */

static tt_status take_roc_copy(struct database *d, const struct event *row)
{
    struct event e = *row;
    const char *name = tt_sqlite_text(e.rows, 2);
    int64_t bytes;
    TT_TRY(read_times(&e));
    bool counted = tt_sqlite_int(e.rows, 3, &bytes) && bytes >= 0;
    return add(d, TT_IN_COPIES, name && *name ? name : "MEMORY_COPY", &e, counted ? (double)bytes : NAN);
}

/* The text of a rocTX range is in the extra data of its event: {"message": "forward"}. */
static tt_status take_roc_range(struct database *d, const struct event *e, const char *name, const char *extra)
{
    struct tt_json *root = NULL;
    tt_status_free(extra ? tt_json_parse(extra, strlen(extra), &root) : TT_OK); /* on failure: its own name */
    const char *message = tt_json_string(root, "message", "");
    tt_status st = add(d, TT_IN_RANGES, message[0] ? message : name, e, NAN);
    tt_json_free(root);
    return st;
}

/* Takes HIP calls and ranges, and leaves other regions out. The category tells which it is: HIP calls are in
 * "HIP_RUNTIME_API_EXT" of rocprofv3 and in "rocm_hip_api" of rocprof-sys. In the latter a range's name is its text. */
static tt_status take_roc_region(struct database *d, const struct event *row)
{
    struct event e = *row;
    const char *name, *category = tt_sqlite_text(e.rows, 3);
    TT_TRY(read_times(&e));
    TT_TRY(name_of(&e, &name));
    bool range = category ? strcasestr(category, "marker") != NULL : strncmp(name, "roctx", 5) == 0;
    bool call = category ? strcasestr(category, "hip_") && strcasestr(category, "api") : strncmp(name, "hip", 3) == 0;
    if (range) return take_roc_range(d, &e, name, tt_sqlite_text(e.rows, 4));
    return call ? add(d, TT_IN_CALLS, name, &e, NAN) : TT_OK;
}

/* Adds `select` with the suffix, escaped for a quoted SQL name, in place of each @: "rocpd_string@". */
static void put_names(struct tt_text *out, const char *select, const char *suffix)
{
    for (; *select; select++) {
        if (*select != '@') {
            tt_text_add(out, select, 1);
            continue;
        }
        for (const char *c = suffix; *c; c++) tt_text_puts(out, *c == '"' ? "\"\"" : (char[]){*c, 0});
    }
}

static tt_status read_roc(struct database *d, const char *table, const char *suffix, const char *select,
                          take_event *take)
{
    struct tt_text name = {0}, sql = {0};
    tt_text_printf(&name, "%s%s", table, suffix);
    put_names(&sql, select, suffix);
    tt_status st = tt_text_status(&name);
    if (!st) st = tt_text_status(&sql);
    if (!st) st = read_table(d, name.s, sql.s, take);
    tt_text_free(&name);
    tt_text_free(&sql);
    return st;
}

static tt_status read_regions(struct database *d, const char *suffix)
{
    struct tt_text categories = {0};
    tt_text_printf(&categories, "rocpd_info_category%s", suffix); /* a table of their own since version 4 */
    tt_status st = tt_text_status(&categories);
    bool apart = !st && tt_sqlite_has_table(d->db, categories.s);
    tt_text_free(&categories);
    TT_TRY(st);
    return read_roc(d, "rocpd_region", suffix,
                    apart ? "SELECT R.start, R.[end], N.string, C.name, E.extdata FROM \"rocpd_region@\" R "
                            "LEFT JOIN \"rocpd_string@\" N ON N.id = R.name_id "
                            "LEFT JOIN \"rocpd_event@\" E ON E.id = R.event_id "
                            "LEFT JOIN \"rocpd_info_category@\" C ON C.id = E.category_id"
                          : "SELECT R.start, R.[end], N.string, C.string, E.extdata FROM \"rocpd_region@\" R "
                            "LEFT JOIN \"rocpd_string@\" N ON N.id = R.name_id "
                            "LEFT JOIN \"rocpd_event@\" E ON E.id = R.event_id "
                            "LEFT JOIN \"rocpd_string@\" C ON C.id = E.category_id",
                    take_roc_region);
}

static tt_status read_process(struct database *d, const char *suffix)
{
    struct tt_text table = {0}, agents = {0};
    TT_TRY(read_roc(d, "rocpd_kernel_dispatch", suffix,
                    "SELECT K.start, K.[end], coalesce(nullif(S.display_name, ''), S.kernel_name) FROM "
                    "\"rocpd_kernel_dispatch@\" K LEFT JOIN \"rocpd_info_kernel_symbol@\" S ON S.id = K.kernel_id",
                    take_kernel));
    TT_TRY(read_roc(d, "rocpd_memory_copy", suffix,
                    "SELECT M.start, M.[end], N.string, M.size FROM \"rocpd_memory_copy@\" M "
                    "LEFT JOIN \"rocpd_string@\" N ON N.id = M.name_id",
                    take_roc_copy));
    TT_TRY(read_regions(d, suffix));
    tt_text_printf(&table, "rocpd_info_agent%s", suffix);
    put_names(&agents,
              "SELECT coalesce(nullif(A.product_name, ''), A.name) FROM \"rocpd_info_agent@\" A WHERE A.type = 'GPU' "
              "ORDER BY A.id LIMIT 1",
              suffix);
    tt_status st = tt_text_status(&table);
    if (!st) st = tt_text_status(&agents);
    if (!st) name_device(d, table.s, agents.s);
    tt_text_free(&table);
    tt_text_free(&agents);
    return st;
}

static tt_status import_rocpd(struct database *d, int *processes)
{
    static const char first[] = "rocpd_string";
    struct tt_sqlite_rows *rows = NULL;
    bool more = true;
    tt_status st = tt_sqlite_ask(d->db,
                                 "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'rocpd_string*' "
                                 "ORDER BY name",
                                 NULL, &rows);
    while (!st && more) {
        st = tt_sqlite_next(rows, &more);
        const char *name = !st && more ? tt_sqlite_text(rows, 0) : NULL;
        const char *suffix = name ? name + sizeof first - 1 : "";
        if (!name || (*suffix && *suffix != '_')) continue;
        ++*processes;
        st = read_process(d, suffix);
    }
    tt_sqlite_end(rows);
    return st;
}

/* ---- nsys ---- */

static tt_status take_memcpy(struct database *d, const struct event *row)
{
    struct event e = *row;
    int64_t kind, bytes;
    const char *what = "";
    TT_TRY(read_times(&e));
    bool counted = tt_sqlite_int(e.rows, 2, &bytes) && bytes >= 0;
    if (tt_sqlite_int(e.rows, 3, &kind)) /* as CUPTI numbers them */
        what = kind == 1    ? " Host-to-Device"
               : kind == 2  ? " Device-to-Host"
               : kind == 8  ? " Device-to-Device"
               : kind == 10 ? " Peer-to-Peer"
                            : "";
    char name[64];
    snprintf(name, sizeof name, "[CUDA memcpy%s]", what);
    return add(d, TT_IN_COPIES, name, &e, counted ? (double)bytes : NAN);
}

static tt_status take_memset(struct database *d, const struct event *row)
{
    struct event e = *row;
    int64_t bytes;
    TT_TRY(read_times(&e));
    bool counted = tt_sqlite_int(e.rows, 2, &bytes) && bytes >= 0;
    return add(d, TT_IN_COPIES, "[CUDA memset]", &e, counted ? (double)bytes : NAN);
}

/* cudaLaunchKernel_v7000: the version of the interface is left out of the name. */
static tt_status take_cuda_call(struct database *d, const struct event *row)
{
    struct event e = *row;
    const char *name;
    char plain[128];
    TT_TRY(read_times(&e));
    TT_TRY(name_of(&e, &name));
    snprintf(plain, sizeof plain, "%s", name);
    char *version = strrchr(plain, '_');
    if (version && version[1] == 'v' && isdigit((unsigned char)version[2])) *version = 0;
    return add(d, TT_IN_CALLS, plain, &e, NAN);
}

/* Takes ranges that were pushed and popped, or started and ended; not marks, and not ranges that never ended. */
static tt_status take_nvtx(struct database *d, const struct event *row)
{
    enum { PUSH_POP = 59, START_END = 60 };
    struct event e = *row;
    int64_t type, end;
    const char *name;
    if (!tt_sqlite_int(e.rows, 3, &type) || (type != PUSH_POP && type != START_END)) return TT_OK;
    if (!tt_sqlite_int(e.rows, 1, &end)) return TT_OK;
    TT_TRY(read_times(&e));
    TT_TRY(name_of(&e, &name));
    return add(d, TT_IN_RANGES, name, &e, NAN);
}

static tt_status import_nsys(struct database *d)
{
    bool full = tt_sqlite_has_column(d->db, "CUPTI_ACTIVITY_KIND_KERNEL", "demangledName");
    TT_TRY(read_table(d, "CUPTI_ACTIVITY_KIND_KERNEL",
                      full ? "SELECT K.start, K.[end], S.value FROM CUPTI_ACTIVITY_KIND_KERNEL K "
                             "LEFT JOIN StringIds S ON S.id = K.demangledName"
                           : "SELECT K.start, K.[end], S.value FROM CUPTI_ACTIVITY_KIND_KERNEL K "
                             "LEFT JOIN StringIds S ON S.id = K.shortName",
                      take_kernel));
    TT_TRY(read_table(d, "CUPTI_ACTIVITY_KIND_MEMCPY",
                      "SELECT M.start, M.[end], M.bytes, M.copyKind FROM CUPTI_ACTIVITY_KIND_MEMCPY M", take_memcpy));
    TT_TRY(read_table(d, "CUPTI_ACTIVITY_KIND_MEMSET",
                      "SELECT M.start, M.[end], M.bytes FROM CUPTI_ACTIVITY_KIND_MEMSET M", take_memset));
    TT_TRY(read_table(d, "CUPTI_ACTIVITY_KIND_RUNTIME",
                      "SELECT R.start, R.[end], S.value FROM CUPTI_ACTIVITY_KIND_RUNTIME R "
                      "LEFT JOIN StringIds S ON S.id = R.nameId",
                      take_cuda_call));
    TT_TRY(read_table(d, "NVTX_EVENTS",
                      "SELECT E.start, E.[end], coalesce(E.text, S.value), E.eventType FROM NVTX_EVENTS E "
                      "LEFT JOIN StringIds S ON S.id = E.textId",
                      take_nvtx));
    name_device(d, "TARGET_INFO_GPU", "SELECT G.name FROM TARGET_INFO_GPU G ORDER BY G.id LIMIT 1");
    return TT_OK;
}

/* ---- which ---- */

static tt_status import_any(struct database *d, const char **tool)
{
    int processes = 0;
    *tool = "rocprofv3";
    TT_TRY(import_rocpd(d, &processes));
    if (processes) return TT_OK;
    *tool = "nsys";
    if (tt_sqlite_has_table(d->db, "StringIds")) return import_nsys(d);
    return tt_fail(TT_USAGE, "this database is neither rocpd's (rocprofv3, rocprof-sys) nor nsys's");
}

tt_status tt_import_database(const char *path, struct tt_imported *out, struct tt_text *what)
{
    struct database d = {.out = out};
    const char *tool = "";
    TT_TRY(tt_sqlite_open(path,
                          "export it as text: rocpd convert -i FILE --output-format csv, or for nsys: nsys stats "
                          "--report cuda_gpu_trace,cuda_api_trace,nvtx_pushpop_trace --format csv FILE",
                          &d.db));
    tt_status st = import_any(&d, &tool);
    tt_sqlite_close(d.db);
    TT_TRY(st);
    strcpy(out->tool, tool);
    tt_text_printf(what, "%s, %d kernels, %d copies, %d calls, %d ranges",
                   strcmp(tool, "nsys") == 0 ? "nsys database" : "rocpd database", d.counts[TT_IN_KERNELS],
                   d.counts[TT_IN_COPIES], d.counts[TT_IN_CALLS], d.counts[TT_IN_RANGES]);
    return TT_OK;
}
