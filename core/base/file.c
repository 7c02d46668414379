/* Files and folders: read whole, replace safely, make, remove, sync. */
#include "core/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/staged.h"

static const char *hint(int error)
{
    switch (error) {
    case ENOENT:
        return "check the path";
    case EACCES:
    case EPERM:
        return "check the permissions, or choose another path";
    case EROFS:
        return "this file system is read-only; choose another path";
    case ENOSPC:
        return "free some space, or choose a path on another disk";
    case EDQUOT:
        return "your quota is used up; free some space, or choose a path on another disk";
    case EFBIG:
        return "a limit on file sizes is in the way; see 'ulimit -f', or choose another file system";
    case ENOTDIR:
        return "a part of the path is a file, not a folder; check the path";
    case EISDIR:
        return "this is a folder; give a file";
    case EEXIST:
        return "a file of this name is in the way; remove it, or choose another path";
    case ENOTEMPTY:
        return "this folder is no longer empty; choose another folder";
    case ENAMETOOLONG:
        return "choose a shorter path";
    case ELOOP:
        return "links point at each other; check the path";
    case EMFILE:
    case ENFILE:
        return "too many files are open; see 'ulimit -n'";
    case EIO:
    case ESTALE:
        return "the disk or its network failed; check it, or choose another path";
    default:
        return "check the path and the disk";
    }
}

/* Whether the user gave a wrong path: it does not exist, or is not the kind of file needed. ENOENT while writing does
 * not count: the path was right and something removed it since. */
static bool is_wrong_name(int error, const char *verb)
{
    switch (error) {
    case ENOENT:
        return strcmp(verb, "open") == 0 || strcmp(verb, "read") == 0 || strcmp(verb, "make the folder") == 0;
    case ENOTDIR:
    case EISDIR:
    case EEXIST:
    case ELOOP:
    case ENAMETOOLONG:
        return true;
    default:
        return false;
    }
}

tt_status tt_file_error(int error, const char *verb, const char *path)
{
    return tt_fail(is_wrong_name(error, verb) ? TT_USAGE : TT_FAILED, "cannot %s %s: %s; %s", verb, path,
                   strerror(error), hint(error));
}

static tt_status too_large(const char *path, size_t limit)
{
    return tt_fail(TT_FAILED, "%s is larger than the %zu bytes that can be read here; is it the right file?", path,
                   limit);
}

/* Doubles *data when it is full. A file may be longer than fstat said: it grows, or is under /proc. */
static tt_status make_room(char **data, size_t n, size_t *cap, const char *path)
{
    if (n + 1 < *cap) return TT_OK;
    size_t more = *cap < 4096 ? 8192 : *cap * 2;
    char *larger = more > *cap ? realloc(*data, more) : NULL;
    if (!larger) return tt_no_memory("more than %zu bytes of %s", n, path);
    *data = larger;
    *cap = more;
    return TT_OK;
}

static tt_status read_fd(int fd, const char *path, size_t limit, char **data, size_t *size)
{
    struct stat st;
    if (fstat(fd, &st)) return tt_file_error(errno, "read", path);
    if (S_ISDIR(st.st_mode)) return tt_file_error(EISDIR, "read", path);
    if (S_ISREG(st.st_mode) && (uint64_t)st.st_size > limit) return too_large(path, limit);

    size_t cap = S_ISREG(st.st_mode) ? (size_t)st.st_size + 2 : 0; /* one to see the end, one for the 0 */
    *data = cap ? malloc(cap) : NULL;
    if (cap && !*data) return tt_no_memory("the %zu bytes of %s", cap - 2, path);
    *size = 0;
    for (;;) {
        TT_TRY(make_room(data, *size, &cap, path));
        ssize_t got = read(fd, *data + *size, cap - *size - 1);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return tt_file_error(errno, "read", path);
        if (!got) break;
        *size += (size_t)got;
        if (*size > limit) return too_large(path, limit);
    }
    (*data)[*size] = 0;
    return TT_OK;
}

tt_status tt_file_read(const char *path, size_t limit, char **data, size_t *size)
{
    *data = NULL;
    *size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return tt_file_error(errno, "open", path);
    tt_status st = read_fd(fd, path, limit, data, size);
    close(fd);
    if (st) {
        free(*data);
        *data = NULL;
        *size = 0;
    }
    return st;
}

tt_status tt_write_all(int fd, const void *data, size_t n, const char *path)
{
    const char *p = data;
    while (n) {
        size_t piece = n < (size_t)64 << 20 ? n : (size_t)64 << 20;
        ssize_t put = write(fd, p, piece);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return tt_file_error(errno, "write", path);
        if (!put) return tt_file_error(ENOSPC, "write", path);
        p += put;
        n -= (size_t)put;
    }
    return TT_OK;
}

bool tt_sync_fd(int fd) { return !fsync(fd) || errno == EINVAL || errno == EROFS || errno == ENOTSUP; }

static tt_status write_and_close(int fd, const char *path, const void *data, size_t size)
{
    tt_status st = tt_write_all(fd, data, size, path);
    if (!st && !tt_sync_fd(fd)) st = tt_file_error(errno, "write", path);
    if (close(fd) && !st) st = tt_file_error(errno, "write", path);
    return st;
}

static tt_status replace(const char *target, mode_t mode, const void *data, size_t size)
{
    struct tt_staged b;
    TT_TRY(tt_stage_file(target, &b));
    if (mode) (void)!fchmod(b.fd, mode & 0777); /* best effort */
    tt_status st = tt_write_all(b.fd, data, size, target);
    if (!st) return tt_staged_replace(&b);
    tt_staged_drop(&b);
    return st;
}

tt_status tt_file_replace(const char *path, const void *data, size_t size)
{
    struct stat st;
    bool exists = !stat(path, &st);
    if (exists && S_ISDIR(st.st_mode)) return tt_file_error(EISDIR, "write", path);
    if (exists && !S_ISREG(st.st_mode)) {
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        return fd < 0 ? tt_file_error(errno, "write", path) : write_and_close(fd, path, data, size);
    }
    char *target = exists ? realpath(path, NULL) : strdup(path);
    tt_status result =
        target ? replace(target, exists ? st.st_mode : 0, data, size) : tt_file_error(errno, "write", path);
    free(target);
    return result;
}

tt_status tt_file_kind(const char *path, enum tt_file_kind *kind)
{
    struct stat st, link;
    *kind = TT_NO_FILE;
    if (stat(path, &st)) {
        bool certain = errno == ENOTDIR || (errno == ENOENT && lstat(path, &link) && errno == ENOENT);
        return certain ? TT_OK : tt_file_error(errno, "read", path);
    }
    *kind = S_ISREG(st.st_mode) ? TT_REGULAR_FILE : S_ISDIR(st.st_mode) ? TT_FOLDER : TT_OTHER_FILE;
    return TT_OK;
}

bool tt_is_dir(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

bool tt_is_file(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISREG(st.st_mode);
}

static tt_status make_dir(const char *path)
{
    if (tt_is_dir(path) || !mkdir(path, 0777)) return TT_OK;
    int error = errno;
    return tt_is_dir(path) ? TT_OK : tt_file_error(error, "make the folder", path); /* another process made it first */
}

tt_status tt_make_dirs(const char *path)
{
    if (!*path) return tt_file_error(ENOENT, "make the folder", "''");
    char *part = strdup(path);
    if (!part) return tt_file_error(ENOMEM, "make the folder", path);
    tt_status st = TT_OK;
    for (char *p = part + 1; !st && *p; p++) {
        if (*p != '/') continue;
        *p = 0;
        st = make_dir(part);
        *p = '/';
    }
    if (!st) st = make_dir(part);
    free(part);
    return st;
}

tt_status tt_make_parent(const char *path)
{
    char *parent = strdup(path);
    if (!parent) return tt_no_memory("a path");
    char *slash = strrchr(parent, '/');
    if (slash) *slash = 0;
    tt_status st = slash && slash > parent ? tt_make_dirs(parent) : TT_OK;
    free(parent);
    return st;
}

static tt_status remove_at(int parent, const char *name, const char *top);

/* Repeats until a pass finds nothing: some file systems skip entries when others are removed during a readdir. */
static tt_status empty_dir(DIR *dir, const char *top)
{
    int removed;
    do {
        removed = 0;
        rewinddir(dir);
        for (struct dirent *e; (e = readdir(dir));) {
            if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
            TT_TRY(remove_at(dirfd(dir), e->d_name, top));
            removed++;
        }
    } while (removed);
    return TT_OK;
}

/* Uses the descriptor of each folder, not its path, so that a link swapped in during the removal is not followed. */
static tt_status remove_at(int parent, const char *name, const char *top)
{
    if (!unlinkat(parent, name, 0) || errno == ENOENT) return TT_OK;
    if (errno != EISDIR && errno != EPERM) return tt_file_error(errno, "remove", top);
    int error = errno;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return tt_file_error(errno == ENOTDIR ? error : errno, "remove", top);
    DIR *dir = fdopendir(fd);
    if (!dir) {
        error = errno;
        close(fd);
        return tt_file_error(error, "remove", top);
    }
    tt_status st = empty_dir(dir, top);
    closedir(dir);
    if (!st && unlinkat(parent, name, AT_REMOVEDIR) && errno != ENOENT) st = tt_file_error(errno, "remove", top);
    return st;
}

tt_status tt_remove_tree(const char *path) { return remove_at(AT_FDCWD, path, path); }

tt_status tt_sync_dir(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return tt_file_error(errno, "open", path);
    tt_status st = tt_sync_fd(fd) ? TT_OK : tt_file_error(errno, "sync", path);
    close(fd);
    return st;
}
