/* Causal attention without S×S, forward: online softmax over tiles of keys.
 *
 * Queries are in the SIMD lanes. A panel is NR queries of one head, stored as (D, NR). The scores of a tile of keys
 * against it are (keys, NR). This layout suits the softmax, whose maximum and sum run over the keys in each lane, and
 * the second product, which takes it as its right operand: O (D, NR) = V^T · P. A task is all panels of one key/value
 * head over a range of queries, so that a tile of K and V is loaded once for all query heads that share it. */
#ifndef TT_CPU_FLASH_H
#define TT_CPU_FLASH_H

#include "backend/cpu/kernels/tile.h"

/* The default tile. */
enum {
    FLASH_KEYS = 64,     /* in a tile */
    FLASH_QUERIES = 256, /* in a task, of all heads that share keys; at least one panel of each */
};

static int64_t flash_queries_per_head(const struct tt_flash_args *a)
{
    int64_t G = a->heads / a->kv_heads, usual = larger(FLASH_QUERIES / G, 1);
    return round_up(smaller(a->S, a->tile.rows ? a->tile.rows : usual), NR);
}

static int64_t flash_keys(const struct tt_flash_args *a)
{
    return a->tile.cols ? smaller(a->S, a->tile.cols) : FLASH_KEYS;
}

struct flash_panel {
    float *q, *o;       /* (D, NR): scale·Q, and the output before it is divided by the sum */
    float *top, *sum;   /* (NR): running maximum and sum of each query */
    int64_t head, first; /* its head, its first query */
    int64_t begin;       /* the first tile of keys that one of its queries sees */
};

static size_t flash_panel_floats(int64_t D) { return (size_t)(2 * D + 2) * NR; }

static size_t flash_scratch(const struct tt_flash_args *a)
{
    int64_t G = a->heads / a->kv_heads, panels = G * flash_queries_per_head(a) / NR, keys = flash_keys(a);
    return (size_t)panels * flash_panel_floats(a->D) + (size_t)(2 * keys * a->D + (keys + 1) * NR);
}

static struct flash_panel flash_panel_at(float *scratch, int64_t index, int64_t D)
{
    float *p = scratch + (size_t)index * flash_panel_floats(D);
    return (struct flash_panel){.q = p, .o = p + D * NR, .top = p + 2 * D * NR, .sum = p + (2 * D + 1) * NR};
}

/* The first tile of keys that a query or one after it sees. */
static inline int64_t flash_begin(const int32_t *starts, int64_t b, int64_t S, int64_t query, int64_t tile)
{
    return starts ? starts[b * S + query] / tile * tile : 0;
}

/* Loads the queries of the panel, scaled and transposed; those beyond the end of the sequence are 0. A query whose
 * document starts after the first tile of its panel sees no key there, but its maximum must still be finite. */
static void flash_panel_start(const struct tt_flash_args *a, int64_t b, const struct flash_panel *p)
{
    int64_t n = smaller(NR, a->S - p->first);
    const float *q = (const float *)a->q + (b * a->S + p->first) * a->ld + p->head * a->D;
    if (n < NR) row_zero(p->q, a->D * NR);
    transpose(p->q, NR, q, a->ld, n, a->D, a->scale);
    for (int l = 0; l < NR; l++) p->top[l] = a->starts ? -FLT_MAX : -INFINITY;
    row_zero(p->sum, NR);
}

static void flash_panel_end(const struct tt_flash_args *a, int64_t b, const struct flash_panel *p)
{
    int64_t n = smaller(NR, a->S - p->first), row = b * a->S + p->first;
    float inverse[NR];
    for (int l = 0; l < NR; l++) inverse[l] = 1.0f / p->sum[l];
    for (int64_t d = 0; d < a->D; d++) {
        SIMD
        for (int l = 0; l < NR; l++) p->o[d * NR + l] *= inverse[l];
    }
    transpose((float *)a->o + (row * a->heads + p->head) * a->D, a->heads * a->D, p->o, NR, a->D, n, 1.0f);
    float *lse = a->lse + (b * a->heads + p->head) * a->S + p->first;
    for (int64_t l = 0; l < n; l++) lse[l] = p->top[l] + logf(p->sum[l]);
}

/* Scores become e^(score - maximum) with the new running maximum. `correction` gets the factors that earlier sums and
 * outputs need. */
static void flash_softmax(float *scores, int64_t keys, const struct flash_panel *p, float *correction)
{
    vec top[NV], sum[NV];
    UNROLL for (int v = 0; v < NV; v++) {
        top[v] = load(p->top + v * LANES);
        sum[v] = (vec){0};
    }
    for (int64_t j = 0; j < keys; j++)
        UNROLL for (int v = 0; v < NV; v++) top[v] = larger_of(load(scores + j * NR + v * LANES), top[v]);
    for (int64_t j = 0; j < keys; j++)
        UNROLL for (int v = 0; v < NV; v++) {
            vec e = exp_most_vec(load(scores + j * NR + v * LANES) - top[v]);
            store(scores + j * NR + v * LANES, e);
            sum[v] += e;
        }
    UNROLL for (int v = 0; v < NV; v++) {
        vec factor = exp_most_vec(load(p->top + v * LANES) - top[v]);
        store(correction + v * LANES, factor);
        store(p->sum + v * LANES, load(p->sum + v * LANES) * factor + sum[v]);
        store(p->top + v * LANES, top[v]);
    }
}

/* Hides the keys before the document of each query of the panel; `starts` is that of its sequence. */
static void flash_hide_before(const struct flash_panel *p, const int32_t *starts, int64_t S, int64_t first_key,
                              int64_t keys, float *scores)
{
    int64_t n = smaller(NR, S - p->first);
    for (int64_t l = 0; l < n; l++) {
        int64_t hidden = smaller(keys, starts[p->first + l] - first_key);
        for (int64_t j = 0; j < hidden; j++) scores[j * NR + l] = -INFINITY;
    }
}

/* A tile of keys first_key .. first_key+count, against one panel. `starts`: of the sequence, or NULL. */
static void flash_panel_keys(const struct flash_panel *p, const float *k, const float *v, int64_t first_key,
                             int64_t count, int64_t S, int64_t D, const int32_t *starts, float *scores,
                             float *correction)
{
    if (first_key < p->begin) return;
    int64_t keys = smaller(count, p->first + NR - first_key); /* no query of the panel sees later ones */
    if (keys <= 0) return;
    for (int64_t j = 0; j < keys; j += MR)
        tile(smaller(MR, keys - j), D, (struct tile_a){k + j * D, D, 1}, p->q, NR, scores + j * NR, NR, TILE_ZERO,
             NULL);
    for (int64_t j = larger(0, p->first + 1 - first_key); j < keys; j++)
        for (int64_t l = 0; l < first_key + j - p->first; l++) scores[j * NR + l] = -INFINITY;
    if (starts) flash_hide_before(p, starts, S, first_key, keys, scores);
    flash_softmax(scores, keys, p, correction);
    for (int64_t d = 0; d < D; d += MR)
        tile(smaller(MR, D - d), keys, (struct tile_a){v + d, 1, D}, scores, NR, p->o + d * NR, NR,
             first_key > p->begin ? TILE_RESCALE : TILE_ZERO, correction);
}

static void flash_task(const struct tt_flash_args *a, int64_t b, int64_t kv, int64_t from, int64_t to, float *scratch)
{
    int64_t D = a->D, G = a->heads / a->kv_heads, per_head = divide_up(to - from, NR), panels = G * per_head;
    int64_t keys = flash_keys(a);
    float *k = scratch + (size_t)panels * flash_panel_floats(D), *v = k + keys * D;
    float *scores = v + keys * D, *correction = scores + keys * NR;
    const float *k_rows = (const float *)a->k + b * a->S * a->ld + kv * D;
    const float *v_rows = (const float *)a->v + b * a->S * a->ld + kv * D;
    const int32_t *starts = a->starts ? a->starts + b * a->S : NULL;
    struct flash_panel p;
#define EACH_PANEL(i)                                                                              \
    for (int64_t i = 0; i < panels && (p = flash_panel_at(scratch, i, D), p.head = kv * G + i / per_head, \
                                       p.first = from + i % per_head * NR,                        \
                                       p.begin = flash_begin(a->starts, b, a->S, p.first, keys), true); i++)

    EACH_PANEL(i) flash_panel_start(a, b, &p);
    for (int64_t key = flash_begin(a->starts, b, a->S, from, keys); key < to; key += keys) {
        int64_t count = smaller(keys, to - key);
        for (int64_t j = 0; j < count; j++) { /* packed: rows at a stride of a power of two conflict in the cache */
            row_copy(k + j * D, k_rows + (key + j) * a->ld, D);
            row_copy(v + j * D, v_rows + (key + j) * a->ld, D);
        }
        EACH_PANEL(i) flash_panel_keys(&p, k, v, key, count, a->S, D, starts, scores, correction);
    }
    EACH_PANEL(i) flash_panel_end(a, b, &p);
#undef EACH_PANEL
}

static void flash_codes(const struct cpu_team *team, const struct tt_flash_args *a)
{
    int64_t width = a->heads * a->D;
    float inverse = tt_fp8_inverse(*a->code_scale);
    PARALLEL_FOR(team, a->B * a->S * width)
    for (int64_t row = 0; row < a->B * a->S; row++)
        for (int64_t i = row * width; i < (row + 1) * width; i++)
            a->codes[i] = tt_fp8_code(((const float *)a->o)[i], inverse, a->to);
}

static void k_flash(const struct cpu_team *team, const struct tt_flash_args *a)
{
    int64_t run = flash_queries_per_head(a), runs = divide_up(a->S, run);
    PARALLEL_FOR_UNEVEN(team, a->B * a->heads * a->S * a->S)
    for (int64_t t = 0; t < a->B * a->kv_heads * runs; t++) {
        int64_t unit = t % (a->B * a->kv_heads), from = (runs - 1 - t / (a->B * a->kv_heads)) * run; /* longest first */
        flash_task(a, unit / a->kv_heads, unit % a->kv_heads, from, smaller(a->S, from + run), thread_scratch(team));
    }
    raise_amax(team, a->amax, a->o, a->B * a->S * a->heads * a->D);
    if (a->codes) flash_codes(team, a);
}

#endif
