/* Token files of llm.c: header, reading, scanning, writing. The layout is described in core/data/data.h. */
#include "core/data/token_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/pointer.h"
#include "core/config/config.h"
#include "core/data/data.h"

enum { HEADER_INTS = 256, HEADER_BYTES = 4 * HEADER_INTS };

static const struct format {
    int32_t magic, version;
    int width;
} formats[] = {{20240520, 1, 2}, {20240801, 7, 4}};

/* Added to the version of the format if some tokens are ignored as targets. */
enum { MASKED = 100 };

static int64_t mask_bytes(int64_t count) { return (count + 7) / 8; }

/* ---- opening ---- */
static tt_status check_regular(const char *path, const struct stat *st)
{
    if (S_ISDIR(st->st_mode))
        return tt_fail(TT_USAGE, "%s is a folder; give a file, or a pattern such as '%s/train_*.bin'", path, path);
    if (!S_ISREG(st->st_mode))
        return tt_fail(TT_USAGE, "%s is not a regular file, as data must be; copy it to one first", path);
    if (!st->st_size) return tt_fail(TT_USAGE, "%s is empty; give a file with text or tokens in it", path);
    return TT_OK;
}

static tt_status open_regular(const char *path, int *out, int64_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* do not wait for the writer of a pipe */
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return tt_fail(TT_USAGE, "there is no data file %s; check the path (to train, --data builtin needs none)",
                       path);
    if (fd < 0) return tt_file_error(errno, "open", path);
    struct stat st;
    tt_status bad = fstat(fd, &st) ? tt_file_error(errno, "open", path) : check_regular(path, &st);
    if (bad) {
        close(fd);
        return bad;
    }
    *out = fd;
    *size = st.st_size;
    return TT_OK;
}

static tt_status read_at(int fd, const char *path, void *out, int64_t bytes, int64_t offset)
{
    for (char *to = out; bytes;) {
        ssize_t got = pread(fd, to, bytes < 1 << 30 ? (size_t)bytes : 1 << 30, offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return tt_file_error(errno, "read", path);
        if (!got)
            return tt_fail(TT_FAILED,
                           "%s ends at byte %lld: it has become shorter since it was opened; do not change data while "
                           "it is in use",
                           path, (long long)offset);
        to += got;
        offset += got;
        bytes -= got;
    }
    return TT_OK;
}

static const struct format *format_of(int32_t magic)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].magic == magic) return &formats[i];
    return NULL;
}

static bool is_called_bin(const char *path)
{
    size_t n = strlen(path);
    return n >= 4 && !strcmp(path + n - 4, ".bin");
}

static tt_status truncated_header(const char *path, int64_t size)
{
    return tt_fail(TT_FAILED,
                   "%s has %lld bytes, less than the %d of a token file's header; it is truncated: make or copy "
                   "it again",
                   path, (long long)size, HEADER_BYTES);
}

static tt_status wrong_magic(const char *path, int32_t magic)
{
    TT_TRY(tt_refuse_pointer(path));
    return tt_fail(TT_USAGE,
                   "%s begins with %d, not with the magic number of a token file (%d: uint16, %d: uint32); make "
                   "it with 'tt data', or rename it if it is text",
                   path, magic, formats[0].magic, formats[1].magic);
}

tt_status tt_token_file_sniff(const char *path, bool *is_tokens)
{
    int fd = -1;
    int64_t size = 0;
    int32_t magic = 0;
    TT_TRY(open_regular(path, &fd, &size));
    tt_status st = size >= 4 ? read_at(fd, path, &magic, 4, 0) : TT_OK;
    close(fd);
    TT_TRY(st);
    *is_tokens = size >= 4 && format_of(magic);
    if (*is_tokens || !is_called_bin(path)) return TT_OK;
    return size < 4 ? truncated_header(path, size) : wrong_magic(path, magic);
}

static tt_status check_header(struct tt_token_file *f, const int32_t *header, int64_t size)
{
    const struct format *format = format_of(header[0]);
    if (!format) return wrong_magic(f->path, header[0]);
    f->masked = header[1] == format->version + MASKED;
    if (header[1] != format->version && !f->masked)
        return tt_fail(TT_FAILED,
                       "%s has version %d of the format with magic number %d, of which tt reads version %d; make "
                       "it again with 'tt data'",
                       f->path, header[1], format->magic, format->version);
    if (header[2] < 0)
        return tt_fail(TT_FAILED, "%s says it has %d tokens; its header is damaged: make or copy it again", f->path,
                       header[2]);
    f->width = format->width;
    f->count = header[2];
    f->end_token = header[3] > 0 ? header[3] - 1 : -1;
    int64_t there = size - HEADER_BYTES, wanted = f->count * f->width + (f->masked ? mask_bytes(f->count) : 0);
    if (f->masked && there < wanted && there >= f->count * f->width)
        return tt_fail(TT_FAILED,
                       "%s ends within the mask of which of its %lld tokens have a loss; it is truncated: make or copy "
                       "it again",
                       f->path, (long long)f->count);
    if (there < wanted)
        return tt_fail(TT_FAILED,
                       "%s says it has %lld tokens, but ends after %lld of them; it is truncated: make or copy it "
                       "again",
                       f->path, (long long)f->count, (long long)(there / f->width));
    if (there > wanted)
        return tt_fail(TT_FAILED,
                       "%s says it has %lld tokens, but %lld bytes follow them; it is damaged: make or copy it "
                       "again",
                       f->path, (long long)f->count, (long long)(there - wanted));
    return TT_OK;
}

tt_status tt_token_file_open(const char *path, bool keep_open, struct tt_token_file *out)
{
    struct tt_token_file f = {.fd = -1, .path = strdup(path)};
    int32_t header[HEADER_INTS] = {0};
    int64_t size = 0;
    tt_status st = f.path ? open_regular(path, &f.fd, &size) : tt_no_memory("%s", path);
    if (!st && size < HEADER_BYTES) st = truncated_header(path, size);
    if (!st) st = read_at(f.fd, path, header, HEADER_BYTES, 0);
    if (!st) st = check_header(&f, header, size);
    if (st) {
        tt_token_file_close(&f);
        return st;
    }
    if (!keep_open) {
        close(f.fd);
        f.fd = -1;
    }
    *out = f;
    return TT_OK;
}

void tt_token_file_close(struct tt_token_file *f)
{
    if (f->fd >= 0) close(f->fd);
    free(f->path);
    *f = (struct tt_token_file){.fd = -1};
}

/* ---- reading ---- */

/* 2-byte tokens are read into the second half of `out` and widened in place from the front. A write never reaches a
 * token that has not been read yet. */
static void widen(int32_t *out, int64_t n)
{
    const char *narrow = (const char *)out + 2 * n;
    for (int64_t i = 0; i < n; i++) {
        uint16_t token;
        memcpy(&token, narrow + 2 * i, sizeof token);
        out[i] = token;
    }
}

/* Marks the tokens [first, first + n) that are ignored, a few bytes of bits at a time. */
static tt_status read_mask(const struct tt_token_file *f, int fd, int64_t first, int64_t n, int32_t *out)
{
    unsigned char bits[512];
    int64_t start = HEADER_BYTES + f->count * f->width;
    for (int64_t i = first; i < first + n;) {
        int64_t byte = i / 8, bytes = mask_bytes(first + n) - byte;
        if (bytes > (int64_t)sizeof bits) bytes = sizeof bits;
        TT_TRY(read_at(fd, f->path, bits, bytes, start + byte));
        for (; i < first + n && i / 8 < byte + bytes; i++)
            if (bits[i / 8 - byte] >> i % 8 & 1) out[i - first] = ~out[i - first];
    }
    return TT_OK;
}

static tt_status read_tokens(const struct tt_token_file *f, int64_t first, int64_t n, bool with_mask, int32_t *out)
{
    int fd = f->fd;
    int64_t size;
    if (fd < 0) TT_TRY(open_regular(f->path, &fd, &size));
    char *to = (char *)out + (f->width == 2 ? 2 * n : 0);
    tt_status st = read_at(fd, f->path, to, n * f->width, HEADER_BYTES + first * f->width);
    if (!st && f->width == 2) widen(out, n);
    if (!st && with_mask && f->masked) st = read_mask(f, fd, first, n, out);
    if (f->fd < 0) close(fd);
    return st;
}

tt_status tt_token_file_read(const struct tt_token_file *f, int64_t first, int64_t n, int32_t *out)
{
    return read_tokens(f, first, n, true, out);
}

tt_status tt_token_too_large(int64_t token, int64_t index, const char *path, int64_t vocab_size, int64_t enough)
{
    int64_t needed = enough > token ? enough : token + 1;
    if (needed > TT_VOCAB_MOST)
        return tt_fail(TT_USAGE,
                       "token %lld at index %lld of %s is not below the vocabulary of %lld, and no vocabulary is large "
                       "enough for all of its tokens: they need %lld, and a model has at most %d. Make the file again, "
                       "or use other data",
                       (long long)token, (long long)index, path, (long long)vocab_size, (long long)needed,
                       TT_VOCAB_MOST);
    return tt_fail(TT_USAGE,
                   "token %lld at index %lld of %s is not below the vocabulary of %lld; use a --vocab-size of at least "
                   "%lld, or other data",
                   (long long)token, (long long)index, path, (long long)vocab_size, (long long)needed);
}

uint64_t tt_token_mark(uint64_t before, const int32_t *tokens, int64_t n)
{
    for (int64_t i = 0; i < n; i++) before = (before + (uint32_t)tokens[i] + 1) * 0x9e3779b97f4a7c15;
    return before;
}

tt_status tt_token_file_scan(const struct tt_token_file *f, int64_t vocab_size, int64_t enough,
                             struct tt_token_census *out)
{
    enum { CHUNK = 1 << 20 };
    int64_t limit = vocab_size > 0 && vocab_size < INT32_MAX ? vocab_size : INT32_MAX;
    int32_t *tokens = malloc((size_t)(f->count < CHUNK ? f->count + 1 : CHUNK) * sizeof *tokens);
    tt_status st = tokens ? TT_OK : tt_no_memory("%s", f->path);
    int64_t top = -1, bad = -1, bad_token = 0;
    out->mark = 0;
    for (int64_t first = 0; first < f->count && !st; first += CHUNK) {
        int64_t n = f->count - first < CHUNK ? f->count - first : CHUNK;
        st = read_tokens(f, first, n, false, tokens);
        uint32_t most = 0; /* unsigned, so that negative tokens of a damaged file are too large as well */
        for (int64_t i = 0; i < n && !st; i++) most = (uint32_t)tokens[i] > most ? (uint32_t)tokens[i] : most;
        for (int64_t i = 0; most >= limit && i < n && !st && bad < 0; i++)
            if ((uint32_t)tokens[i] >= limit) bad = first + i, bad_token = (uint32_t)tokens[i];
        if (!st && most > top) top = most;
        if (!st && f->masked) st = tt_token_file_read(f, first, n, tokens);
        if (!st) out->mark = tt_token_mark(out->mark, tokens, n);
    }
    free(tokens);
    out->largest = bad < 0 ? (int32_t)top : -1;
    if (!st && bad >= 0) st = tt_token_too_large(bad_token, bad, f->path, limit, enough > top ? enough : top + 1);
    return st;
}

/* ---- writing ---- */
tt_status tt_tokens_write(const char *path, const int32_t *tokens, int64_t n, int64_t vocab_size, int width)
{
    for (int64_t i = 0; n <= INT32_MAX && i < n; i++)
        if (tokens[i] < 0) return tt_token_too_large(tokens[i], i, path, vocab_size, 0);
    return tt_tokens_write_documents(path, tokens, n, vocab_size, width, -1);
}

tt_status tt_tokens_write_documents(const char *path, const int32_t *tokens, int64_t n, int64_t vocab_size, int width,
                                    int32_t end_token)
{
    if (n < 0 || n > INT32_MAX)
        return tt_fail(TT_USAGE, "a token file holds at most %d tokens, not %lld; write several", INT32_MAX,
                       (long long)n);
    if (vocab_size < 1 || vocab_size > INT32_MAX)
        return tt_fail(TT_USAGE, "a vocabulary has 1 to %d tokens, not %lld", INT32_MAX, (long long)vocab_size);
    if (width == 2 && vocab_size > 65536)
        return tt_fail(TT_USAGE, "a vocabulary of %lld does not fit into uint16; use --token-type uint32 or auto",
                       (long long)vocab_size);
    const struct format *format = &formats[width ? width == 4 : vocab_size > 65536];
    bool masked = false;
    for (int64_t i = 0; i < n && !masked; i++) masked = tokens[i] < 0;
    size_t bits = HEADER_BYTES + (size_t)n * (size_t)format->width, size = bits + (masked ? (size_t)mask_bytes(n) : 0);
    int32_t header[] = {format->magic, format->version + (masked ? MASKED : 0), (int32_t)n, end_token + 1};
    char *file = calloc(1, size);
    if (!file) return tt_no_memory("%s", path);
    memcpy(file, header, sizeof header);
    tt_status st = TT_OK;
    for (int64_t i = 0; i < n && !st; i++) {
        int32_t token = tt_token_of(tokens[i]);
        if (token >= vocab_size) st = tt_token_too_large(token, i, path, vocab_size, 0);
        uint16_t narrow = (uint16_t)token;
        memcpy(file + HEADER_BYTES + i * format->width, format->width == 2 ? (void *)&narrow : (void *)&token,
               (size_t)format->width);
        if (tokens[i] < 0) file[bits + (size_t)i / 8] = (char)(file[bits + (size_t)i / 8] | 1 << i % 8);
    }
    if (!st) st = tt_file_replace(path, file, size);
    free(file);
    return st;
}
