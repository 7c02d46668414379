/* The cache folder: files that are kept from run to run. */
#ifndef TT_CACHE_H
#define TT_CACHE_H

#include <stddef.h>

/* The path of a file in the cache folder: $XDG_CACHE_HOME/tt/name or ~/.cache/tt/name. Makes the folder. Returns `out`,
 * or NULL if there is no usable cache folder or the path does not fit. */
const char *tt_cache_path(const char *name, char *out, size_t size);

#endif
