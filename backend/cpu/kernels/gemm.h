/* The built-in matrix multiply. For every KC of k, A and B are packed into panels, which then stream from the cache
 * through the register tile. C is cut into tiles, one task each. A task packs the part of A and B that its tile needs;
 * or all of them are packed first, and the tasks share them. */
#ifndef TT_CPU_GEMM_H
#define TT_CPU_GEMM_H

#include "backend/cpu/gemm_tiles.h"
#include "backend/cpu/kernels/tile.h"

#ifdef __aarch64__
enum {
    KC = 512,         /* a panel of each factor is 16 KiB, a quarter of L1 */
    PACK_SHARED = 1,  /* pack once for all tasks; not in a batch, whose matrices are small */
    PACK_TOGETHER = 8 /* panels, so that whole cache lines are read */
};
#else
enum { KC = 256, PACK_SHARED = 0, PACK_TOGETHER = 1 };
#endif

enum {
    PACKED_M = TILE_M_MOST + MR, /* the last panel may extend beyond the tile */
    PACKED_N = TILE_N_MOST + NR,
    SLAB = 4096,                 /* most rows, and columns, of C whose factors are packed at a time */
    PACK_LINES = 64,             /* packed by one task */
    TASK_M = 128, TASK_N = 256,  /* of C; that much of A fits into L2 */
    TASKS = 4,                   /* at least, for each thread */
};

/* Packs `panels` full panels of lines that are next to each other in memory. */
INLINE void pack_group(float *out, const float *x, const int panels, int64_t K, int64_t step, const int width,
                       float factor)
{
    for (int64_t k = 0; k < K; k++)
        for (int p = 0; p < panels; p++) {
            SIMD
            for (int i = 0; i < width; i++) out[(p * K + k) * width + i] = factor * x[k * step + p * width + i];
        }
}

/* Packs lines into panels of `width` lines each, out[k·width + i]. Missing lines become 0. */
INLINE void pack(float *out, const float *x, int64_t lines, int64_t K, int64_t line, int64_t step, const int width,
                 float factor)
{
    int64_t first = 0;
    for (; line == 1 && first + PACK_TOGETHER * width <= lines; first += PACK_TOGETHER * width)
        pack_group(out + first * K, x + first, PACK_TOGETHER, K, step, width, factor);
    for (; first < lines; first += width) {
        const float *from = x + first * line;
        float *to = out + first * K;
        int64_t n = smaller(width, lines - first);
        if (n < width) row_zero(to, width * K);
        if (n == width && line == 1) {
            pack_group(to, from, 1, K, step, width, factor);
        } else if (step == 1) {
            transpose(to, width, from, line, n, K, factor);
        } else {
            for (int64_t k = 0; k < K; k++)
                for (int64_t i = 0; i < n; i++) to[k * width + i] = factor * from[i * line + k * step];
        }
    }
}

struct gemm_tile {
    float *c;
    int64_t m, n, ldc;
    float *a, *b; /* packed A and B */
};

/* Multiplies C of this tile by beta. Returns whether the first product is added to it. */
static bool gemm_prepare(const struct gemm_tile *t, float beta)
{
    if (beta == 0) return false;
    for (int64_t i = 0; beta != 1 && i < t->m; i++) row_scale(t->c + i * t->ldc, t->n, beta);
    return true;
}

/* A register tile that reaches beyond the edge of C. */
static void gemm_edge(const struct gemm_tile *t, int64_t K, struct tile_a a, const float *b, float *c, int64_t rows,
                      int64_t cols, bool add)
{
    float whole[MR * NR];
    tile_rows(MR, K, a, b, NR, whole, NR, TILE_ZERO, NULL);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) c[i * t->ldc + j] = whole[i * NR + j] + (add ? c[i * t->ldc + j] : 0);
}

static void gemm_panels(const struct gemm_tile *t, int64_t K, bool add)
{
    for (int64_t j = 0; j < t->n; j += NR) {
        const float *b = t->b + j * K;
        for (int64_t i = 0; i < t->m; i += MR) {
            struct tile_a a = {t->a + i * K, 1, MR};
            float *c = t->c + i * t->ldc + j;
            int64_t rows = smaller(MR, t->m - i), cols = smaller(NR, t->n - j);
            if (rows < MR || cols < NR) {
                gemm_edge(t, K, a, b, c, rows, cols, add);
                continue;
            }
            tile_rows(MR, K, a, b, NR, c, t->ldc, add ? TILE_ADD : TILE_ZERO, NULL);
        }
    }
}

/* A or B, with its strides: of a line, which is a row of A or a column of B, and of k. */
struct gemm_factor {
    const float *p;
    int64_t line, k;
};

static struct gemm_factor gemm_a(const struct tt_gemm *g)
{
    return (struct gemm_factor){g->a, g->trans_a ? 1 : g->lda, g->trans_a ? g->lda : 1};
}

static struct gemm_factor gemm_b(const struct tt_gemm *g)
{
    return (struct gemm_factor){g->b, g->trans_b ? g->ldb : 1, g->trans_b ? 1 : g->ldb};
}

/* ---- each task packs ---- */

static void gemm_apart(const struct cpu_team *team, const struct tt_gemm *g)
{
    struct gemm_tiles tiles = gemm_tiles(g->m, g->n, g->batch);
    struct gemm_factor of_a = gemm_a(g), of_b = gemm_b(g);
    PARALLEL_FOR_UNEVEN(team, g->batch * g->m * g->n * g->k / 16)
    for (int64_t task = 0; task < g->batch * tiles.count; task++) {
        int64_t batch = task / tiles.count, in_matrix = task % tiles.count;
        int64_t i = in_matrix / tiles.columns * tiles.m, j = in_matrix % tiles.columns * tiles.n;
        float *scratch = thread_scratch(team), *c = (float *)g->c + batch * g->stride_c + i * g->ldc + j;
        struct gemm_tile t = {c, smaller(tiles.m, g->m - i), smaller(tiles.n, g->n - j), g->ldc,
                              scratch, scratch + PACKED_M * KC};
        const float *a = of_a.p + batch * g->stride_a + i * of_a.line;
        const float *b = of_b.p + batch * g->stride_b + j * of_b.line;
        bool add = gemm_prepare(&t, g->beta);
        for (int64_t k = 0; k < g->k; k += KC) {
            int64_t K = smaller(KC, g->k - k);
            pack(t.a, a + k * of_a.k, t.m, K, of_a.line, of_a.k, MR, g->alpha);
            pack(t.b, b + k * of_b.k, t.n, K, of_b.line, of_b.k, NR, 1.0f);
            gemm_panels(&t, K, add || k > 0);
        }
    }
}

/* ---- packed once ---- */

/* A part of C, from row i and column j on, and a run of k; with its packed factors. */
struct gemm_slab {
    int64_t i, j, k, m, n, K;
    float *a, *b;
};

static void gemm_pack(const struct cpu_team *team, const struct tt_gemm *g, const struct gemm_slab *s)
{
    enum { LINES_A = PACK_LINES / MR * MR, LINES_B = PACK_LINES / NR * NR };
    struct gemm_factor a = gemm_a(g), b = gemm_b(g);
    int64_t tasks_a = divide_up(s->m, LINES_A), tasks_b = divide_up(s->n, LINES_B);
    PARALLEL_FOR_UNEVEN(team, (s->m + s->n) * s->K)
    for (int64_t t = 0; t < tasks_a + tasks_b; t++) {
        int64_t i = t * LINES_A, j = (t - tasks_a) * LINES_B;
        if (t < tasks_a)
            pack(s->a + i * s->K, a.p + (s->i + i) * a.line + s->k * a.k, smaller(LINES_A, s->m - i), s->K, a.line, a.k,
                 MR, g->alpha);
        else
            pack(s->b + j * s->K, b.p + (s->j + j) * b.line + s->k * b.k, smaller(LINES_B, s->n - j), s->K, b.line, b.k,
                 NR, 1.0f);
    }
}

/* Tiles may depend on the number of threads here: an element is summed in the same order in any tile. */
static struct gemm_tiles gemm_share(int64_t m, int64_t n, int threads)
{
    int64_t down = TASK_M / MR, right = TASK_N / NR; /* register tiles */
    while (divide_up(m, down * MR) * divide_up(n, right * NR) < TASKS * threads && down * right > 4) {
        if (right > down)
            right /= 2;
        else
            down /= 2;
    }
    int64_t columns = divide_up(n, right * NR);
    return (struct gemm_tiles){down * MR, right * NR, columns, columns * divide_up(m, down * MR)};
}

static void gemm_multiply(const struct cpu_team *team, const struct tt_gemm *g, const struct gemm_slab *s)
{
    struct gemm_tiles tiles = gemm_share(s->m, s->n, team->threads);
    PARALLEL_FOR_UNEVEN(team, s->m * s->n * s->K / 16)
    for (int64_t task = 0; task < tiles.count; task++) {
        int64_t i = task / tiles.columns * tiles.m, j = task % tiles.columns * tiles.n;
        struct gemm_tile t = {(float *)g->c + (s->i + i) * g->ldc + s->j + j, smaller(tiles.m, s->m - i),
                              smaller(tiles.n, s->n - j), g->ldc, s->a + i * s->K, s->b + j * s->K};
        gemm_panels(&t, s->K, s->k > 0 || gemm_prepare(&t, g->beta));
    }
}

static void gemm_shared(const struct cpu_team *team, const struct tt_gemm *g)
{
    for (int64_t i = 0; i < g->m; i += SLAB)
        for (int64_t j = 0; j < g->n; j += SLAB)
            for (int64_t k = 0; k < g->k; k += KC) {
                struct gemm_slab s = {.i = i, .j = j, .k = k, .m = smaller(SLAB, g->m - i),
                                      .n = smaller(SLAB, g->n - j), .K = smaller(KC, g->k - k), .a = team->scratch};
                s.b = s.a + round_up(s.m, MR) * s.K;
                gemm_pack(team, g, &s);
                gemm_multiply(team, g, &s);
            }
}

/* ---- either ---- */

static bool gemm_shares(const struct tt_gemm *g) { return PACK_SHARED && g->batch == 1; }

static size_t gemm_scratch(const struct tt_gemm *g, int threads)
{
    if (!gemm_shares(g)) return (PACKED_M + PACKED_N) * KC;
    int64_t lines = round_up(smaller(SLAB, g->m), MR) + round_up(smaller(SLAB, g->n), NR);
    return (size_t)divide_up(lines * smaller(KC, g->k), threads);
}

static void gemm_builtin(const struct cpu_team *team, const struct tt_gemm *g)
{
    (gemm_shares(g) ? gemm_shared : gemm_apart)(team, g);
}

#endif
