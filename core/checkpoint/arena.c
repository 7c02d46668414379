#include "core/checkpoint/arena.h"

struct tt_part tt_part_of(const struct tt_params *p, int bucket)
{
    const struct tt_bucket *b = &p->buckets[bucket];
    int64_t count = b->count / p->ranks;
    return (struct tt_part){.begin = b->offset + p->rank * count, .count = count, .at = b->offset / p->ranks};
}

int64_t tt_arena_count(const struct tt_params *p, enum tt_external x)
{
    return p->sharded[x] ? p->total / p->ranks : p->total;
}

tt_status tt_arena_upload(struct tt_engine *e, const struct tt_params *p, enum tt_external x, size_t size,
                          const void *host)
{
    if (!p->sharded[x]) return tt_engine_upload(e, x, 0, host, (size_t)p->total * size);
    for (int i = 0; i < p->bucket_count; i++) {
        struct tt_part part = tt_part_of(p, i);
        TT_TRY(tt_engine_upload(e, x, (size_t)part.at * size, (const char *)host + (size_t)part.begin * size,
                                (size_t)part.count * size));
    }
    return TT_OK;
}

tt_status tt_arena_download(struct tt_engine *e, const struct tt_params *p, enum tt_external x, size_t size, void *host)
{
    if (!p->sharded[x]) return tt_engine_download(e, x, 0, host, (size_t)p->total * size);
    for (int i = 0; i < p->bucket_count; i++) {
        struct tt_part part = tt_part_of(p, i);
        TT_TRY(tt_engine_download(e, x, (size_t)part.at * size, (char *)host + (size_t)part.begin * size,
                                  (size_t)part.count * size));
    }
    return TT_OK;
}
