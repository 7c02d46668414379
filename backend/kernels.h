/* The argument struct of every kernel, with its formula; those of attention, text generation, 8-bit factors and the
 * optimiser have headers of their own. Plain C, shared by host code, tests and device code. The list of kernels with
 * their operands and costs is kernels.def.
 *
 * Letters: B sequences of S tokens, T = B·S rows, C hidden, H query heads of D, KV key/value heads, G = H/KV, F ffn, V
 * vocabulary. Pointers to void hold activations of `dtype`; pointers to float are always fp32. Matrices are row-major;
 * ld* is the distance between rows in elements, so that a kernel can work on a view. Where a kernel's output may be one
 * of its inputs, "in place" says so. An operand marked "or NULL" may be left out. */
#ifndef TT_KERNELS_H
#define TT_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/kernels_attention.h"
#include "backend/kernels_decode.h"
#include "backend/kernels_fp8.h"
#include "backend/kernels_optimizer.h"
#include "backend/run_state.h"
#include "core/base/types.h"

/* ---- the state of the run ---- */

/* step += 1; slot = (step-1) % slots; loss = ignored = 0; apply = 1; lr from the schedule: peak·step/warmup while
 * step <= warmup, then from peak to floor, which it reaches at step == total, constant beyond. The schedule counts
 * skipped steps too, so that it ends with the run. bias1 and bias2 count only updates (step - skipped), as the moments
 * do.
 * With `before`, the old state is first copied there, for the update that may still be due: the copy's apply = due.
 * Then due = 0. */
struct tt_step_begin_args {
    enum tt_dtype dtype;
    struct tt_state *state;
    struct tt_state *before; /* or NULL */
    struct tt_schedule schedule;
    int32_t slots;
    float beta1, beta2;
};

/* The gradient norm of the step, whether its update is made, and the factor on every gradient:
 *   - more = targets / (targets - ignored), at most `targets`, if targets were ignored, else 1. It turns means over all
 *     targets into means over the counted ones.
 *   - loss *= more; grad_norm = more · sqrt(sum of partial[0..count)) / loss_scale; used_scale = loss_scale.
 *   - apply = loss and norm are finite; skipped += !apply; due = apply if the update comes `late`, else 0.
 *   - clip = more · min(1, max_norm / norm) / loss_scale (max_norm <= 0: no clipping), 0 when !apply.
 *   - overflowed = the loss is finite, the norm is not, grow_after > 0 and loss_scale > 1.
 * With grow_after > 0, it then sets the next step's loss_scale. When !apply: half (at least 1), and good = 0. Else
 * good += 1, and when that reaches grow_after: twice (at most TT_LOSS_SCALE_MAX), and good = 0.
 *
 * With state->stops, a step that is neither finite nor overflowed sets stopped. From that step on, apply and clip are
 * 0, and skipped, loss_scale and good do not change: everything that a checkpoint holds stays as after the step
 * before. */
struct tt_clip_scale_args {
    enum tt_dtype dtype;
    struct tt_state *state;
    const float *partial;
    int64_t count;
    float max_norm;
    float targets;      /* in the step, over all ranks; 0: none is ignored */
    int32_t grow_after; /* 0: the loss scale is constant */
    int32_t late;       /* 1: this step's update is made later (tt_state.due) */
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
 * the one after it; base = tokens + (state ? state->slot·slot_stride : 0). A token that is ignored as a target is
 * stored as ~token, which is negative. */
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

/* Where the document of each token begins and ends in its row of S tokens: starts[b,i] is its first position, ends[b,i]
 * the position after its last. A document ends with the token `end`, which is its last one; the first document of a
 * row may have begun before the row, the last may end after it. Both arrays never decrease along a row. */
struct tt_document_bounds_args {
    enum tt_dtype dtype;
    const int32_t *tokens;
    const struct tt_state *state; /* or NULL */
    int32_t *starts, *ends;       /* (B, S) each; ends may be NULL */
    int64_t B, S, slot_stride;
    int32_t end;
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

/* out[r,c] = x[r,c] + w[c]; in place. */
struct tt_add_cols_args {
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
    void *y;   /* or NULL */
    float *rstd;
    float *amax; /* of y (kernels_fp8.h), or NULL */
    int64_t rows, cols;
    float eps;
};

/* dx = (dres ? dres : 0) + the gradient through the norm; dx may be dres. The gradient of the weight is left as `parts`
 * partial sums: partial[p,:] sums dy·x·rstd over the p-th run of ceil(rows/parts) rows. With `codes`, it also writes
 * the 8-bit codes of dx, as fp8_cast would make them: as they are and transposed. */
struct tt_rmsnorm_backward_args {
    enum tt_dtype dtype;
    enum tt_dtype to; /* of codes */
    const void *dy, *x, *weight;
    const float *rstd;
    const void *dres; /* or NULL */
    void *dx;
    float *partial; /* (parts, cols) */
    float *amax;    /* of dx (kernels_fp8.h), or NULL */
    const float *code_scale; /* with codes */
    uint8_t *codes;          /* (rows, cols) or NULL */
    uint8_t *transposed;     /* (cols, rows), with codes */
    int64_t rows, cols, parts;
};

/* Each head of D in x, in place: x · weight / sqrt(mean(x²) + eps). A row has `heads` heads of q, then `kv_heads` heads
 * of k; the rest of the row is not touched. */
struct tt_head_norm_args {
    enum tt_dtype dtype;
    void *x;                         /* (T, ld) */
    const void *q_weight, *k_weight; /* (D) */
    void *raw; /* (T, (heads + kv_heads)·D) copy of x's heads as they were, for the backward pass; or NULL */
    int64_t T, heads, kv_heads, D, ld;
    float eps;
};

/* The gradient through head_norm, in place. The gradients of the weights are left as `parts` partial sums: partial[p]
 * holds D sums for q_weight, then D for k_weight, over the p-th run of ceil(T/parts) rows. */
struct tt_head_norm_backward_args {
    enum tt_dtype dtype;
    void *dx;                        /* (T, ld) */
    const void *raw;                 /* (T, (heads + kv_heads)·D) */
    const void *q_weight, *k_weight; /* (D) */
    float *partial;                  /* (parts, 2·D) */
    int64_t T, heads, kv_heads, D, ld, parts;
    float eps;
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
 * A view x has T rows of `heads` heads of D; the position of row t is t % S. `inverse` rotates back, which is the
 * backward pass. */

/* In place on q (heads) and k (kv_heads), which share ld. */
struct tt_rope_args {
    enum tt_dtype dtype;
    void *q, *k;
    const float *cos, *sin;
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

/* ---- SwiGLU: gu has rows of gate (F) then up (F) ---- */

/* h = silu(gate)·up. */
struct tt_swiglu_args {
    enum tt_dtype dtype;
    const void *gu;
    void *h;
    float *amax; /* of h (kernels_fp8.h), or NULL */
    int64_t rows, F;
};

/* dgu from dh; also recomputes h, so that the forward pass need not keep it. dgu may be gu; h may be dh or NULL. If
 * only amax is wanted, dgu and h are both NULL. */
struct tt_swiglu_backward_args {
    enum tt_dtype dtype;
    const void *gu, *dh;
    void *dgu, *h;
    float *amax; /* of dgu (kernels_fp8.h), or NULL */
    int64_t rows, F;
};

/* ---- loss: the target of a token is the next one (see tt_embedding_args); the rows may be a part of the T tokens,
 * from row `first` on. A row whose target is ignored has the loss TT_NO_LOSS and a gradient of zeros ---- */

#define TT_NO_LOSS -1e30f /* no other loss is so small */

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

/* x[r, target(r)] -= 1; x[r,:] = 0 where the target is ignored. */
struct tt_sub_target_args {
    enum tt_dtype dtype;
    void *x;
    const int32_t *tokens;
    const struct tt_state *state; /* or NULL */
    int64_t rows, cols, first, S, slot_stride;
};

/* The five above in one, over rows that begin ldx apart: losses[r] (row r of these rows) and, with grad, x becomes
 * (softmax(x) - onehot)·factor·(state ? loss_scale : 1). Without grad x is not changed. The gradients of a row sum up
 * to 0 and only the target's is negative, so the target's has the largest magnitude, and amax needs only those. */
struct tt_cross_entropy_args {
    enum tt_dtype dtype;
    void *x; /* (rows, cols), ldx apart */
    const int32_t *tokens;
    const struct tt_state *state; /* or NULL */
    float *losses;
    float *amax; /* with grad (kernels_fp8.h), or NULL */
    int64_t rows, cols, ldx, first, S, slot_stride;
    float factor;
    bool grad;
};

/* Before a product that stores exponentials (TT_WITH_EXP), for cross-entropy: logits[r] = x[r,:] · w[target(r),:], the
 * shift of that row; infinity where the target is ignored, so that all exponentials of that row are 0. */
struct tt_target_logit_args {
    enum tt_dtype dtype;
    const void *x, *w; /* (rows, cols), (V, cols) */
    const int32_t *tokens;
    const struct tt_state *state; /* or NULL */
    float *logits;
    int64_t rows, cols, V, first, S, slot_stride;
};

/* After that product: x[r,c] = exp(logit - the target's logit), and sums (parts, rows) are partial sums of its rows.
 * With the sum of row r, losses[r] = log(sum), x[r, target(r)] = 1 - sum and scale[r] = factor·(state ? loss_scale : 1)
 * / sum, so that x·scale is the gradient. Where the target is ignored, losses[r] = TT_NO_LOSS and scale[r] = 0. */
struct tt_loss_of_sums_args {
    enum tt_dtype dtype;
    void *x; /* (rows, cols) */
    const int32_t *tokens;
    const struct tt_state *state; /* or NULL */
    const float *sums;
    float *losses, *scale;
    int64_t rows, cols, parts, first, S, slot_stride;
    float factor;
};

/* *out += factor · sum of the losses that are not TT_NO_LOSS; *ignored += how many are. */
struct tt_loss_sum_args {
    enum tt_dtype dtype;
    const float *losses;
    float *out, *ignored;
    int64_t n;
    float factor;
};

/* ---- the list ---- */

enum tt_kernel {
#define TT_KERNEL(name, flops, operands) TT_K_##name,
#include "backend/kernels.def"
#undef TT_KERNEL
    TT_KERNELS
};

#endif
