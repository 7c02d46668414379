/* The register tile of the built-in GEMM and of flash attention: up to MR rows and NR columns of C stay in registers in
 * the loop over k. Elements of A are broadcast, so A may have any strides; rows of B and C are contiguous. */
#ifndef TT_CPU_TILE_H
#define TT_CPU_TILE_H

#if defined(__AVX512F__)
enum { MR = 12, NV = 2 }; /* 24 of 32 registers are accumulators */
#elif defined(__AVX__)
enum { MR = 6, NV = 2 }; /* 12 of 16 */
#elif defined(__aarch64__)
enum { MR = 8, NV = 2 }; /* 16 of 32 */
#else
enum { MR = 4, NV = 2 }; /* 8 of 16: without FMA, products need registers too */
#endif
enum { NR = NV * LANES };

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)") /* "unroll" may leave accumulators in memory */
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

enum tile_start {
    TILE_ZERO,   /* C = A·B */
    TILE_ADD,    /* C += A·B */
    TILE_RESCALE /* C = C·factor + A·B, with a factor per column */
};

struct tile_a {
    const float *p;
    int64_t row, k; /* strides */
};

/* s += A·B. */
INLINE void tile_sum(const int rows, vec s[MR][NV], int64_t K, struct tile_a a, const float *b, int64_t ldb)
{
#ifdef __aarch64__
    if (a.row == 1 && rows % LANES == 0) { /* FMA multiplies by a lane, so four rows of A are one load */
        for (int64_t k = 0; k < K; k++, a.p += a.k, b += ldb) {
            vec bk[NV];
            UNROLL for (int v = 0; v < NV; v++) bk[v] = load(b + v * LANES);
            UNROLL for (int i = 0; i < rows; i += LANES) {
                vec x = load(a.p + i);
                UNROLL for (int v = 0; v < NV; v++) {
                    s[i][v] += x[0] * bk[v];
                    s[i + 1][v] += x[1] * bk[v];
                    s[i + 2][v] += x[2] * bk[v];
                    s[i + 3][v] += x[3] * bk[v];
                }
            }
        }
        return;
    }
#endif
    for (int64_t k = 0; k < K; k++) {
        vec bk[NV];
        UNROLL for (int v = 0; v < NV; v++) bk[v] = load(b + k * ldb + v * LANES);
        UNROLL for (int i = 0; i < rows; i++) {
            float x = a.p[i * a.row + k * a.k];
            UNROLL for (int v = 0; v < NV; v++) s[i][v] += x * bk[v];
        }
    }
}

/* `rows` × NR of C; `rows` is a constant after inlining. */
INLINE void tile_rows(const int rows, int64_t K, struct tile_a a, const float *b, int64_t ldb, float *c, int64_t ldc,
                      enum tile_start start, const float *factor)
{
    vec s[MR][NV];
    if (start == TILE_ZERO) {
        UNROLL for (int i = 0; i < rows; i++)
            UNROLL for (int v = 0; v < NV; v++) s[i][v] = (vec){0};
    } else {
        UNROLL for (int i = 0; i < rows; i++)
            UNROLL for (int v = 0; v < NV; v++) s[i][v] = load(c + i * ldc + v * LANES);
    }
    if (start == TILE_RESCALE) {
        UNROLL for (int v = 0; v < NV; v++) {
            vec f = load(factor + v * LANES);
            UNROLL for (int i = 0; i < rows; i++) s[i][v] *= f;
        }
    }
    tile_sum(rows, s, K, a, b, ldb);
    UNROLL for (int i = 0; i < rows; i++)
        UNROLL for (int v = 0; v < NV; v++) store(c + i * ldc + v * LANES, s[i][v]);
}

/* One function per number of rows, so that `rows` is a constant and the accumulators are in registers. */
#define TILE_ROWS(rows)                                                                            \
    static void tile_##rows(int64_t K, struct tile_a a, const float *b, int64_t ldb, float *c, int64_t ldc, \
                            enum tile_start start, const float *factor)                            \
    {                                                                                              \
        tile_rows(rows, K, a, b, ldb, c, ldc, start, factor);                                      \
    }
#define EACH_ROWS_4(X) X(1) X(2) X(3) X(4)
#if defined(__AVX512F__)
#define EACH_ROWS(X) EACH_ROWS_4(X) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12)
#elif defined(__AVX__)
#define EACH_ROWS(X) EACH_ROWS_4(X) X(5) X(6)
#elif defined(__aarch64__)
#define EACH_ROWS(X) EACH_ROWS_4(X) X(5) X(6) X(7) X(8)
#else
#define EACH_ROWS(X) EACH_ROWS_4(X)
#endif
EACH_ROWS(TILE_ROWS)

/* 1 to MR rows. */
static void tile(int64_t rows, int64_t K, struct tile_a a, const float *b, int64_t ldb, float *c, int64_t ldc,
                 enum tile_start start, const float *factor)
{
    switch (rows) {
#define CASE(n) case n: tile_##n(K, a, b, ldb, c, ldc, start, factor); break;
        EACH_ROWS(CASE)
#undef CASE
    }
}

#endif
