/* A binary heap: the smallest item comes out first. Byte-pair encoding keeps the pairs to merge in one. */
#ifndef TT_HEAP_H
#define TT_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tt_heap_item {
    int64_t order;
    uint64_t tie; /* compared where `order` is equal */
};

struct tt_heap { /* {0} is an empty one */
    struct tt_heap_item *items;
    size_t count, room;
};

bool tt_heap_push(struct tt_heap *h, struct tt_heap_item item); /* false: no memory, and the heap is as it was */
struct tt_heap_item tt_heap_pop(struct tt_heap *h);             /* of a heap that is not empty */
void tt_heap_free(struct tt_heap *h);

#endif
