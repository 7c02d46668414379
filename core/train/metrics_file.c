#include "core/train/metrics_file.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"

/* Bytes before the first line that is cut off: one of a later step, half written, or not in our format. */
static int64_t kept_length(FILE *f, int64_t first, void (*kept)(void *user, long long step, const char *line),
                           void *user)
{
    char line[1 << 13]; /* a line with a number for each of a thousand layers fits */
    int64_t at = 0;
    while (fgets(line, sizeof line, f)) {
        size_t n = strlen(line);
        long long step;
        if (!n || line[n - 1] != '\n') break;
        line[n - 1] = 0;
        if (sscanf(line, "{\"step\":%lld", &step) != 1 || step > first) break;
        if (kept) kept(user, step, line);
        at += (int64_t)n;
    }
    return at;
}

tt_status tt_metrics_file_open(struct tt_metrics_file *f, const char *folder, int64_t first,
                               void (*kept)(void *user, long long step, const char *line), void *user)
{
    snprintf(f->path, sizeof f->path, "%s/metrics.jsonl", folder);
    if (first > 0 && tt_is_file(f->path)) {
        FILE *old = fopen(f->path, "r");
        if (!old) return tt_file_error(errno, "open", f->path);
        f->whole_bytes = kept_length(old, first, kept, user);
        bool broken = ferror(old);
        fclose(old);
        if (broken) return tt_file_error(EIO, "read", f->path); /* what could not be read is not cut off */
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
