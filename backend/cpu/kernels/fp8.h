/* 8-bit factors of products. */
#ifndef TT_CPU_FP8_H
#define TT_CPU_FP8_H

#include "core/base/fp8.h"

/* The largest magnitude, compared as bits, so that NaN is larger than all numbers. */
INLINE uint32_t row_amax(const float *x, int64_t n, uint32_t most)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t u;
        memcpy(&u, x + i, sizeof u);
        u &= 0x7fffffff;
        most = u > most ? u : most;
    }
    return most;
}

static void k_fp8_amax(const struct cpu_team *team, const struct tt_fp8_amax_args *a)
{
    int64_t step = divide_up(a->rows, a->parts);
    PARALLEL_FOR(team, a->rows * a->cols)
    for (int64_t part = 0; part < a->parts; part++) {
        uint32_t most = 0;
        for (int64_t r = part * step; r < smaller(a->rows, (part + 1) * step); r++)
            most = row_amax((const float *)a->x + r * a->ldx, a->cols, most);
        memcpy(a->partial + part, &most, sizeof most);
    }
}

/* `amax` of a kernel that has written n elements at x; NULL: it is not asked for. */
static void raise_amax(const struct cpu_team *team, float *amax, const float *x, int64_t n)
{
    enum { PARTS = 64 };
    float partial[PARTS];
    uint32_t most;
    if (!amax || n == 0) return;
    struct tt_fp8_amax_args a = {.x = x, .partial = partial, .rows = divide_up(n, BLOCK), .cols = BLOCK, .ldx = BLOCK};
    a.parts = smaller(a.rows, PARTS);
    memcpy(&most, amax, sizeof most);
    if (n % BLOCK) most = row_amax(x + --a.rows * BLOCK, n % BLOCK, most);
    if (a.rows) k_fp8_amax(team, &a);
    most = row_amax(partial, a.rows ? a.parts : 0, most);
    memcpy(amax, &most, sizeof most);
}

/* A square of the matrix, so that what is written transposed stays in the cache until its lines are full. */
INLINE void cast_square(const struct tt_fp8_cast_args *a, float inverse, int64_t row, int64_t col, int64_t side)
{
    for (int64_t r = row; r < smaller(a->rows, row + side); r++)
        for (int64_t c = col; c < smaller(a->cols, col + side); c++) {
            float x = ((const float *)a->x)[r * a->ldx + c];
            if (a->rstd) x = x * a->rstd[r] * ((const float *)a->weight)[c];
            uint8_t code = tt_to_fp8(x * inverse, a->to);
            if (a->out) a->out[r * a->cols + c] = code;
            if (a->transposed) a->transposed[c * a->rows + r] = code;
        }
}

static void k_fp8_cast(const struct cpu_team *team, const struct tt_fp8_cast_args *a)
{
    enum { SIDE = 64 };
    float most;
    if (a->partial) {
        uint32_t bits = row_amax(a->partial, a->parts, 0);
        memcpy(&most, &bits, sizeof most);
        *a->new_scale = tt_fp8_scale(most, a->to);
    }
    float inverse = tt_fp8_inverse(a->partial ? *a->new_scale : *a->scale);
    int64_t across = divide_up(a->cols, SIDE), squares = divide_up(a->rows, SIDE) * across;
    PARALLEL_FOR(team, a->rows * a->cols)
    for (int64_t i = 0; i < squares; i++) cast_square(a, inverse, i / across * SIDE, i % across * SIDE, SIDE);
}

/* `rows` rows of codes to a dense matrix of floats, without their scale. */
static void fp8_widen(const struct cpu_team *team, const uint8_t *codes, int64_t rows, int64_t cols, int64_t ld,
                      enum tt_dtype type, float *out)
{
    float number[256];
    for (int code = 0; code < 256; code++) number[code] = tt_from_fp8((uint8_t)code, type);
    PARALLEL_FOR(team, rows * cols)
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) out[r * cols + c] = number[codes[r * ld + c]];
}

#endif
