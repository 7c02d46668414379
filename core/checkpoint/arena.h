/* Copies between a whole arena on the host and the same arena on the device, which may be sharded over the ranks. */
#ifndef TT_ARENA_H
#define TT_ARENA_H

#include "core/checkpoint/checkpoint.h"
#include "core/plan/engine.h"

/* This rank's part of one bucket of a sharded array. */
struct tt_part {
    int64_t begin, count; /* in the arena, in elements */
    int64_t at;           /* in the sharded array of this rank, in elements */
};

struct tt_part tt_part_of(const struct tt_params *p, int bucket);

/* How many elements of that array this rank's device has. */
int64_t tt_arena_count(const struct tt_params *p, enum tt_external x);

/* `size` is the bytes of an element. `host` is the whole arena; only the parts that this rank has are copied. */
tt_status tt_arena_upload(struct tt_engine *e, const struct tt_params *p, enum tt_external x, size_t size,
                          const void *host);
tt_status tt_arena_download(struct tt_engine *e, const struct tt_params *p, enum tt_external x, size_t size,
                            void *host);

#endif
