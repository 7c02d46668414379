/* Reads safetensors files without trusting them. safetensors_write.c writes them. */
#include "core/checkpoint/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/json.h"

enum {
    MAX_HEADER = 100000000, /* the limit of the reference implementation */
    PIECE = 1 << 20,        /* bytes read at a time */
};

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
    char *p = out;
    while (n) {
        size_t piece = n < (size_t)1 << 30 ? n : (size_t)1 << 30;
        ssize_t got = pread(s->fd, p, piece, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return tt_file_error(errno, "read", s->path);
        if (!got) return damaged(s, "it became shorter while it was read");
        p += got;
        n -= (size_t)got;
        offset += (uint64_t)got;
    }
    return TT_OK;
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

static int compare_names(const void *a, const void *b)
{
    const struct tt_tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
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

static tt_status check_names(const struct tt_safetensors *s)
{
    for (int i = 1; i < s->n; i++)
        if (!strcmp(s->by_name[i - 1]->name, s->by_name[i]->name))
            return bad_tensor(s, s->by_name[i]->name, "occurs twice");
    return TT_OK;
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
    qsort(s->by_name, (size_t)s->n, sizeof(void *), compare_names);
    TT_TRY(check_names(s));
    return check_layout(s);
}

static tt_status read_header(struct tt_safetensors *s, uint64_t file_size)
{
    uint64_t n;
    if (file_size < 8) return damaged(s, "it is shorter than 8 bytes");
    TT_TRY(read_at(s, 0, &n, 8));
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
    struct stat st;
    tt_status result;
    s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* do not wait for the writer of a pipe */
    if (s->fd < 0 || fstat(s->fd, &st))
        result = tt_file_error(errno, "open", path);
    else if (!S_ISREG(st.st_mode))
        result = tt_fail(TT_USAGE, "%s is not a regular file; give a safetensors file", path);
    else
        result = read_header(s, (uint64_t)st.st_size);
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
    struct tt_tensor key = {.name = name}, *wanted = &key;
    struct tt_tensor **found = s->n ? bsearch(&wanted, s->by_name, (size_t)s->n, sizeof(void *), compare_names) : NULL;
    return found ? *found : NULL;
}

const char *tt_safetensors_metadata(const struct tt_safetensors *s, const char *key)
{
    return tt_json_string(tt_json_get(s->header, "__metadata__"), key, NULL);
}

/* ---- the data ---- */

static float from_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static float from_bf16(uint16_t h) { return from_bits((uint32_t)h << 16); }

static float from_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 0x3ff;
    if (exponent == 31) return from_bits(sign | 0x7f800000 | fraction << 13);
    if (exponent) return from_bits(sign | (exponent + 112) << 23 | fraction << 13);
    float tiny = (float)fraction * 0x1p-24f; /* zero and subnormal numbers */
    return sign ? -tiny : tiny;
}

static tt_status read_halves(const struct tt_safetensors *s, const struct tt_tensor *t, float (*convert)(uint16_t),
                             float *out)
{
    uint16_t *half = malloc(t->size < PIECE ? (size_t)t->size + 1 : PIECE);
    if (!half) return tt_no_memory("%s", s->path);
    tt_status st = TT_OK;
    for (int64_t done = 0; done < t->count && !st;) {
        int64_t n = t->count - done < PIECE / 2 ? t->count - done : PIECE / 2;
        st = read_at(s, s->data_start + t->offset + 2 * (uint64_t)done, half, 2 * (size_t)n);
        for (int64_t i = 0; i < n && !st; i++) out[done + i] = convert(half[i]);
        done += n;
    }
    free(half);
    return st;
}

tt_status tt_safetensors_read(const struct tt_safetensors *s, const struct tt_tensor *t, float *out)
{
    if (!strcmp(t->type, "F32")) return read_at(s, s->data_start + t->offset, out, (size_t)t->size);
    if (!strcmp(t->type, "BF16")) return read_halves(s, t, from_bf16, out);
    if (!strcmp(t->type, "F16")) return read_halves(s, t, from_f16, out);
    return tt_fail(TT_FAILED, "%s: tensor '%.200s' is %s; only F32, F16 and BF16 can be read", s->path, t->name,
                   t->type);
}

tt_status tt_safetensors_read_i32(const struct tt_safetensors *s, const struct tt_tensor *t, int32_t *out)
{
    if (!strcmp(t->type, "I32")) return read_at(s, s->data_start + t->offset, out, (size_t)t->size);
    return tt_fail(TT_FAILED, "%s: tensor '%.200s' is %s, not I32", s->path, t->name, t->type);
}

void tt_tensor_shape_text(int rank, const int64_t *shape, char *out, int size)
{
    int n = snprintf(out, (size_t)size, "[");
    for (int i = 0; i < rank && n < size; i++)
        n += snprintf(out + n, (size_t)(size - n), "%s%lld", i ? ", " : "", (long long)shape[i]);
    if (n < size) snprintf(out + n, (size_t)(size - n), "]");
}
