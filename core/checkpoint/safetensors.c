/* Reads safetensors files without trusting them. safetensors_write.c writes them. */
#include "core/checkpoint/safetensors.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/pointer.h"

enum { MAX_HEADER = 100000000 }; /* the limit of the reference implementation */

struct tt_safetensors {
    char *path;
    int fd;
    uint64_t data_start, data_size;
    struct tt_json *header;
    int n;
    struct tt_tensor *tensors;  /* in file order */
    struct tt_tensor **by_name; /* sorted by name */
};

static const struct {
    const char *name;
    int size;
} types[] = {
    {"F64", 8},     {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"F8_E4M3", 1}, {"F8_E5M2", 1},
    {"F8_E8M0", 1}, {"C64", 8}, {"I64", 8}, {"I32", 4},  {"I16", 2},     {"I8", 1},
    {"U64", 8},     {"U32", 4}, {"U16", 2}, {"U8", 1},   {"BOOL", 1},
};

static tt_status damaged(const struct tt_safetensors *s, const char *what)
{
    return tt_fail(TT_FAILED, "%s is not a valid safetensors file: %s; take another copy of it", s->path, what);
}

static tt_status bad_tensor(const struct tt_safetensors *s, const char *name, const char *what)
{
    return tt_fail(TT_FAILED, "%s is not a valid safetensors file: tensor '%.200s' %s; take another copy of it",
                   s->path, name, what);
}

static tt_status read_at(const struct tt_safetensors *s, uint64_t offset, void *out, size_t n)
{
    return tt_tensor_file_read(s->fd, s->path, offset, out, n);
}

/* ---- the header ---- */

static tt_status read_type(const struct tt_safetensors *s, const struct tt_json *j, struct tt_tensor *t, uint64_t *size)
{
    const char *type = tt_json_string(j, "dtype", "");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(type, types[i].name) != 0) continue;
        t->type = types[i].name;
        *size = (uint64_t)types[i].size;
        return TT_OK;
    }
    return bad_tensor(s, t->name, "has an unknown dtype");
}

/* Also multiplies *bytes by every dimension; the product must fit in 63 bits. */
static tt_status read_shape(const struct tt_safetensors *s, const struct tt_json *j, struct tt_tensor *t,
                            uint64_t *bytes)
{
    const struct tt_json *shape = tt_json_get(j, "shape");
    if (!shape || shape->type != TT_JSON_ARRAY) return bad_tensor(s, t->name, "has no shape");
    if (shape->count > TT_TENSOR_RANK) return bad_tensor(s, t->name, "has more than 8 dimensions");
    t->count = 1;
    for (const struct tt_json *d = shape->first; d; d = d->next) {
        int64_t *extent = &t->shape[t->rank++];
        if (!tt_json_as_int(d, 0, INT64_MAX, extent))
            return bad_tensor(s, t->name, "has a shape that is not a list of sizes");
        if (__builtin_mul_overflow(t->count, *extent, &t->count) ||
            __builtin_mul_overflow(*bytes, (uint64_t)*extent, bytes) || *bytes > INT64_MAX)
            return bad_tensor(s, t->name, "has a shape that is too large");
    }
    return TT_OK;
}

static tt_status read_tensor(const struct tt_safetensors *s, const struct tt_json *j, struct tt_tensor *t)
{
    t->name = j->key;
    if (j->type != TT_JSON_OBJECT) return bad_tensor(s, t->name, "is not described by an object");
    uint64_t bytes = 0, end;
    TT_TRY(read_type(s, j, t, &bytes));
    TT_TRY(read_shape(s, j, t, &bytes));
    const struct tt_json *offsets = tt_json_get(j, "data_offsets");
    if (!offsets || offsets->type != TT_JSON_ARRAY || offsets->count != 2 ||
        !tt_json_as_uint(offsets->first, 0, INT64_MAX, &t->offset) ||
        !tt_json_as_uint(offsets->first->next, t->offset, INT64_MAX, &end))
        return bad_tensor(s, t->name, "has no valid data_offsets");
    if (end > s->data_size) return bad_tensor(s, t->name, "ends after the end of the file");
    t->size = end - t->offset;
    if (t->size != bytes) return bad_tensor(s, t->name, "has data whose size does not match its shape and dtype");
    return TT_OK;
}

static int compare_offsets(const void *a, const void *b)
{
    const struct tt_tensor *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* The tensors must fill the data without overlaps and without gaps. */
static tt_status check_layout(const struct tt_safetensors *s)
{
    uint64_t end = 0;
    for (int i = 0; i < s->n; i++) {
        const struct tt_tensor *t = &s->tensors[i];
        if (t->offset < end) return bad_tensor(s, t->name, "overlaps the one before");
        if (t->offset > end) return bad_tensor(s, t->name, "begins after a gap in the data");
        end += t->size;
    }
    return end == s->data_size ? TT_OK : damaged(s, "there are bytes after the last tensor");
}

static tt_status check_metadata(const struct tt_safetensors *s, const struct tt_json *metadata)
{
    if (metadata->type != TT_JSON_OBJECT) return damaged(s, "__metadata__ is not an object");
    for (const struct tt_json *j = metadata->first; j; j = j->next)
        if (j->type != TT_JSON_STRING) return damaged(s, "__metadata__ contains a value that is not a string");
    return TT_OK;
}

static tt_status read_tensors(struct tt_safetensors *s)
{
    if (s->header->type != TT_JSON_OBJECT) return damaged(s, "its header is not a JSON object");
    s->tensors = calloc((size_t)s->header->count + 1, sizeof *s->tensors);
    s->by_name = calloc((size_t)s->header->count + 1, sizeof(void *));
    if (!s->tensors || !s->by_name) return tt_no_memory("%s", s->path);
    int n_metadata = 0;
    for (const struct tt_json *j = s->header->first; j; j = j->next) {
        if (strcmp(j->key, "__metadata__") != 0) {
            TT_TRY(read_tensor(s, j, &s->tensors[s->n++]));
        } else {
            if (n_metadata++) return damaged(s, "__metadata__ occurs twice");
            TT_TRY(check_metadata(s, j));
        }
    }
    qsort(s->tensors, (size_t)s->n, sizeof *s->tensors, compare_offsets);
    for (int i = 0; i < s->n; i++) s->by_name[i] = &s->tensors[i];
    tt_tensors_sort(s->by_name, s->n);
    const char *twice = tt_tensors_twice(s->by_name, s->n);
    return twice ? bad_tensor(s, twice, "occurs twice") : check_layout(s);
}

static tt_status read_header(struct tt_safetensors *s, uint64_t file_size)
{
    uint64_t n;
    if (file_size < 8) return damaged(s, "it is shorter than 8 bytes");
    TT_TRY(read_at(s, 0, &n, 8));
    if (n > MAX_HEADER) TT_TRY(tt_refuse_pointer(s->path));
    if (n > MAX_HEADER) return damaged(s, "its header claims to be larger than 100 MB");
    if (n > file_size - 8) return damaged(s, "its header ends after the end of the file");
    s->data_start = 8 + n;
    s->data_size = file_size - s->data_start;
    char *text = malloc((size_t)n + 1);
    if (!text) return tt_no_memory("%s", s->path);
    tt_status st = read_at(s, 8, text, (size_t)n);
    if (!st) st = tt_context(tt_json_parse(text, (size_t)n, &s->header), "the header of %s is damaged", s->path);
    free(text);
    if (st) return st;
    return read_tensors(s);
}

tt_status tt_safetensors_open(const char *path, struct tt_safetensors **out)
{
    *out = NULL;
    struct tt_safetensors *s = calloc(1, sizeof *s);
    if (s) s->path = strdup(path);
    if (!s || !s->path) {
        free(s);
        return tt_no_memory("%s", path);
    }
    uint64_t size;
    tt_status result = tt_tensor_file_open(path, "a safetensors file", &s->fd, &size);
    if (!result) result = read_header(s, size);
    if (result)
        tt_safetensors_close(s);
    else
        *out = s;
    return result;
}

void tt_safetensors_close(struct tt_safetensors *s)
{
    if (!s) return;
    if (s->fd >= 0) close(s->fd);
    tt_json_free(s->header);
    free(s->tensors);
    free(s->by_name);
    free(s->path);
    free(s);
}

int tt_safetensors_count(const struct tt_safetensors *s) { return s->n; }

const struct tt_tensor *tt_safetensors_at(const struct tt_safetensors *s, int i) { return &s->tensors[i]; }

const struct tt_tensor *tt_safetensors_find(const struct tt_safetensors *s, const char *name)
{
    return tt_tensors_find(s->by_name, s->n, name);
}

const char *tt_safetensors_metadata(const struct tt_safetensors *s, const char *key)
{
    return tt_json_string(tt_json_get(s->header, "__metadata__"), key, NULL);
}

/* ---- the data ---- */

tt_status tt_safetensors_read(const struct tt_safetensors *s, const struct tt_tensor *t, float *out)
{
    return tt_tensor_read(s->fd, s->path, s->data_start, t, out);
}

tt_status tt_safetensors_read_i32(const struct tt_safetensors *s, const struct tt_tensor *t, int32_t *out)
{
    if (!strcmp(t->type, "I32")) return read_at(s, s->data_start + t->offset, out, (size_t)t->size);
    return tt_fail(TT_FAILED, "%s: tensor '%.200s' is %s, not I32", s->path, t->name, t->type);
}
