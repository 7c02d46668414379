#include "core/base/writable.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"

enum { LONGEST = 4096 };

bool tt_go_up(char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') path[--n] = 0;
    char *slash = strrchr(path, '/');
    if (!strcmp(path, "/") || !strcmp(path, ".")) return false;
    while (slash > path && slash[-1] == '/') slash--;
    if (!slash)
        strcpy(path, ".");
    else
        slash[slash == path] = 0;
    return true;
}

/* Only making a folder tells: root has every permission, but the file system may still refuse. The probe has a name of
 * its own, since another process may be making `dir` right now. */
static tt_status try_to_make(const char *parent, const char *dir)
{
    char probe[LONGEST + 16];
    struct stat link;
    if (!lstat(dir, &link) && S_ISLNK(link.st_mode)) return tt_file_error(EEXIST, "make the folder", dir);
    snprintf(probe, sizeof probe, "%s/.tt-XXXXXX", parent);
    if (!mkdtemp(probe)) return tt_file_error(errno, "make the folder", dir);
    (void)rmdir(probe);
    return TT_OK;
}

tt_status tt_could_fill(const char *dir, const char *option)
{
    char found[LONGEST], missing[LONGEST] = "";
    if (!dir[0]) return tt_file_error(ENOENT, "make the folder", "''");
    if (snprintf(found, sizeof found, "%s", dir) >= LONGEST) return tt_fail(TT_USAGE, "%s: the path is too long", dir);
    for (size_t n = strlen(found); n > 1 && found[n - 1] == '/';) found[--n] = 0;
    while (access(found, F_OK) && errno == ENOENT) {
        memcpy(missing, found, sizeof missing);
        if (!tt_go_up(found)) break;
    }
    if (access(found, F_OK) == 0 && !tt_is_dir(found))
        return tt_fail(TT_USAGE, "%s is a file; %s names a folder", found, option);
    if (access(found, W_OK | X_OK)) return tt_file_error(errno, "write into", found);
    return missing[0] ? try_to_make(found, missing) : TT_OK;
}

tt_status tt_could_write(const char *path)
{
    char parent[LONGEST];
    enum tt_file_kind kind;
    TT_TRY(tt_file_kind(path, &kind));
    if (kind == TT_FOLDER) return tt_file_error(EISDIR, "write", path);
    if (kind == TT_OTHER_FILE) return access(path, W_OK) ? tt_file_error(errno, "write", path) : TT_OK;
    if (snprintf(parent, sizeof parent, "%s", path) >= LONGEST)
        return tt_fail(TT_USAGE, "%s: the path is too long", path);
    (void)tt_go_up(parent);
    if (access(parent, F_OK)) return tt_file_error(errno, "open", parent);
    if (!tt_is_dir(parent)) return tt_file_error(ENOTDIR, "write", path);
    return access(parent, W_OK | X_OK) ? tt_file_error(errno, "write", path) : TT_OK;
}
