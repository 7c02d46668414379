#include "core/tensorboard.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/crc32.h"
#include "core/file.h"

enum { EVENT_BYTES = 1024, TAG_BYTES = 64 };

struct tt_tensorboard {
    FILE *file;
    char *path;
    int error; /* errno of the first write that failed */
};

/* ---- protocol buffers: fields are a key (number << 3 | type) and a value ---- */

enum type { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

struct message {
    unsigned char bytes[EVENT_BYTES];
    size_t n;
};

static void put(struct message *m, const void *data, size_t n)
{
    if (n > sizeof m->bytes - m->n) return; /* what callers here write always fits */
    memcpy(m->bytes + m->n, data, n);
    m->n += n;
}

static void put_varint(struct message *m, uint64_t x)
{
    for (; x >= 0x80; x >>= 7) put(m, &(unsigned char){(unsigned char)(x | 0x80)}, 1);
    put(m, &(unsigned char){(unsigned char)x}, 1);
}

static void put_key(struct message *m, int field, enum type type) { put_varint(m, (uint64_t)(field << 3 | (int)type)); }

static void put_int(struct message *m, int field, int64_t x)
{
    put_key(m, field, VARINT);
    put_varint(m, (uint64_t)x);
}

static void put_bytes(struct message *m, int field, const void *data, size_t n)
{
    put_key(m, field, BYTES);
    put_varint(m, n);
    put(m, data, n);
}

/* ---- events: wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7 ---- */

static void begin_event(struct message *m, int64_t step)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    double seconds = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    m->n = 0;
    put_key(m, 1, FIXED64);
    put(m, &seconds, sizeof seconds);
    if (step) put_int(m, 2, step);
}

/* summary.value = 1: tag = 1, simple_value = 2 */
static void put_scalar(struct message *summary, const struct tt_scalar *s)
{
    struct message value = {.n = 0};
    float x = (float)s->value;
    put_bytes(&value, 1, s->tag, strnlen(s->tag, TAG_BYTES));
    put_key(&value, 2, FIXED32);
    put(&value, &x, sizeof x);
    put_bytes(summary, 1, value.bytes, value.n);
}

/* ---- records ---- */

/* Turned and shifted, so that a checksum of data that holds checksums is none of them. */
static uint32_t masked(const void *data, size_t n)
{
    uint32_t crc = tt_crc32c(data, n);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static void write_record(struct tt_tensorboard *t, const struct message *m)
{
    uint64_t length = m->n;
    uint32_t of_length = masked(&length, sizeof length), of_data = masked(m->bytes, m->n);
    bool good = fwrite(&length, sizeof length, 1, t->file) == 1 && fwrite(&of_length, sizeof of_length, 1, t->file) == 1 &&
                fwrite(m->bytes, m->n, 1, t->file) == 1 && fwrite(&of_data, sizeof of_data, 1, t->file) == 1;
    if (!good && !t->error) t->error = errno;
}

static void write_start(struct tt_tensorboard *t, int64_t first)
{
    static const char version[] = "brain.Event:2";
    struct message m, log = {.n = 0};
    begin_event(&m, 0);
    put_bytes(&m, 3, version, strlen(version));
    write_record(t, &m);
    if (!first) return;
    put_int(&log, 1, 1); /* status START: what other files have from this step on is void */
    begin_event(&m, first + 1);
    put_bytes(&m, 7, log.bytes, log.n);
    write_record(t, &m);
}

tt_status tt_tensorboard_open(const char *dir, int64_t first, struct tt_tensorboard **out)
{
    char host[65] = "";
    TT_TRY(tt_make_dirs(dir));
    if (gethostname(host, sizeof host - 1)) strcpy(host, "localhost");
    struct tt_tensorboard *t = calloc(1, sizeof *t);
    /* files of a folder are read in the order of their names, so the time comes first */
    if (!t || asprintf(&t->path, "%s/events.out.tfevents.%010lld.%s.%ld", dir, (long long)time(NULL), host, (long)getpid()) < 0) {
        free(t);
        return tt_fail(TT_FAILED, "out of memory for TensorBoard's file");
    }
    t->file = fopen(t->path, "ab");
    if (!t->file) {
        tt_status st = tt_file_error(errno, "write", t->path);
        free(t->path);
        free(t);
        return st;
    }
    write_start(t, first);
    tt_tensorboard_flush(t);
    *out = t;
    return TT_OK;
}

void tt_tensorboard_add(struct tt_tensorboard *t, int64_t step, const struct tt_scalar *scalars, int n)
{
    struct message m, summary = {.n = 0};
    begin_event(&m, step);
    for (int i = 0; i < n; i++) put_scalar(&summary, &scalars[i]);
    put_bytes(&m, 5, summary.bytes, summary.n);
    write_record(t, &m);
}

void tt_tensorboard_flush(struct tt_tensorboard *t)
{
    if (fflush(t->file) && !t->error) t->error = errno;
}

tt_status tt_tensorboard_close(struct tt_tensorboard *t)
{
    if (!t) return TT_OK;
    if (fclose(t->file) && !t->error) t->error = errno;
    tt_status st = t->error ? tt_context(tt_file_error(t->error, "write", t->path), "TensorBoard's curves are not complete") : TT_OK;
    free(t->path);
    free(t);
    return st;
}
