/* A matrix multiply whose C is one row, as in text generation. It reads each weight once and is bound by memory
 * bandwidth, so there is no packing and there are no tiles. */
#ifndef TT_CPU_GEMV_H
#define TT_CPU_GEMV_H

enum { GEMV_COLUMNS = 128 }; /* of C, in one piece of work */

/* The row of A must be contiguous. */
static bool gemv_can(const struct tt_gemm *g) { return g->m == 1 && (!g->trans_a || g->lda == 1); }

/* s = x (K) · B (n, K)^T. */
static inline void gemv_rows(float *s, const float *x, const float *b, int64_t ldb, int64_t n, int64_t K)
{
    for (int64_t j = 0; j < n; j++) s[j] = (float)row_dot(x, b + j * ldb, K);
}

/* s = x (K) · B (K, n). */
static inline void gemv_columns(float *s, const float *x, const float *b, int64_t ldb, int64_t n, int64_t K)
{
    int64_t k = 0;
    row_zero(s, n);
    for (; k + 4 <= K; k += 4) {
        const float *b0 = b + k * ldb, *b1 = b0 + ldb, *b2 = b1 + ldb, *b3 = b2 + ldb;
        SIMD
        for (int64_t j = 0; j < n; j++)
            s[j] += (x[k] * b0[j] + x[k + 1] * b1[j]) + (x[k + 2] * b2[j] + x[k + 3] * b3[j]);
    }
    for (; k < K; k++) {
        SIMD
        for (int64_t j = 0; j < n; j++) s[j] += x[k] * b[k * ldb + j];
    }
}

static void gemv(const struct cpu_team *team, const struct tt_gemm *g)
{
    int64_t pieces = divide_up(g->n, GEMV_COLUMNS);
    PARALLEL_FOR(team, g->batch * g->n * g->k / 4)
    for (int64_t t = 0; t < g->batch * pieces; t++) {
        int64_t batch = t / pieces, j = t % pieces * GEMV_COLUMNS, n = smaller(GEMV_COLUMNS, g->n - j);
        const float *x = (const float *)g->a + batch * g->stride_a;
        const float *b = (const float *)g->b + batch * g->stride_b + (g->trans_b ? j * g->ldb : j);
        float *c = (float *)g->c + batch * g->stride_c + j, s[GEMV_COLUMNS];
        (g->trans_b ? gemv_rows : gemv_columns)(s, x, b, g->ldb, n, g->k);
        for (int64_t i = 0; i < n; i++) c[i] = g->alpha * s[i] + (g->beta == 0 ? 0 : g->beta * c[i]);
    }
}

#endif
