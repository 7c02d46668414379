/* Matrices of 16-bit numbers on the host and on the device, for the tests of products. */
#ifndef TT_TEST_HALF_MATRIX_H
#define TT_TEST_HALF_MATRIX_H

#include <stdint.h>
#include <stdlib.h>

#include "backend/backend.h"
#include "core/base/rng.h"
#include "tests/backend/kernels/half.h"
#include "tests/test.h"

static struct tt_backend backend;

static inline uint16_t narrow(enum tt_dtype type, double x) { return type == TT_BF16 ? to_bf16(x) : to_f16(x); }
static inline double wide(enum tt_dtype type, uint16_t x) { return type == TT_BF16 ? from_bf16(x) : from_f16(x); }

struct half_matrix {
    uint16_t *host;
    void *device;
    int64_t n;
};

static inline struct half_matrix matrix_new(enum tt_dtype type, int64_t n, double scale, int seed)
{
    struct half_matrix x = {.host = malloc((size_t)n * 2), .n = n};
    for (int64_t i = 0; i < n; i++)
        x.host[i] = scale > 0 ? narrow(type, scale * tt_normal(7, (uint64_t)seed, (uint64_t)i)) : 0xffff; /* NaN */
    CHECK_OK(backend.ops->alloc(backend.self, (size_t)n * 2, &x.device));
    CHECK_OK(backend.ops->copy(backend.self, x.device, x.host, (size_t)n * 2, TT_TO_DEVICE, NULL));
    return x;
}

static inline void matrix_download(struct half_matrix *x)
{
    CHECK_OK(backend.ops->copy(backend.self, x->host, x->device, (size_t)x->n * 2, TT_TO_HOST, NULL));
    CHECK_OK(backend.ops->stream_sync(backend.self, NULL));
}

static inline void matrix_free(struct half_matrix *x)
{
    backend.ops->free(backend.self, x->device);
    free(x->host);
}

#endif
