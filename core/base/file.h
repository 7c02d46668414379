/* Files and folders. Errors name the path, the reason and what to do. */
#ifndef TT_FILE_H
#define TT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"

/* Reads the whole file into *data, which the caller frees, with a 0 byte after the end. An error if it is larger than
 * `limit`. */
tt_status tt_file_read(const char *path, size_t limit, char **data, size_t *size);

/* Replaces the file atomically: a temporary file is written and renamed over it, so that even after a crash it holds
 * all old or all new data. A symbolic link stays and its target is replaced; /dev/stdout or a pipe is written directly.
 */
tt_status tt_file_replace(const char *path, const void *data, size_t size);

tt_status tt_make_dirs(const char *path);   /* like mkdir -p */
tt_status tt_make_parent(const char *path); /* the folder that the path is in */
tt_status tt_remove_tree(const char *path); /* like rm -rf; links are removed, not followed */

/* What kind of file the path names. TT_NO_FILE only when it surely does not exist; if it cannot be examined, an error.
 */
enum tt_file_kind { TT_NO_FILE, TT_REGULAR_FILE, TT_FOLDER, TT_OTHER_FILE };
tt_status tt_file_kind(const char *path, enum tt_file_kind *kind);
bool tt_is_dir(const char *path);
bool tt_is_file(const char *path);
bool tt_sync_fd(int fd); /* fsync; on failure false with errno. True for a pipe or a file system without fsync. */
tt_status tt_sync_dir(const char *path); /* fsync a folder, so that a rename in it survives a crash */

/* Writes all n bytes, in as many write calls as it takes. `path` is for the message. */
tt_status tt_write_all(int fd, const void *data, size_t n, const char *path);

/* "cannot <verb> <path>: <reason>; <what to do>" for an errno; TT_USAGE when the path is wrong, else TT_FAILED. */
tt_status tt_file_error(int error, const char *verb, const char *path);

#endif
