/* A temporary folder for data: paths in it, and files with given bytes. */
#ifndef TT_DATA_FIXTURE_H
#define TT_DATA_FIXTURE_H

#include <stdio.h>

#include "tests/test.h"

static char folder[] = "/tmp/tt-data-XXXXXX"; /* mkdtemp creates it */

/* The result is valid until 64 more paths were made. */
static inline const char *in_folder(const char *name)
{
    static char paths[64][128];
    static int turn;
    char *path = paths[turn++ % 64];
    snprintf(path, sizeof *paths, "%s/%s", folder, name);
    return path;
}

static inline const char *write_bytes(const char *name, const void *data, size_t n)
{
    const char *path = in_folder(name);
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(data, 1, n, f) == n && !fclose(f));
    return path;
}

#endif
