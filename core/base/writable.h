/* Whether results could be written there. Commands that measure ask first, so that nothing is measured for nothing. */
#ifndef TT_WRITABLE_H
#define TT_WRITABLE_H

#include <stdbool.h>

#include "core/base/status.h"

/* A folder for results, which need not be there; nothing stays made. `option` is what named it. */
tt_status tt_could_fill(const char *dir, const char *option);
/* A file in a folder that is there: it may be replaced. */
tt_status tt_could_write(const char *path);

/* The folder that a path is in, in its place; false at the end of the way up. */
bool tt_go_up(char *path);

#endif
