/* The arguments of the kernels that generate text, with their formulas. Part of kernels.h, which explains the letters.
 *
 * `rows` sequences grow by one token at a time. A row's results have the same bits whatever the other rows are, so a
 * prompt in a batch is continued as it would be alone. */
#ifndef TT_KERNELS_DECODE_H
#define TT_KERNELS_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/types.h"

/* y (rows, out) = x (rows, in) · Wᵀ, W stored (out, in) and read once for up to TT_ROWS_AT_ONCE rows.
 * norm: x is normalised first, x · norm / sqrt(mean(x²) + eps). residual: it is added to y, and may be y.
 * gated: W is two matrices, (out, in) each: y = silu(x·Wgateᵀ) · (x·Wupᵀ). */
enum { TT_ROWS_AT_ONCE = 16 };
struct tt_rows_linear_args {
    enum tt_dtype dtype, type_y; /* of y */
    const void *x, *w;
    const void *norm;     /* (in) or NULL */
    const void *residual; /* (rows, out), or NULL */
    void *y;
    int64_t rows, in, out;
    float eps;
    bool gated;
};

/* Row t of k and v (T rows with distance ld) becomes position t of sequence *sequence in the caches, which are
 * (sequences, length, kv_heads·D) each. */
struct tt_cache_fill_args {
    enum tt_dtype dtype;
    const void *k, *v;
    void *k_cache, *v_cache;
    const int32_t *sequence;
    int64_t T, kv_heads, D, ld, length;
};

/* The next token of each sequence, at position pos[row]: q and k are rotated, k and v written to the caches, and
 * o (rows, H·D) = attention of q over positions 0..pos[row]. Keys are taken TT_DECODE_KEYS at a time. */
enum { TT_DECODE_KEYS = 64 };
#define TT_DECODE_PARTS(length) (((length) + TT_DECODE_KEYS - 1) / TT_DECODE_KEYS)
struct tt_attention_decode_args {
    enum tt_dtype dtype;
    const void *qkv; /* (rows, (H + 2·KV)·D) */
    const float *cos, *sin;
    const int32_t *pos;
    void *k_cache, *v_cache; /* (rows, length, KV·D) */
    void *o;
    float *parts; /* scratch (rows, H, parts of `length`, D + 2), when there are several */
    int64_t rows, heads, kv_heads, D, length;
    float scale;
};

/* Chooses the next token of each row as core/base/sample.h says, and makes it the row's input: it becomes
 * tokens[row][0] and chosen[row], its bit in seen is set, and pos[row] += 1 (but stays below length). The draw is
 * draws[row][pos[row]]. If a logit is not finite, chosen[row] = -1 and the input is token 0. */
struct tt_sample_args {
    enum tt_dtype dtype;
    float *logits;         /* (rows, V); the penalty is applied in place */
    const uint32_t *draws; /* (rows, length): uniform */
    uint32_t *seen;        /* (rows, TT_SEEN_WORDS(V)): bit t is set if the row contains token t */
    uint32_t *work;        /* scratch (rows, 2·V) */
    int32_t *tokens;       /* (rows, 2) */
    int32_t *pos, *chosen; /* (rows) */
    int64_t rows, V, length;
    int64_t known; /* only tokens below this are chosen */
    int64_t top_k; /* 0: all */
    float temperature, top_p, penalty;
};
#define TT_SEEN_WORDS(V) (((V) + 31) / 32)

#endif
