/* An exclusive lock on a folder, held while several files that belong together are written in it. */
#ifndef TT_FOLDER_LOCK_H
#define TT_FOLDER_LOCK_H

#include "core/base/status.h"

/* A wait for another process, in seconds, for callers whose writing takes only a moment. */
enum { TT_LOCK_WAIT = 10 };

/* Makes the folder if it does not exist, and locks it; release *lock with tt_folder_unlock. The lock is an flock on the
 * folder itself, which the system releases when the process ends. If another process still holds it after `seconds`,
 * returns an error that says so. On a file system without locks it always succeeds. */
tt_status tt_folder_lock(const char *path, int seconds, int *lock);
/* The same for the folder that contains a file, while that file is read and rewritten. */
tt_status tt_parent_lock(const char *path, int seconds, int *lock);
void tt_folder_unlock(int *lock); /* sets it to -1; does nothing if it is -1 already */

#endif
