/* Writes and reads checkpoint.json. Its last lines are a checksum of all bytes before them:
 *
 *     ,
 *       "crc32": "0123abcd"
 *     }
 */
#include "core/checkpoint/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/crc32.h"
#include "core/base/file.h"
#include "core/base/json.h"

enum { MANIFEST_VERSION = 1, MANIFEST_LIMIT = 16 << 20, TAIL = 26, PIECE = 1 << 18 };

static const char manifest_name[] = "checkpoint.json";

static tt_status damaged(const char *what) { return tt_fail(TT_DAMAGED, "%s is damaged: %s", manifest_name, what); }

static void tail_for(uint32_t crc, char out[TAIL + 1])
{
    snprintf(out, TAIL + 1, ",\n  \"crc32\": \"%08x\"\n}\n", crc);
}

/* ---- writing ---- */

static void put_progress(struct tt_json_writer *w, const struct tt_progress *p)
{
    tt_json_begin(w, "progress", '{');
    tt_json_put_int(w, "step", p->step);
    tt_json_put_int(w, "skipped", p->skipped);
    tt_json_put_uint(w, "position", p->position);
    tt_json_put_uint(w, "seed", p->seed);
    tt_json_put_number(w, "best_val", p->best_val); /* infinity becomes null */
    tt_json_put_int(w, "best_step", p->best_step);
    tt_json_put_int(w, "bad_vals", p->bad_vals);
    tt_json_put_float(w, "loss_scale", p->loss_scale);
    tt_json_put_int(w, "good_steps", p->good_steps);
    tt_json_put_uint(w, "data_mark", p->data_mark);
    tt_json_put_int(w, "data_end", p->data_end);
    tt_json_end(w, '}');
}

static void put_files(struct tt_json_writer *w, const struct tt_manifest *m)
{
    tt_json_begin(w, "files", '[');
    for (int i = 0; i < m->n; i++) {
        tt_json_begin(w, NULL, '{');
        tt_json_put_string(w, "name", m->files[i].name);
        tt_json_put_uint(w, "size", m->files[i].size);
        tt_json_put_uint(w, "crc32", m->files[i].crc);
        tt_json_end(w, '}');
    }
    tt_json_end(w, ']');
}

tt_status tt_manifest_write(const char *folder, const struct tt_manifest *m)
{
    struct tt_json_writer w = {.pretty = true};
    tt_json_begin(&w, NULL, '{');
    tt_json_put_string(&w, "format", "tt-checkpoint");
    tt_json_put_int(&w, "version", MANIFEST_VERSION);
    put_progress(&w, &m->progress);
    tt_json_put_string(&w, "config", m->config ? m->config : "");
    if (m->folder) tt_json_put_string(&w, "folder", m->folder);
    if (m->timed) tt_json_put_bool(&w, "timed", true);
    put_files(&w, m);
    char tail[TAIL + 1], *path = NULL;
    tail_for(tt_crc32(0, w.text.s, w.text.n), tail);
    tt_text_puts(&w.text, tail);
    tt_status st = tt_text_status(&w.text);
    if (!st && asprintf(&path, "%s/%s", folder, manifest_name) < 0) st = tt_no_memory("a checkpoint");
    if (!st) st = tt_file_replace(path, w.text.s, w.text.n);
    free(path);
    tt_text_free(&w.text);
    return st;
}

/* ---- reading ---- */

/* A number, or null for infinity. */
static bool get_double(const struct tt_json *object, const char *key, double *out)
{
    const struct tt_json *j = tt_json_get(object, key);
    if (!j || (j->type != TT_JSON_NUMBER && j->type != TT_JSON_NULL)) return false;
    *out = j->type == TT_JSON_NULL ? INFINITY : j->number;
    return true;
}

/* Parsed from the text: converting through double would round twice. */
static bool get_float(const struct tt_json *object, const char *key, float *out)
{
    const struct tt_json *j = tt_json_get(object, key);
    if (!j || (j->type != TT_JSON_NUMBER && j->type != TT_JSON_NULL)) return false;
    *out = j->type == TT_JSON_NULL ? INFINITY : strtof(j->string, NULL);
    return true;
}

static tt_status get_progress(const struct tt_json *j, struct tt_progress *p)
{
    bool complete =
        tt_json_int(j, "step", 0, INT64_MAX, &p->step) && tt_json_int(j, "skipped", 0, p->step, &p->skipped) &&
        tt_json_uint(j, "position", 0, UINT64_MAX, &p->position) && tt_json_uint(j, "seed", 0, UINT64_MAX, &p->seed) &&
        get_double(j, "best_val", &p->best_val) && tt_json_int(j, "best_step", INT64_MIN, INT64_MAX, &p->best_step) &&
        tt_json_int(j, "bad_vals", INT64_MIN, INT64_MAX, &p->bad_vals) && get_float(j, "loss_scale", &p->loss_scale) &&
        tt_json_int(j, "good_steps", INT64_MIN, INT64_MAX, &p->good_steps);
    /* absent in older checkpoints */
    if (!tt_json_uint(j, "data_mark", 0, UINT64_MAX, &p->data_mark)) p->data_mark = 0;
    if (!tt_json_int(j, "data_end", 0, INT32_MAX, &p->data_end)) p->data_end = 0;
    return complete ? TT_OK : damaged("its progress is incomplete or invalid");
}

/* A file name without a path, so that it stays inside the folder. */
static bool plain_name(const char *name)
{
    size_t n = strlen(name);
    return n > 0 && n < sizeof((struct tt_manifest_file *)0)->name && name[0] != '.' && !strchr(name, '/');
}

static tt_status get_files(const struct tt_json *j, struct tt_manifest *m)
{
    if (!j || j->type != TT_JSON_ARRAY) return damaged("it lists no files");
    for (const struct tt_json *f = j->first; f; f = f->next) {
        const char *name = tt_json_string(f, "name", "");
        uint64_t size, crc;
        if (m->n == sizeof m->files / sizeof *m->files || !plain_name(name) || tt_manifest_find(m, name) ||
            !tt_json_uint(f, "size", 0, INT64_MAX, &size) || !tt_json_uint(f, "crc32", 0, UINT32_MAX, &crc))
            return damaged("its list of files is invalid");
        struct tt_manifest_file *file = &m->files[m->n++];
        strcpy(file->name, name);
        file->size = size;
        file->crc = (uint32_t)crc;
    }
    return tt_manifest_find(m, "model.safetensors") ? TT_OK : damaged("it lists no model.safetensors");
}

static tt_status get_manifest(const struct tt_json *j, struct tt_manifest *m)
{
    int64_t version;
    if (strcmp(tt_json_string(j, "format", ""), "tt-checkpoint") != 0) return damaged("it is not a checkpoint of tt");
    if (!tt_json_int(j, "version", 1, INT64_MAX, &version)) return damaged("it has no version");
    if (version > MANIFEST_VERSION)
        return tt_fail(TT_FAILED, "%s has version %lld, but this tt knows only version %d; use a newer tt",
                       manifest_name, (long long)version, MANIFEST_VERSION);
    TT_TRY(get_progress(tt_json_get(j, "progress"), &m->progress));
    TT_TRY(get_files(tt_json_get(j, "files"), m));
    const char *config = tt_json_string(j, "config", NULL);
    if (!config) return damaged("it has no configuration");
    const char *folder = tt_json_string(j, "folder", NULL);
    const struct tt_json *timed = tt_json_get(j, "timed"); /* absent if false, and in older checkpoints */
    m->timed = timed && timed->type == TT_JSON_BOOL && timed->boolean;
    m->config = strdup(config);
    m->folder = folder ? strdup(folder) : NULL;
    return m->config && (m->folder || !folder) ? TT_OK : tt_no_memory("a checkpoint");
}

static tt_status parse(const char *text, size_t n, struct tt_manifest *m)
{
    if (n <= TAIL) return damaged("it is too short");
    char tail[TAIL + 1];
    tail_for(tt_crc32(0, text, n - TAIL), tail);
    if (memcmp(tail, text + n - TAIL, TAIL) != 0) return damaged("its checksum is wrong");
    struct tt_json *j;
    tt_status st = tt_json_parse(text, n, &j);
    if (st) return st->code == TT_DAMAGED ? tt_context(st, "%s is damaged", manifest_name) : st;
    st = get_manifest(j, m);
    tt_json_free(j);
    return st;
}

tt_status tt_manifest_read(const char *folder, struct tt_manifest *m)
{
    *m = (struct tt_manifest){0};
    char *path, *text = NULL;
    size_t n;
    if (asprintf(&path, "%s/%s", folder, manifest_name) < 0) return tt_no_memory("a checkpoint");
    enum tt_file_kind kind;
    tt_status st = tt_file_kind(path, &kind);
    bool missing = !st && kind != TT_REGULAR_FILE;
    if (missing) st = tt_file_kind(folder, &kind); /* an error if the folder is a dangling link */
    if (missing && !st) st = tt_fail(TT_DAMAGED, "%s is missing; is %s a checkpoint?", manifest_name, folder);
    if (!st) st = tt_file_read(path, MANIFEST_LIMIT, &text, &n);
    if (!st) st = parse(text, n, m);
    free(text);
    free(path);
    if (st) tt_manifest_free(m);
    return st;
}

void tt_manifest_free(struct tt_manifest *m)
{
    free(m->config);
    free(m->folder);
    *m = (struct tt_manifest){0};
}

const struct tt_manifest_file *tt_manifest_find(const struct tt_manifest *m, const char *name)
{
    for (int i = 0; i < m->n; i++)
        if (!strcmp(m->files[i].name, name)) return &m->files[i];
    return NULL;
}

/* ---- checking the files ---- */

static tt_status check_size(const char *path, const struct tt_manifest_file *f)
{
    enum tt_file_kind kind;
    struct stat st;
    TT_TRY(tt_file_kind(path, &kind));
    if (kind == TT_NO_FILE) return tt_fail(TT_DAMAGED, "%s is missing", f->name);
    if (kind != TT_REGULAR_FILE) return tt_fail(TT_DAMAGED, "%s is not a regular file", f->name);
    if (stat(path, &st)) return tt_file_error(errno, "read", path);
    if ((uint64_t)st.st_size == f->size) return TT_OK;
    return tt_fail(TT_DAMAGED, "%s is damaged: it has %lld bytes instead of %llu", f->name, (long long)st.st_size,
                   (unsigned long long)f->size);
}

tt_status tt_manifest_check_sizes(const char *folder, const struct tt_manifest *m)
{
    tt_status st = TT_OK;
    for (int i = 0; i < m->n && !st; i++) {
        char *path;
        if (asprintf(&path, "%s/%s", folder, m->files[i].name) < 0) return tt_no_memory("a checkpoint");
        st = check_size(path, &m->files[i]);
        free(path);
    }
    return st;
}

static tt_status measure_fd(int fd, const char *path, uint64_t *size, uint32_t *crc)
{
    char *piece = malloc(PIECE);
    if (!piece) return tt_no_memory("a checkpoint");
    tt_status st = TT_OK;
    *size = 0;
    *crc = 0;
    for (;;) {
        ssize_t got = read(fd, piece, PIECE);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) st = tt_file_error(errno, "read", path);
        if (got <= 0) break;
        *size += (uint64_t)got;
        *crc = tt_crc32(*crc, piece, (size_t)got);
    }
    free(piece);
    return st;
}

tt_status tt_manifest_measure(const char *path, uint64_t *size, uint32_t *crc)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return tt_file_error(errno, "read", path);
    tt_status st = measure_fd(fd, path, size, crc);
    close(fd);
    return st;
}

static tt_status check_content(const char *path, const struct tt_manifest_file *f)
{
    uint64_t size;
    uint32_t crc;
    TT_TRY(check_size(path, f));
    TT_TRY(tt_manifest_measure(path, &size, &crc));
    if (size == f->size && crc == f->crc) return TT_OK;
    return tt_fail(TT_DAMAGED, "%s is damaged: its checksum is %08x instead of %08x", f->name, crc, f->crc);
}

tt_status tt_manifest_check_file(const char *folder, const struct tt_manifest_file *f)
{
    char *path;
    if (asprintf(&path, "%s/%s", folder, f->name) < 0) return tt_no_memory("a checkpoint");
    tt_status st = check_content(path, f);
    free(path);
    return st;
}
