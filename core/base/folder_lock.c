#include "core/base/folder_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file.h"

enum { POLLS_PER_SECOND = 50, MAX_MOVES = 10 };

static bool same_folder(int fd, const char *path)
{
    struct stat opened, named;
    return !fstat(fd, &opened) && !stat(path, &named) && opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 1000000000 / POLLS_PER_SECOND}, NULL); }

/* Another process may move or remove the folder between open and flock. Then this tries again with the folder that has
 * the name now. */
tt_status tt_folder_lock(const char *path, int seconds, int *lock)
{
    *lock = -1;
    for (int moved = 0, polls = 0; moved < MAX_MOVES;) {
        TT_TRY(tt_make_dirs(path));
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 && errno != ENOENT) return tt_file_error(errno, "open", path);
        bool taken = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK; /* other errors: no locks here */
        if (fd >= 0 && !taken && same_folder(fd, path)) {
            *lock = fd;
            return TT_OK;
        }
        if (fd >= 0) close(fd);
        moved += !taken;
        if (taken && polls++ >= seconds * POLLS_PER_SECOND) break;
        if (taken) nap();
    }
    return tt_fail(TT_FAILED, "%s: another tt is writing there; wait for it, or choose another folder", path);
}

tt_status tt_parent_lock(const char *path, int seconds, int *lock)
{
    *lock = -1;
    char *folder = strdup(path);
    if (!folder) return tt_no_memory("a path");
    char *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder] = 0;
    tt_status st = tt_folder_lock(slash ? folder : ".", seconds, lock);
    free(folder);
    return st;
}

void tt_folder_unlock(int *lock)
{
    if (*lock >= 0) close(*lock);
    *lock = -1;
}
