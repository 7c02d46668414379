/* ncu's csv: --page raw has a column per metric and a line of units under the header; details has a line per figure. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiling/import/import.h"

/* The figures that are taken of one launch of a kernel. */
struct launch {
    double seconds, bytes, flops;
    double byte_rate; /* of DRAM, when only the rate is given */
    double compute_percent, memory_percent;
};

static const struct launch nothing = {NAN, NAN, NAN, NAN, NAN, NAN};

/* "usecond", "us", "Mbyte", "Gbyte/second": the size of the unit in seconds, bytes or bytes per second. */
static double unit_factor(const char *unit)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"nsecond", 1e-9}, {"ns", 1e-9},   {"usecond", 1e-6}, {"us", 1e-6}, {"msecond", 1e-3},
                 {"ms", 1e-3},      {"second", 1},  {"s", 1},          {"byte", 1},  {"Kbyte", 1e3},
                 {"Mbyte", 1e6},    {"Gbyte", 1e9}, {"Tbyte", 1e12}};
    size_t n = strcspn(unit, "/");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].name) == n && strncmp(units[i].name, unit, n) == 0) return units[i].factor;
    return 1;
}

static void add(double *to, double value) { *to = isnan(*to) ? value : *to + value; }

static bool begins(const char *s, const char *with) { return strncmp(s, with, strlen(with)) == 0; }

static bool ends(const char *s, const char *with)
{
    size_t n = strlen(s), m = strlen(with);
    return n >= m && strcmp(s + n - m, with) == 0;
}

/* The FLOPs that one count of a metric stands for: 1, or 2 for instructions that multiply and add; 0: none. */
static double flops_of(const char *metric)
{
    static const char *const one[] = {"fadd", "fmul", "hadd", "hmul", "dadd", "dmul"}, *const two[] = {"ffma", "hfma",
                                                                                                       "dfma"};
    if (begins(metric, "sm__ops_path_tensor_") && ends(metric, ".sum")) return 1;
    const char *op = strstr(metric, "sass_thread_inst_executed_op_");
    if (!op || !ends(metric, "_pred_on.sum")) return 0;
    op += strlen("sass_thread_inst_executed_op_");
    for (int i = 0; i < 6; i++)
        if (begins(op, one[i])) return 1;
    for (int i = 0; i < 3; i++)
        if (begins(op, two[i])) return 2;
    return 0;
}

static void take(struct launch *l, const char *metric, const char *unit, double value)
{
    double flops = flops_of(metric);
    if (!strcmp(metric, "gpu__time_duration.sum") || !strcmp(metric, "Duration"))
        l->seconds = value * unit_factor(unit);
    else if (!strcmp(metric, "dram__bytes.sum") || !strcmp(metric, "dram__bytes_read.sum") ||
             !strcmp(metric, "dram__bytes_write.sum"))
        add(&l->bytes, value * unit_factor(unit));
    else if (begins(metric, "sm__throughput.avg.pct_of_peak") || !strcmp(metric, "Compute (SM) Throughput"))
        l->compute_percent = value;
    else if (begins(metric, "gpu__compute_memory_throughput.avg.pct_of_peak") ||
             (!strcmp(metric, "Memory Throughput") && !strcmp(unit, "%")))
        l->memory_percent = value;
    else if (!strcmp(metric, "Memory Throughput") && strchr(unit, '/'))
        l->byte_rate = value * unit_factor(unit);
    else if (flops > 0)
        add(&l->flops, flops * value);
}

static double weighted(double old, double new_value, double before, double seconds)
{
    if (isnan(new_value)) return old;
    if (isnan(old) || before + seconds <= 0) return new_value;
    return (old * before + new_value * seconds) / (before + seconds);
}

static tt_status keep(struct tt_imported *out, const char *kernel, const struct launch *l, int line)
{
    struct tt_tally *row;
    double bytes = isnan(l->bytes) ? l->byte_rate * l->seconds : l->bytes;
    if (isnan(l->seconds))
        return tt_fail(
            TT_FAILED,
            "line %d: kernel \"%.60s\" has no gpu__time_duration.sum; collect it with --metrics gpu__time_duration.sum",
            line, kernel);
    TT_TRY(tt_tally_of(&out->kernels, kernel, &row));
    double before = row->total;
    TT_TRY(tt_tally_add(&out->kernels, kernel, l->seconds, &row));
    if (!isnan(bytes)) add(&row->bytes, bytes);
    if (!isnan(l->flops)) add(&row->flops, l->flops);
    row->counted++;
    row->compute_percent = weighted(row->compute_percent, l->compute_percent, before, l->seconds);
    row->memory_percent = weighted(row->memory_percent, l->memory_percent, before, l->seconds);
    out->kernels.traced = true;
    return TT_OK;
}

/* ---- a row per kernel ---- */

struct header {
    char **names, **units;
    int count;
};

static void free_header(struct header *h)
{
    for (int i = 0; i < h->count; i++) {
        free(h->names[i]);
        if (h->units) free(h->units[i]);
    }
    free(h->names);
    free(h->units);
}

static tt_status copy_fields(const struct tt_csv *c, int n, char ***out)
{
    *out = calloc((size_t)n + 1, sizeof **out);
    if (!*out) return tt_no_memory("a header");
    for (int i = 0; i < n; i++)
        if (!((*out)[i] = strdup(tt_csv_field(c, i)))) return tt_no_memory("a header");
    return TT_OK;
}

static tt_status raw_row(const struct tt_csv *c, const struct header *h, int kernel, struct tt_imported *out)
{
    struct launch l = nothing;
    if (c->count < h->count)
        return tt_fail(TT_FAILED, "line %d: %d columns where the header has %d; is the file cut off?", c->record_line,
                       c->count, h->count);
    for (int i = 0; i < h->count; i++) {
        double value;
        bool duration = strcmp(h->names[i], "gpu__time_duration.sum") == 0;
        if (tt_csv_number(c->fields[i], &value))
            take(&l, h->names[i], h->units[i], value);
        else if (duration)
            return tt_fail(TT_FAILED, "line %d: column %s: \"%.60s\" is not a number", c->record_line, h->names[i],
                           c->fields[i]);
    }
    return keep(out, tt_csv_field(c, kernel), &l, c->record_line);
}

static tt_status read_raw(struct tt_csv *c, struct header *h, struct tt_imported *out, int *rows)
{
    int id = tt_csv_column(c, "ID"), kernel = tt_csv_column(c, "Kernel Name");
    bool more;
    TT_TRY(copy_fields(c, c->count, &h->names));
    h->count = c->count;
    TT_TRY(tt_csv_next(c, &more));
    if (!more)
        return tt_fail(TT_FAILED, "line %d: the table ends after its header; is the file cut off?", c->record_line);
    bool units = !tt_csv_field(c, id)[0]; /* the line under the header has no ID */
    struct tt_csv none = {0};
    TT_TRY(copy_fields(units ? c : &none, h->count, &h->units));
    for (bool first = !units; more; first = false) {
        if (!first) TT_TRY(tt_csv_next(c, &more));
        if (!more || tt_import_table_ends(c, h->count)) return TT_OK;
        TT_TRY(raw_row(c, h, kernel, out));
        ++*rows;
    }
    return TT_OK;
}

tt_status tt_import_ncu_raw(struct tt_csv *c, struct tt_imported *out, struct tt_text *what)
{
    struct header h = {0};
    int rows = 0;
    tt_status st = read_raw(c, &h, out, &rows);
    free_header(&h);
    tt_text_printf(what, "ncu raw page, %d launches", rows);
    return st;
}

/* ---- a row per figure: those of a launch stand together, under one ID ---- */

struct details {
    char id[32], *kernel;
    struct launch launch;
    int line, launches;
};

static tt_status finish_launch(struct details *d, struct tt_imported *out)
{
    tt_status st = TT_OK;
    if (d->kernel) {
        st = keep(out, d->kernel, &d->launch, d->line);
        d->launches++;
    }
    free(d->kernel);
    d->kernel = NULL;
    d->launch = nothing;
    return st;
}

static tt_status read_details(struct tt_csv *c, struct details *d, struct tt_imported *out)
{
    int id = tt_csv_column(c, "ID"), kernel = tt_csv_column(c, "Kernel Name"), name = tt_csv_column(c, "Metric Name");
    int unit = tt_csv_column(c, "Metric Unit"), value = tt_csv_column(c, "Metric Value"), columns = c->count;
    for (bool more = true;;) {
        double number;
        TT_TRY(tt_csv_next(c, &more));
        if (!more || tt_import_table_ends(c, columns)) return finish_launch(d, out);
        if (c->count <= value) /* the rows of rules, after the figures, have fewer columns */
            return tt_fail(TT_FAILED, "line %d: %d columns where the header has %d; is the file cut off?",
                           c->record_line, c->count, columns);
        if (!d->kernel || strcmp(tt_csv_field(c, id), d->id) != 0) {
            TT_TRY(finish_launch(d, out));
            strncpy(d->id, tt_csv_field(c, id), sizeof d->id - 1);
            d->kernel = strdup(tt_csv_field(c, kernel));
            d->line = c->record_line;
            if (!d->kernel) return tt_no_memory("a kernel's name");
        }
        if (tt_csv_number(tt_csv_field(c, value), &number))
            take(&d->launch, tt_csv_field(c, name), tt_csv_field(c, unit), number);
    }
}

tt_status tt_import_ncu_details(struct tt_csv *c, struct tt_imported *out, struct tt_text *what)
{
    struct details d = {.launch = nothing};
    tt_status st = read_details(c, &d, out);
    free(d.kernel);
    tt_text_printf(what, "ncu details, %d launches", d.launches);
    return st;
}
