/* Between an array of the arena's size on the host and the same on the device, of which a rank may have its parts
 * alone. */
#ifndef TT_ARENA_H
#define TT_ARENA_H

#include "core/checkpoint/checkpoint.h"
#include "core/plan/engine.h"

/* A piece of the arena that a rank has of a sharded array. */
struct tt_part {
    int64_t begin, count; /* in the arena */
    int64_t at;           /* where it lies in the array of the parts */
};

struct tt_part tt_part_of(const struct tt_params *p, int bucket);

/* Elements of that array on this rank's device. */
int64_t tt_arena_count(const struct tt_params *p, enum tt_external x);

/* `size` is that of an element. What this rank does not have is left alone, on either side. */
tt_status tt_arena_upload(struct tt_engine *e, const struct tt_params *p, enum tt_external x, size_t size,
                          const void *host);
tt_status tt_arena_download(struct tt_engine *e, const struct tt_params *p, enum tt_external x, size_t size,
                            void *host);

#endif
