/* The built-in matrix multiply. C is cut into tiles (gemm_tiles.h), one task each. For every KC of k, a task packs its
 * part of A and B into panels, which then stream from the cache through the register tile. */
#ifndef TT_CPU_GEMM_H
#define TT_CPU_GEMM_H

#include "backend/cpu/gemm_tiles.h"
#include "backend/cpu/kernels/tile.h"

enum {
    KC = 256,
    PACKED_M = TILE_M_MOST + MR, /* the last panel may extend beyond the tile */
    PACKED_N = TILE_N_MOST + NR,
    GEMM_SCRATCH = (PACKED_M + PACKED_N) * KC + MR * NR,
};

/* Packs lines into panels of `width` lines each, out[k·width + i]. Missing lines become 0. */
INLINE void pack(float *out, const float *x, int64_t lines, int64_t K, int64_t line, int64_t step, const int width,
                 float factor)
{
    for (int64_t first = 0; first < lines; first += width, out += width * K) {
        const float *from = x + first * line;
        int64_t n = smaller(width, lines - first);
        if (n < width) row_zero(out, width * K);
        if (n == width && line == 1) {
            for (int64_t k = 0; k < K; k++) {
                SIMD
                for (int i = 0; i < width; i++) out[k * width + i] = factor * from[k * step + i];
            }
        } else if (step == 1) {
            transpose(out, width, from, line, n, K, factor);
        } else {
            for (int64_t k = 0; k < K; k++)
                for (int64_t i = 0; i < n; i++) out[k * width + i] = factor * from[i * line + k * step];
        }
    }
}

struct gemm_tile {
    float *c;
    int64_t m, n, ldc;
    float *a, *b, *edge; /* packed A, packed B, a full register tile for the edge of C */
};

/* Multiplies C of this tile by beta. Returns whether the first product is added to it. */
static bool gemm_prepare(const struct gemm_tile *t, float beta)
{
    if (beta == 0) return false;
    for (int64_t i = 0; beta != 1 && i < t->m; i++) row_scale(t->c + i * t->ldc, t->n, beta);
    return true;
}

static void gemm_edge(const struct gemm_tile *t, float *c, int64_t rows, int64_t cols, bool add)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) c[i * t->ldc + j] = t->edge[i * NR + j] + (add ? c[i * t->ldc + j] : 0);
}

static void gemm_panels(const struct gemm_tile *t, int64_t K, bool add)
{
    for (int64_t j = 0; j < t->n; j += NR) {
        const float *b = t->b + j * K;
        for (int64_t i = 0; i < t->m; i += MR) {
            struct tile_a a = {t->a + i * K, 1, MR};
            float *c = t->c + i * t->ldc + j;
            int64_t rows = smaller(MR, t->m - i), cols = smaller(NR, t->n - j);
            if (rows == MR && cols == NR) {
                tile_rows(MR, K, a, b, NR, c, t->ldc, add ? TILE_ADD : TILE_ZERO, NULL);
            } else {
                tile_rows(MR, K, a, b, NR, t->edge, NR, TILE_ZERO, NULL);
                gemm_edge(t, c, rows, cols, add);
            }
        }
    }
}

static void gemm_builtin(const struct cpu_team *team, const struct tt_gemm *g)
{
    struct gemm_tiles tiles = gemm_tiles(g->m, g->n, g->batch);
    int64_t a_row = g->trans_a ? 1 : g->lda, a_k = g->trans_a ? g->lda : 1;
    int64_t b_col = g->trans_b ? g->ldb : 1, b_k = g->trans_b ? 1 : g->ldb;
    PARALLEL_FOR_UNEVEN(team, g->batch * g->m * g->n * g->k / 16)
    for (int64_t task = 0; task < g->batch * tiles.count; task++) {
        int64_t batch = task / tiles.count, in_matrix = task % tiles.count;
        int64_t i = in_matrix / tiles.columns * tiles.m, j = in_matrix % tiles.columns * tiles.n;
        int64_t at = batch * g->stride_c + i * g->ldc + j;
        float *scratch = thread_scratch(team);
        struct gemm_tile t = {(float *)g->c + at, smaller(tiles.m, g->m - i), smaller(tiles.n, g->n - j), g->ldc,
                              scratch, scratch + PACKED_M * KC, scratch + (PACKED_M + PACKED_N) * KC};
        const float *a = (const float *)g->a + batch * g->stride_a + i * a_row;
        const float *b = (const float *)g->b + batch * g->stride_b + j * b_col;
        bool add = gemm_prepare(&t, g->beta);
        for (int64_t k = 0; k < g->k; k += KC) {
            int64_t K = smaller(KC, g->k - k);
            pack(t.a, a + k * a_k, t.m, K, a_row, a_k, MR, g->alpha);
            pack(t.b, b + k * b_k, t.n, K, b_col, b_k, NR, 1.0f);
            gemm_panels(&t, K, add || k > 0);
        }
    }
}

#endif
