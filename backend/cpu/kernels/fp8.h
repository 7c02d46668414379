/* The 8-bit factors of products: magnitudes, scales and codes. */
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

/* Updates `amax` of a kernel that has written x (rows, cols), ldx apart; nothing if amax is NULL. */
static void raise_amax_rows(const struct cpu_team *team, float *amax, const void *x, int64_t rows, int64_t cols,
                            int64_t ldx)
{
    enum { PARTS = 64 };
    float partial[PARTS];
    uint32_t most;
    if (!amax || rows == 0) return;
    struct tt_fp8_amax_args a = {.x = x, .partial = partial, .rows = rows, .cols = cols, .ldx = ldx};
    a.parts = smaller(rows, PARTS);
    k_fp8_amax(team, &a);
    memcpy(&most, amax, sizeof most);
    most = row_amax(partial, a.parts, most);
    memcpy(amax, &most, sizeof most);
}

/* The same of n elements. */
static void raise_amax(const struct cpu_team *team, float *amax, const float *x, int64_t n)
{
    raise_amax_rows(team, amax, x, n / BLOCK, BLOCK, BLOCK);
    raise_amax_rows(team, amax, x + n / BLOCK * BLOCK, 1, n % BLOCK, 0);
}

/* Raises *amax to a magnitude, given as bits. Atomic, since several threads call it. Magnitudes compare like their
 * bits. */
static void raise_to(float *amax, uint32_t most)
{
    typedef uint32_t __attribute__((may_alias)) bits;
    uint32_t before = __atomic_load_n((bits *)amax, __ATOMIC_RELAXED);
    while (most > before && !__atomic_compare_exchange_n((bits *)amax, &before, most, false, __ATOMIC_RELAXED,
                                                         __ATOMIC_RELAXED))
        continue;
}

/* One square of the matrix, so that cache lines of the transposed codes stay in the cache until they are full. */
INLINE void cast_square(const struct tt_fp8_cast_args *a, float inverse, int64_t row, int64_t col, int64_t side)
{
    uint32_t most = 0;
    for (int64_t r = row; r < smaller(a->rows, row + side); r++)
        for (int64_t c = col; c < smaller(a->cols, col + side); c++) {
            float x = ((const float *)a->x)[r * a->ldx + c];
            if (a->rstd) x = x * a->rstd[r] * ((const float *)a->weight)[c];
            uint8_t code = tt_fp8_code(x, inverse, a->to);
            most = row_amax(&x, 1, most);
            if (a->out) a->out[r * a->cols + c] = code;
            if (a->transposed) a->transposed[c * a->rows + r] = code;
        }
    if (a->amax) raise_to(a->amax, most);
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

/* ---- by rows ---- */

/* A band of rows alone sets the amax of its rows; each band raises the amax of every column once. */
static void k_fp8_amax_rows(const struct cpu_team *team, const struct tt_fp8_amax_rows_args *a)
{
    enum { BAND = 64 };
    float *of_cols = a->amax + a->rows;
    PARALLEL_FOR(team, a->rows * a->cols)
    for (int64_t band = 0; band < divide_up(a->rows, BAND); band++) {
        int64_t from = band * BAND, to = smaller(a->rows, from + BAND);
        for (int64_t r = from; r < to; r++)
            raise_to(a->amax + r, row_amax((const float *)a->x + r * a->ldx, a->cols, 0));
        for (int64_t c = 0; c < a->cols; c++) {
            uint32_t most = 0;
            for (int64_t r = from; r < to; r++) most = row_amax((const float *)a->x + r * a->ldx + c, 1, most);
            raise_to(of_cols + c, most);
        }
    }
}

static void k_fp8_cast_rows(const struct cpu_team *team, const struct tt_fp8_cast_rows_args *a)
{
    enum { SIDE = 64 };
    const float *scale = a->amax ? a->new_scale : a->scale;
    for (int64_t i = 0; a->amax && i < a->rows + a->cols; i++) a->new_scale[i] = tt_fp8_scale(a->amax[i], a->to);
    int64_t across = divide_up(a->cols, SIDE), squares = divide_up(a->rows, SIDE) * across;
    PARALLEL_FOR(team, a->rows * a->cols)
    for (int64_t i = 0; i < squares; i++) {
        int64_t row = i / across * SIDE, col = i % across * SIDE;
        for (int64_t r = row; r < smaller(a->rows, row + SIDE); r++)
            for (int64_t c = col; c < smaller(a->cols, col + SIDE); c++) {
                float x = ((const float *)a->x)[r * a->ldx + c];
                if (a->out) a->out[r * a->cols + c] = tt_fp8_code(x, tt_fp8_inverse(scale[r]), a->to);
                if (a->transposed)
                    a->transposed[c * a->rows + r] = tt_fp8_code(x, tt_fp8_inverse(scale[a->rows + c]), a->to);
            }
    }
}

static void k_fp8_history(const struct cpu_team *team, const struct tt_fp8_history_args *a)
{
    (void)team;
    int64_t row = (a->state->step - 1) % TT_FP8_HISTORY;
    for (int64_t i = 0; i < a->n && !a->state->stopped; i++) {
        float most = 0;
        uint32_t bits = 0;
        for (int64_t r = 0; r < a->ranks; r++) {
            bits = row_amax(a->amax + r * a->n + i, 1, bits);
            a->amax[r * a->n + i] = 0;
        }
        if (bits < 0x7f800000) memcpy(&most, &bits, sizeof most);
        a->history[row * a->n + i] = most;
        for (int64_t s = 0; s < TT_FP8_HISTORY; s++)
            if (a->history[s * a->n + i] > most) most = a->history[s * a->n + i];
        enum tt_dtype to = i < a->numbers ? tt_fp8_e4m3(a->fnuz) : tt_fp8_e5m2(a->fnuz);
        float *scale = a->scale + i * TT_FP8_APART;
        *scale = tt_fp8_next_scale(most, *scale, to);
    }
}

/* `rows` rows of codes to a dense matrix of floats, with the scales of rows or without a scale. */
static void fp8_widen(const struct cpu_team *team, const uint8_t *codes, int64_t rows, int64_t cols, int64_t ld,
                      enum tt_dtype type, const float *scales, float *out)
{
    float number[256];
    for (int code = 0; code < 256; code++) number[code] = tt_from_fp8((uint8_t)code, type);
    PARALLEL_FOR(team, rows * cols)
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) out[r * cols + c] = number[codes[r * ld + c]] * (scales ? scales[r] : 1);
}

#endif
