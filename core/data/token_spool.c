#include "core/data/token_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"

static const char what[] = "the tokens on their way to the folder";

/* Not every file system has files without a name; elsewhere the name is removed at once. */
static int open_nameless(const char *folder)
{
    char path[1200];
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
    snprintf(path, sizeof path, "%s/.tt-tokens-XXXXXX", folder);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0) unlink(path);
    return fd;
}

tt_status tt_token_spool_open(const char *folder, struct tt_token_spool *s)
{
    char there[1100];
    snprintf(there, sizeof there, "%s", folder);
    while (!tt_is_dir(there)) {
        char *slash = strrchr(there, '/');
        if (slash && slash > there)
            *slash = 0;
        else
            strcpy(there, slash ? "/" : ".");
    }
    *s = (struct tt_token_spool){.fd = open_nameless(there)};
    return s->fd < 0 ? tt_file_error(errno, "write to", there) : TT_OK;
}

void tt_token_spool_close(struct tt_token_spool *s)
{
    if (s->fd >= 0) close(s->fd);
    *s = (struct tt_token_spool){.fd = -1};
}

tt_status tt_token_spool_add(void *spool, const int32_t *tokens, int64_t n)
{
    struct tt_token_spool *s = spool;
    TT_TRY(tt_write_all(s->fd, tokens, (size_t)n * sizeof *tokens, what));
    s->count += n;
    return TT_OK;
}

tt_status tt_token_spool_read(const struct tt_token_spool *s, int64_t first, int64_t n, int32_t *out)
{
    char *to = (char *)out;
    int64_t bytes = n * (int64_t)sizeof *out, offset = first * (int64_t)sizeof *out;
    while (bytes > 0) {
        ssize_t got = pread(s->fd, to, bytes < 1 << 30 ? (size_t)bytes : 1 << 30, offset);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return tt_file_error(got ? errno : EIO, "read", what);
        to += got;
        offset += got;
        bytes -= got;
    }
    return TT_OK;
}
