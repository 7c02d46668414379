/* Who writes several files that belong together owns their folder meanwhile. */
#ifndef TT_FOLDER_LOCK_H
#define TT_FOLDER_LOCK_H

#include "core/base/status.h"

/* For what is written in a moment: seconds to wait for another process that does the same. */
enum { TT_LOCK_WAIT = 10 };

/* Makes the folder where there is none. The lock is on the folder itself and ends with the process, however that ends.
 * Where another process still has it after `seconds`: an error that says so. A file system that cannot lock does not
 * stop anyone. */
tt_status tt_folder_lock(const char *path, int seconds, int *lock);
void tt_folder_unlock(int *lock); /* -1, which it is then, is fine */

#endif
