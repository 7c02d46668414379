#include "core/train/events.h"

#include <dirent.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/protobuf.h"
#include "core/base/text.h"

struct tt_events {
    FILE *file;
    char path[1200];
    int error; /* errno of the first thing that went wrong */
};

/* ---- records: length, its checksum, the data, its checksum ---- */

uint32_t tt_events_checksum(const void *data, size_t n)
{
    const unsigned char *p = data;
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (0x82f63b78u & (0u - (crc & 1)));
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static void write_record(struct tt_events *e, const struct tt_text *data)
{
    unsigned char head[12], tail[4];
    if (e->error || data->failed) {
        if (!e->error) e->error = ENOMEM;
        return;
    }
    tt_little_endian(head, data->n, 8);
    tt_little_endian(head + 8, tt_events_checksum(head, 8), 4);
    tt_little_endian(tail, tt_events_checksum(data->s, data->n), 4);
    bool written = fwrite(head, 1, 12, e->file) == 12 && fwrite(data->s, 1, data->n, e->file) == data->n &&
                   fwrite(tail, 1, 4, e->file) == 4;
    if (!written) e->error = errno ? errno : EIO;
}

/* ---- values, as protocol buffers ---- */

/* Numbers of fields in TensorFlow's event.proto, summary.proto and tensor.proto. */
enum { EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_FILE_VERSION = 3, EVENT_SUMMARY = 5, EVENT_SESSION = 7 };
enum { SESSION_STATUS = 1, SESSION_START = 1 };
enum { SUMMARY_VALUE = 1 };
enum { VALUE_TAG = 1, VALUE_SIMPLE = 2, VALUE_HISTOGRAM = 5, VALUE_TENSOR = 8, VALUE_METADATA = 9 };
enum {
    HISTOGRAM_MIN = 1,
    HISTOGRAM_MAX = 2,
    HISTOGRAM_COUNT = 3,
    HISTOGRAM_SUM = 4,
    HISTOGRAM_SQUARES = 5,
    HISTOGRAM_LIMITS = 6,
    HISTOGRAM_BUCKETS = 7
};
enum { TENSOR_TYPE = 1, TENSOR_SHAPE = 2, TENSOR_STRINGS = 8, TYPE_STRING = 7 };
enum { METADATA_PLUGIN = 1, PLUGIN_NAME = 1 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Writes an event with one value, and frees the value. */
static void write_value(struct tt_events *e, int64_t step, struct tt_text *value)
{
    struct tt_text event = {0}, summary = {0};
    tt_proto_message(&summary, SUMMARY_VALUE, value);
    tt_proto_double(&event, EVENT_WALL_TIME, now());
    tt_proto_int(&event, EVENT_STEP, step);
    tt_proto_message(&event, EVENT_SUMMARY, &summary);
    write_record(e, &event);
    tt_text_free(&event);
}

void tt_events_scalar(struct tt_events *e, int64_t step, const char *tag, double value)
{
    struct tt_text v = {0};
    tt_proto_string(&v, VALUE_TAG, tag);
    tt_proto_float(&v, VALUE_SIMPLE, (float)value);
    write_value(e, step, &v);
}

/* ---- histograms ---- */

struct buckets {
    double limits[32], counts[32]; /* equal steps between the least and the greatest value */
    int n;
};

static void fill_buckets(struct buckets *b, const double *values, int n, double low, double high)
{
    b->n = high > low ? 30 : 1;
    double width = high > low ? (high - low) / b->n : fmax(fabs(low) * 1e-6, DBL_MIN);
    for (int i = 0; i < b->n; i++) b->limits[i] = low + width * (i + 1), b->counts[i] = 0;
    for (int i = 0; i < n; i++) {
        if (!isfinite(values[i])) continue;
        int at = (int)((values[i] - low) / width);
        b->counts[at < 0 ? 0 : at >= b->n ? b->n - 1 : at]++;
    }
}

void tt_events_histogram(struct tt_events *e, int64_t step, const char *tag, const double *values, int n)
{
    struct tt_text v = {0}, h = {0};
    struct buckets b;
    double low = INFINITY, high = -INFINITY, sum = 0, squares = 0, count = 0;
    for (int i = 0; i < n; i++) {
        if (!isfinite(values[i])) continue;
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
        sum += values[i];
        squares += values[i] * values[i];
        count++;
    }
    if (count == 0) return; /* nothing that could be counted */
    fill_buckets(&b, values, n, low, high);
    tt_proto_double(&h, HISTOGRAM_MIN, low);
    tt_proto_double(&h, HISTOGRAM_MAX, high);
    tt_proto_double(&h, HISTOGRAM_COUNT, count);
    tt_proto_double(&h, HISTOGRAM_SUM, sum);
    tt_proto_double(&h, HISTOGRAM_SQUARES, squares);
    tt_proto_doubles(&h, HISTOGRAM_LIMITS, b.limits, b.n);
    tt_proto_doubles(&h, HISTOGRAM_BUCKETS, b.counts, b.n);
    tt_proto_string(&v, VALUE_TAG, tag);
    tt_proto_message(&v, VALUE_HISTOGRAM, &h);
    write_value(e, step, &v);
}

void tt_events_text(struct tt_events *e, int64_t step, const char *tag, const char *text)
{
    struct tt_text v = {0}, tensor = {0}, shape = {0}, metadata = {0}, plugin = {0};
    tt_proto_string(&plugin, PLUGIN_NAME, "text");
    tt_proto_message(&metadata, METADATA_PLUGIN, &plugin);
    tt_proto_int(&tensor, TENSOR_TYPE, TYPE_STRING);
    tt_proto_message(&tensor, TENSOR_SHAPE, &shape); /* no dimensions: one text */
    tt_proto_string(&tensor, TENSOR_STRINGS, text);
    tt_proto_string(&v, VALUE_TAG, tag);
    tt_proto_message(&v, VALUE_TENSOR, &tensor);
    tt_proto_message(&v, VALUE_METADATA, &metadata);
    write_value(e, step, &v);
}

/* ---- the file ---- */

static const char prefix[] = "events.out.tfevents.";

/* TensorBoard reads files in the order of their names, which begin with the time. This one must come last, even if the
 * clock was put back. */
static double after_others(const char *folder)
{
    double time = now();
    DIR *d = opendir(folder);
    for (struct dirent *f; d && (f = readdir(d));)
        if (!strncmp(f->d_name, prefix, sizeof prefix - 1)) {
            double other = strtod(f->d_name + sizeof prefix - 1, NULL);
            if (other >= time && other < 1e10) time = other + 1;
        }
    if (d) closedir(d);
    return time;
}

static void write_head(struct tt_events *e, int64_t done)
{
    struct tt_text version = {0}, start = {0}, session = {0};
    tt_proto_double(&version, EVENT_WALL_TIME, now());
    tt_proto_string(&version, EVENT_FILE_VERSION, "brain.Event:2");
    write_record(e, &version);
    tt_proto_int(&session, SESSION_STATUS, SESSION_START);
    tt_proto_double(&start, EVENT_WALL_TIME, now());
    tt_proto_int(&start, EVENT_STEP, done > 0 ? done + 1 : 0);
    tt_proto_message(&start, EVENT_SESSION, &session);
    write_record(e, &start);
    tt_text_free(&version);
    tt_text_free(&start);
}

tt_status tt_events_open(const char *folder, int64_t done, struct tt_events **out)
{
    char host[64] = "";
    TT_TRY(tt_make_dirs(folder));
    struct tt_events *e = calloc(1, sizeof *e);
    if (!e) return tt_no_memory("the events of TensorBoard");
    gethostname(host, sizeof host - 1);
    snprintf(e->path, sizeof e->path, "%.1000s/%s%.6f.%s.%ld", folder, prefix, after_others(folder),
             host[0] ? host : "host", (long)getpid());
    e->file = fopen(e->path, "wb");
    if (!e->file) {
        tt_status st = tt_file_error(errno, "write", e->path);
        free(e);
        return st;
    }
    write_head(e, done);
    *out = e;
    return TT_OK;
}

tt_status tt_events_flush(struct tt_events *e)
{
    if (!e->error && fflush(e->file)) e->error = errno;
    return e->error ? tt_file_error(e->error, "write", e->path) : TT_OK;
}

tt_status tt_events_close(struct tt_events *e)
{
    if (!e) return TT_OK;
    tt_status st = tt_events_flush(e);
    if (fclose(e->file) && !st) st = tt_file_error(errno, "write", e->path);
    free(e);
    return st;
}
