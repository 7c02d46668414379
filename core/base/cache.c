#include "core/base/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"

const char *tt_cache_path(const char *name, char *out, size_t size)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (base && base[0] == '/')
        snprintf(out, size, "%s/tt", base);
    else if (home && home[0] == '/')
        snprintf(out, size, "%s/.cache/tt", home);
    else
        return NULL;
    size_t n = strlen(out);
    tt_status st = tt_make_dirs(out);
    bool usable = !st && n + strlen(name) + 2 <= size;
    tt_status_free(st);
    if (usable) snprintf(out + n, size - n, "/%s", name);
    return usable ? out : NULL;
}
