#include "core/base/pointer.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/base/file.h"

tt_status tt_refuse_pointer(const char *path)
{
    char begin[sizeof TT_POINTER - 1];
    FILE *f = tt_is_file(path) ? fopen(path, "r") : NULL; /* a pipe can be read only once */
    if (!f) return TT_OK;                                 /* its reader reports why */
    bool is = fread(begin, 1, sizeof begin, f) == sizeof begin && !memcmp(begin, TT_POINTER, sizeof begin);
    fclose(f);
    return is ? tt_fail(TT_USAGE, "%s is a Git LFS pointer; " TT_POINTER_INSTEAD, path) : TT_OK;
}
