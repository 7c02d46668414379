/* Which weights belong to which group, as tables that the kernels of selective updates read. */
#ifndef TT_UPDATE_TABLES_H
#define TT_UPDATE_TABLES_H

#include "backend/kernels.h"
#include "core/checkpoint/checkpoint.h"

struct tt_update_tables {
    struct tt_update_span *spans, *tiles; /* of all slices, counted from where their slice begins */
    int32_t *first, *order, *begin; /* (slices, parts + 1), (span_count), (groups + 1) */
    float *size;                    /* (groups) */
    int64_t span_count, tile_count;
    int slices;
    int64_t parts, *span_at, *tile_at; /* index of the first of each slice, then the end */
};

/* Sets everything but the tables. To be freed, also after a failure. */
tt_status tt_update_count(const struct tt_params *p, struct tt_update_tables *t);
void tt_update_free(struct tt_update_tables *t);

/* All tables lie in one block of memory, the spans first: its size, and the tables as pointers into the block at
 * `at`. */
size_t tt_update_bytes(const struct tt_update_tables *t, int groups);
void tt_update_place(struct tt_update_tables *t, int groups, char *at);

#endif
