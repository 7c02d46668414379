/* Matrices on the host and on the device of this build. */
#ifndef TT_MATRIX_FIXTURE_H
#define TT_MATRIX_FIXTURE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "core/base/rng.h"
#include "tests/test.h"

static struct tt_backend backend;

/* A matrix (or a batch) on the host and on the device, with gaps between rows and after the end. */
struct matrix {
    float *host, *device;
    int64_t rows, cols, ld, stride, batch, total;
};

static const float GAP = 12345.0f;

static inline struct matrix matrix_new(int64_t batch, int64_t rows, int64_t cols, int64_t gap)
{
    struct matrix x = {.rows = rows, .cols = cols, .ld = cols + gap, .batch = batch};
    if (x.ld == 0) x.ld = 1;
    x.stride = (rows ? rows : 1) * x.ld + 3 * gap;
    x.total = batch * x.stride + 8;
    x.host = malloc((size_t)x.total * sizeof(float));
    for (int64_t i = 0; i < x.total; i++) x.host[i] = GAP;
    CHECK_OK(backend.ops->alloc(backend.self, (size_t)x.total * sizeof(float), (void **)&x.device));
    return x;
}

static inline void matrix_free(struct matrix *x)
{
    backend.ops->free(backend.self, x->device);
    free(x->host);
}

static inline float *at(const struct matrix *x, int64_t b, int64_t i, int64_t j)
{
    return x->host + b * x->stride + i * x->ld + j;
}

static inline void matrix_upload(struct matrix *x)
{
    CHECK_OK(backend.ops->copy(backend.self, x->device, x->host, (size_t)x->total * sizeof(float), TT_TO_DEVICE, NULL));
}

static inline void matrix_download(struct matrix *x)
{
    CHECK_OK(backend.ops->copy(backend.self, x->host, x->device, (size_t)x->total * sizeof(float), TT_TO_HOST, NULL));
    CHECK_OK(backend.ops->stream_sync(backend.self, NULL));
}

static inline void matrix_random(struct matrix *x, uint64_t stream)
{
    for (int64_t b = 0, n = 0; b < x->batch; b++)
        for (int64_t i = 0; i < x->rows; i++)
            for (int64_t j = 0; j < x->cols; j++, n++)
                *at(x, b, i, j) = (float)tt_normal(7, stream, (uint64_t)n);
    matrix_upload(x);
}

static inline void matrix_set(struct matrix *x, float value)
{
    for (int64_t b = 0; b < x->batch; b++)
        for (int64_t i = 0; i < x->rows; i++)
            for (int64_t j = 0; j < x->cols; j++) *at(x, b, i, j) = value;
    matrix_upload(x);
}

/* Runs the tests with each of this build's libraries that multiply matrices. */
static inline int with_each_library(void (*everything)(void))
{
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){0}, &backend));
    tt_backend_close(&backend);
    unsetenv("TT_CPU_GEMM");
    unsetenv("TT_HIPBLASLT");
    everything();
    if (!strcmp(tt_backend_name(), "cuda")) return test_end(); /* CUDA has one library only */
    if (!strcmp(tt_backend_name(), "cpu")) {
        setenv("TT_CPU_GEMM", "blas", 1);
        everything();
    }
    setenv("TT_CPU_GEMM", "builtin", 1);
    setenv("TT_HIPBLASLT", "0", 1);
    everything();
    return test_end();
}

#endif
