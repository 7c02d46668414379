/* Checks whether results could be written. Commands that measure check first, so that no measurement is wasted. */
#ifndef TT_WRITABLE_H
#define TT_WRITABLE_H

#include <stdbool.h>

#include "core/base/status.h"

/* Whether files could be written into a folder, which need not exist yet. Leaves nothing behind. `option` names the
 * folder in messages. */
tt_status tt_could_fill(const char *dir, const char *option);
/* Whether a file could be written, or replaced, in a folder that exists. */
tt_status tt_could_write(const char *path);

/* Replaces a path by the folder that contains it. False if there is none: the path is "/" or ".". */
bool tt_go_up(char *path);

#endif
