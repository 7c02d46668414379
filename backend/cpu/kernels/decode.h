/* Text generation: products of a few rows with a large matrix, attention of new tokens over a cache of keys and values,
 * and the choice of the next tokens. */
#ifndef TT_CPU_DECODE_H
#define TT_CPU_DECODE_H

#include "core/base/sample.h"

/* ---- rows times a matrix: bound by the memory bandwidth for the matrix ---- */

/* Rows of x and of W that are multiplied at a time. A row of x times one of W is summed in the same order in every
 * tile. */
enum { LINEAR_X = 4, LINEAR_W = 4, LINEAR_ALONE = 8, LINEAR_PIECE = 32 };

/* s[r][j] = x row r · w row j, for R rows of x and N of w. */
INLINE void linear_tile(float s[][LINEAR_ALONE], const float *x, const float *w, int64_t K, const int R, const int N)
{
    vec sum[LINEAR_X][LINEAR_ALONE] = {{{0}}};
    int64_t k = 0;
    for (; k + LANES <= K; k += LANES) {
        vec row[LINEAR_ALONE];
        for (int j = 0; j < N; j++) row[j] = load(w + j * K + k);
        for (int r = 0; r < R; r++) {
            vec y = load(x + r * K + k);
            for (int j = 0; j < N; j++) sum[r][j] += y * row[j];
        }
    }
    for (int r = 0; r < R; r++)
        for (int j = 0; j < N; j++) {
            s[r][j] = lanes_sum(sum[r][j]);
            for (int64_t i = k; i < K; i++) s[r][j] += x[r * K + i] * w[j * K + i];
        }
}

/* s (rows, n) = x (rows, K) · w (n, K)ᵀ with n up to LINEAR_PIECE. */
static void linear_piece(float *s, const float *x, const float *w, int64_t rows, int64_t n, int64_t K)
{
    float t[LINEAR_X][LINEAR_ALONE];
    for (int64_t r = 0, R; r < rows; r += R) {
        R = rows - r >= LINEAR_X ? LINEAR_X : 1;
        for (int64_t j = 0, N; j < n; j += N) {
            N = R > 1 ? (n - j >= LINEAR_W ? LINEAR_W : 1) : (n - j >= LINEAR_ALONE ? LINEAR_ALONE : 1);
            const float *a = x + r * K, *b = w + j * K;
            if (R > 1 && N > 1) linear_tile(t, a, b, K, LINEAR_X, LINEAR_W);
            else if (R > 1) linear_tile(t, a, b, K, LINEAR_X, 1);
            else if (N > 1) linear_tile(t, a, b, K, 1, LINEAR_ALONE);
            else linear_tile(t, a, b, K, 1, 1);
            for (int64_t p = 0; p < R; p++)
                for (int64_t q = 0; q < N; q++) s[(r + p) * LINEAR_PIECE + j + q] = t[p][q];
        }
    }
}

static size_t rows_linear_scratch(const struct tt_rows_linear_args *a)
{
    return a->norm ? (size_t)(smaller(a->rows, TT_ROWS_AT_ONCE) * a->in) : 0;
}

/* The rows of x times the norm's weight; factor[r] = 1/sqrt(mean(x²) + eps) is applied to the results. Without a norm,
 * x itself and 1. */
static const float *linear_normed(const struct cpu_team *team, const struct tt_rows_linear_args *a, const float *x,
                                  int64_t rows, float *factor)
{
    for (int64_t r = 0; r < rows; r++) {
        factor[r] = 1;
        if (!a->norm) continue;
        const float *from = x + r * a->in, *norm = a->norm;
        float *to = team->scratch + r * a->in;
        factor[r] = 1.0f / sqrtf((float)(row_dot(from, from, a->in) / (double)a->in) + a->eps);
        SIMD
        for (int64_t i = 0; i < a->in; i++) to[i] = from[i] * norm[i];
    }
    return a->norm ? team->scratch : x;
}

static void linear_some(const struct cpu_team *team, const struct tt_rows_linear_args *a, int64_t first, int64_t rows)
{
    float factor[TT_ROWS_AT_ONCE];
    const float *x = linear_normed(team, a, (const float *)a->x + first * a->in, rows, factor), *w = a->w;
    PARALLEL_FOR(team, rows * a->out * a->in / 4)
    for (int64_t j = 0; j < a->out; j += LINEAR_PIECE) {
        float s[TT_ROWS_AT_ONCE * LINEAR_PIECE], up[TT_ROWS_AT_ONCE * LINEAR_PIECE];
        int64_t n = smaller(LINEAR_PIECE, a->out - j);
        linear_piece(s, x, w + j * a->in, rows, n, a->in);
        if (a->gated) linear_piece(up, x, w + (a->out + j) * a->in, rows, n, a->in);
        for (int64_t r = 0; r < rows; r++) {
            float *y = (float *)a->y + (first + r) * a->out + j;
            const float *plus = a->residual ? (const float *)a->residual + (first + r) * a->out + j : NULL;
            for (int64_t i = 0; i < n; i++) {
                float value = s[r * LINEAR_PIECE + i] * factor[r];
                if (a->gated) value = value * sigmoid(value) * (up[r * LINEAR_PIECE + i] * factor[r]);
                y[i] = plus ? value + plus[i] : value;
            }
        }
    }
}

static void k_rows_linear(const struct cpu_team *team, const struct tt_rows_linear_args *a)
{
    for (int64_t r = 0; r < a->rows; r += TT_ROWS_AT_ONCE)
        linear_some(team, a, r, smaller(TT_ROWS_AT_ONCE, a->rows - r));
}

/* ---- the cache ---- */

static void k_cache_fill(const struct cpu_team *team, const struct tt_cache_fill_args *a)
{
    int64_t width = a->kv_heads * a->D, begin = *a->sequence * a->length * width;
    PARALLEL_FOR(team, a->T * width)
    for (int64_t t = 0; t < a->T; t++) {
        row_copy((float *)a->k_cache + begin + t * width, (const float *)a->k + t * a->ld, width);
        row_copy((float *)a->v_cache + begin + t * width, (const float *)a->v + t * a->ld, width);
    }
}

/* One query head over n keys, TT_DECODE_KEYS at a time. When a larger score comes, the earlier sums are scaled down. */
static void decode_head(float *o, const float *q, const float *k, const float *v, int64_t n, int64_t D, int64_t width,
                        float scale)
{
    float top = -INFINITY, total = 0, p[TT_DECODE_KEYS];
    row_zero(o, D);
    for (int64_t from = 0; from < n; from += TT_DECODE_KEYS) {
        int64_t count = smaller(TT_DECODE_KEYS, n - from);
        for (int64_t j = 0; j < count; j++) p[j] = (float)row_dot(q, k + (from + j) * width, D);
        float most = row_max(p, count), before = top;
        top = most > top ? most : top;
        float shrink = before < top ? exp_most(scale * (before - top)) : 1.0f;
        total = total * shrink + (float)row_exp(p, p, count, top, scale);
        SIMD
        for (int64_t d = 0; d < D; d++) o[d] *= shrink;
        for (int64_t j = 0; j < count; j++) {
            SIMD
            for (int64_t d = 0; d < D; d++) o[d] += p[j] * v[(from + j) * width + d];
        }
    }
    SIMD
    for (int64_t d = 0; d < D; d++) o[d] /= total;
}

/* One key/value head of one row, and the query heads that share it. */
static void decode_group(const struct cpu_team *team, const struct tt_attention_decode_args *a, int64_t r, int64_t g)
{
    int64_t D = a->D, G = a->heads / a->kv_heads, width = a->kv_heads * D;
    int64_t pos = smaller(a->pos[r], a->length - 1), angle = pos * (D / 2), cache = r * a->length * width + g * D;
    const float *row = (const float *)a->qkv + r * (a->heads + 2 * a->kv_heads) * D;
    float *k = (float *)a->k_cache + cache, *v = (float *)a->v_cache + cache;
    rotate(k + pos * width, row + (a->heads + g) * D, a->cos + angle, a->sin + angle, D, 1.0f);
    row_copy(v + pos * width, row + (a->heads + a->kv_heads + g) * D, D);
    for (int64_t h = g * G; h < (g + 1) * G; h++) {
        float *q = thread_scratch(team), *o = (float *)a->o + (r * a->heads + h) * D;
        rotate(q, row + h * D, a->cos + angle, a->sin + angle, D, 1.0f);
        decode_head(o, q, k, v, pos + 1, D, width, a->scale);
    }
}

static void k_attention_decode(const struct cpu_team *team, const struct tt_attention_decode_args *a)
{
    int64_t work = 0;
    for (int64_t r = 0; r < a->rows; r++) work += a->heads * (a->pos[r] + 1) * a->D;
    PARALLEL_FOR(team, work)
    for (int64_t t = 0; t < a->rows * a->kv_heads; t++) decode_group(team, a, t / a->kv_heads, t % a->kv_heads);
}

/* ---- the next token ---- */

static void sample_row(const struct tt_sample_args *a, int64_t r)
{
    float *logits = a->logits + r * a->V;
    uint32_t *seen = a->seen + r * TT_SEEN_WORDS(a->V);
    struct tt_sampling how = {a->temperature, a->top_k, a->top_p, a->penalty};
    double u = (double)a->draws[r * a->length + a->pos[r]] * 0x1p-32;
    bool finite = true;
    for (int64_t i = 0; i < a->V; i++) finite &= isfinite(logits[i]) != 0;
    int32_t token = 0;
    if (finite) {
        if (a->penalty != 1) tt_penalise(logits, a->known, seen, a->penalty);
        token = tt_sample(logits, a->known, &how, u, (struct tt_candidate *)(a->work + 2 * r * a->V));
    }
    seen[token / 32] |= 1u << token % 32;
    a->tokens[2 * r] = token;
    a->chosen[r] = finite ? token : -1;
    if (a->pos[r] + 1 < a->length) a->pos[r]++;
}

static void k_sample(const struct cpu_team *team, const struct tt_sample_args *a)
{
    PARALLEL_FOR(team, a->rows * a->V)
    for (int64_t r = 0; r < a->rows; r++) sample_row(a, r);
}

#endif
