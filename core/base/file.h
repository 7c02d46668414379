/* Files and folders. Errors name the path, the reason and what to do. */
#ifndef TT_FILE_H
#define TT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"

/* The whole file, with a 0 after the end; an error when it is larger than `limit`. */
tt_status tt_file_read(const char *path, size_t limit, char **data, size_t *size);

/* Beside and renamed: the file is either the old one or the whole new one, also after a crash. A link stays a link;
 * what is not a regular file (/dev/stdout, a pipe) is written to as it is. */
tt_status tt_file_replace(const char *path, const void *data, size_t size);

tt_status tt_make_dirs(const char *path);   /* like mkdir -p */
tt_status tt_remove_tree(const char *path); /* like rm -r; links are removed, not followed; nothing there is fine */

/* What has this name: nothing only where it is certain that there is nothing. What cannot be looked at is an error. */
enum tt_file_kind { TT_NO_FILE, TT_REGULAR_FILE, TT_FOLDER, TT_OTHER_FILE };
tt_status tt_file_kind(const char *path, enum tt_file_kind *kind);
bool tt_is_dir(const char *path);
bool tt_is_file(const char *path);
bool tt_sync_fd(int fd); /* false with errno; a pipe or a file system that cannot be synced is not an error */
tt_status tt_sync_dir(const char *path); /* fsync a folder, so that a rename in it lasts */

/* All n bytes, whatever the sizes the system takes them in. `path` is for the message. */
tt_status tt_write_all(int fd, const void *data, size_t n, const char *path);

/* "cannot <verb> <path>: <reason>; <what to do>" for an errno; TT_USAGE for a name that is wrong, else TT_FAILED. */
tt_status tt_file_error(int error, const char *verb, const char *path);

#endif
