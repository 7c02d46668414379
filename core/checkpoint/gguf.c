/* Reads GGUF files without trusting them. gguf_write.c writes them. */
#include "core/checkpoint/gguf.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/grow.h"
#include "core/base/pointer.h"

enum {
    MAX_HEAD = 512 << 20, /* bytes before the data: a vocabulary of a million tokens has some 50 MB */
    FIRST_READ = 1 << 16,
    MAX_NAME = 64, /* of a tensor, as in ggml, with the 0 at the end */
    MAX_KEY = 65535,
    MAX_RANK = 4,
    MAX_ALIGNMENT = 1 << 20,
};

struct value {
    char *key;
    enum tt_gguf_type type;
    uint64_t at; /* where it begins in the head */
};

struct tt_gguf {
    char *path;
    int fd;
    uint64_t file_size;
    char *head; /* the first `loaded` bytes of the file; more are read when they are needed */
    uint64_t loaded, at;
    uint64_t data_start, data_size, alignment;
    struct value *values; /* sorted by key once they are read */
    size_t value_count, value_room;
    struct tt_tensor *tensors;
    struct tt_tensor **by_name;
    size_t n, tensor_room;
};

/* The types of tensors by their number in the files: `block` elements take `bytes` bytes. NULL: no such type, or one
 * that no longer exists. */
static const struct {
    const char *name;
    int block, bytes;
} types[] = {
    [0] = {"F32", 1, 4},         [1] = {"F16", 1, 2},         [2] = {"Q4_0", 32, 18},      [3] = {"Q4_1", 32, 20},
    [6] = {"Q5_0", 32, 22},      [7] = {"Q5_1", 32, 24},      [8] = {"Q8_0", 32, 34},      [9] = {"Q8_1", 32, 40},
    [10] = {"Q2_K", 256, 84},    [11] = {"Q3_K", 256, 110},   [12] = {"Q4_K", 256, 144},   [13] = {"Q5_K", 256, 176},
    [14] = {"Q6_K", 256, 210},   [15] = {"Q8_K", 256, 292},   [16] = {"IQ2_XXS", 256, 66}, [17] = {"IQ2_XS", 256, 74},
    [18] = {"IQ3_XXS", 256, 98}, [19] = {"IQ1_S", 256, 50},   [20] = {"IQ4_NL", 32, 18},   [21] = {"IQ3_S", 256, 110},
    [22] = {"IQ2_S", 256, 82},   [23] = {"IQ4_XS", 256, 136}, [24] = {"I8", 1, 1},         [25] = {"I16", 1, 2},
    [26] = {"I32", 1, 4},        [27] = {"I64", 1, 8},        [28] = {"F64", 1, 8},        [29] = {"IQ1_M", 256, 56},
    [30] = {"BF16", 1, 2},       [34] = {"TQ1_0", 256, 54},   [35] = {"TQ2_0", 256, 66},   [39] = {"MXFP4", 32, 17},
    [40] = {"NVFP4", 64, 36},    [41] = {"Q1_0", 128, 18},
};
enum { KNOWN_TYPES = sizeof types / sizeof *types };

static const int value_sizes[TT_GGUF_TYPES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}; /* 0: not a fixed size */

int tt_gguf_tensor_type(const char *name)
{
    for (int i = 0; i < KNOWN_TYPES; i++)
        if (types[i].name && !strcmp(types[i].name, name)) return i;
    return -1;
}

static tt_status damaged(const struct tt_gguf *g, const char *what)
{
    return tt_fail(TT_FAILED, "%s is not a valid GGUF file: %s; take another copy of it", g->path, what);
}

static tt_status bad(const struct tt_gguf *g, const char *kind, const char *name, const char *what)
{
    return tt_fail(TT_FAILED, "%s is not a valid GGUF file: %s '%.200s' %s; take another copy of it", g->path, kind,
                   name, what);
}

/* ---- the bytes before the data ---- */

/* Reads more of the file, so that the n bytes from g->at on are in memory. */
static tt_status need(struct tt_gguf *g, uint64_t n)
{
    if (n > g->file_size - g->at) return damaged(g, "it ends too early");
    uint64_t end = g->at + n;
    if (end <= g->loaded) return TT_OK;
    if (end > MAX_HEAD) return damaged(g, "its header claims to be larger than 512 MiB");
    uint64_t wanted = 2 * g->loaded > FIRST_READ ? 2 * g->loaded : FIRST_READ;
    if (wanted < end) wanted = end;
    if (wanted > g->file_size) wanted = g->file_size;
    char *head = realloc(g->head, (size_t)wanted);
    if (!head) return tt_no_memory("%s", g->path);
    g->head = head;
    TT_TRY(tt_tensor_file_read(g->fd, g->path, g->loaded, head + g->loaded, (size_t)(wanted - g->loaded)));
    g->loaded = wanted;
    return TT_OK;
}

static tt_status take(struct tt_gguf *g, void *out, size_t n)
{
    TT_TRY(need(g, n));
    memcpy(out, g->head + g->at, n);
    g->at += n;
    return TT_OK;
}

static tt_status take_u32(struct tt_gguf *g, uint32_t *out) { return take(g, out, sizeof *out); }

static tt_status take_u64(struct tt_gguf *g, uint64_t *out) { return take(g, out, sizeof *out); }

static tt_status skip_string(struct tt_gguf *g)
{
    uint64_t n;
    TT_TRY(take_u64(g, &n));
    TT_TRY(need(g, n));
    g->at += n;
    return TT_OK;
}

/* A key or a name of at most `most` bytes, as a C string. */
static tt_status take_name(struct tt_gguf *g, const char *kind, uint64_t most, char **out)
{
    uint64_t n;
    TT_TRY(take_u64(g, &n));
    if (!n || n > most) return bad(g, "the length of", kind, "is 0 or too large");
    TT_TRY(need(g, n));
    const char *s = g->head + g->at;
    for (uint64_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < ' ' || s[i] == 0x7f) return bad(g, kind, "?", "has control characters in it");
    *out = strndup(s, (size_t)n);
    if (!*out) return tt_no_memory("%s", g->path);
    g->at += n;
    return TT_OK;
}

/* ---- values ---- */

static tt_status skip_array(struct tt_gguf *g, const char *key)
{
    uint32_t type;
    uint64_t n, size;
    TT_TRY(take_u32(g, &type));
    TT_TRY(take_u64(g, &n));
    if (type >= TT_GGUF_TYPES || type == TT_GGUF_ARRAY)
        return bad(g, "the value of", key, "is an array of unknown type");
    if (type != TT_GGUF_STRING) {
        if (__builtin_mul_overflow(n, (uint64_t)value_sizes[type], &size))
            return bad(g, "the array", key, "is too long");
        TT_TRY(need(g, size));
        g->at += size;
        return TT_OK;
    }
    for (uint64_t i = 0; i < n; i++) TT_TRY(skip_string(g));
    return TT_OK;
}

static tt_status read_value(struct tt_gguf *g)
{
    uint32_t type;
    if (!tt_grow(&g->values, sizeof *g->values, g->value_count, &g->value_room)) return tt_no_memory("%s", g->path);
    struct value *v = &g->values[g->value_count];
    *v = (struct value){0};
    TT_TRY(take_name(g, "key", MAX_KEY, &v->key));
    g->value_count++;
    TT_TRY(take_u32(g, &type));
    if (type >= TT_GGUF_TYPES) return bad(g, "the value of", v->key, "has an unknown type");
    v->type = (enum tt_gguf_type)type;
    v->at = g->at;
    if (type == TT_GGUF_ARRAY) return skip_array(g, v->key);
    if (type == TT_GGUF_STRING) return skip_string(g);
    TT_TRY(need(g, (uint64_t)value_sizes[type]));
    g->at += (uint64_t)value_sizes[type];
    return TT_OK;
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const struct value *)a)->key, ((const struct value *)b)->key);
}

static tt_status read_values(struct tt_gguf *g, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) TT_TRY(read_value(g));
    if (n) qsort(g->values, g->value_count, sizeof *g->values, compare_keys);
    for (size_t i = 1; i < g->value_count; i++)
        if (!compare_keys(&g->values[i - 1], &g->values[i])) return bad(g, "key", g->values[i].key, "occurs twice");
    int64_t alignment = 32;
    if (tt_gguf_has(g, "general.alignment") && !tt_gguf_int(g, "general.alignment", 1, MAX_ALIGNMENT, &alignment))
        return damaged(g, "its alignment is not a number of bytes");
    if (alignment & (alignment - 1)) return damaged(g, "its alignment is not a power of two");
    g->alignment = (uint64_t)alignment;
    return TT_OK;
}

/* ---- tensors ---- */

static tt_status read_shape(struct tt_gguf *g, struct tt_tensor *t)
{
    uint32_t rank;
    TT_TRY(take_u32(g, &rank));
    if (!rank || rank > MAX_RANK) return bad(g, "tensor", t->name, "has no dimensions or more than 4");
    t->rank = (int)rank;
    t->count = 1;
    for (int i = t->rank - 1; i >= 0; i--) { /* the file begins with the fastest dimension */
        uint64_t extent;
        TT_TRY(take_u64(g, &extent));
        if (!extent || extent > INT64_MAX || __builtin_mul_overflow(t->count, (int64_t)extent, &t->count))
            return bad(g, "tensor", t->name, "has a dimension that is 0 or too large");
        t->shape[i] = (int64_t)extent;
    }
    return TT_OK;
}

static tt_status read_type(struct tt_gguf *g, struct tt_tensor *t)
{
    uint32_t type;
    uint64_t blocks;
    TT_TRY(take_u32(g, &type));
    if (type >= KNOWN_TYPES || !types[type].name)
        return tt_fail(TT_FAILED,
                       "%s: tensor '%.200s' is of type %u, which tt does not know; it reads F32, F16, BF16 and Q8_0",
                       g->path, t->name, type);
    t->type = types[type].name;
    if (t->shape[t->rank - 1] % types[type].block)
        return bad(g, "tensor", t->name, "has rows that are not whole blocks of its type");
    blocks = (uint64_t)t->count / (uint64_t)types[type].block;
    if (__builtin_mul_overflow(blocks, (uint64_t)types[type].bytes, &t->size) || t->size > INT64_MAX)
        return bad(g, "tensor", t->name, "is too large");
    return TT_OK;
}

static tt_status read_tensor(struct tt_gguf *g)
{
    char *name = NULL;
    if (!tt_grow(&g->tensors, sizeof *g->tensors, g->n, &g->tensor_room)) return tt_no_memory("%s", g->path);
    struct tt_tensor *t = &g->tensors[g->n];
    *t = (struct tt_tensor){0};
    TT_TRY(take_name(g, "tensor", MAX_NAME - 1, &name));
    t->name = name;
    g->n++;
    TT_TRY(read_shape(g, t));
    TT_TRY(read_type(g, t));
    return take_u64(g, &t->offset);
}

/* The tensors follow one another in the order of the table, each at the next multiple of the alignment. */
static tt_status check_layout(struct tt_gguf *g)
{
    uint64_t end = 0;
    for (size_t i = 0; i < g->n; i++) {
        const struct tt_tensor *t = &g->tensors[i];
        if (end % g->alignment) end += g->alignment - end % g->alignment;
        if (t->offset != end) return bad(g, "tensor", t->name, "does not begin where the one before ends");
        if (end > g->data_size || t->size > g->data_size - end)
            return bad(g, "tensor", t->name, "ends after the end of the file");
        end += t->size;
    }
    return g->data_size - end < g->alignment ? TT_OK : damaged(g, "there are bytes after the last tensor");
}

static tt_status read_tensors(struct tt_gguf *g, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) TT_TRY(read_tensor(g));
    g->by_name = malloc((g->n + 1) * sizeof(void *));
    if (!g->by_name) return tt_no_memory("%s", g->path);
    for (size_t i = 0; i < g->n; i++) g->by_name[i] = &g->tensors[i];
    tt_tensors_sort(g->by_name, (int)g->n);
    const char *twice = tt_tensors_twice(g->by_name, (int)g->n);
    if (twice) return bad(g, "tensor", twice, "occurs twice");
    uint64_t start = g->at % g->alignment ? g->at + (g->alignment - g->at % g->alignment) : g->at;
    if (g->n && start > g->file_size) return damaged(g, "it ends before its data");
    g->data_start = start;
    g->data_size = start < g->file_size ? g->file_size - start : 0;
    return check_layout(g);
}

/* ---- the whole file ---- */

static tt_status check_version(const struct tt_gguf *g, uint32_t version)
{
    if (version == 2 || version == 3) return TT_OK;
    if (version && !(version & 0xffff))
        return tt_fail(TT_USAGE, "%s is a big-endian GGUF file; convert it with gguf_convert_endian.py of llama.cpp",
                       g->path);
    return tt_fail(
        TT_USAGE,
        "%s is a GGUF file of version %u; tt reads versions 2 and 3, so make it again with a llama.cpp of today",
        g->path, version);
}

static tt_status read_head(struct tt_gguf *g)
{
    char magic[4] = {0};
    uint32_t version;
    uint64_t tensors, values;
    if (g->file_size >= 4) TT_TRY(take(g, magic, sizeof magic));
    if (memcmp(magic, "GGUF", 4)) TT_TRY(tt_refuse_pointer(g->path));
    if (memcmp(magic, "GGUF", 4))
        return tt_fail(TT_USAGE, "%s is not a GGUF file; give one, or the folder of a Hugging Face model", g->path);
    TT_TRY(take_u32(g, &version));
    TT_TRY(check_version(g, version));
    TT_TRY(take_u64(g, &tensors));
    TT_TRY(take_u64(g, &values));
    if (tensors > INT_MAX) return damaged(g, "it claims to have more than 2^31 tensors");
    TT_TRY(read_values(g, values));
    return read_tensors(g, tensors);
}

tt_status tt_gguf_open(const char *path, struct tt_gguf **out)
{
    *out = NULL;
    struct tt_gguf *g = calloc(1, sizeof *g);
    if (g) g->path = strdup(path);
    if (!g || !g->path) {
        free(g);
        return tt_no_memory("%s", path);
    }
    tt_status st = tt_tensor_file_open(path, "a GGUF file", &g->fd, &g->file_size);
    if (!st) st = read_head(g);
    if (st)
        tt_gguf_close(g);
    else
        *out = g;
    return st;
}

void tt_gguf_close(struct tt_gguf *g)
{
    if (!g) return;
    if (g->fd >= 0) close(g->fd);
    for (size_t i = 0; i < g->value_count; i++) free(g->values[i].key);
    for (size_t i = 0; i < g->n; i++) free((char *)g->tensors[i].name);
    free(g->values);
    free(g->tensors);
    free(g->by_name);
    free(g->head);
    free(g->path);
    free(g);
}

int tt_gguf_count(const struct tt_gguf *g) { return (int)g->n; }

const struct tt_tensor *tt_gguf_at(const struct tt_gguf *g, int i) { return &g->tensors[i]; }

const struct tt_tensor *tt_gguf_find(const struct tt_gguf *g, const char *name)
{
    return tt_tensors_find(g->by_name, (int)g->n, name);
}

tt_status tt_gguf_read(const struct tt_gguf *g, const struct tt_tensor *t, float *out)
{
    return tt_tensor_read(g->fd, g->path, g->data_start, t, out);
}

/* ---- values by key ---- */

static const struct value *find(const struct tt_gguf *g, const char *key)
{
    const struct value wanted = {.key = (char *)key};
    return g->value_count ? bsearch(&wanted, g->values, g->value_count, sizeof wanted, compare_keys) : NULL;
}

bool tt_gguf_has(const struct tt_gguf *g, const char *key) { return find(g, key) != NULL; }

/* An integer of any type at these bytes; false for another type or one beyond int64. */
static bool int_at(const char *p, enum tt_gguf_type type, int64_t *out)
{
    uint64_t bits = 0;
    bool is_signed = type == TT_GGUF_I8 || type == TT_GGUF_I16 || type == TT_GGUF_I32 || type == TT_GGUF_I64;
    if (!value_sizes[type] || type == TT_GGUF_F32 || type == TT_GGUF_F64 || type == TT_GGUF_BOOL) return false;
    int unused = 64 - 8 * value_sizes[type];
    memcpy(&bits, p, (size_t)value_sizes[type]);
    if (!is_signed && bits > INT64_MAX) return false;
    *out = is_signed ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
    return true;
}

bool tt_gguf_int(const struct tt_gguf *g, const char *key, int64_t min, int64_t max, int64_t *out)
{
    const struct value *v = find(g, key);
    int64_t value;
    if (!v || !int_at(g->head + v->at, v->type, &value) || value < min || value > max) return false;
    *out = value;
    return true;
}

bool tt_gguf_number(const struct tt_gguf *g, const char *key, double *out)
{
    const struct value *v = find(g, key);
    int64_t whole;
    float f;
    if (!v) return false;
    if (v->type == TT_GGUF_F32) {
        memcpy(&f, g->head + v->at, sizeof f);
        *out = (double)f;
    } else if (v->type == TT_GGUF_F64) {
        memcpy(out, g->head + v->at, sizeof *out);
    } else {
        if (!int_at(g->head + v->at, v->type, &whole)) return false;
        *out = (double)whole;
    }
    return isfinite(*out);
}

bool tt_gguf_bool(const struct tt_gguf *g, const char *key, bool *out)
{
    const struct value *v = find(g, key);
    if (!v || v->type != TT_GGUF_BOOL) return false;
    *out = g->head[v->at] != 0;
    return true;
}

static const char *string_at(const struct tt_gguf *g, uint64_t at, uint64_t *n)
{
    memcpy(n, g->head + at, sizeof *n);
    return g->head + at + sizeof *n;
}

bool tt_gguf_text(const struct tt_gguf *g, const char *key, const char **s, size_t *n)
{
    const struct value *v = find(g, key);
    uint64_t size;
    if (!v || v->type != TT_GGUF_STRING) return false;
    *s = string_at(g, v->at, &size);
    *n = (size_t)size;
    return true;
}

bool tt_gguf_string(const struct tt_gguf *g, const char *key, char *out, size_t size)
{
    const char *s;
    size_t n;
    if (!tt_gguf_text(g, key, &s, &n)) return false;
    size_t kept = n < size - 1 ? (size_t)n : size - 1;
    for (size_t i = 0; i < kept; i++) out[i] = (unsigned char)s[i] < ' ' || s[i] == 0x7f ? '?' : s[i];
    out[kept] = 0;
    return true;
}

bool tt_gguf_array(const struct tt_gguf *g, const char *key, struct tt_gguf_array *a)
{
    const struct value *v = find(g, key);
    uint32_t type;
    if (!v || v->type != TT_GGUF_ARRAY) return false;
    memcpy(&type, g->head + v->at, sizeof type);
    *a = (struct tt_gguf_array){.g = g, .type = (enum tt_gguf_type)type, .at = v->at + 12};
    memcpy(&a->n, g->head + v->at + 4, sizeof a->n);
    return true;
}

bool tt_gguf_next_string(struct tt_gguf_array *a, const char **s, size_t *n)
{
    uint64_t length;
    if (a->type != TT_GGUF_STRING || a->i == a->n) return false;
    *s = string_at(a->g, a->at, &length);
    *n = (size_t)length;
    a->at += sizeof length + length;
    a->i++;
    return true;
}

bool tt_gguf_next_int(struct tt_gguf_array *a, int64_t *out)
{
    if (a->i == a->n || !int_at(a->g->head + a->at, a->type, out)) return false;
    a->at += (uint64_t)value_sizes[a->type];
    a->i++;
    return true;
}
