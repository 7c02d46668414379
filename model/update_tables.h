/* Which weights belong to which group, as tables that the kernels of selective updates read. */
#ifndef TT_UPDATE_TABLES_H
#define TT_UPDATE_TABLES_H

#include "backend/kernels.h"
#include "core/checkpoint/checkpoint.h"

struct tt_update_tables {
    struct tt_update_span *spans, *tiles;
    int32_t *first, *order, *begin; /* (slices, parts + 1), (span_count), (groups + 1) */
    float *size;                    /* (groups) */
    int64_t span_count, tile_count;
    int slices;
    int64_t parts, *span_at, *tile_at; /* the first of each slice, and behind the last */
};

/* Sets the counts; free them, also after a failure. */
tt_status tt_update_count(const struct tt_params *p, struct tt_update_tables *t);
void tt_update_free(struct tt_update_tables *t);

/* All tables are in one piece of memory of so many bytes, the spans first; `at` is where it is. */
size_t tt_update_bytes(const struct tt_update_tables *t, int groups);
void tt_update_place(struct tt_update_tables *t, int groups, char *at);

#endif
