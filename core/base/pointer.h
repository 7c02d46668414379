/* Git LFS keeps large files elsewhere. In a clone made without it, each of them is a pointer: a text of three lines. */
#ifndef TT_POINTER_H
#define TT_POINTER_H

#include "core/base/status.h"

#define TT_POINTER "version https://git-lfs.github.com/spec/"
#define TT_POINTER_INSTEAD "fetch the file itself: git lfs pull"

/* Returns an error if the file is such a pointer; for readers that expect the real contents. */
tt_status tt_refuse_pointer(const char *path);

#endif
