/* Git LFS keeps large files elsewhere: without it, a clone holds a text of three lines in the place of each. */
#ifndef TT_POINTER_H
#define TT_POINTER_H

#include "core/base/status.h"

#define TT_POINTER "version https://git-lfs.github.com/spec/"
#define TT_POINTER_INSTEAD "fetch the file itself: git lfs pull"

/* An error that says so, where the file is such a text; for readers that expect something else there. */
tt_status tt_refuse_pointer(const char *path);

#endif
