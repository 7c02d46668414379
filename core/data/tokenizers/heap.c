#include "core/data/tokenizers/heap.h"

#include <stdlib.h>

#include "core/base/grow.h"

static bool before(struct tt_heap_item a, struct tt_heap_item b)
{
    return a.order != b.order ? a.order < b.order : a.tie < b.tie;
}

bool tt_heap_push(struct tt_heap *h, struct tt_heap_item item)
{
    if (!tt_grow(&h->items, sizeof *h->items, h->count, &h->room)) return false;
    size_t i = h->count++;
    for (; i && before(item, h->items[(i - 1) / 2]); i = (i - 1) / 2) h->items[i] = h->items[(i - 1) / 2];
    h->items[i] = item;
    return true;
}

struct tt_heap_item tt_heap_pop(struct tt_heap *h)
{
    struct tt_heap_item top = h->items[0], last = h->items[--h->count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < h->count; i = child) {
        if (child + 1 < h->count && before(h->items[child + 1], h->items[child])) child++;
        if (!before(h->items[child], last)) break;
        h->items[i] = h->items[child];
    }
    h->items[i] = last;
    return top;
}

void tt_heap_free(struct tt_heap *h)
{
    free(h->items);
    *h = (struct tt_heap){0};
}
