/* Files and folders. Errors name the path, the reason and what to do. */
#ifndef TT_FILE_H
#define TT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/status.h"

/* The whole file, with a 0 after the end; an error when it is larger than `limit`. */
tt_status tt_file_read(const char *path, size_t limit, char **data, size_t *size);

/* Beside and renamed: the file is either the old one or the whole new one, also after a crash. */
tt_status tt_file_replace(const char *path, const void *data, size_t size);

tt_status tt_make_dirs(const char *path); /* like mkdir -p */
tt_status tt_remove_tree(const char *path);
bool tt_is_dir(const char *path);
bool tt_is_file(const char *path);
tt_status tt_sync_dir(const char *path); /* fsync a folder, so that a rename in it lasts */

#endif
