/* A temporary folder for a test: paths in it, and its contents. */
#ifndef TT_FOLDER_FIXTURE_H
#define TT_FOLDER_FIXTURE_H

#include <dirent.h>

#include "core/base/file.h"
#include "tests/test.h"

static char root[] = "/tmp/tt-test-folder-XXXXXX";
static char buffer[4][300];

/* A path in the test's folder. Paths that are in use at the same time have different n. */
static inline const char *at(int n, const char *name)
{
    snprintf(buffer[n], sizeof buffer[n], "%s/%s", root, name);
    return buffer[n];
}

static inline bool holds(const char *path, const char *text)
{
    char *data;
    size_t n;
    tt_status st = tt_file_read(path, 1000, &data, &n);
    bool same = !st && n == strlen(text) && !strcmp(data, text);
    tt_status_free(st);
    free(data);
    return same;
}

static inline int names_with(const char *beginning)
{
    DIR *d = opendir(root);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));) n += !strncmp(e->d_name, beginning, strlen(beginning));
    if (d) closedir(d);
    return n;
}

#endif
