#include "core/base/staged.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/rng.h"

enum { DIGITS = 8, MAX_TRIES = 100 };

static const char before[] = ".tt-", after[] = ".tmp";

static tt_status no_memory(const char *target) { return tt_file_error(ENOMEM, "write", target); }

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static char *parent_of(const char *path)
{
    size_t n = (size_t)(base_of(path) - path);
    return n ? strndup(path, n > 1 ? n - 1 : 1) : strdup(".");
}

/* ---- leftovers of crashed processes ---- */

static bool is_leftover(const char *name, const char *base)
{
    size_t n = strlen(base), b = sizeof before - 1;
    if (strncmp(name, base, n) != 0 || strncmp(name + n, before, b) != 0) return false;
    name += n + b;
    return strspn(name, "0123456789abcdef") == DIGITS && !strcmp(name + DIGITS, after);
}

/* NFS can lock a file only if it is open for writing. A folder cannot be opened so. */
static int open_leftover(int dir, const char *name)
{
    int fd = openat(dir, name, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 || errno != EISDIR ? fd : openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void remove_if_unlocked(int dir, const char *parent, const char *name)
{
    char *path = NULL;
    int fd = open_leftover(dir, name);
    if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB) && asprintf(&path, "%s/%s", parent, name) > 0)
        tt_status_free(tt_remove_tree(path)); /* best effort: the next process tries again */
    free(path);
    if (fd >= 0) close(fd);
}

static void sweep(const char *target)
{
    char *parent = parent_of(target);
    DIR *d = parent ? opendir(parent) : NULL;
    for (struct dirent *e; d && (e = readdir(d));)
        if (is_leftover(e->d_name, base_of(target))) remove_if_unlocked(dirfd(d), parent, e->d_name);
    if (d) closedir(d);
    free(parent);
}

/* ---- making ---- */

static char *draw_name(const char *target, int attempt)
{
    struct timespec t = {0};
    char *path;
    clock_gettime(CLOCK_REALTIME, &t);
    uint64_t number = tt_random((uint64_t)getpid(), (uint64_t)t.tv_sec, (uint64_t)t.tv_nsec + (uint64_t)attempt);
    return asprintf(&path, "%s%s%0*x%s", target, before, DIGITS, (unsigned)(uint32_t)number, after) < 0 ? NULL : path;
}

static int create(const char *path, bool folder)
{
    if (!folder) return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (mkdir(path, 0777)) return -1;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), error = errno;
    if (fd < 0) rmdir(path);
    errno = error;
    return fd;
}

/* Locks it. Until then it looks like a leftover, and another process may have removed it: then false. */
static bool lock(int fd, const char *path)
{
    bool swept = flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK; /* other errors: no locks on this file system */
    return !swept && !access(path, F_OK);
}

static tt_status make(const char *target, bool folder, struct tt_staged *b)
{
    *b = (struct tt_staged){.fd = -1, .target = strdup(target)};
    if (!b->target) return no_memory(target);
    sweep(target);
    int error = EEXIST;
    for (int i = 0; i < MAX_TRIES; i++) {
        b->path = draw_name(target, i);
        b->fd = b->path ? create(b->path, folder) : -1;
        if (b->fd < 0) error = b->path ? errno : ENOMEM;
        if (b->fd < 0 && error != EEXIST) break;
        if (b->fd >= 0 && lock(b->fd, b->path)) return TT_OK;
        if (b->fd >= 0) close(b->fd);
        b->fd = -1;
        free(b->path);
        b->path = NULL;
    }
    tt_staged_drop(b);
    return tt_file_error(error, "write", target);
}

tt_status tt_stage_file(const char *target, struct tt_staged *b) { return make(target, false, b); }

tt_status tt_stage_folder(const char *target, struct tt_staged *b) { return make(target, true, b); }

/* ---- the end ---- */

static void forget(struct tt_staged *b)
{
    if (b->fd >= 0) close(b->fd);
    free(b->path);
    free(b->target);
    *b = (struct tt_staged){.fd = -1};
}

void tt_staged_drop(struct tt_staged *b)
{
    if (b->path && b->fd >= 0) tt_status_free(tt_remove_tree(b->path));
    forget(b);
}

/* 0, or an errno. */
static int take_place(const struct tt_staged *b) { return rename(b->path, b->target) ? errno : 0; }

static int take_free_place(const struct tt_staged *b)
{
    if (!link(b->path, b->target)) return unlink(b->path), 0;
    bool no_links = errno == EPERM || errno == ENOTSUP || errno == ENOSYS || errno == EMLINK;
    if (!no_links) return errno;
    return access(b->target, F_OK) ? take_place(b) : EEXIST;
}

static tt_status publish(struct tt_staged *b, int (*take)(const struct tt_staged *))
{
    int error = tt_sync_fd(b->fd) ? take(b) : errno;
    tt_status st = error ? tt_file_error(error, "write", b->target) : TT_OK;
    if (st) {
        st->code = TT_FAILED; /* not TT_USAGE: the target was free when the user named it */
        tt_staged_drop(b);
        return st;
    }
    char *parent = parent_of(b->target);
    st = parent ? tt_sync_dir(parent) : no_memory(b->target);
    free(parent);
    forget(b);
    return st;
}

tt_status tt_staged_replace(struct tt_staged *b) { return publish(b, take_place); }

tt_status tt_staged_add(struct tt_staged *b) { return publish(b, take_free_place); }
