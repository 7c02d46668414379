/* Tables of nsys stats and rocprofv3. The names of the columns tell which table it is, and its units. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "profiling/import/import.h"

struct table {
    struct tt_csv *c;
    struct tt_imported *r;
    int columns; /* of the header */
    int rows;
};

typedef tt_status read_table(struct tt_csv *c, struct tt_imported *out, struct tt_text *what);

/* ---- columns ---- */

/* "Total Time (ns)" is the column "Total Time", in nanoseconds. */
static int column(const struct tt_csv *c, const char *name)
{
    size_t n = strlen(name);
    for (int i = 0; i < c->count; i++) {
        const char *f = c->fields[i];
        if (strncasecmp(f, name, n) == 0 && (!f[n] || strncmp(f + n, " (", 2) == 0)) return i;
    }
    return -1;
}

static double seconds_in(const char *header)
{
    const char *unit = strstr(header, " (");
    if (!unit) return 1e-9;
    unit += 2;
    if (!strncmp(unit, "ns", 2)) return 1e-9;
    if (!strncmp(unit, "us", 2) || !strncmp(unit, "µs", 3) || !strncmp(unit, "μs", 3)) return 1e-6;
    if (!strncmp(unit, "ms", 2)) return 1e-3;
    return *unit == 's' ? 1 : 1e-9;
}

struct column_of {
    int at;
    double unit; /* seconds */
    char name[64];
};

static struct column_of find(const struct tt_csv *c, const char *name)
{
    struct column_of out = {.at = column(c, name), .unit = 1e-9};
    if (out.at >= 0) out.unit = seconds_in(c->fields[out.at]);
    strncpy(out.name, name, sizeof out.name - 1);
    return out;
}

static tt_status number(const struct tt_csv *c, const struct column_of *column, double *out)
{
    const char *text = tt_csv_field(c, column->at);
    if (tt_csv_number(text, out)) return TT_OK;
    return tt_fail(TT_FAILED, "line %d: column %s: \"%.60s\" is not a number", c->record_line, column->name, text);
}

/* A time in the column's own unit; fails below zero. */
static tt_status duration(const struct tt_csv *c, const struct column_of *column, double *out)
{
    TT_TRY(number(c, column, out));
    if (*out >= 0) return TT_OK;
    return tt_fail(TT_FAILED, "line %d: column %s: a time below zero", c->record_line, column->name);
}

/* ---- rows ---- */

bool tt_import_table_ends(const struct tt_csv *c, int columns)
{
    return (c->count == 1 && columns > 1) || strncmp(c->fields[0], "==", 2) == 0;
}

/* Reads the next row of the table; *more is false after the last one. A row that ends the table is left to be read
 * again, since it may be the header of the next one. */
static tt_status next_row(struct table *t, bool *more)
{
    struct tt_csv before = *t->c;
    TT_TRY(tt_csv_next(t->c, more));
    if (!*more) return TT_OK;
    if (tt_import_table_ends(t->c, t->columns)) {
        t->c->at = before.at;
        t->c->line = before.line;
        *more = false;
        return TT_OK;
    }
    if (t->c->count < t->columns)
        return tt_fail(TT_FAILED, "line %d: %d columns where the header has %d; is the file cut off?",
                       t->c->record_line, t->c->count, t->columns);
    t->rows++;
    return TT_OK;
}

/* ---- sums: name, how often, how long ---- */

static tt_status read_sums(struct tt_csv *c, struct tt_tallies *into, struct tt_tallies *copies,
                           const char *name_column, const char *count_column, const char *time_column, int *rows)
{
    struct column_of name = find(c, name_column), count = find(c, count_column), total = find(c, time_column),
                     median = find(c, "Med");
    struct table t = {.c = c, .columns = c->count};
    bool more;
    for (;;) {
        double n, seconds, middle;
        struct tt_tally *row;
        TT_TRY(next_row(&t, &more));
        *rows = t.rows;
        if (!more) return TT_OK;
        TT_TRY(number(c, &count, &n));
        TT_TRY(duration(c, &total, &seconds));
        const char *words = tt_csv_field(c, name.at);
        bool copy = copies && (!strncmp(words, "[CUDA mem", 9) || !strncmp(words, "MEMORY_COPY_", 12));
        TT_TRY(tt_tally_of(copy ? copies : into, words, &row));
        row->count += n;
        row->total += seconds * total.unit;
        if (median.at >= 0 && tt_csv_number(tt_csv_field(c, median.at), &middle)) row->median = middle * median.unit;
    }
}

#define SUMS(function, table, copies, name, count, time, words)                                                        \
    static tt_status function(struct tt_csv *c, struct tt_imported *out, struct tt_text *what)                         \
    {                                                                                                                  \
        int rows = 0;                                                                                                  \
        tt_status st = read_sums(c, &out->table, copies, name, count, time, &rows);                                    \
        tt_text_printf(what, words, rows);                                                                             \
        return st;                                                                                                     \
    }
SUMS(nsys_kernels, kernels, &out->copies, "Name", "Instances", "Total Time", "nsys kernel summary, %d kernels")
SUMS(nsys_gpu, kernels, &out->copies, "Operation", "Instances", "Total Time",
     "nsys summary of kernels and copies, %d rows")
SUMS(nsys_copies, copies, NULL, "Operation", "Count", "Total Time", "nsys copy summary, %d rows")
SUMS(nsys_calls, calls, NULL, "Name", "Num Calls", "Total Time", "nsys summary of CUDA calls, %d functions")
SUMS(nsys_ranges, ranges, NULL, "Range", "Instances", "Total Time", "nsys summary of ranges, %d ranges")
SUMS(nsys_projected, ranges, NULL, "Range", "Range Instances", "Total Proj Time", "nsys ranges on the GPU, %d ranges")
SUMS(nsys_range_kernels, ranges, NULL, "NVTX Range", "Kern Inst", "Total Time", "nsys kernel time by range, %d rows")

/* ---- traces: a row per call ---- */

static tt_status nsys_trace(struct tt_csv *c, struct tt_imported *out, struct tt_text *what)
{
    struct column_of start = find(c, "Start"), length = find(c, "Duration"), name = find(c, "Name"),
                     device = find(c, "Device");
    struct table t = {.c = c, .columns = c->count};
    for (bool more;;) {
        double from, lasts;
        TT_TRY(next_row(&t, &more));
        if (!more) break;
        TT_TRY(duration(c, &start, &from));
        TT_TRY(duration(c, &length, &lasts));
        if (!out->device[0]) strncpy(out->device, tt_csv_field(c, device.at), sizeof out->device - 1);
        TT_TRY(tt_imported_add(out, TT_IN_KERNELS, tt_csv_field(c, name.at), 1e9 * start.unit * from,
                               1e9 * length.unit * lasts, NAN));
    }
    tt_text_printf(what, "nsys GPU trace, %d kernels and copies", t.rows);
    return TT_OK;
}

/* cuda_api_trace and nvtx_pushpop_trace. The name of a range has its domain and a colon before it. */
static tt_status nsys_host_trace(struct tt_csv *c, struct tt_imported *out, enum tt_imported_table table, int *rows)
{
    struct column_of start = find(c, "Start"), length = find(c, "Duration"), name = find(c, "Name");
    struct table t = {.c = c, .columns = c->count};
    out->tables[table].traced = true;
    for (bool more;;) {
        double from, lasts;
        TT_TRY(next_row(&t, &more));
        *rows = t.rows;
        if (!more) return TT_OK;
        TT_TRY(duration(c, &start, &from));
        TT_TRY(duration(c, &length, &lasts));
        const char *words = tt_csv_field(c, name.at);
        if (table == TT_IN_RANGES && words[0] == ':') words++;
        TT_TRY(tt_imported_add(out, table, words, 1e9 * start.unit * from, 1e9 * length.unit * lasts, NAN));
    }
}

static tt_status nsys_call_trace(struct tt_csv *c, struct tt_imported *out, struct tt_text *what)
{
    int rows = 0;
    tt_status st = nsys_host_trace(c, out, TT_IN_CALLS, &rows);
    tt_text_printf(what, "nsys trace of %d CUDA calls", rows);
    return st;
}

static tt_status nsys_range_trace(struct tt_csv *c, struct tt_imported *out, struct tt_text *what)
{
    int rows = 0;
    tt_status st = nsys_host_trace(c, out, TT_IN_RANGES, &rows);
    tt_text_printf(what, "nsys trace of %d ranges", rows);
    return st;
}

static tt_status roc_times(const struct tt_csv *c, const struct column_of *start, const struct column_of *end,
                           double *from, double *to)
{
    TT_TRY(duration(c, start, from));
    TT_TRY(duration(c, end, to));
    if (*to >= *from) return TT_OK;
    return tt_fail(TT_FAILED, "line %d: it ends before it starts", c->record_line);
}

static tt_status roc_spans(struct tt_csv *c, struct tt_imported *out, const char *name_column, int *rows)
{
    struct column_of start = find(c, "Start_Timestamp"), end = find(c, "End_Timestamp"), name = find(c, name_column);
    bool copies = strcmp(name_column, "Direction") == 0;
    struct table t = {.c = c, .columns = c->count};
    char words[80];
    for (bool more;;) {
        double from, to;
        TT_TRY(next_row(&t, &more));
        *rows = t.rows;
        if (!more) return TT_OK;
        TT_TRY(roc_times(c, &start, &end, &from, &to));
        const char *what = tt_csv_field(c, name.at);
        if (copies) { /* older versions leave the first word out */
            snprintf(words, sizeof words, "%s%.60s", strncmp(what, "MEMORY_COPY_", 12) ? "MEMORY_COPY_" : "", what);
            what = words;
        }
        TT_TRY(tt_imported_add(out, TT_IN_KERNELS, what, from, to - from, NAN));
    }
}

static tt_status roc_kernels(struct tt_csv *c, struct tt_imported *out, struct tt_text *what)
{
    int rows = 0;
    tt_status st = roc_spans(c, out, "Kernel_Name", &rows);
    tt_text_printf(what, "rocprofv3 kernel trace, %d dispatches", rows);
    return st;
}

static tt_status roc_copies(struct tt_csv *c, struct tt_imported *out, struct tt_text *what)
{
    int rows = 0;
    tt_status st = roc_spans(c, out, "Direction", &rows);
    tt_text_printf(what, "rocprofv3 trace of %d copies", rows);
    return st;
}

/* hip_api_trace and marker_api_trace have the same columns: the domain tells them apart. */
static tt_status roc_calls(struct tt_csv *c, struct tt_imported *out, struct tt_text *what)
{
    struct column_of start = find(c, "Start_Timestamp"), end = find(c, "End_Timestamp"), name = find(c, "Function"),
                     domain = find(c, "Domain");
    struct table t = {.c = c, .columns = c->count};
    int marks = 0;
    for (bool more;;) {
        double from, to;
        TT_TRY(next_row(&t, &more));
        if (!more) break;
        TT_TRY(roc_times(c, &start, &end, &from, &to));
        bool mark = strncmp(tt_csv_field(c, domain.at), "MARKER", 6) == 0;
        marks += mark;
        TT_TRY(tt_imported_add(out, mark ? TT_IN_RANGES : TT_IN_CALLS, tt_csv_field(c, name.at), from, to - from, NAN));
    }
    tt_text_printf(what, "rocprofv3 trace of %d calls and %d ranges", t.rows - marks, marks);
    return TT_OK;
}

/* kernel_stats, hip_api_stats, memory_copy_stats and domain_stats: the names in the rows tell them apart. */
static tt_status roc_stats(struct tt_csv *c, struct tt_imported *out, struct tt_text *what)
{
    static const char *const domains[] = {"KERNEL_DISPATCH", "HIP_API",     "HIP_RUNTIME_API", "HIP_COMPILER_API",
                                          "HSA_API",         "MEMORY_COPY", "MARKER_API"};
    struct column_of name = find(c, "Name"), count = find(c, "Calls"), total = find(c, "TotalDurationNs");
    struct table t = {.c = c, .columns = c->count};
    for (bool more;;) {
        double n, seconds;
        struct tt_tally *row;
        bool domain = false;
        TT_TRY(next_row(&t, &more));
        if (!more) break;
        TT_TRY(number(c, &count, &n));
        TT_TRY(duration(c, &total, &seconds));
        const char *words = tt_csv_field(c, name.at);
        for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) domain |= strcmp(words, domains[i]) == 0;
        if (domain) continue; /* the sum of what other files list */
        bool call = (!strncmp(words, "hip", 3) && isupper((unsigned char)words[3])) || !strncmp(words, "hsa_", 4) ||
                    !strncmp(words, "__hip", 5);
        bool copy = strncmp(words, "MEMORY_COPY_", 12) == 0;
        TT_TRY(tt_tally_of(call ? &out->calls : copy ? &out->copies : &out->kernels, words, &row));
        row->count += n;
        row->total += 1e-9 * seconds;
    }
    tt_text_printf(what, "rocprofv3 statistics, %d rows", t.rows);
    return TT_OK;
}

/* ---- which table ---- */

static const struct {
    const char *tool, *columns[5], *without;
    read_table *read;
} tables[] = {
    {"ncu", {"ID", "Kernel Name", "Metric Name", "Metric Value"}, NULL, tt_import_ncu_details},
    {"ncu", {"ID", "Process ID", "Kernel Name"}, "Metric Name", tt_import_ncu_raw},
    {"nsys", {"NVTX Range", "Kern Inst", "Total Time", "Kernel Name"}, NULL, nsys_range_kernels},
    {"nsys", {"Range", "Range Instances", "Total Proj Time"}, NULL, nsys_projected},
    {"nsys", {"Range", "Instances", "Total Time"}, NULL, nsys_ranges},
    {"nsys", {"Start", "End", "Duration", "Name", "Lvl"}, NULL, nsys_range_trace},
    {"nsys", {"Start", "Duration", "Name", "Result"}, NULL, nsys_call_trace},
    {"nsys", {"Start", "Duration", "CorrId", "Name"}, NULL, nsys_trace},
    {"nsys", {"Total Time", "Num Calls", "Name"}, NULL, nsys_calls},
    {"nsys", {"Total Time", "Instances", "Category", "Operation"}, NULL, nsys_gpu},
    {"nsys", {"Total Time", "Count", "Operation"}, NULL, nsys_copies},
    {"nsys", {"Total Time", "Instances", "Name"}, NULL, nsys_kernels},
    {"rocprofv3", {"Kernel_Name", "Start_Timestamp", "End_Timestamp"}, "Counter_Name", roc_kernels},
    {"rocprofv3", {"Direction", "Start_Timestamp", "End_Timestamp"}, NULL, roc_copies},
    {"rocprofv3", {"Domain", "Function", "Start_Timestamp", "End_Timestamp"}, NULL, roc_calls},
    {"rocprofv3", {"Name", "Calls", "TotalDurationNs"}, NULL, roc_stats},
};

static int table_of(const struct tt_csv *c)
{
    int n = sizeof tables / sizeof *tables;
    for (int i = 0; i < n; i++) {
        bool all = !tables[i].without || column(c, tables[i].without) < 0;
        for (int k = 0; k < 5 && tables[i].columns[k]; k++) all &= column(c, tables[i].columns[k]) >= 0;
        if (all) return i;
    }
    return -1;
}

/* Whether the current line is the header of a known table. It is parsed in a copy, because a line that is not part of a
 * table may hold an unclosed quote. */
static tt_status look(const struct tt_csv *c, struct tt_csv *header, char **line, int *which)
{
    const char *stop = memchr(c->at, '\n', (size_t)(c->end - c->at));
    size_t n = (size_t)((stop ? stop : c->end) - c->at);
    bool more;
    *which = -1;
    char *copy = realloc(*line, n + 1);
    if (!copy) return tt_no_memory("a line of %zu bytes", n);
    *line = copy;
    memcpy(copy, c->at, n);
    copy[n] = 0;
    header->at = copy;
    header->end = copy + n;
    header->line = c->line;
    tt_status st = tt_csv_next(header, &more);
    if (!st && more) *which = table_of(header);
    tt_status_free(st);
    return TT_OK;
}

static void skip_line(struct tt_csv *c)
{
    char *stop = memchr(c->at, '\n', (size_t)(c->end - c->at));
    c->at = stop ? stop + 1 : c->end;
    c->line++;
}

tt_status tt_import_csv(char *text, size_t n, struct tt_imported *out, struct tt_text *what, bool *found)
{
    struct tt_csv c, header = {0};
    char *line = NULL;
    tt_status st = TT_OK;
    *found = false;
    tt_csv_open(&c, text, n);
    while (c.at < c.end && !st) {
        int which;
        bool more;
        st = look(&c, &header, &line, &which);
        if (st) break;
        if (which < 0) {
            skip_line(&c);
            continue;
        }
        strcpy(out->tool, tables[which].tool);
        if (*found) tt_text_puts(what, "; ");
        *found = true;
        st = tt_csv_next(&c, &more);
        if (!st) st = tables[which].read(&c, out, what);
    }
    free(line);
    tt_csv_free(&c);
    tt_csv_free(&header);
    return st;
}
