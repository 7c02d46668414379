/* The arguments of attention's kernels, with their formulas: with S×S in memory, and without it. Part of kernels.h,
 * which explains the letters. */
#ifndef TT_KERNELS_ATTENTION_H
#define TT_KERNELS_ATTENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/types.h"

/* ---- attention with S×S in memory; "heads" layout is (B, heads, S, D) ---- */

/* out (B, heads, S, D) = x, a view of T rows of heads·D. */
struct tt_heads_split_args {
    enum tt_dtype dtype;
    const void *x;
    void *out;
    int64_t B, S, heads, D, ldx;
};

/* out, a view of T rows of heads·D, = x (B, heads, S, D). */
struct tt_heads_merge_args {
    enum tt_dtype dtype;
    const void *x;
    void *out;
    int64_t B, S, heads, D, ldo;
};

/* rope on q and k and split of q, k, v in one pass; qkv has T rows of (heads + 2·kv_heads)·D. */
struct tt_rope_split_args {
    enum tt_dtype dtype;
    const void *qkv;
    const float *cos, *sin;
    void *q, *k, *v; /* (B, heads, S, D), (B, kv_heads, S, D) twice */
    int64_t B, S, heads, kv_heads, D;
};

/* Its backward: dqkv from dq, dk, dv. */
struct tt_rope_merge_args {
    enum tt_dtype dtype;
    const void *dq, *dk, *dv;
    const float *cos, *sin;
    void *dqkv;
    int64_t B, S, heads, kv_heads, D;
};

/* out (B, H, n) = x (B, KV, n), each repeated G times; n = S·D. */
struct tt_repeat_kv_args {
    enum tt_dtype dtype;
    const void *x;
    void *out;
    int64_t B, heads, kv_heads, n;
};

/* dx (B, KV, n) = sum of the G repeats in dy (B, H, n). */
struct tt_repeat_kv_backward_args {
    enum tt_dtype dtype;
    const void *dy;
    void *dx;
    int64_t B, heads, kv_heads, n;
};

/* x[i,j] = -inf where query i does not see key j: where j > i, and with `starts` where j < starts[i]. x is
 * (count, S, S).
 *
 * `starts` of document_bounds, here and below, keeps attention inside documents; NULL: there is one document in a row.
 * It is (count / heads, S); without it `heads` is not used. */
struct tt_causal_mask_args {
    enum tt_dtype dtype;
    void *x;
    const int32_t *starts; /* or NULL */
    int64_t count, S, heads;
};

/* Each row of x becomes its softmax; -inf gives 0. */
struct tt_softmax_args {
    enum tt_dtype dtype;
    void *x;
    int64_t rows, cols;
};

/* dx = y·(dy - sum(dy·y)), row by row; dx may be dy. */
struct tt_softmax_backward_args {
    enum tt_dtype dtype;
    const void *y, *dy;
    void *dx;
    int64_t rows, cols;
};

/* x = softmax(scale·x) over the keys that query i sees and 0 elsewhere; x is (count, S, S). Keys that it does not see
 * are not read. */
struct tt_causal_softmax_args {
    enum tt_dtype dtype;
    void *x;
    const int32_t *starts; /* or NULL */
    int64_t count, S, heads;
    float scale;
};

/* dx = scale · the softmax backward, 0 for keys that the query does not see; dx may be dy. */
struct tt_causal_softmax_backward_args {
    enum tt_dtype dtype;
    const void *y, *dy;
    void *dx;
    const int32_t *starts; /* or NULL */
    int64_t count, S, heads;
    float scale;
};

/* ---- attention without S×S ---- q, k, v are views of T rows with distance ld (one packed qkv, usually), o has T rows
 * of H·D. Query head h uses key/value head h/G. lse[b,h,i] = log sum_j exp(scale·q·k) over the keys that query i sees:
 * j <= i, and with `starts` (B, S) of document_bounds, those of its document alone: j >= starts[b,i].
 *
 * A finite key or value has no effect on queries before it. A NaN or infinite one can have an effect: within a tile,
 * masked elements are multiplied by 0, which gives NaN (attention with S×S in memory does the same). So a bad value may
 * reach o, and a bad key may reach dq, of earlier queries in the same tile. A bad key never reaches their o and lse, a
 * bad value never their dq. From its own position on, it reaches every query, and through them the gradients of all
 * keys and values that these see. With `starts`, queries after its document are like those before it.
 *
 * The first query of a sequence, and with `starts` of a document, sees only one key, so its dq and its contribution to
 * dk are exactly 0. */

enum { TT_GPU_FLASH_HEAD = 256 }; /* the largest head dimension of the GPU kernels */

/* The tile of flash attention: queries (rows) x keys (cols); 0 = chosen by the device. Always 0 on a GPU, whose tiles
 * are compiled in. */
struct tt_flash_tile {
    int32_t rows, cols;
};

struct tt_flash_args {
    enum tt_dtype dtype;
    const void *q, *k, *v;
    void *o;
    float *lse;  /* (B, H, S) */
    float *amax; /* of o (kernels_fp8.h), or NULL */
    enum tt_dtype to;        /* with codes: TT_E4M3 or TT_E4M3_FNUZ */
    const float *code_scale; /* with codes */
    uint8_t *codes;          /* (T, H·D) or NULL: also the codes of o, as fp8_cast makes them */
    int64_t B, S, heads, kv_heads, D, ld;
    float scale;
    bool tf32; /* with fp32: inputs of products may be rounded to tf32 */
    struct tt_flash_tile tile;
    const int32_t *starts; /* (B, S) or NULL */
};

/* dq, dk, dv (views with distance ld) from do; probabilities are recomputed from q, k and lse. delta (B, H, S) is
 * scratch: the row sums of do·o. With cos and sin (both or neither), dq and dk are rotated back at the end, as rope
 * with `inverse` does.
 *
 * With codes, the results are the 8-bit codes of the rows dq|dk|dv, as fp8_cast makes them: as they are and transposed.
 * dq, dk and dv must then be neighbours in memory, and are scratch. With o_codes, the transposed codes of o are made
 * too, as o is read. */
struct tt_flash_backward_args {
    enum tt_dtype dtype;
    const void *q, *k, *v, *o, *dout;
    const float *lse, *cos, *sin;
    float *delta;
    void *dq, *dk, *dv;
    float *amax; /* of dq, dk and dv together, or NULL */
    enum tt_dtype to;        /* with codes: TT_E5M2 or TT_E5M2_FNUZ */
    const float *code_scale; /* with codes */
    uint8_t *codes;          /* (T, (H + 2·KV)·D) or NULL */
    uint8_t *transposed;     /* ((H + 2·KV)·D, T), with codes */
    enum tt_dtype o_to;      /* with o_codes: TT_E4M3 or TT_E4M3_FNUZ */
    const float *o_scale;    /* with o_codes */
    uint8_t *o_codes;        /* (H·D, T): codes of o, transposed; or NULL */
    int64_t B, S, heads, kv_heads, D, ld;
    float scale;
    bool tf32;                 /* as above */
    struct tt_flash_tile tile; /* only cols is used: tiles are cols x cols */
    const int32_t *starts, *ends; /* (B, S) each, or both NULL */
};

#endif
