/* Where things are kept from run to run. */
#ifndef TT_CACHE_H
#define TT_CACHE_H

#include <stddef.h>

/* $XDG_CACHE_HOME/tt/name or ~/.cache/tt/name; makes the folder. NULL: there is no such place. */
const char *tt_cache_path(const char *name, char *out, size_t size);

#endif
