/* Launches a kernel through the vtable on every backend, and checks what it did to memory. */
#ifndef TT_TEST_LAUNCH_H
#define TT_TEST_LAUNCH_H

#include "backend/kernel_info.h"
#include "tests/backend/kernels/tensor.h"

enum {
    MAX_ARGS = 320,
    SMALL = 65536, /* bytes; below this, two thread counts are enough */
};

/* A tensor in one launch. */
struct use {
    struct tensor *t;
    bool written, scratch;
    void *device;
    uint8_t *first; /* the image as the first backend left it */
};

static inline struct tensor *tensor_at(const uint8_t *p)
{
    for (int i = 0; i < kt.tensor_count; i++) {
        struct tensor *t = &kt.tensors[i];
        if (p >= t->image && p < t->image + t->total) return t;
    }
    return NULL;
}

static inline struct use *use_of(struct use *uses, int *count, struct tensor *t)
{
    for (int i = 0; i < *count; i++)
        if (uses[i].t == t) return &uses[i];
    uses[*count] = (struct use){.t = t};
    return &uses[(*count)++];
}

static inline bool same(const uint8_t *a, const uint8_t *b, size_t n, const struct use *u, const char *what)
{
    if (!memcmp(a, b, n)) return true;
    size_t i = 0;
    while (a[i] == b[i]) i++;
    int64_t at = (a + i - u->t->data) / (int64_t)u->t->element;
    CHECK(false, "%s [%s]: %s: %s, at element %" PRId64 " (ld %" PRId64 ")", tt_kernel_name(kt.kernel), kt.label,
          u->t->name, what, at, u->t->ld);
    return false;
}

/* Checks what the kernel must not write: all of an input, and the guards and gaps of an output. */
static inline bool untouched(const struct use *u, const uint8_t *after)
{
    const struct tensor *t = u->t;
    if (!u->written) return same(t->image, after, t->total, u, "an input was changed");
    size_t row = (size_t)t->cols * t->element, step = (size_t)t->ld * t->element, at = 0;
    for (int64_t r = 0; r <= t->rows; r++) {
        size_t next = r < t->rows ? (size_t)(t->data - t->image) + (size_t)r * step : t->total;
        if (!same(t->image + at, after + at, next - at, u, "written outside the view")) return false;
        at = next + row;
    }
    return true;
}

/* Checks the image that a backend left, and keeps the first one. */
static inline bool judge(struct use *u, uint8_t *after)
{
    test_checks++;
    bool good = untouched(u, after);
    if (!u->first) {
        u->first = after;
        return good;
    }
    if (good && !u->scratch) {
        struct use first = *u;
        struct tensor image = *u->t;
        image.data = u->first + (u->t->data - u->t->image);
        first.t = &image;
        good = same(u->first, after, u->t->total, &first, "other bits with another number of threads");
    }
    free(after);
    return good;
}

/* A launch: its arguments, their pointers, and the tensors they point into. */
struct call {
    const void *args;
    struct tt_operand operands[TT_MAX_OPERANDS];
    struct use uses[TT_MAX_OPERANDS];
    int operand_count, use_count;
};

static inline uint8_t *pointer_at(const void *args, size_t field)
{
    uint8_t *p;
    memcpy(&p, (const uint8_t *)args + field, sizeof p);
    return p;
}

/* Replaces the pointers with those of this backend's copies. */
static inline void relocate(const struct call *c, uint8_t *moved)
{
    for (int i = 0; i < c->operand_count; i++) {
        uint8_t *p = pointer_at(c->args, c->operands[i].field);
        const struct tensor *t = tensor_at(p);
        for (int u = 0; u < c->use_count; u++) {
            if (c->uses[u].t != t) continue;
            uint8_t *q = (uint8_t *)c->uses[u].device + (p - t->image);
            memcpy(moved + c->operands[i].field, &q, sizeof q);
        }
    }
}

static inline tt_status upload(struct tt_backend *b, struct use *uses, int count)
{
    for (int i = 0; i < count; i++) {
        TT_TRY(b->ops->alloc(b->self, uses[i].t->total, &uses[i].device));
        TT_TRY(b->ops->copy(b->self, uses[i].device, uses[i].t->image, uses[i].t->total, TT_TO_DEVICE, NULL));
    }
    return TT_OK;
}

static inline tt_status download(struct tt_backend *b, struct use *u, uint8_t *image)
{
    TT_TRY(b->ops->copy(b->self, image, u->device, u->t->total, TT_TO_HOST, NULL));
    return b->ops->stream_sync(b->self, NULL);
}

static inline tt_status launch_moved(struct tt_backend *b, struct call *c)
{
    uint8_t moved[MAX_ARGS] __attribute__((aligned(16)));
    memcpy(moved, c->args, tt_kernel_args_size(kt.kernel));
    TT_TRY(upload(b, c->uses, c->use_count));
    relocate(c, moved);
    return b->ops->launch(b->self, kt.kernel, moved, NULL);
}

static inline bool launch_on(struct tt_backend *b, struct call *c)
{
    for (int i = 0; i < c->use_count; i++) c->uses[i].device = NULL;
    tt_status st = launch_moved(b, c);
    bool good = true;
    for (int i = 0; !st && i < c->use_count; i++) {
        uint8_t *after = must(malloc(c->uses[i].t->total));
        st = download(b, &c->uses[i], after);
        if (st) free(after);
        else good &= judge(&c->uses[i], after);
    }
    CHECK(!st, "%s [%s]: %s", tt_kernel_name(kt.kernel), kt.label, st->text);
    good &= !st;
    tt_status_free(st);
    for (int i = 0; i < c->use_count; i++)
        if (c->uses[i].device) b->ops->free(b->self, c->uses[i].device);
    return good;
}

/* Copies the first backend's results into the tensors. */
static inline void keep_results(struct call *c)
{
    for (int i = 0; i < c->use_count; i++) {
        struct use *u = &c->uses[i];
        if (u->first) memcpy(u->t->image, u->first, u->t->total);
        free(u->first);
        if (u->written) decode(u->t);
    }
}

/* Launches on every backend; the tensors then hold the results of the first one. */
static inline void launch(enum tt_kernel kernel, const void *args)
{
    struct call c = {.args = args};
    kt.kernel = kernel;
    c.operand_count = tt_kernel_operands(kernel, args, c.operands);
    for (int i = 0; i < c.operand_count; i++) {
        struct tensor *t = tensor_at(pointer_at(args, c.operands[i].field));
        CHECK(t, "%s [%s]: %s is in no tensor of this case", tt_kernel_name(kernel), kt.label, c.operands[i].name);
        if (!t) return;
        struct use *u = use_of(c.uses, &c.use_count, t);
        u->written |= c.operands[i].access != TT_READ;
        u->scratch |= c.operands[i].access == TT_SCRATCH;
    }
    size_t bytes = 0;
    for (int i = 0; i < c.use_count; i++) bytes += c.uses[i].t->total;
    int backends = bytes < SMALL && kt.backend_count > 2 ? 2 : kt.backend_count;
    for (int b = 0; b < backends; b++)
        if (!launch_on(&kt.backends[b], &c)) break;
    keep_results(&c);
    kt.launches[kernel]++;
}

/* LAUNCH(scale, .x = ..., .n = ...): named arguments; the type is that of the running test. */
#define LAUNCH(name, ...)                                                                          \
    launch(TT_K_##name, &(struct tt_##name##_args){.dtype = kt.dtype, __VA_ARGS__})

#endif
