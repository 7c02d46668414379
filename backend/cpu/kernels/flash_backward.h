/* Causal attention without S×S, backward: for each tile of keys and block of queries P is recomputed from q, k and lse,
 * then dP = dO·V^T, dS = scale·P·(dP - delta), dV += P^T·dO, dK += dS^T·Q, dQ += dS·K.
 *
 * In one pass, a task is a key/value head of a sequence, and it alone writes its dK, dV and the dQ of the query heads
 * that share it. That gives B·KV tasks. If they are too few for the threads, there are two passes instead: one task per
 * block of queries (dQ), then one per tile of keys (dK, dV); both compute P and dS. Either way each sum adds the same
 * terms in the same order, so the results have the same bits. */
#ifndef TT_CPU_FLASH_BACKWARD_H
#define TT_CPU_FLASH_BACKWARD_H

#include "backend/cpu/kernels/tile.h"

/* The default side of a tile. Tiles are square, so that both passes work on the same blocks. */
enum { BACK_SIDE = 64 };
_Static_assert(BACK_SIDE % NR == 0, "tiles of the flash backward pass are whole vectors");

static int64_t back_side(const struct tt_flash_backward_args *a)
{
    return a->tile.cols ? round_up(smaller(a->S, a->tile.cols), NR) : BACK_SIDE;
}

/* One tile of keys and one block of queries, in the scratch memory of a thread; N is the side of a tile, W is D rounded
 * up to NR. */
struct back {
    const struct tt_flash_backward_args *a;
    int64_t b, kv, N, W;
    int64_t key, keys;      /* the tile: first and count */
    int64_t query, queries; /* the block */
    float *kt, *vt;         /* (D, N): scale·K and V, transposed; 0 beyond the end */
    float *k, *dk, *dv;     /* (N, W) */
    float *q, *dout, *dq;   /* (N, W) */
    float *p, *ds;          /* (N, N) */
    const int32_t *starts, *ends; /* of the sequence, or NULL */
    bool to_keys, to_queries; /* which gradients this pass computes: dK and dV; dQ */
};

static size_t flash_backward_scratch(const struct tt_flash_backward_args *a)
{
    int64_t W = round_up(a->D, NR), N = back_side(a);
    return (size_t)(2 * a->D * N + 6 * N * W + 2 * N * N);
}

static struct back back_start(const struct tt_flash_backward_args *a, int64_t b, int64_t kv, float *s)
{
    struct back t = {.a = a, .b = b, .kv = kv, .N = back_side(a), .W = round_up(a->D, NR)};
    if (a->starts) t.starts = a->starts + b * a->S, t.ends = a->ends + b * a->S;
    t.kt = s;
    t.vt = t.kt + a->D * t.N;
    t.k = t.vt + a->D * t.N;
    t.dk = t.k + t.N * t.W;
    t.dv = t.dk + t.N * t.W;
    t.q = t.dv + t.N * t.W;
    t.dout = t.q + t.N * t.W;
    t.dq = t.dout + t.N * t.W;
    t.p = t.dq + t.N * t.W;
    t.ds = t.p + t.N * t.N;
    return t;
}

/* Copies rows of D, at a distance of ld, into rows of W, padded with 0. */
static void back_gather(float *out, const float *x, int64_t rows, int64_t ld, int64_t D, int64_t W)
{
    for (int64_t r = 0; r < rows; r++) {
        row_copy(out + r * W, x + r * ld, D);
        row_zero(out + r * W + D, W - D);
    }
}

/* Transposes rows of D, at a distance of ld, into D rows of N, padded with 0. */
static void back_transpose(float *out, int64_t N, const float *x, int64_t rows, int64_t ld, int64_t D, float factor)
{
    if (rows < N) row_zero(out, D * N);
    transpose(out, N, x, ld, rows, D, factor);
}

static void back_keys_begin(struct back *t)
{
    const struct tt_flash_backward_args *a = t->a;
    int64_t at = (t->b * a->S + t->key) * a->ld + t->kv * a->D;
    back_gather(t->k, (const float *)a->k + at, t->keys, a->ld, a->D, t->W);
    back_transpose(t->kt, t->N, t->k, t->keys, t->W, a->D, a->scale);
    back_transpose(t->vt, t->N, (const float *)a->v + at, t->keys, a->ld, a->D, 1.0f);
    if (!t->to_keys) return;
    row_zero(t->dk, t->N * t->W);
    row_zero(t->dv, t->N * t->W);
}

static void back_keys_end(const struct back *t)
{
    const struct tt_flash_backward_args *a = t->a;
    int64_t at = (t->b * a->S + t->key) * a->ld + t->kv * a->D;
    for (int64_t j = 0; j < t->keys; j++) {
        row_copy((float *)a->dk + at + j * a->ld, t->dk + j * t->W, a->D);
        row_copy((float *)a->dv + at + j * a->ld, t->dv + j * t->W, a->D);
    }
}

/* Keys that query row r of the block may see, within the tile. */
static inline int64_t back_visible(const struct back *t, int64_t r)
{
    return smaller(t->keys, t->query + r + 1 - t->key);
}

/* Number of keys of the tile before those that query row r sees; within a block it does not decrease with r. */
static inline int64_t back_hidden(const struct back *t, int64_t r)
{
    return t->starts ? larger(0, smaller(t->starts[t->query + r] - t->key, back_visible(t, r))) : 0;
}

/* Whether the query is the first of its sequence or document. It sees only the key at its own position. */
static inline bool back_first(const struct back *t, int64_t query)
{
    return t->starts ? t->starts[query] == query : query == 0;
}

/* out (queries, keys) = x · yt; tiles in which no query sees a key are left out. */
static void back_scores(const struct back *t, const float *x, const float *yt, float *out)
{
    for (int64_t r = 0; r < t->queries; r += MR) {
        int64_t rows = smaller(MR, t->queries - r), visible = back_visible(t, r + rows - 1);
        for (int64_t j = back_hidden(t, r) / NR * NR; j < visible; j += NR)
            tile(rows, t->a->D, (struct tile_a){x + r * t->W, t->W, 1}, yt + j, t->N, out + r * t->N + j,
                 t->N, TILE_ZERO, NULL);
    }
}

/* p: scores become probabilities; ds: dP becomes dS. Both are 0 where the query does not see the key. The first query
 * sees only one key, so its dS is set to exactly 0, instead of the rounding error of dP - delta. */
static void back_softmax(const struct back *t, const float *lse, const float *delta)
{
    float scale = t->a->scale;
    for (int64_t r = 0; r < t->queries; r++) {
        float *p = t->p + r * t->N, *ds = t->ds + r * t->N, l = lse[r], d = delta[r];
        int64_t n = back_visible(t, r), hidden = back_hidden(t, r);
        for (int64_t j = hidden / LANES * LANES; j < n; j += LANES) { /* whole vectors; the others become 0 below */
            vec e = exp_most_vec(load(p + j) - l);
            store(p + j, e);
            store(ds + j, scale * e * (load(ds + j) - d));
        }
        row_zero(p, hidden);
        row_zero(p + n, t->N - n);
        if (back_first(t, t->query + r)) n = 0;
        row_zero(ds, smaller(hidden, n));
        row_zero(ds + n, t->N - n);
    }
}

/* out (keys, W) += x^T · y with x (queries, keys), y (queries, W). */
static void back_to_keys(const struct back *t, const float *x, const float *y, float *out)
{
    for (int64_t j = 0; j < t->keys; j += MR) {
        int64_t first = larger(0, t->key + j - t->query); /* earlier queries do not see these keys */
        int64_t rows = smaller(MR, t->keys - j), end = t->queries;
        if (t->ends) end = smaller(end, t->ends[t->key + j + rows - 1] - t->query); /* nor do later documents */
        if (first >= t->queries) break;
        if (first >= end) continue;
        for (int64_t c = 0; c < t->W; c += NR)
            tile(rows, end - first, (struct tile_a){x + first * t->N + j, 1, t->N},
                 y + first * t->W + c, t->W, out + j * t->W + c, t->W, TILE_ADD, NULL);
    }
}

/* dq (queries, W) = ds · k. */
static void back_to_queries(const struct back *t)
{
    for (int64_t r = 0; r < t->queries; r += MR) {
        int64_t rows = smaller(MR, t->queries - r), from = back_hidden(t, r);
        for (int64_t c = 0; c < t->W; c += NR)
            tile(rows, back_visible(t, r + rows - 1) - from, (struct tile_a){t->ds + r * t->N + from, t->N, 1},
                 t->k + from * t->W + c, t->W, t->dq + r * t->W + c, t->W, TILE_ZERO, NULL);
    }
}

/* The first tile of keys that the block of queries sees. */
static inline int64_t back_begin(const struct back *t) { return t->starts ? t->starts[t->query] / t->N * t->N : 0; }

static void back_block(const struct back *t, int64_t head)
{
    const struct tt_flash_backward_args *a = t->a;
    int64_t D = a->D, row = t->b * a->S + t->query, stat = (t->b * a->heads + head) * a->S + t->query;
    back_gather(t->q, (const float *)a->q + row * a->ld + head * D, t->queries, a->ld, D, t->W);
    back_gather(t->dout, (const float *)a->dout + (row * a->heads + head) * D, t->queries, a->heads * D, D, t->W);
    back_scores(t, t->q, t->kt, t->p);
    back_scores(t, t->dout, t->vt, t->ds);
    back_softmax(t, a->lse + stat, a->delta + stat);
    if (t->to_keys) {
        back_to_keys(t, t->p, t->dout, t->dv);
        back_to_keys(t, t->ds, t->q, t->dk);
    }
    if (!t->to_queries) return;
    back_to_queries(t);
    for (int64_t r = 0; r < t->queries; r++) {
        float *dq = (float *)a->dq + (row + r) * a->ld + head * D;
        const float *part = t->dq + r * t->W;
        if (t->key == back_begin(t)) row_zero(dq, D); /* the first tile of keys for these queries, so dq starts here */
        SIMD
        for (int64_t d = 0; d < D; d++) dq[d] += part[d];
    }
}

/* The row sums of dO·O of the heads that share a key/value head, for some queries. */
static void back_delta(const struct tt_flash_backward_args *a, int64_t b, int64_t kv, int64_t from, int64_t to)
{
    int64_t G = a->heads / a->kv_heads;
    for (int64_t head = kv * G; head < (kv + 1) * G; head++)
        for (int64_t i = from; i < to; i++) {
            int64_t at = ((b * a->S + i) * a->heads + head) * a->D;
            a->delta[(b * a->heads + head) * a->S + i] =
                (float)row_dot((const float *)a->o + at, (const float *)a->dout + at, a->D);
        }
}

/* A tile of keys against the queries from .. to that see it. */
static void back_tile(struct back *t, int64_t key, int64_t from, int64_t to)
{
    const struct tt_flash_backward_args *a = t->a;
    int64_t G = a->heads / a->kv_heads;
    t->key = key;
    t->keys = smaller(t->N, a->S - key);
    back_keys_begin(t);
    for (int64_t head = t->kv * G; head < (t->kv + 1) * G; head++)
        for (t->query = larger(key, from); t->query < to; t->query += t->N) {
            if (key < back_begin(t)) break; /* nor do later queries see these keys */
            t->queries = smaller(t->N, to - t->query);
            back_block(t, head);
        }
    if (t->to_keys) back_keys_end(t);
}

static void back_one_walk(const struct cpu_team *team, const struct tt_flash_backward_args *a)
{
    PARALLEL_FOR_UNEVEN(team, a->B * a->heads * a->S * a->S)
    for (int64_t u = 0; u < a->B * a->kv_heads; u++) {
        struct back t = back_start(a, u / a->kv_heads, u % a->kv_heads, thread_scratch(team));
        t.to_keys = t.to_queries = true;
        back_delta(a, t.b, t.kv, 0, a->S);
        for (int64_t key = 0; key < a->S; key += t.N) back_tile(&t, key, 0, a->S);
    }
}

static void back_two_walks(const struct cpu_team *team, const struct tt_flash_backward_args *a)
{
    int64_t units = a->B * a->kv_heads, N = back_side(a), blocks = divide_up(a->S, N);
    PARALLEL_FOR_UNEVEN(team, a->B * a->heads * a->S * a->S)
    for (int64_t i = 0; i < units * blocks; i++) { /* longest tasks first: the last queries see the most keys */
        int64_t u = i % units, from = (blocks - 1 - i / units) * N, to = smaller(a->S, from + N);
        struct back t = back_start(a, u / a->kv_heads, u % a->kv_heads, thread_scratch(team));
        t.to_queries = true;
        back_delta(a, t.b, t.kv, from, to);
        t.query = from;
        for (int64_t key = back_begin(&t); key < to; key += N) back_tile(&t, key, from, to);
    }
    PARALLEL_FOR_UNEVEN(team, a->B * a->heads * a->S * a->S)
    for (int64_t i = 0; i < units * blocks; i++) { /* longest tasks first: the most queries see the first keys */
        int64_t u = i % units;
        struct back t = back_start(a, u / a->kv_heads, u % a->kv_heads, thread_scratch(team));
        t.to_keys = true;
        back_tile(&t, i / units * N, 0, a->S);
    }
}

static void back_codes(const struct cpu_team *team, const struct tt_flash_backward_args *a)
{
    int64_t T = a->B * a->S, width = a->heads * a->D, packed = (a->heads + 2 * a->kv_heads) * a->D;
    if (a->codes)
        k_fp8_cast(team, &(struct tt_fp8_cast_args){.to = a->to, .x = a->dq, .scale = a->code_scale, .out = a->codes,
                                                    .transposed = a->transposed, .rows = T, .cols = packed,
                                                    .ldx = a->ld});
    if (a->o_codes)
        k_fp8_cast(team, &(struct tt_fp8_cast_args){.to = a->o_to, .x = a->o, .scale = a->o_scale,
                                                    .transposed = a->o_codes, .rows = T, .cols = width, .ldx = width});
}

static void k_flash_backward(const struct cpu_team *team, const struct tt_flash_backward_args *a)
{
    /* One pass has five products, but threads may idle in its last round of tasks; two passes have seven products that
     * are shared evenly. */
    int64_t units = a->B * a->kv_heads, threads = threads_for(team, a->B * a->heads * a->S * a->S);
    if (5 * divide_up(units, threads) * threads <= 7 * units)
        back_one_walk(team, a);
    else
        back_two_walks(team, a);
    if (a->cos)
        k_rope(team, &(struct tt_rope_args){.dtype = a->dtype, .q = a->dq, .k = a->dk, .cos = a->cos, .sin = a->sin,
                                            .T = a->B * a->S, .S = a->S, .heads = a->heads, .kv_heads = a->kv_heads,
                                            .D = a->D, .ld = a->ld, .inverse = true});
    raise_amax_rows(team, a->amax, a->dq, a->B * a->S, a->heads * a->D, a->ld);
    raise_amax_rows(team, a->amax, a->dk, a->B * a->S, a->kv_heads * a->D, a->ld);
    raise_amax_rows(team, a->amax, a->dv, a->B * a->S, a->kv_heads * a->D, a->ld);
    back_codes(team, a);
}

#endif
