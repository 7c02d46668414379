/* The argument struct of every kernel, with its formula. Plain C, shared by host code, tests and device code. The list
 * of kernels with their operands and costs is kernels.def.
 *
 * Letters: B sequences of S tokens, T = B·S rows, C hidden, H query heads of D, KV key/value heads, G = H/KV, F ffn, V
 * vocabulary. Pointers to void hold activations of `dtype`; pointers to float are always fp32. Matrices are row-major;
 * ld* is the distance between rows in elements, so that a kernel can work on a view. Where a kernel's output may be one
 * of its inputs, "in place" says so. An operand marked "or NULL" may be left out. */
#ifndef TT_KERNELS_H
#define TT_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/run_state.h"
#include "core/base/types.h"

/* ---- the state of the run ---- */

/* step += 1; slot = (step-1) % slots; loss = 0; apply = 1; lr from the schedule: peak·step/warmup while step <= warmup,
 * then from peak to floor, which it reaches at step == total, constant beyond. The schedule counts skipped steps too,
 * so that it ends with the run. bias1 and bias2 count only updates (step - skipped), as the moments do. */
struct tt_step_begin_args {
    enum tt_dtype dtype;
    struct tt_state *state;
    struct tt_schedule schedule;
    int32_t slots;
    float beta1, beta2;
};

/* grad_norm = sqrt(sum of partial[0..count)) / loss_scale; apply = loss and norm are finite; clip = min(1, max_norm /
 * norm) / loss_scale (max_norm <= 0: no clipping), 0 when !apply, skipped += !apply; used_scale = loss_scale;
 * overflowed when the loss is finite, the norm is not, grow_after > 0 and loss_scale > 1. Then, with grow_after > 0,
 * the next step's loss_scale: half (at least 1) and good = 0 when !apply; else good += 1, and when that reaches
 * grow_after, twice (at most TT_LOSS_SCALE_MAX) and good = 0.
 * With stops, a step that is neither finite nor overflowed sets stopped. From that step on, apply and clip are 0, and
 * skipped, loss_scale and good do not change: everything that a checkpoint holds stays as after the step before. */
struct tt_clip_scale_args {
    enum tt_dtype dtype;
    struct tt_state *state;
    const float *partial;
    int64_t count;
    float max_norm;
    int32_t grow_after; /* 0: the loss scale is constant */
};

/* ring[(step-1) % entries] = this step's metrics. */
struct tt_record_args {
    enum tt_dtype dtype;
    const struct tt_state *state;
    struct tt_metrics *ring;
    int64_t entries;
};

/* ---- tokens ---- */

/* y[t,:] = weight[token(t),:]. Tokens are stored in rows of S+1: token(t) = base[(t/S)·(S+1) + t%S], and its target is
 * the one after it; base = tokens + (state ? state->slot·slot_stride : 0). */
struct tt_embedding_args {
    enum tt_dtype dtype;
    const int32_t *tokens;
    const struct tt_state *state; /* or NULL */
    const void *weight;           /* (V, C) */
    void *y;                      /* (T, C) */
    int64_t T, S, C, V, slot_stride;
};

/* dweight[token(t),:] += dy[t,:], always in the order of t. */
#define TT_EMBEDDING_WORK(T, V) (2 * ((T) + (V)) + 1024) /* ints */
struct tt_embedding_backward_args {
    enum tt_dtype dtype;
    const int32_t *tokens;
    const struct tt_state *state; /* or NULL */
    const void *dy;               /* (T, C) */
    float *dweight;               /* (V, C) */
    int32_t *work;                /* scratch for GPUs, which sort the tokens first */
    int64_t T, S, C, V, slot_stride;
};

/* ---- single operations, as an eager framework runs them ---- */

/* out = x + y; in place on either. */
struct tt_add_args {
    enum tt_dtype dtype;
    const void *x, *y;
    void *out;
    int64_t rows, cols, ldx, ldy, ldo;
};

/* out = x · y; in place on either. */
struct tt_mul_args {
    enum tt_dtype dtype;
    const void *x, *y;
    void *out;
    int64_t rows, cols, ldx, ldy, ldo;
};

/* x *= factor · (state ? loss_scale : 1). */
struct tt_scale_args {
    enum tt_dtype dtype;
    void *x;
    const struct tt_state *state; /* or NULL */
    int64_t n;
    float factor;
};

/* out = x in the activation type. */
struct tt_cast_args {
    enum tt_dtype dtype;
    const float *x;
    void *out;
    int64_t n;
};

/* x = 0. */
struct tt_zero_args {
    enum tt_dtype dtype;
    float *x;
    int64_t n;
};

/* out = x². */
struct tt_square_args {
    enum tt_dtype dtype;
    const void *x;
    void *out;
    int64_t n;
};

/* out[r] = factor · sum over the row of x (factor 1/cols makes it the mean). */
struct tt_row_sum_args {
    enum tt_dtype dtype;
    const void *x;
    float *out;
    int64_t rows, cols;
    float factor;
};

/* out[c] = (accumulate ? out[c] : 0) + sum over the column of x. */
struct tt_col_sum_args {
    enum tt_dtype dtype;
    const void *x;
    float *out;
    int64_t rows, cols;
    bool accumulate;
};

/* rstd = 1/sqrt(mean + eps). */
struct tt_rsqrt_args {
    enum tt_dtype dtype;
    const float *mean;
    float *rstd;
    int64_t n;
    float eps;
};

/* coef = -drstd · rstd³ / cols: the gradient of rstd(mean(x²)) with respect to x is coef · x. */
struct tt_rsqrt_backward_args {
    enum tt_dtype dtype;
    const float *drstd, *rstd;
    float *coef; /* may be drstd */
    int64_t n, cols;
};

/* out[r,c] = x[r,c] · s[r]; in place. */
struct tt_mul_rows_args {
    enum tt_dtype dtype;
    const void *x;
    const float *s; /* (rows) */
    void *out;
    int64_t rows, cols;
};

/* out[r,c] = x[r,c] · w[c]; in place. */
struct tt_mul_cols_args {
    enum tt_dtype dtype;
    const void *x, *w; /* w: (cols) */
    void *out;
    int64_t rows, cols;
};

/* out = silu(x) = x·sigmoid(x). */
struct tt_silu_args {
    enum tt_dtype dtype;
    const void *x;
    void *out;
    int64_t rows, cols, ldx, ldo;
};

/* dx = dy · silu'(x). */
struct tt_silu_backward_args {
    enum tt_dtype dtype;
    const void *x, *dy;
    void *dx; /* may be dy */
    int64_t rows, cols, ldx, lddy, lddx;
};

/* ---- RMSNorm ---- */

/* sum = x + delta (when delta is given); y = sum · rstd · weight with rstd = 1/sqrt(mean(sum²) + eps). */
struct tt_rmsnorm_args {
    enum tt_dtype dtype;
    const void *x, *delta; /* delta or NULL */
    const void *weight;
    void *sum; /* with delta; NULL without; may be x or delta */
    void *y;
    float *rstd;
    int64_t rows, cols;
    float eps;
};

/* dx = (dres ? dres : 0) + the gradient through the norm; dx may be dres. The gradient of the weight is left as `parts`
 * partial sums: partial[p,:] sums dy·x·rstd over the p-th run of ceil(rows/parts) rows. */
struct tt_rmsnorm_backward_args {
    enum tt_dtype dtype;
    const void *dy, *x, *weight;
    const float *rstd;
    const void *dres; /* or NULL */
    void *dx;
    float *partial; /* (parts, cols) */
    int64_t rows, cols, parts;
};

/* out[c] = (accumulate ? out[c] : 0) + sum over p of partial[p,c]. */
struct tt_reduce_parts_args {
    enum tt_dtype dtype;
    const float *partial; /* (parts, cols) */
    float *out;
    int64_t parts, cols;
    bool accumulate;
};

/* ---- RoPE: pairs (2i, 2i+1) of a head rotated by angle position·theta^(-2i/D); cos, sin are tables (S, D/2) ----
 * A view x has T rows of `heads` heads of D; the position of row t is t % S + (pos ? *pos : 0). `inverse` rotates back,
 * which is the backward pass. */

/* In place on q (heads) and k (kv_heads), which share ld. */
struct tt_rope_args {
    enum tt_dtype dtype;
    void *q, *k;
    const float *cos, *sin;
    const int32_t *pos; /* or NULL */
    int64_t T, S, heads, kv_heads, D, ld;
    bool inverse;
};

/* The same in the steps x·cos + rotate(x)·sin, rotate(a,b) = (-b,a). The inverse is x·cos + rotate_back(x·sin) with
 * rotate_back(a,b) = (b,-a), in the order the gradient needs. */
struct tt_rope_cos_args { /* out = x·cos */
    enum tt_dtype dtype;
    const void *x;
    void *out;
    const float *table;
    int64_t T, S, heads, D, ldx, ldo;
};
struct tt_rope_sin_args { /* out = x·sin; in place */
    enum tt_dtype dtype;
    const void *x;
    void *out;
    const float *table;
    int64_t T, S, heads, D, ldx, ldo;
};
struct tt_rope_rotate_args { /* out = rotate(x), or rotate_back with inverse; out is not x */
    enum tt_dtype dtype;
    const void *x;
    void *out;
    int64_t T, heads, D, ldx, ldo;
    bool inverse;
};

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

/* x[i,j] = -inf where j > i; x is (count, S, S). */
struct tt_causal_mask_args {
    enum tt_dtype dtype;
    void *x;
    int64_t count, S;
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

/* x = softmax(scale·x) over j <= i and 0 elsewhere; x is (count, S, S). Elements above the diagonal are not read. */
struct tt_causal_softmax_args {
    enum tt_dtype dtype;
    void *x;
    int64_t count, S;
    float scale;
};

/* dx = scale · the softmax backward, 0 above the diagonal; dx may be dy. */
struct tt_causal_softmax_backward_args {
    enum tt_dtype dtype;
    const void *y, *dy;
    void *dx;
    int64_t count, S;
    float scale;
};

/* ---- attention without S×S ---- q, k, v are views of T rows with distance ld (one packed qkv, usually), o has T rows
 * of H·D. Query head h uses key/value head h/G. lse[b,h,i] = log sum_j<=i exp(scale·q·k).
 *
 * A finite key or value has no effect on queries before it. A NaN or infinite one may have: within a tile, masked
 * elements are multiplied by 0, which gives NaN (attention with S×S in memory does the same). So a bad value may reach
 * o, and a bad key dq, of earlier queries in the same tile. A bad key never reaches their o and lse, a bad value never
 * their dq. From its own position on, it reaches every query, and through them the gradients of all keys and values
 * that these see.
 *
 * The first query of a sequence sees only one key, so its dq and its contribution to dk are exactly 0. */

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
    float *lse; /* (B, H, S) */
    int64_t B, S, heads, kv_heads, D, ld;
    float scale;
    bool tf32; /* with fp32: inputs of products may be rounded to tf32 */
    struct tt_flash_tile tile;
};

/* dq, dk, dv (views with distance ld) from do; probabilities are recomputed from q, k and lse. delta (B, H, S) is
 * scratch: the row sums of do·o. With cos and sin (both or neither), dq and dk are rotated back at the end, as rope
 * with `inverse` does. */
struct tt_flash_backward_args {
    enum tt_dtype dtype;
    const void *q, *k, *v, *o, *dout;
    const float *lse, *cos, *sin;
    float *delta;
    void *dq, *dk, *dv;
    int64_t B, S, heads, kv_heads, D, ld;
    float scale;
    bool tf32;                 /* as above */
    struct tt_flash_tile tile; /* only cols is used: tiles are cols x cols */
};

/* One new token of one sequence. cache_append: row *pos of the caches = k, v of qkv (one row); the caches are
 * (length, kv_heads·D). attention_decode: o (H·D) = attention of q over rows 0..*pos. */
struct tt_cache_append_args {
    enum tt_dtype dtype;
    const void *k, *v;
    void *k_cache, *v_cache;
    const int32_t *pos;
    int64_t kv_heads, D, length;
};
struct tt_attention_decode_args {
    enum tt_dtype dtype;
    const void *q, *k_cache, *v_cache;
    const int32_t *pos;
    void *o;
    float *scores; /* scratch (H, length) */
    int64_t heads, kv_heads, D, length;
    float scale;
};

/* ---- SwiGLU: gu has rows of gate (F) then up (F) ---- */

/* h = silu(gate)·up. */
struct tt_swiglu_args {
    enum tt_dtype dtype;
    const void *gu;
    void *h;
    int64_t rows, F;
};

/* dgu from dh; also recomputes h, so that the forward pass need not keep it. dgu may be gu; h may be dh or NULL. */
struct tt_swiglu_backward_args {
    enum tt_dtype dtype;
    const void *gu, *dh;
    void *dgu, *h;
    int64_t rows, F;
};

/* ---- loss: the target of a token is the next one (see tt_embedding_args); the rows may be a part of the T tokens,
 * from row `first` on ---- */

/* lse[r] = log sum exp of row r. */
struct tt_row_logsumexp_args {
    enum tt_dtype dtype;
    const void *x;
    float *lse;
    int64_t rows, cols;
};

/* x[r,:] -= s[r]. */
struct tt_sub_rows_args {
    enum tt_dtype dtype;
    void *x;
    const float *s;
    int64_t rows, cols;
};

/* losses[r] = -x[r, target(r)], x log-probabilities. */
struct tt_gather_nll_args {
    enum tt_dtype dtype;
    const void *x;
    const int32_t *tokens;
    const struct tt_state *state; /* or NULL */
    float *losses;
    int64_t rows, cols, first, S, slot_stride;
};

/* x = exp(x). */
struct tt_exp_args {
    enum tt_dtype dtype;
    void *x;
    int64_t n;
};

/* x[r, target(r)] -= 1. */
struct tt_sub_target_args {
    enum tt_dtype dtype;
    void *x;
    const int32_t *tokens;
    const struct tt_state *state; /* or NULL */
    int64_t rows, cols, first, S, slot_stride;
};

/* The five above in one: losses[r] (row r of these rows) and, with grad, x becomes (softmax(x) - onehot)·factor·(state
 * ? loss_scale : 1). Without grad x is not changed. */
struct tt_cross_entropy_args {
    enum tt_dtype dtype;
    void *x;
    const int32_t *tokens;
    const struct tt_state *state; /* or NULL */
    float *losses;
    int64_t rows, cols, first, S, slot_stride;
    float factor;
    bool grad;
};

/* *out += factor · sum of losses. */
struct tt_loss_sum_args {
    enum tt_dtype dtype;
    const float *losses;
    float *out;
    int64_t n;
    float factor;
};

/* ---- optimiser: AdamW with decoupled decay, clip and learning rate read from the state ---- */

/* partial[0..parts) = sums of squares of the p-th of `parts` equal runs of ceil(n/parts) elements. */
struct tt_sum_squares_args {
    enum tt_dtype dtype;
    const float *x;
    float *partial;
    int64_t n, parts;
};

/* The whole of it over the arena: g = clip·grad; m, v; w -= lr·(m/bias1 / (sqrt(v/bias2) + eps) + decay·w), decay only
 * for elements below decay_end; copy = w in the activation type. Nothing when !state->apply. With `low` there is no w:
 * copy, in bf16, and low are the two halves of a float (core/base/half.h), which are read and written instead. */
struct tt_adamw_args {
    enum tt_dtype dtype;
    const struct tt_state *state;
    float *w, *m, *v;
    const float *grad;
    void *copy;    /* or NULL */
    uint16_t *low; /* or NULL; GPUs only */
    int64_t n, decay_end;
    float beta1, beta2, eps, decay;
};

/* The same, a kernel per step and tensor; each does nothing when !state->apply. */
struct tt_clip_grad_args { /* g *= clip */
    enum tt_dtype dtype;
    const struct tt_state *state;
    float *g;
    int64_t n;
};
struct tt_adam_m_args { /* m = beta1·m + (1-beta1)·g */
    enum tt_dtype dtype;
    const struct tt_state *state;
    float *m;
    const float *g;
    int64_t n;
    float beta1;
};
struct tt_adam_v_args { /* v = beta2·v + (1-beta2)·g² */
    enum tt_dtype dtype;
    const struct tt_state *state;
    float *v;
    const float *g;
    int64_t n;
    float beta2;
};
struct tt_weight_decay_args { /* w -= lr·decay·w */
    enum tt_dtype dtype;
    const struct tt_state *state;
    float *w;
    int64_t n;
    float decay;
};
struct tt_adam_update_args { /* w -= lr·m/bias1 / (sqrt(v/bias2) + eps) */
    enum tt_dtype dtype;
    const struct tt_state *state;
    float *w;
    const float *m, *v;
    int64_t n;
    float eps;
};

/* ---- selective updates: the weights are divided into groups, and a step changes the chosen groups alone ---- */

/* `count` elements of one group from `begin` on. The spans of an array do not overlap and are sorted by begin. */
struct tt_update_span {
    int64_t begin;
    int32_t count, group;
};

/* What a group has seen. An array of them has one more behind the groups, which is that of the choice itself: choices
 * made so far, and the update of the latest. Updates are counted from 1, without the steps that were skipped. */
struct tt_update_group {
    int64_t updates, last; /* in how many it was chosen; the latest of those */
};

/* What AdamW needs to know of a group in this step. */
struct tt_update_step {
    int32_t chosen;
    float bias1, bias2; /* 1 - beta^t, t updates that its moments have seen */
    float keep1, keep2; /* factors on its moments before they see this one */
};

/* partial as sum_squares has it, to the same bits. From the same loads, square[s] = sum of squares of span s; those of
 * run p are first[p] .. first[p+1]-1, and none lies in two runs. */
struct tt_group_squares_args {
    enum tt_dtype dtype;
    const float *x;
    const struct tt_update_span *spans;
    const int32_t *first;   /* (parts + 1) */
    float *partial, *square; /* (parts), (count) */
    int64_t n, parts, count;
};

/* square[s] = sum of squares of span s. */
struct tt_span_squares_args {
    enum tt_dtype dtype;
    const void *x;
    const struct tt_update_span *spans;
    float *square;
    int64_t n, count;
};

/* sum[g] = sum of square[order[i]], begin[g] <= i < begin[g+1]. */
struct tt_group_sums_args {
    enum tt_dtype dtype;
    const float *square;  /* (count) */
    const int32_t *order; /* (count) */
    const int32_t *begin; /* (groups + 1) */
    float *sum;
    int64_t groups, count;
};

/* The `chosen` groups with the largest key, of equal ones those with the smallest index. The key is square[g] by
 * norm, square[g] / size[g] by rms, square[g] / max(weight_square[g], least normal float) relative to the weights (the
 * quotient in double, rounded to float), and the upper 31 bits of tt_random(seed, update, g) at random. A choice holds
 * for `every` updates; in those that follow it, the groups whose last update was the one before are chosen again.
 * group[g] counts the update, and steps[g] says what AdamW makes of it. With decays, moments are what they would be had
 * the group got gradients of 0 in the updates in between: keep = beta^(updates in between), bias that of all updates.
 * Else they are as the group's own last update left them: keep 1, bias that of the group's updates.
 * Bit g of choices[(step-1) % entries] (words of 32 bits, TT_CHOICE_WORDS of them) says whether g is chosen. When
 * !state->apply nothing is: no bit is set, and group stays as it is. */
enum tt_update_by { TT_BY_NORM, TT_BY_RMS, TT_BY_RELATIVE, TT_BY_RANDOM };
#define TT_CHOICE_WORDS(groups) (((groups) + 31) / 32)
struct tt_choose_groups_args {
    enum tt_dtype dtype;
    const struct tt_state *state;
    const float *square, *weight_square, *size; /* (groups); weight_square or NULL, size or NULL */
    struct tt_update_group *group;               /* (groups + 1) */
    struct tt_update_step *steps;                /* (groups) */
    uint32_t *choices;                          /* (entries, words) */
    uint32_t *keys;                             /* (groups) scratch */
    int64_t groups, chosen, every, entries;
    uint64_t seed;
    enum tt_update_by by;
    bool decays;
    float beta1, beta2;
};

/* adamw on the tiles of chosen groups, by steps[group]: m and v times keep first, then with the group's bias. Other
 * elements are neither read nor written. No tile has more than TT_UPDATE_TILE elements. */
enum { TT_UPDATE_TILE = 8192 };
struct tt_adamw_chosen_args {
    enum tt_dtype dtype;
    struct tt_adamw_args all;
    const struct tt_update_span *tiles;
    const struct tt_update_step *steps; /* (groups) */
    int64_t count, groups;
    int64_t expected; /* elements in chosen groups, if these are like the others: for the cost alone */
};

/* ---- the list ---- */

enum tt_kernel {
#define TT_KERNEL(name, flops, operands) TT_K_##name,
#include "backend/kernels.def"
#undef TT_KERNEL
    TT_KERNELS
};

#endif
