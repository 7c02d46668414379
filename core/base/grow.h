/* An array that grows by doubling. */
#ifndef TT_GROW_H
#define TT_GROW_H

#include <stdbool.h>
#include <stddef.h>

/* Makes room for one more element after `count` elements of `size` bytes. `array` is the address of the pointer,
 * `*room` its capacity in elements; start with NULL and 0. When there is no memory, returns false and changes neither.
 */
bool tt_grow(void *array, size_t size, size_t count, size_t *room);

#endif
