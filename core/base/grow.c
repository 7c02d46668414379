#include "core/base/grow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool tt_grow(void *array, size_t size, size_t count, size_t *room)
{
    if (count < *room) return true;
    if (*room > SIZE_MAX / 2 / size) return false;
    size_t more = *room ? 2 * *room : 4;
    void *old, *larger;
    memcpy(&old, array, sizeof old); /* `array` may point to a pointer of any type */
    larger = realloc(old, more * size);
    if (!larger) return false;
    memcpy(array, &larger, sizeof larger);
    *room = more;
    return true;
}
