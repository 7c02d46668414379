/* Lists of tensors, and the numbers of one between memory and file. */
#include "core/checkpoint/tensor.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/half.h"

enum { PIECE = 1 << 20 }; /* bytes read or written at a time; a multiple of the sizes below, except that of Q8_0 */

void tt_tensor_shape_text(int rank, const int64_t *shape, char *out, int size)
{
    int n = snprintf(out, (size_t)size, "[");
    for (int i = 0; i < rank && n < size; i++)
        n += snprintf(out + n, (size_t)(size - n), "%s%lld", i ? ", " : "", (long long)shape[i]);
    if (n < size) snprintf(out + n, (size_t)(size - n), "]");
}

static int compare_names(const void *a, const void *b)
{
    const struct tt_tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

void tt_tensors_sort(struct tt_tensor **by_name, int n) { qsort(by_name, (size_t)n, sizeof *by_name, compare_names); }

const struct tt_tensor *tt_tensors_find(struct tt_tensor *const *by_name, int n, const char *name)
{
    struct tt_tensor key = {.name = name}, *wanted = &key;
    struct tt_tensor *const *found = n ? bsearch(&wanted, by_name, (size_t)n, sizeof *by_name, compare_names) : NULL;
    return found ? *found : NULL;
}

const char *tt_tensors_twice(struct tt_tensor *const *by_name, int n)
{
    for (int i = 1; i < n; i++)
        if (!strcmp(by_name[i - 1]->name, by_name[i]->name)) return by_name[i]->name;
    return NULL;
}

/* ---- files ---- */

tt_status tt_tensor_file_open(const char *path, const char *what, int *fd, uint64_t *size)
{
    struct stat st;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* do not wait for the writer of a pipe */
    if (*fd < 0 || fstat(*fd, &st)) return tt_file_error(errno, "open", path);
    if (!S_ISREG(st.st_mode)) return tt_fail(TT_USAGE, "%s is not a regular file; give %s", path, what);
    *size = (uint64_t)st.st_size;
    return TT_OK;
}

tt_status tt_tensor_file_read(int fd, const char *path, uint64_t offset, void *out, size_t n)
{
    char *p = out;
    while (n) {
        size_t piece = n < (size_t)1 << 30 ? n : (size_t)1 << 30;
        ssize_t got = pread(fd, p, piece, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return tt_file_error(errno, "read", path);
        if (!got) return tt_fail(TT_FAILED, "%s became shorter while it was read; take another copy of it", path);
        p += got;
        n -= (size_t)got;
        offset += (uint64_t)got;
    }
    return TT_OK;
}

/* ---- numbers of fewer bits ---- */

static void widen_bf16(const void *from, float *out, uint64_t n)
{
    const uint16_t *half = from;
    for (uint64_t i = 0; i < n; i++) out[i] = tt_from_bf16(half[i]);
}

static void widen_f16(const void *from, float *out, uint64_t n)
{
    const uint16_t *half = from;
    for (uint64_t i = 0; i < n; i++) out[i] = tt_from_f16(half[i]);
}

static void widen_q8(const void *from, float *out, uint64_t n)
{
    const unsigned char *block = from;
    for (uint64_t i = 0; i < n; i += TT_Q8_BLOCK, block += TT_Q8_BYTES) {
        uint16_t half;
        memcpy(&half, block, sizeof half);
        float scale = tt_from_f16(half);
        for (int k = 0; k < TT_Q8_BLOCK; k++) out[i + (uint64_t)k] = scale * (float)(int8_t)block[2 + k];
    }
}

static void narrow_bf16(const float *x, void *out, uint64_t n) { tt_narrow(x, out, (int64_t)n, TT_BF16); }

static void narrow_f16(const float *x, void *out, uint64_t n) { tt_narrow(x, out, (int64_t)n, TT_F16); }

/* The number of largest magnitude becomes 127 or -127. The numbers are divided by the scale before it is rounded to
 * fp16, as ggml does. */
static void narrow_q8(const float *x, void *out, uint64_t n)
{
    unsigned char *block = out;
    for (uint64_t i = 0; i < n; i += TT_Q8_BLOCK, block += TT_Q8_BYTES) {
        float most = 0;
        for (int k = 0; k < TT_Q8_BLOCK; k++) most = fmaxf(most, fabsf(x[i + (uint64_t)k]));
        float scale = most / 127, inverse = scale > 0 ? 1 / scale : 0;
        uint16_t half = tt_to_f16(scale);
        memcpy(block, &half, sizeof half);
        for (int k = 0; k < TT_Q8_BLOCK; k++)
            block[2 + k] = (unsigned char)(int8_t)roundf(x[i + (uint64_t)k] * inverse);
    }
}

static const struct form {
    const char *type;
    uint64_t block, bytes;                                   /* `block` numbers take `bytes` bytes */
    void (*widen)(const void *from, float *out, uint64_t n); /* NULL: the bytes as they are */
    void (*narrow)(const float *x, void *out, uint64_t n);
} forms[] = {
    {"F32", 1, 4, NULL, NULL},
    {"I32", 1, 4, NULL, NULL},
    {"BF16", 1, 2, widen_bf16, narrow_bf16},
    {"F16", 1, 2, widen_f16, narrow_f16},
    {"Q8_0", TT_Q8_BLOCK, TT_Q8_BYTES, widen_q8, narrow_q8},
};

static const struct form *form_of(const char *type)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (!strcmp(type, forms[i].type)) return &forms[i];
    return NULL;
}

/* ---- reading ---- */

static tt_status widen(int fd, const char *path, uint64_t at, const struct form *f, const struct tt_tensor *t,
                       float *out)
{
    uint64_t most = PIECE / f->bytes * f->block, count = (uint64_t)t->count;
    void *piece = malloc(t->size < PIECE ? (size_t)t->size + 1 : PIECE);
    if (!piece) return tt_no_memory("%s", path);
    tt_status st = TT_OK;
    for (uint64_t done = 0; done < count && !st;) {
        uint64_t n = count - done < most ? count - done : most;
        st = tt_tensor_file_read(fd, path, at + done / f->block * f->bytes, piece, (size_t)(n / f->block * f->bytes));
        if (!st) f->widen(piece, out + done, n);
        done += n;
    }
    free(piece);
    return st;
}

tt_status tt_tensor_read(int fd, const char *path, uint64_t start, const struct tt_tensor *t, float *out)
{
    const struct form *f = form_of(t->type);
    if (!f || !strcmp(t->type, "I32"))
        return tt_fail(TT_FAILED, "%s: tensor '%.200s' is %s; only F32, F16, BF16 and, in GGUF files, Q8_0 can be read",
                       path, t->name, t->type);
    if (!f->widen) return tt_tensor_file_read(fd, path, start + t->offset, out, (size_t)t->size);
    return widen(fd, path, start + t->offset, f, t, out);
}

/* ---- writing ---- */

static const struct form *form_of_source(const struct tt_tensor_source *t)
{
    return form_of(t->type ? t->type : "F32");
}

tt_status tt_tensor_count(const struct tt_tensor_source *t, uint64_t *count)
{
    const struct form *f = form_of_source(t);
    *count = 1;
    bool fits = f && t->rank >= 0 && t->rank <= TT_TENSOR_RANK;
    for (int i = 0; i < t->rank && fits; i++)
        fits = t->shape[i] >= 0 && !__builtin_mul_overflow(*count, (uint64_t)t->shape[i], count);
    if (fits && f->block > 1) fits = t->rank > 0 && t->shape[t->rank - 1] % (int64_t)f->block == 0;
    if (fits && *count <= INT64_MAX / sizeof(float)) return TT_OK;
    return tt_fail(TT_FAILED, "tensor '%.200s' has a type or a shape that cannot be written", t->name);
}

uint64_t tt_tensor_bytes(const struct tt_tensor_source *t, uint64_t count)
{
    const struct form *f = form_of_source(t);
    return count / f->block * f->bytes;
}

tt_status tt_tensor_emit(const struct tt_tensor_source *t, tt_status (*put)(void *to, const void *data, uint64_t n),
                         void *to)
{
    const struct form *f = form_of_source(t);
    uint64_t count;
    TT_TRY(tt_tensor_count(t, &count));
    if (!f->narrow) return put(to, t->data, count * f->bytes);
    uint64_t most = PIECE / f->bytes * f->block;
    void *piece = malloc(PIECE);
    if (!piece) return tt_no_memory("a piece of tensor '%.200s'", t->name);
    tt_status st = TT_OK;
    for (uint64_t done = 0; done < count && !st;) {
        uint64_t n = count - done < most ? count - done : most;
        f->narrow((const float *)t->data + done, piece, n);
        st = put(to, piece, n / f->block * f->bytes);
        done += n;
    }
    free(piece);
    return st;
}
