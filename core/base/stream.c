#include "core/base/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/unpack.h"

enum { PACKED = 64 << 10, ALL_AT_ONCE = 1 << 30 };
/* Text packs to a tenth of its size, one line that repeats to one or two hundredths. A file that unpacks to more
 * than MOST_RATIO times its size is refused, once it exceeds ALWAYS_FINE bytes. */
enum { MOST_RATIO = 500, ALWAYS_FINE = 64 << 20 };

struct tt_stream {
    char *path;
    int fd;
    int64_t size, done, given; /* bytes: of the file, read from it, handed out */
    enum tt_packing packing;
    struct tt_unpacker *unpacker;
    bool ended;   /* the latest gzip member or zstd frame is complete */
    bool full;    /* the output was filled, so more may come out without any input */
    size_t at, n; /* bytes of `packed` that are used, and that are filled */
    char packed[PACKED];
};

static tt_status library_missing(const char *path, enum tt_packing packing)
{
    if (packing == TT_GZIP)
        return tt_fail(TT_NO_TOOL,
                       "%s is packed with gzip, and libz.so.1 was not found; install zlib (Debian and Ubuntu: zlib1g), "
                       "or unpack the file with gzip -d",
                       path);
    return tt_fail(TT_NO_TOOL,
                   "%s is packed with zstd, and libzstd.so.1 was not found; install it (Debian and Ubuntu: libzstd1, "
                   "others: libzstd), or unpack the file with zstd -d",
                   path);
}

static tt_status read_file(struct tt_stream *s, char *out, size_t room, size_t *got)
{
    ssize_t n;
    do
        n = read(s->fd, out, room < ALL_AT_ONCE ? room : ALL_AT_ONCE);
    while (n < 0 && errno == EINTR);
    if (n < 0) return tt_file_error(errno, "read", s->path);
    *got = (size_t)n;
    return TT_OK;
}

static tt_status begin(struct tt_stream *s)
{
    struct stat st;
    if (fstat(s->fd, &st)) return tt_file_error(errno, "open", s->path);
    if (S_ISDIR(st.st_mode)) return tt_file_error(EISDIR, "read", s->path);
    s->size = st.st_size;
    while (s->n < 4) { /* enough to see how it is packed */
        size_t got = 0;
        TT_TRY(read_file(s, s->packed + s->n, PACKED - s->n, &got));
        if (!got) break;
        s->n += got;
    }
    s->packing = tt_packing_of(s->packed, s->n);
    if (!s->packing) return TT_OK;
    s->unpacker = tt_unpacker_open(s->packing);
    return s->unpacker ? TT_OK : library_missing(s->path, s->packing);
}

tt_status tt_stream_open(const char *path, struct tt_stream **out)
{
    struct tt_stream *s = calloc(1, sizeof *s);
    if (!s || !(s->path = strdup(path))) {
        free(s);
        return tt_no_memory("%s", path);
    }
    s->fd = open(path, O_RDONLY | O_CLOEXEC);
    tt_status st = s->fd < 0 ? tt_file_error(errno, "open", path) : begin(s);
    if (st)
        tt_stream_close(s);
    else
        *out = s;
    return st;
}

void tt_stream_close(struct tt_stream *s)
{
    if (!s) return;
    if (s->fd >= 0) close(s->fd);
    tt_unpacker_close(s->unpacker);
    free(s->path);
    free(s);
}

static const char *packing_name(const struct tt_stream *s) { return s->packing == TT_GZIP ? "gzip" : "zstd"; }

static tt_status too_early(const struct tt_stream *s)
{
    return tt_fail(TT_FAILED,
                   "%s ends at byte %lld, in the middle of its %s data; it is truncated: make or copy it again",
                   s->path, (long long)s->done, packing_name(s));
}

static tt_status damaged(const struct tt_stream *s, const char *what)
{
    return tt_fail(TT_FAILED, "%s: its %s data are damaged at byte %lld: %s; make or copy it again", s->path,
                   packing_name(s), (long long)s->done, what);
}

static tt_status too_wide(const struct tt_stream *s)
{
    return tt_fail(TT_FAILED,
                   "%s was packed by zstd with --long and needs more than 128 MiB to be unpacked; unpack it yourself: "
                   "zstd -d --long=31 %s",
                   s->path, s->path);
}

static tt_status too_much(const struct tt_stream *s)
{
    return tt_fail(TT_FAILED,
                   "%s: its first %lld bytes unpack to %lld, more than %d times as many, which no text does; if you "
                   "trust it, unpack it yourself and give the unpacked file",
                   s->path, (long long)s->done, (long long)s->given, MOST_RATIO);
}

static tt_status read_packed(struct tt_stream *s, char *out, size_t room, size_t *got)
{
    for (;;) {
        if (s->at == s->n && (s->ended || !s->full)) { /* at the end of a frame nothing is left to come out */
            s->at = s->n = 0;
            TT_TRY(read_file(s, s->packed, PACKED, &s->n));
            if (!s->n) return s->ended ? TT_OK : too_early(s);
        }
        struct tt_unpacked r = tt_unpack(s->unpacker, s->packed + s->at, s->n - s->at, out, room);
        s->at += r.in;
        s->done += (int64_t)r.in;
        s->given += (int64_t)r.out;
        s->ended = r.ended;
        s->full = r.out == room;
        if (r.wide) return too_wide(s);
        if (r.error) return damaged(s, r.error);
        if (s->given > ALWAYS_FINE && s->given / MOST_RATIO > s->done) return too_much(s);
        *got = r.out;
        if (r.out) return TT_OK;
    }
}

tt_status tt_stream_read(struct tt_stream *s, char *out, size_t room, size_t *got)
{
    *got = 0;
    if (room > ALL_AT_ONCE) room = ALL_AT_ONCE;
    if (s->packing) return read_packed(s, out, room, got);
    if (s->at < s->n) { /* bytes that begin() read to see the packing */
        *got = s->n - s->at < room ? s->n - s->at : room;
        memcpy(out, s->packed + s->at, *got);
        s->at += *got;
    } else {
        TT_TRY(read_file(s, out, room, got));
    }
    s->done += (int64_t)*got;
    return TT_OK;
}

bool tt_stream_is_packed(const struct tt_stream *s) { return s->packing != TT_NOT_PACKED; }

int64_t tt_stream_done(const struct tt_stream *s) { return s->done; }

int64_t tt_stream_size(const struct tt_stream *s) { return s->size; }
