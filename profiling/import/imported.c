/* Tallies by name, and joining the contents of several files. */
#include "profiling/import/imported.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "profiling/names.h"

static void free_tallies(struct tt_tallies *t)
{
    for (int i = 0; i < t->count; i++) {
        free(t->rows[i].name);
        free(t->rows[i].times);
    }
    free(t->rows);
    free(t->slots);
    *t = (struct tt_tallies){0};
}

void tt_imported_free(struct tt_imported *r)
{
    for (int i = 0; i < TT_IN_TABLES; i++) free_tallies(&r->tables[i]);
    free(r->spans);
    *r = (struct tt_imported){0};
}

/* ---- finding rows by name ---- */

static uint32_t hash_of(const char *s)
{
    uint32_t h = 2166136261u;
    for (; *s; s++) h = (h ^ (unsigned char)*s) * 16777619u;
    return h;
}

static int *slot_of(const struct tt_tallies *t, const char *name)
{
    int i = (int)(hash_of(name) & (uint32_t)(t->slot_count - 1));
    while (t->slots[i] && strcmp(t->rows[t->slots[i] - 1].name, name) != 0) i = (i + 1) & (t->slot_count - 1);
    return &t->slots[i];
}

static tt_status grow(struct tt_tallies *t)
{
    if (!tt_grow(&t->rows, sizeof *t->rows, (size_t)t->count, &t->room)) return tt_no_memory("an imported profile");
    int *slots = calloc(t->room * 2, sizeof *slots);
    if (!slots) return tt_no_memory("an imported profile");
    free(t->slots);
    t->slots = slots;
    t->slot_count = 2 * (int)t->room;
    for (int i = 0; i < t->count; i++) *slot_of(t, t->rows[i].name) = i + 1;
    return TT_OK;
}

tt_status tt_tally_of(struct tt_tallies *t, const char *name, struct tt_tally **out)
{
    if ((size_t)t->count == t->room) TT_TRY(grow(t));
    int *slot = slot_of(t, name);
    if (!*slot) {
        char *copy = strdup(name);
        if (!copy) return tt_no_memory("an imported profile");
        t->rows[t->count] = (struct tt_tally){
            .name = copy, .median = NAN, .flops = NAN, .bytes = NAN, .compute_percent = NAN, .memory_percent = NAN};
        *slot = ++t->count;
    }
    *out = &t->rows[*slot - 1];
    return TT_OK;
}

static tt_status add_time(struct tt_tally *row, double seconds)
{
    if (!tt_grow(&row->times, sizeof *row->times, row->time_count, &row->time_room))
        return tt_no_memory("an imported profile");
    row->times[row->time_count++] = seconds;
    return TT_OK;
}

tt_status tt_tally_add(struct tt_tallies *t, const char *name, double seconds, struct tt_tally **out)
{
    struct tt_tally *row;
    TT_TRY(tt_tally_of(t, name, &row));
    row->count++;
    row->total += seconds;
    if (out) *out = row;
    return add_time(row, seconds);
}

static tt_status add_span(struct tt_imported *r, struct tt_imported_span span)
{
    if (!tt_grow(&r->spans, sizeof *r->spans, r->span_count, &r->span_room)) return tt_no_memory("an imported profile");
    r->spans[r->span_count++] = span;
    return TT_OK;
}

const char *tt_tally_group(const char *name)
{
    const char *tab = strchr(name, '\t');
    return tab ? tab + 1 : tt_kernel_group_of(name);
}

static double plus(double a, double b) { return isnan(a) ? b : isnan(b) ? a : a + b; }

tt_status tt_imported_add(struct tt_imported *r, enum tt_imported_table table, const char *name, double start,
                          double length, double bytes)
{
    if (table == TT_IN_KERNELS && strcmp(tt_tally_group(name), "copies") == 0) table = TT_IN_COPIES;
    struct tt_tallies *t = &r->tables[table];
    struct tt_tally *row;
    TT_TRY(tt_tally_add(t, name, 1e-9 * length, &row));
    row->bytes = plus(row->bytes, bytes);
    t->traced = true;
    if (!r->span_count) r->origin = start;
    double since = 1e-9 * (start - r->origin);
    return add_span(r, (struct tt_imported_span){since, since + 1e-9 * length, bytes, table, (int)(row - t->rows)});
}

/* ---- joining ---- */

static tt_status add_tally(struct tt_tallies *to, const struct tt_tally *from, int *index)
{
    struct tt_tally *row;
    TT_TRY(tt_tally_of(to, from->name, &row));
    bool first = row->count == 0;
    row->count += from->count;
    row->total += from->total;
    row->median = first ? from->median : NAN;
    row->flops = plus(row->flops, from->flops);
    row->bytes = plus(row->bytes, from->bytes);
    row->counted += from->counted;
    if (first) row->compute_percent = from->compute_percent, row->memory_percent = from->memory_percent;
    for (size_t i = 0; i < from->time_count; i++) TT_TRY(add_time(row, from->times[i]));
    *index = (int)(row - to->rows);
    return TT_OK;
}

/* map[i]: where row i of `from` went. */
static tt_status add_tallies(struct tt_tallies *to, const struct tt_tallies *from, int *map)
{
    for (int i = 0; i < from->count; i++) TT_TRY(add_tally(to, &from->rows[i], &map[i]));
    to->traced |= from->traced;
    return TT_OK;
}

/* Takes over what ncu counted of a kernel, scaled to the calls that the other tool saw. */
static void take_counters(struct tt_tallies *kernels, const struct tt_tallies *counted)
{
    for (int i = 0; i < kernels->count; i++) {
        struct tt_tally *row = &kernels->rows[i];
        for (int k = 0; k < counted->count; k++) {
            const struct tt_tally *c = &counted->rows[k];
            if (strcmp(c->name, row->name) != 0 || !(c->counted > 0)) continue;
            row->flops = c->flops / c->counted * row->count;
            row->bytes = c->bytes / c->counted * row->count;
            row->counted = row->count;
            row->compute_percent = c->compute_percent;
            row->memory_percent = c->memory_percent;
        }
    }
}

static void swap(struct tt_imported *a, struct tt_imported *b)
{
    struct tt_imported keep = *a;
    *a = *b;
    *b = keep;
}

/* If one is a trace and the other a summary, only the trace is kept. map[i]: where row i went, -1 if it was left
 * out. */
static tt_status join_table(struct tt_tallies *to, struct tt_tallies *from, int *map, const char *what, char *note,
                            size_t size)
{
    for (int i = 0; i < from->count; i++) map[i] = -1;
    if (!from->count) return TT_OK;
    if (to->count && to->traced != from->traced) {
        snprintf(note, size, "%s are in the files as a trace and as a summary: counted once, from the trace", what);
        if (to->traced) return TT_OK;
        struct tt_tallies keep = *to;
        *to = (struct tt_tallies){0};
        free_tallies(&keep);
    }
    return add_tallies(to, from, map);
}

/* Adds the spans of `from`, whose rows went where maps[table] says; spans of rows that were left out stay out. */
static tt_status join_spans(struct tt_imported *r, const struct tt_imported *from, int *const maps[TT_IN_TABLES])
{
    if (!r->span_count) r->origin = from->origin;
    double later = 1e-9 * (from->origin - r->origin);
    for (size_t i = 0; i < from->span_count; i++) {
        struct tt_imported_span s = from->spans[i];
        s.start += later;
        s.end += later;
        s.row = maps[s.table][s.row];
        if (s.row >= 0) TT_TRY(add_span(r, s));
    }
    return TT_OK;
}

static tt_status join_same_tool(struct tt_imported *r, struct tt_imported *from, char *note, size_t size)
{
    static const char *const names[TT_IN_TABLES] = {"kernels", "copies", "calls", "ranges"};
    int *maps[TT_IN_TABLES], rows = 0;
    for (int i = 0; i < TT_IN_TABLES; i++) rows += from->tables[i].count;
    int *map = malloc(((size_t)rows + 1) * sizeof *map), *at = map;
    if (!map) return tt_no_memory("an imported profile");
    tt_status st = TT_OK;
    for (int i = 0; i < TT_IN_TABLES && !st; i++) {
        maps[i] = at;
        at += from->tables[i].count;
        st = join_table(&r->tables[i], &from->tables[i], maps[i], names[i], note, size);
    }
    if (!st) st = join_spans(r, from, maps);
    if (!r->device[0]) memcpy(r->device, from->device, sizeof r->device);
    if (from->steps > r->steps) r->steps = from->steps;
    free(map);
    return st;
}

tt_status tt_imported_join(struct tt_imported *r, struct tt_imported *from, char *note, size_t note_size)
{
    note[0] = 0;
    if (!r->tool[0]) {
        swap(r, from);
        return TT_OK;
    }
    if (strcmp(r->tool, from->tool) == 0) return join_same_tool(r, from, note, note_size);
    if (strcmp(r->tool, "ncu") == 0) swap(r, from);
    if (strcmp(from->tool, "ncu") != 0)
        return tt_fail(TT_USAGE,
                       "exports of %s and %s are two profiles; import each into a folder of its own (--out) and put "
                       "them side by side with tt compare",
                       r->tool, from->tool);
    take_counters(&r->kernels, &from->kernels);
    snprintf(note, note_size, "FLOPs and bytes are ncu's, times are %s's", r->tool);
    return TT_OK;
}
