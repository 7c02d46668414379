/* A collective that is in place, for tests. */
#ifndef TT_TEST_COLLECTIVE_H
#define TT_TEST_COLLECTIVE_H

#include "backend/backend.h"

static inline tt_status collective_in_place(const struct tt_backend *b, enum tt_collective_kind kind, void *p, size_t n,
                                            enum tt_dtype type, struct tt_ranks as, tt_stream s)
{
    void *part = (char *)p + n / (size_t)as.count * (size_t)as.rank * tt_dtype_size(type);
    struct tt_collective c = {.kind = kind, .from = kind == TT_ALL_GATHER ? part : p,
                              .to = kind == TT_REDUCE_SCATTER ? part : p, .count = (int64_t)n, .type = type,
                              .ranks = as.count};
    return b->ops->collective(b->self, &c, s);
}

#endif
