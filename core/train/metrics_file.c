#include "core/train/metrics_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"

/* Bytes before the first line that is cut off: one of a later step, half written, or not in our format. */
static size_t kept_length(const char *text, size_t size, int64_t first,
                          void (*kept)(void *user, long long step, const char *line), void *user)
{
    char line[1 << 13]; /* a line with a number for each of a thousand layers fits */
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t n = end ? (size_t)(end - text) - at : 0;
        long long step;
        if (!end || n >= sizeof line) return at;
        memcpy(line, text + at, n);
        line[n] = 0;
        if (sscanf(line, "{\"step\":%lld", &step) != 1 || step > first) return at;
        if (kept) kept(user, step, line);
        at += n + 1;
    }
    return size;
}

tt_status tt_metrics_file_open(struct tt_metrics_file *f, const char *folder, int64_t first,
                               void (*kept)(void *user, long long step, const char *line), void *user)
{
    snprintf(f->path, sizeof f->path, "%s/metrics.jsonl", folder);
    if (first > 0 && tt_is_file(f->path)) {
        char *text;
        size_t size;
        TT_TRY(tt_file_read(f->path, (size_t)1 << 32, &text, &size));
        f->whole_bytes = (int64_t)kept_length(text, size, first, kept, user);
        free(text);
        if (truncate(f->path, (off_t)f->whole_bytes))
            return tt_fail(TT_FAILED, "%s: %s; is it writable?", f->path, strerror(errno));
    }
    f->whole_step = first;
    f->lines = fopen(f->path, first > 0 ? "a" : "w");
    if (!f->lines) return tt_fail(TT_FAILED, "%s: %s; choose another --out", f->path, strerror(errno));
    setvbuf(f->lines, f->buffer, _IOFBF, sizeof f->buffer);
    return TT_OK;
}

static void give_up(struct tt_metrics_file *f, int error)
{
    f->error = error;
    tt_metrics_file_close(f);
    (void)!truncate(f->path, (off_t)f->whole_bytes);
}

bool tt_metrics_file_flush(struct tt_metrics_file *f, int64_t step)
{
    if (!f->lines) return true;
    errno = 0;
    bool failed = fflush(f->lines) || ferror(f->lines);
    if (failed) {
        give_up(f, errno ? errno : EIO);
        return false;
    }
    struct stat st;
    if (!fstat(fileno(f->lines), &st)) f->whole_bytes = (int64_t)st.st_size;
    f->whole_step = step;
    return true;
}

tt_status tt_metrics_file_status(const struct tt_metrics_file *f)
{
    if (!f->error) return TT_OK;
    return tt_fail(TT_FAILED,
                   "the run is done and saved, but %s ends at step %lld: %s; free some space before the next run",
                   f->path, (long long)f->whole_step, strerror(f->error));
}

void tt_metrics_file_close(struct tt_metrics_file *f)
{
    if (f->lines) fclose(f->lines);
    f->lines = NULL;
}

const char *tt_metrics_number(char out[32], double x)
{
    if (isfinite(x))
        snprintf(out, 32, "%.9g", x);
    else
        strcpy(out, "null");
    return out;
}
