/* fp32 products on the matrix units of x86 (AMX, in Xeons since Sapphire Rapids). These multiply bf16 and sum in fp32.
 * So every factor is split into three bf16, x = h + m + l, each with 8 of its 24 bits, and the product is
 * h·h + h·m + m·h + m·m + h·l + l·h. The omitted terms are about 2^-25 of the product, less than the rounding of fp32.
 * These six products take less time than one on the vector units. An infinite factor gives NaN, and factors below
 * 2^-110 lose bits, because the units treat subnormal numbers as 0.
 *
 * For each run of k, A and B are split and packed into panels of two tiles; then each task computes one block of C.
 * Runs depend only on the shape, and blocks only divide the work, so the bits do not depend on the number of
 * threads. */
#include <immintrin.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/kernels/parallel.h"

enum {
    SIDE = 16,            /* rows of a tile, and dwords in a row */
    DEEP = 32,            /* k of a tile: two bf16 in each dword */
    PANEL = 2 * SIDE,     /* rows of A, or columns of B, that are multiplied at a time */
    SPLIT = 3 * 2 * SIDE, /* rows of a packed panel for each DEEP of k: h, m and l of two tiles */
    BLOCK_MOST = 4,       /* panels of A and of B that make a block of C: they fit into L2 */
    PACK_MOST = 8,        /* panels that are packed by one task */
    TASKS = 2,            /* at least, for each thread */
    RUN_LEAST = 128, RUN_MOST = 512, RUN_BYTES = 32 << 20, /* k of A and B that are packed at a time; their bytes */
};

typedef __m512i packed; /* one row of a tile */

static int64_t panels_of(int64_t lines) { return divide_up(lines, PANEL); }

static int64_t run_of(const struct tt_gemm *g)
{
    int64_t least = (panels_of(g->m) + panels_of(g->n)) * (RUN_LEAST / DEEP) * SPLIT * (int64_t)sizeof(packed);
    return smaller(larger(RUN_BYTES / least, 1) * RUN_LEAST, smaller(RUN_MOST, round_up(g->k, DEEP)));
}

size_t tt_cpu_amx_bytes(const struct tt_gemm *g)
{
    return (size_t)((panels_of(g->m) + panels_of(g->n)) * (run_of(g) / DEEP) * SPLIT) * sizeof(packed);
}

/* For small products, packing and two rounds of tasks cost more than they save; batches consist of small ones. */
bool tt_cpu_amx_can(const struct tt_gemm *g)
{
    return g->batch == 1 && smaller(g->m, g->n) >= 2 * PANEL && g->k >= DEEP && g->m * g->n * g->k >= 1 << 24;
}

/* ---- packing ---- */

/* A (m,k) or Bᵀ (n,k), one of whose strides is 1. */
struct source {
    const float *p;
    int64_t lines, line, step; /* rows of A or columns of B; the strides of those and of k */
    float factor;
    bool by_k; /* a row of its tiles is a k, as the units want B; else it is a line, as they want A */
};

/* Loads a square of SIDE x SIDE, of which only `rows` x `cols` exist; the rest becomes 0. */
static void load_square(__m512 *v, const float *x, int64_t ld, int64_t rows, int64_t cols)
{
    __mmask16 there = (__mmask16)(cols >= SIDE ? 0xffff : cols <= 0 ? 0 : (1 << cols) - 1);
    for (int64_t i = 0; i < SIDE; i++) v[i] = _mm512_maskz_loadu_ps(i < rows ? there : 0, x + i * ld);
}

/* Transposes a square. */
static void turn(__m512 *v)
{
    __m512 a[SIDE];
    for (int i = 0; i < SIDE; i += 2) {
        a[i] = _mm512_unpacklo_ps(v[i], v[i + 1]);
        a[i + 1] = _mm512_unpackhi_ps(v[i], v[i + 1]);
    }
    for (int i = 0; i < SIDE; i += 4) {
        v[i] = _mm512_shuffle_ps(a[i], a[i + 2], 0x44);
        v[i + 1] = _mm512_shuffle_ps(a[i], a[i + 2], 0xee);
        v[i + 2] = _mm512_shuffle_ps(a[i + 1], a[i + 3], 0x44);
        v[i + 3] = _mm512_shuffle_ps(a[i + 1], a[i + 3], 0xee);
    }
    for (int i = 0; i < 4; i++) {
        a[i] = _mm512_shuffle_f32x4(v[i], v[i + 4], 0x88);
        a[i + 4] = _mm512_shuffle_f32x4(v[i], v[i + 4], 0xdd);
        a[i + 8] = _mm512_shuffle_f32x4(v[i + 8], v[i + 12], 0x88);
        a[i + 12] = _mm512_shuffle_f32x4(v[i + 8], v[i + 12], 0xdd);
    }
    for (int i = 0; i < 8; i++) {
        v[i] = _mm512_shuffle_f32x4(a[i], a[i + 8], 0x88);
        v[i + 8] = _mm512_shuffle_f32x4(a[i], a[i + 8], 0xdd);
    }
}

/* The bf16 nearest to each number, in the upper half of its dword: the same value as a float. */
static inline __m512i nearest(__m512 x)
{
    __m512i bits = _mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000));
    return _mm512_and_si512(bits, _mm512_set1_epi32((int)0xffff0000));
}

/* Splits a and b into h, m and l, 2·SIDE rows apart: a in the low halves of the dwords, b in the high ones. */
static inline void split(__m512 a, __m512 b, packed *out)
{
    for (int part = 0; part < 2; part++) {
        __m512i na = nearest(a), nb = nearest(b);
        out[part * 2 * SIDE] = _mm512_or_si512(_mm512_srli_epi32(na, 16), nb);
        a = _mm512_sub_ps(a, _mm512_castsi512_ps(na)); /* exact */
        b = _mm512_sub_ps(b, _mm512_castsi512_ps(nb));
    }
    /* At most 8 bits are left, so nothing is cut off. NaN stays NaN, even if rounding it above gave a number. */
    __m512i high = _mm512_and_si512(_mm512_castps_si512(b), _mm512_set1_epi32((int)0xffff0000));
    out[2 * 2 * SIDE] = _mm512_or_si512(_mm512_srli_epi32(_mm512_castps_si512(a), 16), high);
}

/* Packs DEEP values of k, of which K exist, for SIDE lines from `line` on. Each dword of a tile holds two values of k.
 * In A and in B these are k and k + SIDE, which need not be shuffled. */
static void pack_tile(const struct source *s, int64_t line, int64_t k, int64_t K, packed *out)
{
    const float *x = s->p + line * s->line + k * s->step;
    int64_t lines = s->lines - line;
    bool contiguous_k = s->step == 1;
    __m512 low[SIDE], high[SIDE], factor = _mm512_set1_ps(s->factor);
    if (contiguous_k) {
        load_square(low, x, s->line, lines, K);
        load_square(high, x + SIDE, s->line, lines, K - SIDE);
    } else {
        load_square(low, x, s->step, K, lines);
        load_square(high, x + SIDE * s->step, s->step, K - SIDE, lines);
    }
    if (contiguous_k == s->by_k) {
        turn(low);
        turn(high);
    }
    for (int i = 0; i < SIDE; i++) split(factor * low[i], factor * high[i], out + i);
}

/* Packs up to `most` panels, in the order in which the source lies in memory: reading 128 bytes of a row at a time
 * takes twice as long. */
static void pack_panels(const struct source *s, int64_t first, int64_t most, int64_t from, int64_t to, packed *out)
{
    int64_t depth = divide_up(to - from, DEEP), panels = smaller(most, panels_of(s->lines) - first);
    for (int64_t i = 0; i < panels * depth; i++) {
        int64_t panel = first + (s->step == 1 ? i / depth : i % panels), k = s->step == 1 ? i % depth : i / panels;
        packed *at = out + (panel * depth + k) * SPLIT;
        for (int tile = 0; tile < 2; tile++)
            pack_tile(s, panel * PANEL + tile * SIDE, from + k * DEEP, to - from - k * DEEP, at + tile * SIDE);
    }
}

/* ---- multiplying ---- */

/* The operand of _tile_loadconfig. */
struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

/* Tiles 0 to 3 are C, 4 and 5 are A, 6 and 7 are B. */
static inline void load_a(const packed *tiles)
{
    _tile_loadd(4, tiles, 64);
    _tile_loadd(5, tiles + SIDE, 64);
}

static inline void load_b(const packed *tiles)
{
    _tile_loadd(6, tiles, 64);
    _tile_loadd(7, tiles + SIDE, 64);
}

static inline void multiply_tiles(void)
{
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
}

/* C (PANEL, PANEL) = a panel of A times one of B. Each product shares a factor with the one before it, which stays in
 * its tiles. */
static void multiply_panels(int64_t depth, const packed *a, const packed *b, float *c, int64_t ldc, bool add)
{
    enum { H = 0, M = 2 * SIDE, L = 4 * SIDE };
    size_t row = (size_t)ldc * sizeof *c;
    float *below = c + SIDE * ldc;
    for (int64_t i = 0; i < PANEL; i++) {
        __builtin_prefetch(c + i * ldc, 1);
        __builtin_prefetch(c + i * ldc + SIDE, 1);
    }
    if (add) {
        _tile_loadd(0, c, row);
        _tile_loadd(1, c + SIDE, row);
        _tile_loadd(2, below, row);
        _tile_loadd(3, below + SIDE, row);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    for (int64_t k = 0; k < depth; k += DEEP, a += SPLIT, b += SPLIT) {
        load_a(a + L);
        load_b(b + H);
        multiply_tiles();
        load_a(a + M);
        multiply_tiles();
        load_b(b + M);
        multiply_tiles();
        load_a(a + H);
        multiply_tiles();
        load_b(b + L);
        multiply_tiles();
        load_b(b + H);
        multiply_tiles();
    }
    _tile_stored(0, c, row);
    _tile_stored(1, c + SIDE, row);
    _tile_stored(2, below, row);
    _tile_stored(3, below + SIDE, row);
}

/* The same where C ends inside the panels. */
static void multiply_edge(int64_t depth, const packed *a, const packed *b, float *c, int64_t ldc, int64_t rows,
                          int64_t cols, bool add)
{
    float whole[PANEL * PANEL] __attribute__((aligned(64)));
    multiply_panels(depth, a, b, whole, PANEL, false);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) c[i * ldc + j] = whole[i * PANEL + j] + (add ? c[i * ldc + j] : 0);
}

struct product {
    const struct tt_gemm *g;
    const packed *a, *b; /* their packed panels */
    int64_t run, from;   /* k that are packed, and the first of them */
    int64_t block;       /* panels of A and of B in a block of C */
};

static void multiply_block(const struct product *p, int64_t panel_i, int64_t panel_j)
{
    const struct tt_gemm *g = p->g;
    int64_t size = p->run / DEEP * SPLIT; /* of a packed panel */
    bool add = p->from > 0 || g->beta != 0;
    for (int64_t pj = panel_j; pj < smaller(panel_j + p->block, panels_of(g->n)); pj++)
        for (int64_t pi = panel_i; pi < smaller(panel_i + p->block, panels_of(g->m)); pi++) {
            const packed *a = p->a + pi * size, *b = p->b + pj * size;
            int64_t i = pi * PANEL, j = pj * PANEL, rows = smaller(PANEL, g->m - i), cols = smaller(PANEL, g->n - j);
            float *c = (float *)g->c + i * g->ldc + j;
            if (rows == PANEL && cols == PANEL)
                multiply_panels(p->run, a, b, c, g->ldc, add);
            else
                multiply_edge(p->run, a, b, c, g->ldc, rows, cols, add);
        }
}

static void begin_tiles(void)
{
    struct tile_config config = {.palette = 1};
    for (int i = 0; i < 8; i++) config.row_bytes[i] = 64, config.rows[i] = SIDE;
    __asm__ volatile("" : : "r"(&config) : "memory"); /* gcc 12 assumes that loadconfig reads only 8 bytes */
    _tile_loadconfig(&config);
}

static void scale_c(const struct cpu_team *team, const struct tt_gemm *g)
{
    PARALLEL_FOR(team, g->m * g->n)
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) ((float *)g->c)[i * g->ldc + j] *= g->beta;
}

static void pack_both(const struct cpu_team *team, const struct product *p, int64_t to, packed *a, packed *b)
{
    const struct tt_gemm *g = p->g;
    struct source of_a = {g->a, g->m, g->trans_a ? 1 : g->lda, g->trans_a ? g->lda : 1, g->alpha, false};
    struct source of_b = {g->b, g->n, g->trans_b ? g->ldb : 1, g->trans_b ? 1 : g->ldb, 1.0f, true};
    int64_t panels_a = panels_of(g->m), panels_b = panels_of(g->n), each = PACK_MOST;
    while (each > 1 && panels_a + panels_b < TASKS * team->threads * each) each /= 2;
    int64_t tasks_a = divide_up(panels_a, each), tasks_b = divide_up(panels_b, each);
    PARALLEL_FOR_UNEVEN(team, (g->m + g->n) * p->run)
    for (int64_t t = 0; t < tasks_a + tasks_b; t++) {
        if (t < tasks_a)
            pack_panels(&of_a, t * each, each, p->from, to, a);
        else
            pack_panels(&of_b, (t - tasks_a) * each, each, p->from, to, b);
    }
}

static void multiply(const struct cpu_team *team, const struct product *p)
{
    const struct tt_gemm *g = p->g;
    int64_t columns = divide_up(panels_of(g->n), p->block), rows = divide_up(panels_of(g->m), p->block);
    PARALLEL_FOR_UNEVEN(team, g->m * g->n * p->run / 16)
    for (int64_t t = 0; t < rows * columns; t++) {
        begin_tiles();
        multiply_block(p, t / columns * p->block, t % columns * p->block);
        _tile_release(); /* so that the system need not save them */
    }
}

void tt_cpu_amx_gemm(const struct cpu_team *team, const struct tt_gemm *g, void *room)
{
    int64_t panels_a = panels_of(g->m), panels_b = panels_of(g->n), most = run_of(g), block = BLOCK_MOST;
    while (block > 1 && panels_a * panels_b < TASKS * team->threads * block * block) block /= 2;
    if (g->beta != 0 && g->beta != 1) scale_c(team, g);
    for (int64_t from = 0; from < g->k; from += most) {
        int64_t to = smaller(from + most, g->k), run = round_up(to - from, DEEP);
        packed *a = room, *b = a + panels_a * (run / DEEP * SPLIT);
        struct product p = {g, a, b, run, from, block};
        pack_both(team, &p, to, a, b);
        multiply(team, &p);
    }
}
