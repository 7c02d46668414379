/* An array that grows by doubling, so that adding to it costs a constant time on average. */
#ifndef TT_GROW_H
#define TT_GROW_H

#include <stdbool.h>
#include <stddef.h>

/* Room for one more behind `count` elements of `size` bytes. `array` is the address of the pointer, `*room` how many
 * fit; NULL and 0 at first. False when there is no memory: then both are as they were. */
bool tt_grow(void *array, size_t size, size_t count, size_t *room);

#endif
