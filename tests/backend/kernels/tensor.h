/* The cases of the kernel tests and their tensors: guarded host images, filled with random numbers or poison. */
#ifndef TT_TEST_TENSOR_H
#define TT_TEST_TENSOR_H

#include <inttypes.h>
#include <stdarg.h>

#include "backend/backend.h"
#include "core/base/rng.h"
#include "tests/backend/kernels/half.h"
#include "tests/test.h"

enum {
    GUARD = 1024, /* bytes before and after every buffer; a multiple of TT_ALIGN keeps the data aligned */
    MAX_BACKENDS = 4,
    MAX_TENSORS = 32,
    MAX_SCRATCH = 64,
};

/* Element types besides enum tt_dtype. */
enum { INT32 = TT_DTYPES, BYTES };

/* rows x cols elements with leading dimension ld, inside a guarded host image. */
struct tensor {
    const char *name;
    int type; /* enum tt_dtype, INT32 or BYTES */
    int64_t rows, cols, ld;
    size_t element, total; /* bytes of an element, of the image */
    uint8_t *image;
    uint8_t *data; /* the first element, for an argument struct */
    double *v;     /* the values, dense; NULL for BYTES */
};

static struct {
    struct tt_backend backends[MAX_BACKENDS]; /* the same device, with 1, 4, 2 and 3 threads */
    int backend_count;
    bool has[TT_DTYPES];
    enum tt_dtype dtype; /* of activations in the running test */

    char label[200]; /* of the running case */
    enum tt_kernel kernel;
    struct tensor tensors[MAX_TENSORS];
    double *arrays[MAX_SCRATCH];
    int tensor_count, array_count;
    uint64_t draws; /* random tensors so far; each has its own random stream */
    int64_t launches[TT_KERNELS];
} kt;

/* ---- cases ---- */

static inline void forget_case(void)
{
    for (int i = 0; i < kt.tensor_count; i++) {
        free(kt.tensors[i].image);
        free(kt.tensors[i].v);
    }
    for (int i = 0; i < kt.array_count; i++) free(kt.arrays[i]);
    kt.tensor_count = kt.array_count = 0;
}

/* Begins a case: gives it a name for reports, and frees what the previous one used. */
static inline void __attribute__((format(printf, 1, 2))) new_case(const char *format, ...)
{
    forget_case();
    va_list list;
    va_start(list, format);
    vsnprintf(kt.label, sizeof kt.label, format, list);
    va_end(list);
}

static inline void *must(void *p)
{
    if (p) return p;
    printf("a kernel test ran out of memory\n");
    exit(1);
}

/* Memory for a reference's results, freed when the case ends. */
static inline double *doubles(int64_t n)
{
    double *p = must(calloc((size_t)n + 1, sizeof *p));
    if (kt.array_count == MAX_SCRATCH) must(NULL);
    return kt.arrays[kt.array_count++] = p;
}

static inline double *copy_doubles(const double *v, int64_t n)
{
    return memcpy(doubles(n), v, (size_t)n * sizeof *v);
}

/* ---- tensors ---- */

static inline size_t element_bytes(int type)
{
    return type == BYTES ? 1 : type == INT32 ? 4 : tt_dtype_size((enum tt_dtype)type);
}

static inline uint8_t *element(const struct tensor *t, int64_t i)
{
    return t->data + (size_t)(i / t->cols * t->ld + i % t->cols) * t->element;
}

static inline double read_element(int type, const uint8_t *p)
{
    float f;
    int32_t n;
    uint16_t h;
    switch (type) {
    case TT_F32: return memcpy(&f, p, sizeof f), f;
    case INT32: return memcpy(&n, p, sizeof n), n;
    default: return memcpy(&h, p, sizeof h), type == TT_BF16 ? from_bf16(h) : from_f16(h);
    }
}

static inline void write_element(int type, uint8_t *p, double x)
{
    float f = (float)x;
    int32_t n = type == INT32 ? (int32_t)x : 0;
    uint16_t h = type == TT_BF16 ? to_bf16(x) : to_f16(x);
    if (type == TT_F32 && isnan(x)) memset(p, 0xff, sizeof f);
    else if (type == TT_F32) memcpy(p, &f, sizeof f);
    else if (type == INT32) memcpy(p, &n, sizeof n);
    else memcpy(p, &h, sizeof h);
}

/* Converts the image to values. */
static inline void decode(struct tensor *t)
{
    for (int64_t i = 0; t->v && i < t->rows * t->cols; i++) t->v[i] = read_element(t->type, element(t, i));
}

/* Converts the values to the image and back, so that both hold the rounded numbers. */
static inline void encode(struct tensor *t)
{
    for (int64_t i = 0; t->v && i < t->rows * t->cols; i++) write_element(t->type, element(t, i), t->v[i]);
    decode(t);
}

/* Alternates a number, which any arithmetic changes, with a NaN, which spreads to whatever is computed from it. */
static inline void poison(uint8_t *image, size_t bytes)
{
    static const uint8_t words[8] = {0xc3, 0xa5, 0xf7, 0xc2, 0xff, 0xff, 0xff, 0xff};
    for (size_t i = 0; i < bytes; i++) image[i] = words[i % sizeof words];
}

/* With gap > 0 this is a view: rows are cols + gap apart and begin one element into the buffer. Its contents are
 * poison. */
static inline struct tensor *new_tensor(const char *name, int type, int64_t rows, int64_t cols, int64_t gap)
{
    if (kt.tensor_count == MAX_TENSORS) must(NULL);
    struct tensor *t = &kt.tensors[kt.tensor_count++];
    *t = (struct tensor){name, type, rows, cols, cols + gap, element_bytes(type), 0, NULL, NULL, NULL};
    size_t start = GUARD + (gap ? t->element : 0);
    size_t used = (size_t)((rows - 1) * t->ld + cols) * t->element;
    t->total = start + used + GUARD;
    t->image = must(malloc(t->total));
    t->data = t->image + start;
    poison(t->image, start + used);
    poison(t->data + used, GUARD);
    if (type != BYTES) t->v = must(calloc((size_t)(rows * cols), sizeof *t->v));
    return t;
}

/* A tensor for a kernel to write, filled with NaN. */
static inline struct tensor *output(const char *name, int type, int64_t rows, int64_t cols, int64_t gap)
{
    struct tensor *t = new_tensor(name, type, rows, cols, gap);
    for (int64_t i = 0; i < rows * cols; i++) t->v[i] = (double)NAN;
    encode(t);
    return t;
}

/* N(0, scale²), new numbers with every call. */
static inline struct tensor *input(const char *name, int type, int64_t rows, int64_t cols, int64_t gap, double scale)
{
    struct tensor *t = new_tensor(name, type, rows, cols, gap);
    uint64_t stream = kt.draws++;
    for (int64_t i = 0; i < rows * cols; i++) t->v[i] = scale * tt_normal(20240229, stream, (uint64_t)i);
    encode(t);
    return t;
}

/* Integers of [0, below). */
static inline struct tensor *integers(const char *name, int64_t rows, int64_t cols, int64_t below)
{
    struct tensor *t = new_tensor(name, INT32, rows, cols, 0);
    uint64_t stream = kt.draws++;
    for (int64_t i = 0; i < rows * cols; i++)
        t->v[i] = (double)(int64_t)(tt_random(20240229, stream, (uint64_t)i) % (uint64_t)below);
    encode(t);
    return t;
}

static inline struct tensor *integer(const char *name, int32_t value)
{
    struct tensor *t = new_tensor(name, INT32, 1, 1, 0);
    t->v[0] = value;
    encode(t);
    return t;
}

/* A tensor with the values v. */
static inline struct tensor *given(const char *name, int type, int64_t rows, int64_t cols, int64_t gap, const double *v)
{
    struct tensor *t = new_tensor(name, type, rows, cols, gap);
    memcpy(t->v, v, (size_t)(rows * cols) * sizeof *v);
    encode(t);
    return t;
}

/* A struct or an array of structs. */
static inline struct tensor *structure(const char *name, const void *contents, size_t bytes)
{
    struct tensor *t = new_tensor(name, BYTES, 1, (int64_t)bytes, 0);
    memcpy(t->data, contents, bytes);
    return t;
}

/* Column c of the first row. */
static inline void *column(const struct tensor *t, int64_t c) { return t->data + (size_t)c * t->element; }

static inline void *data_or_null(const struct tensor *t) { return t ? t->data : NULL; }

#endif
