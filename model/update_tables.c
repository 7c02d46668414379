#include "model/update_tables.h"

#include <stdlib.h>

#include "core/checkpoint/arena.h"
#include "model/build.h"
#include "model/update.h"

static int slices_of(const struct tt_params *p) { return p->sharded[TT_X_MOMENT1] ? p->bucket_count : 1; }

static struct tt_part part_of_slice(const struct tt_params *p, int slice)
{
    return p->sharded[TT_X_MOMENT1] ? tt_part_of(p, slice) : (struct tt_part){.count = p->total};
}

/* Cuts [from, to) of one group into pieces that do not cross a multiple of `unit` after `origin`. `out` NULL: counts
 * them. */
static int64_t cut_pieces(int64_t from, int64_t to, int64_t origin, int64_t unit, int group, struct tt_update_span *out)
{
    int64_t n = 0;
    while (from < to) {
        int64_t end = origin + ((from - origin) / unit + 1) * unit;
        if (end > to) end = to;
        if (out) out[n] = (struct tt_update_span){from, (int32_t)(end - from), group};
        n++;
        from = end;
    }
    return n;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* Cuts the weights of a slice, group by group, into spans that do not cross a run of `run` elements, or with 0 into
 * tiles. Both count from where the slice begins. */
static int64_t cut_slice(const struct tt_params *p, struct tt_part part, int64_t run, struct tt_update_span *out)
{
    int64_t n = 0;
    for (int i = 0; i < p->n; i++) {
        const struct tt_param *t = &p->items[i];
        int64_t width = t->shape[1] ? t->shape[1] : 1, block = t->group_rows * width;
        int64_t skip = larger(0, part.begin - t->offset) / block; /* blocks of it before this slice */
        for (int64_t at = skip * block; at < t->count; at += block) {
            int64_t from = larger(t->offset + at - part.begin, 0);
            int64_t to = smaller(t->offset + smaller(at + block, t->count) - part.begin, part.count);
            if (t->offset + at >= part.begin + part.count) break;
            int64_t origin = run ? 0 : from, unit = run ? run : TT_UPDATE_TILE;
            n += cut_pieces(from, to, origin, unit, t->group + (int)(at / block), out ? out + n : NULL);
        }
    }
    return n;
}

/* The first span of each run. Spans are sorted, so those of a run follow those of the run before. */
static void find_runs(const struct tt_update_span *spans, int64_t n, int64_t run, int64_t parts, int32_t *first)
{
    int64_t at = 0;
    for (int64_t r = 0; r < parts; r++) {
        while (at < n && spans[at].begin < r * run) at++;
        first[r] = (int32_t)at;
    }
    first[parts] = (int32_t)n;
}

/* The spans of group g are order[begin[g]] .. order[begin[g+1] - 1]. */
static void sort_spans(struct tt_update_tables *t, int groups)
{
    for (int64_t s = 0; s < t->span_count; s++) t->begin[t->spans[s].group + 1]++;
    for (int g = 0; g < groups; g++) t->begin[g + 1] += t->begin[g];
    for (int64_t s = 0; s < t->span_count; s++) t->order[t->begin[t->spans[s].group]++] = (int32_t)s;
    for (int g = groups; g > 0; g--) t->begin[g] = t->begin[g - 1]; /* each had advanced to where the next begins */
    t->begin[0] = 0;
}

static int64_t run_of(struct tt_part part, int64_t parts) { return (part.count + parts - 1) / parts; }

tt_status tt_update_count(const struct tt_params *p, struct tt_update_tables *t)
{
    t->slices = slices_of(p);
    t->parts = norm_partials(t->slices);
    t->span_at = calloc((size_t)t->slices + 1, sizeof *t->span_at);
    t->tile_at = calloc((size_t)t->slices + 1, sizeof *t->tile_at);
    if (!t->span_at || !t->tile_at) return tt_no_memory("the groups of weights");
    for (int i = 0; i < t->slices; i++) {
        struct tt_part part = part_of_slice(p, i);
        t->span_at[i + 1] = t->span_at[i] + cut_slice(p, part, run_of(part, t->parts), NULL);
        t->tile_at[i + 1] = t->tile_at[i] + cut_slice(p, part, 0, NULL);
    }
    t->span_count = t->span_at[t->slices];
    t->tile_count = t->tile_at[t->slices];
    return TT_OK;
}

size_t tt_update_bytes(const struct tt_update_tables *t, int groups)
{
    int64_t words = (t->parts + 1) * t->slices + t->span_count + groups + 1 + groups;
    return (size_t)(t->span_count + t->tile_count) * sizeof *t->spans + (size_t)words * sizeof *t->first;
}

void tt_update_place(struct tt_update_tables *t, int groups, char *at)
{
#define PLACE(field, n) t->field = (void *)at, at += (size_t)(n) * sizeof *t->field
    PLACE(spans, t->span_count);
    PLACE(tiles, t->tile_count);
    PLACE(first, (t->parts + 1) * t->slices);
    PLACE(order, t->span_count);
    PLACE(begin, groups + 1);
    PLACE(size, groups);
#undef PLACE
}

static void fill_tables(const struct tt_params *p, struct tt_update_tables *t)
{
    for (int i = 0; i < t->slices; i++) {
        struct tt_part part = part_of_slice(p, i);
        int64_t run = run_of(part, t->parts);
        struct tt_update_span *spans = t->spans + t->span_at[i];
        int64_t n = cut_slice(p, part, run, spans);
        cut_slice(p, part, 0, t->tiles + t->tile_at[i]);
        find_runs(spans, n, run, t->parts, t->first + i * (t->parts + 1));
    }
    sort_spans(t, p->groups.count);
    for (int g = 0; g < p->groups.count; g++) t->size[g] = (float)p->groups.size[g];
}

void tt_update_free(struct tt_update_tables *t)
{
    free(t->span_at);
    free(t->tile_at);
}

/* ---- on the device ---- */

tt_status tt_update_upload(const struct tt_params *p, struct tt_engine *e)
{
    struct tt_update_tables t = {0};
    size_t bytes = e->bytes[TT_X_GROUPS];
    if (!bytes) return TT_OK;
    tt_status st = tt_update_count(p, &t);
    char *host = st ? NULL : calloc(1, bytes);
    if (!st && !host) st = tt_no_memory("the groups of weights");
    if (!st) {
        tt_update_place(&t, p->groups.count, host);
        fill_tables(p, &t);
        st = tt_engine_upload(e, TT_X_GROUPS, 0, host, bytes);
    }
    free(host);
    tt_update_free(&t);
    return st;
}

tt_status tt_update_begin(const struct tt_params *p, struct tt_engine *e, const struct tt_update_group *from)
{
    size_t bytes = e->bytes[TT_X_UPDATES];
    if (!bytes) return TT_OK;
    struct tt_update_group *none = calloc((size_t)p->groups.count + 1, sizeof *none);
    tt_status st = none ? tt_engine_upload(e, TT_X_UPDATES, 0, from ? from : none, bytes)
                        : tt_no_memory("the groups of weights");
    free(none);
    return st;
}
