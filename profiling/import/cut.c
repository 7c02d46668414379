/* Cuts an import to the measured steps: a tool that records the whole run also records the warm-up. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "profiling/import/imported.h"
#include "profiling/import/tools.h"

/* ---- the ranges to cut to ---- */

static int range_row(const struct tt_imported *r, const char *name)
{
    for (int i = 0; i < r->ranges.count; i++)
        if (strcmp(r->ranges.rows[i].name, name) == 0) return i;
    return -1;
}

static int by_start(const void *x, const void *y)
{
    double a = ((const struct tt_window *)x)->start, b = ((const struct tt_window *)y)->start;
    return a < b ? -1 : a > b;
}

/* Merges windows that overlap: the processes of a job may have been recorded together. */
static void merge(struct tt_windows *w)
{
    size_t n = 0;
    qsort(w->list, w->count, sizeof *w->list, by_start);
    for (size_t i = 0; i < w->count; i++) {
        if (n && w->list[i].start <= w->list[n - 1].end)
            w->list[n - 1].end = fmax(w->list[n - 1].end, w->list[i].end);
        else
            w->list[n++] = w->list[i];
    }
    w->count = n;
}

tt_status tt_imported_windows(const struct tt_imported *r, struct tt_windows *out)
{
    size_t room = 0;
    int row = range_row(r, TT_TOOL_RANGE);
    *out = (struct tt_windows){.origin = r->origin};
    for (size_t i = 0; i < r->span_count && row >= 0; i++) {
        if (r->spans[i].table != TT_IN_RANGES || r->spans[i].row != row) continue;
        if (!tt_grow(&out->list, sizeof *out->list, out->count, &room)) {
            free(out->list);
            *out = (struct tt_windows){0};
            return tt_no_memory("the measured ranges");
        }
        out->list[out->count++] = (struct tt_window){r->spans[i].start, r->spans[i].end};
    }
    if (out->count) merge(out);
    return TT_OK;
}

/* Whether a window holds `middle`, in seconds since the origin. */
static bool holds(const struct tt_windows *w, double middle)
{
    size_t from = 0, to = w->count;
    while (to - from > 1) {
        size_t half = from + (to - from) / 2;
        if (w->list[half].start <= middle)
            from = half;
        else
            to = half;
    }
    return w->count && middle >= w->list[from].start && middle <= w->list[from].end;
}

bool tt_windows_hold(const struct tt_windows *w, double start, double end)
{
    return !w->count || holds(w, 1e-9 * (start + (end - start) / 2 - w->origin));
}

/* ---- cutting ---- */

/* Empties a table, so that the spans that remain can be added again. FLOPs and bytes that ncu counted stay, for scale()
 * to fit to the calls that remain. `before` gets the numbers of calls. */
static void empty(struct tt_tallies *t, double *before)
{
    for (int i = 0; i < t->count; i++) {
        struct tt_tally *row = &t->rows[i];
        before[i] = row->count;
        row->count = row->total = 0;
        row->time_count = 0;
        row->median = NAN;
        if (!(row->counted > 0)) row->bytes = NAN;
    }
}

static void scale(struct tt_tallies *t, const double *before)
{
    for (int i = 0; i < t->count; i++) {
        struct tt_tally *row = &t->rows[i];
        if (!(row->counted > 0)) continue;
        double part = before[i] > 0 ? row->count / before[i] : 0;
        row->flops *= part;
        row->bytes *= part;
        row->counted *= part;
    }
}

static void add_again(struct tt_tally *row, const struct tt_imported_span *s)
{
    double seconds = s->end - s->start;
    row->times[row->time_count++] = seconds; /* there is room: the row had it before */
    row->count++;
    row->total += seconds;
    if (!(row->counted > 0) && !isnan(s->bytes)) row->bytes = isnan(row->bytes) ? s->bytes : row->bytes + s->bytes;
}

/* Keeps only the calls in the windows. A row that has none left stays in the table and is not shown. */
static tt_status cut_table(struct tt_imported *r, enum tt_imported_table table, const struct tt_windows *w)
{
    struct tt_tallies *t = &r->tables[table];
    double *before = malloc(((size_t)t->count + 1) * sizeof *before);
    if (!before) return tt_no_memory("an imported profile");
    empty(t, before);
    for (size_t i = 0; i < r->span_count; i++) {
        const struct tt_imported_span *s = &r->spans[i];
        if (s->table == table && holds(w, s->start + (s->end - s->start) / 2)) add_again(&t->rows[s->row], s);
    }
    scale(t, before);
    free(before);
    return TT_OK;
}

static void keep_spans(struct tt_imported *r, const struct tt_windows *w)
{
    size_t n = 0;
    for (size_t i = 0; i < r->span_count; i++) {
        const struct tt_imported_span *s = &r->spans[i];
        if (holds(w, s->start + (s->end - s->start) / 2)) r->spans[n++] = *s;
    }
    r->span_count = n;
}

static size_t count_spans(const struct tt_imported *r, enum tt_imported_table table)
{
    size_t n = 0;
    for (size_t i = 0; i < r->span_count; i++) n += r->spans[i].table == table;
    return n;
}

/* ---- which part of the recording the figures are of, in words ---- */

static void say(struct tt_imported *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct tt_imported *r, const char *format, ...)
{
    size_t n = strlen(r->scope);
    va_list ap;
    va_start(ap, format);
    vsnprintf(r->scope + n, sizeof r->scope - n, format, ap);
    va_end(ap);
}

static void say_steps(struct tt_imported *r, double steps)
{
    double n = steps > 0 ? steps : r->steps;
    if (steps > 0 && r->steps > 0 && steps != r->steps)
        say(r, " Divided by the %.0f steps of --num-steps, though the ranges mark %.0f.", steps, r->steps);
    else if (n > 0)
        say(r, " Divided by %.0f step%s.", n, n == 1 ? "" : "s");
    else
        say(r, " The files do not say how many steps that is, so these are sums, not figures of a step; give "
               "--num-steps N.");
}

static void say_uncut(struct tt_imported *r)
{
    bool own_steps = strcmp(r->tool, "PyTorch") == 0 || strcmp(r->tool, "tt") == 0;
    if (strcmp(r->tool, "ncu") == 0)
        say(r, "All launches that ncu recorded: its export has no times to cut by.");
    else if (own_steps && r->steps > 0)
        say(r, "The whole trace.");
    else
        say(r, "There is no range %s in these files: the figures cover all that was recorded, also a warm-up.",
            TT_TOOL_RANGE);
}

/* ---- all of it ---- */

static tt_status cut(struct tt_imported *r, const struct tt_windows *w)
{
    static const char *const names[TT_IN_TABLES] = {"kernels", "copies", "calls", "ranges"};
    size_t device = 0, kernels = count_spans(r, TT_IN_KERNELS), before = kernels + count_spans(r, TT_IN_COPIES);
    bool traced[TT_IN_TABLES];
    for (int i = 0; i < TT_IN_TABLES; i++) traced[i] = count_spans(r, (enum tt_imported_table)i) > 0;
    for (int i = 0; i < TT_IN_TABLES; i++)
        if (traced[i]) TT_TRY(cut_table(r, (enum tt_imported_table)i, w));
    keep_spans(r, w);
    device = count_spans(r, TT_IN_KERNELS) + count_spans(r, TT_IN_COPIES);
    if (before && !device)
        return tt_fail(TT_FAILED, "no kernel lies in the range %s; do the files belong to one run?", TT_TOOL_RANGE);
    r->cut = true;
    say(r, "Cut to the range %s", TT_TOOL_RANGE);
    if (kernels) say(r, ", which holds %zu of %zu kernels", count_spans(r, TT_IN_KERNELS), kernels);
    say(r, ".");
    for (int i = 0; i < TT_IN_TABLES; i++)
        if (!traced[i] && !r->tables[i].traced && r->tables[i].count)
            say(r, " The %s are a summary, which cannot be cut: they cover the whole recording.", names[i]);
    return TT_OK;
}

tt_status tt_imported_cut(struct tt_imported *r, double steps)
{
    struct tt_windows w;
    TT_TRY(tt_imported_windows(r, &w));
    tt_status st = w.count ? cut(r, &w) : TT_OK;
    free(w.list);
    TT_TRY(st);
    int row = range_row(r, TT_TOOL_STEP);
    if (row >= 0 && r->ranges.rows[row].count > 0) r->steps = r->ranges.rows[row].count;
    if (!r->cut) say_uncut(r);
    say_steps(r, steps);
    return TT_OK;
}
