/* The words in which the versions write their plans. Shared by the files of model/, known to nobody else.
 *
 * B sequences of S tokens make T rows; C hidden, H query heads and KV key/value heads of size D, F ffn, V vocabulary,
 * P = (H + 2·KV)·D the width of a packed q|k|v row. */
#ifndef TT_BUILD_H
#define TT_BUILD_H

#include "core/base/sample.h"
#include "model/model.h"
#include "model/params.h"

/* The 8-bit codes of a matrix, in the forms that products take it, and their scale. */
struct factor {
    const uint8_t *codes, *transposed; /* NULL: not made */
    const float *scale;
};

struct build {
    struct tt_plan *p;
    const struct tt_model *m;
    const struct tt_config *c;
    bool train;      /* a backward pass follows */
    bool accumulate; /* it adds to the gradients instead of overwriting them */
    bool between;    /* it is a step between two choices of --update-every */
    bool late;       /* it makes the update of the step before, not its own */
    int64_t sequences; /* keys and values go to a cache of so many sequences; 0: there is none */
    const struct tt_sampling *how; /* the next tokens are chosen, of those below `known`; NULL: not */
    int64_t known;
    int64_t B, S, T, C, H, KV, D, F, V, P, positions;
    char *weights, *grads;        /* the arenas, or this rank's parts of them; weights in the activation type */
    struct bucket_acts *buckets;  /* of the parameters, in their order */
    float *master;                /* the weights the optimiser changes: the same arena in fp32, else one beside it */
    uint16_t *low;                /* or these halves of them (core/checkpoint/weights.h) */
    const int32_t *tokens;        /* B rows of S+1 */
    const struct tt_state *state; /* NULL: no slots */
    int64_t slot_stride;
    const int32_t *starts, *ends; /* (B, S) bounds of the tokens' documents; NULL: not needed */
    const float *cos, *sin; /* (positions, D/2) */
    float loss_factor;      /* 1 / tokens of the step */
    float *loss;            /* where the mean loss is summed up; after it, the number of targets that do not count */
    float *amax;            /* of this micro-batch, largest magnitudes of tensors; NULL: none yet */
    int64_t amax_used;
    struct factor head;     /* of this micro-batch, the head's weights in 8 bits; no codes: not yet */
    float *scales;          /* with --fp8-scaling delayed, in training: TT_X_SCALES (scales.h); else NULL */
};

/* A tensor, and its largest magnitude. */
struct measured {
    void *x;
    float *amax;        /* NULL: what writes the tensor does not take it */
    uint8_t *codes;     /* or: made with the tensor's scale of a history; x may not be in memory */
    uint8_t *transposed; /* of a gradient, with codes */
    const float *scale;  /* the same */
    const float *rstd;  /* or: the tensor is x·rstd·weight, and not in memory */
    const void *weight;
};

/* What a norm leaves for its backward pass. */
struct norm_acts {
    void *x;    /* (T, C) the residual stream it normalised */
    void *y;    /* (T, C) result; NULL: only its codes are made */
    float *amax; /* of y, as in struct measured */
    bool cast;   /* products take its codes, made of x, rstd and weight: y need not be in memory */
    const void *weight;
    void *xhat; /* (T, C) before the weight; only when in single steps */
    float *rstd; /* (T) */
};

/* What a product with 8-bit factors leaves for its backward pass (bundle.c). */
struct fp8_acts {
    const uint8_t *x; /* (in, rows) the codes of its input, transposed; NULL: to be made again */
    const float *x_scale, *w_scale;
};

struct attention_acts {
    void *qkv;                 /* (T, P) */
    void *raw;                 /* (T, (H + KV)·D) q and k before their norms */
    struct norm_acts head_norm[2]; /* the same in single steps, of q and of k: T·H or T·KV rows of D */
    void *q, *k, *v;           /* (B, H or KV, S, D) */
    void *k_all, *v_all;       /* repeated to H heads; k, v themselves when not */
    void *prob;                /* (B, H, S, S) */
    float *lse;                /* (B, H, S), flash */
    void *o;                   /* (T, H·D) */
    float *amax, *d_amax;      /* of o and of dqkv, or NULL; flash */
    uint8_t *codes;            /* of o besides, made with its scale of a history; or NULL */
    const float *code_scale;
    uint8_t *o_codes;          /* of o, transposed, made by the backward pass; or NULL */
    const float *o_scale;
    uint8_t *d_codes, *d_transposed; /* in the place of dqkv, made with its scale of a history; or NULL */
    const float *d_scale;
};

struct ffn_acts {
    void *gu;   /* (T, 2F) */
    void *silu; /* (T, F) only when in single steps */
    void *h;    /* (T, F) */
    uint8_t *codes; /* or these of it, forward */
    float *amax, *d_amax; /* of h, and of the gradient of gu, as in struct measured */
};

struct block_acts {
    struct norm_acts norm1, norm2;
    struct attention_acts attn;
    struct ffn_acts ffn;
    struct fp8_acts qkv, out, gate_up, down; /* of the products with these weights */
};

/* A whole bucket, where each rank keeps only its part of it. NULL: not gathered at present. */
struct bucket_acts {
    void *weights;
    float *grads; /* of this micro-batch */
};

/* The residual stream between operations: x, and what is still to be added to it (or NULL). */
struct residual {
    void *x, *delta;
};

/* ---- build.c: buffers, views and matrix products ---- */

static inline bool fused(const struct build *b, enum tt_fusion f) { return b->m->fuse[f]; }

void *activation(struct build *b, const char *name, int64_t rows, int64_t cols);
float *floats(struct build *b, const char *name, int64_t n);
void *view(const struct build *b, const void *base, int64_t elements); /* base + elements of the activation type */
void *weight(struct build *b, enum tt_weight w);                       /* of the plan's current layer */
float *gradient(struct build *b, enum tt_weight w);

/* y (rows, out), of that type, = x (rows, in) · Wᵀ, W stored (out, in); ld* are row distances. */
void linear(struct build *b, const void *x, const void *w, void *y, enum tt_dtype type, int64_t rows, int64_t in,
            int64_t out, int64_t ldy);
/* y (rows, out) = from + x·Wᵀ. */
void linear_add(struct build *b, const void *x, const void *w, const void *from, void *y, int64_t rows, int64_t in,
                int64_t out);
/* qkv (T, P) = x (T, C)·Wᵀ with q and k rotated. */
void linear_rope(struct build *b, const void *x, const void *w, void *qkv);
/* y (rows, out) = exp(x·Wᵀ - shift of the row), and its sums, as tt_gemm_exp has them. */
void linear_exp(struct build *b, const void *x, const void *w, const float *shift, void *y, float *sums, int64_t rows,
                int64_t in, int64_t out);
/* dx (rows, in) = dy·W (+ dx when add). */
void linear_dx(struct build *b, const void *dy, int64_t lddy, const void *w, void *dx, int64_t rows, int64_t in,
               int64_t out, bool add);
/* dW (out, in) = dyᵀ·x (+ dW when add). */
void linear_dw(struct build *b, const void *dy, int64_t lddy, const void *x, float *dw, int64_t rows, int64_t in,
               int64_t out, bool add);
/* gu (rows, 2F) = x (rows, in)·Wᵀ and h (rows, F) of it; and dh (rows, F) = dy (rows, out)·W, which is not kept: gu
 * becomes its gradient, and h is computed again. As SwiGLU's kernels after the products alone. */
void linear_swiglu(struct build *b, const void *x, const void *w, void *gu, void *h, int64_t rows, int64_t in,
                   int64_t F);
void linear_dx_swiglu(struct build *b, const void *dy, const void *w, void *gu, void *h, int64_t rows, int64_t F,
                      int64_t out);
/* C (m, n) = op(A)·op(B) for `batch` matrices that follow each other in memory. */
void batched(struct build *b, const void *a, bool trans_a, const void *bb, bool trans_b, void *c, int64_t batch,
             int64_t m, int64_t n, int64_t k);
/* Operations in between go to the side stream when they have few enough FLOPs (fusion overlap). */
void begin_side_stream(struct build *b, double flops);
void end_side_stream(struct build *b);

/* ---- bundle.c: products with weights, of any precision ---- */

/* One matrix, or several that are adjacent in the arena and whose results are adjacent in a row: as one product, or as
 * one each. */
struct bundle {
    int n;
    enum tt_weight w[3];
    int64_t out[3];
    int64_t rows, in, width; /* of the input; how far rows of the output are apart: the sum of out, or more */
    bool whole;
    bool in_floats; /* the output, of one matrix, whatever activations are */
};

/* Whether its factors are 8-bit. */
bool bundle_in_fp8(const struct build *b, const struct bundle *s);

/* Whether each row of an 8-bit factor has a scale of its own. */
bool scaled_by_rows(const struct build *b);

/* Where the largest magnitude of a tensor goes that this bundle multiplies, forward or backward; 0 before. NULL if its
 * factors are not 8-bit, or if what writes the tensor is in single steps without this fusion. */
float *amax_for(struct build *b, const struct bundle *s, enum tt_fusion writer);

/* y (rows, width) = x (rows, in)·Wᵀ. `again`: the backward pass has x once more, so nothing of it is kept. */
void bundle_forward(struct build *b, const struct bundle *s, struct measured x, bool again, void *y,
                    struct fp8_acts *kept);

/* dy (rows, width) as a factor of both products of the backward pass. */
struct output_gradient {
    const void *dy;
    const uint8_t *codes, *transposed; /* of 8-bit products */
    const float *scale;
};
struct output_gradient output_gradient(struct build *b, const struct bundle *s, struct measured dy);
/* dx (rows, in) = dy·W, and dW = dyᵀ·x (+ dW when add); or both. */
void bundle_dx(struct build *b, const struct bundle *s, const struct output_gradient *d, const struct fp8_acts *kept,
               void *dx);
void bundle_dw(struct build *b, const struct bundle *s, const struct output_gradient *d, const void *x,
               const struct fp8_acts *kept, bool add);
void bundle_backward(struct build *b, const struct bundle *s, const struct output_gradient *d, const void *x,
                     const struct fp8_acts *kept, void *dx);
/* What attention is to make of its output for 8-bit products: codes, where a history has their scale, or the largest
 * magnitude. */
void attention_codes(struct build *b, struct attention_acts *a, const struct bundle *out);
/* Whether its backward pass, which reads the output, makes the transposed codes of it: `kept` has them after that. */
bool attention_makes_input(struct build *b, struct attention_acts *a, const struct bundle *out, struct fp8_acts *kept);
/* What its backward pass is to make of the gradient of q, k and v, if it ends with that: codes alone, or the largest
 * magnitude; and that gradient then, where dqkv is it in memory if there are no codes. */
void attention_codes_backward(struct build *b, struct attention_acts *a, const struct bundle *qkv, bool ends);
struct output_gradient attention_gradient(struct build *b, const struct attention_acts *a, const struct bundle *qkv,
                                          void *dqkv);
/* SwiGLU whose result is codes alone, where a history has their scale: true when done. */
bool swiglu_codes(struct build *b, struct ffn_acts *f, const struct bundle *down);
/* The gradient of gate and up from that of h, of which only codes are made, and h once more, into the one that `kept`
 * has of the down projection. */
struct output_gradient swiglu_codes_backward(struct build *b, struct ffn_acts *f, const void *dh,
                                             const struct bundle *gate_up, struct fp8_acts *kept);
/* What a norm's backward pass is to make of the gradient of the residual stream for the bundle of a layer that
 * multiplies it next (NULL: none does): codes besides, where a history has their scale, or the largest magnitude. */
void residual_codes(struct build *b, struct measured *dr, const struct bundle *user, int layer);
/* The end of a step: this step's magnitudes become a part of the history. */
void record_scales(struct build *b);

/* ---- ranks.c: what several ranks do together; with one, nothing ---- */

/* All weights of a bucket, and all its gradients of this micro-batch, where each rank keeps only its part. */
void *whole_weights(struct build *b, int bucket);
float *whole_gradients(struct build *b, int bucket);
/* The gathered weights are not needed any more; the next use gathers them again. */
void drop_weights(struct build *b, int bucket);
void drop_all(struct build *b); /* and gradients: the next micro-batch begins without any */
/* Around a layer: weights are gathered a bucket ahead, and dropped when their last layer is done. */
void enter_layer(struct build *b, int layer, int direction);
void leave_layer(struct build *b, int layer, int direction);
/* The gradients of a bucket are complete: sum them up over the ranks. */
void sum_bucket(struct build *b, int bucket);
/* The same for the layer's bucket when this was its last layer. */
void sum_layer(struct build *b, int layer);
void sum_loss(struct build *b);
/* In rows of n, one of each rank: this rank's to the others. */
void gather_rows(struct build *b, float *rows, int64_t n);
/* Adds up the ranks' partial sums of squares, before they make a norm. */
void sum_partials(struct build *b, float *partial, int64_t count);

/* What the optimiser goes over at a time: the arena, or this rank's part of a bucket. */
struct slice {
    int bucket;
    int64_t first, n, decay_end; /* first: in the arena */
    float *grad, *w;             /* w: NULL with `low` */
    void *m, *v;                 /* floats, or bf16 (tt_params.moments) */
    void *copy;                  /* or NULL */
    uint16_t *low;               /* or NULL */
};

int slice_count(const struct build *b);
struct slice slice_of(struct build *b, int i);
/* That piece of the arena, when nothing is sharded. */
struct slice slice_at(struct build *b, int64_t offset, int64_t count);
/* The slice's weights are new: hand them to the other ranks, where those keep them all. */
void share_slice(struct build *b, const struct slice *s);

/* ---- one kernel per mathematical step (baseline.c), and fused (fused.c); same arguments, same result ---- */

void norm_steps(struct build *b, struct residual *r, enum tt_weight w, struct norm_acts *n);
void norm_fused(struct build *b, struct residual *r, enum tt_weight w, struct norm_acts *n);
/* dr (T, C) += the gradient through the norm of dy. */
void norm_steps_backward(struct build *b, const void *dy, const struct norm_acts *n, enum tt_weight w,
                         struct measured dr, bool first);
void norm_fused_backward(struct build *b, const void *dy, const struct norm_acts *n, enum tt_weight w,
                         struct measured dr, bool first);

/* Of each head of q and k, in place in packed rows. */
void head_norm_steps(struct build *b, struct attention_acts *a);
void head_norm_fused(struct build *b, struct attention_acts *a);
void head_norm_steps_backward(struct build *b, const struct attention_acts *a, void *dqkv);
void head_norm_fused_backward(struct build *b, const struct attention_acts *a, void *dqkv);

/* In place on the q and k of packed rows. */
void rope_steps(struct build *b, void *qkv, bool inverse);
void rope_fused(struct build *b, void *qkv);

/* qkv to o, and do to dqkv. */
void attention_steps(struct build *b, struct attention_acts *a);
void attention_fused(struct build *b, struct attention_acts *a);
void attention_flash(struct build *b, struct attention_acts *a);
void attention_steps_backward(struct build *b, const struct attention_acts *a, const void *dout, void *dqkv);
void attention_fused_backward(struct build *b, const struct attention_acts *a, const void *dout, void *dqkv);
void attention_flash_backward(struct build *b, const struct attention_acts *a, const void *dout, void *dqkv);
/* The parts that the first two share: heads apart and together again. */
void split_heads(struct build *b, struct attention_acts *a);
void merge_heads_backward(struct build *b, const void *dq, const void *dk, const void *dv, void *dqkv);

void swiglu_steps(struct build *b, struct ffn_acts *f);
void swiglu_fused(struct build *b, struct ffn_acts *f);
/* Returns dgu; f->h then is where h lies. */
void *swiglu_steps_backward(struct build *b, struct ffn_acts *f, void *dh);
void *swiglu_fused_backward(struct build *b, struct ffn_acts *f, void *dh);

/* Losses of `rows` rows of logits from row `first`; the gradient replaces the logits (the second half of it in the
 * backward phase when in single steps). */
void loss_steps(struct build *b, struct measured logits, float *losses, int64_t rows, int64_t first);
void loss_fused(struct build *b, struct measured logits, int64_t ldx, float *losses, int64_t rows, int64_t first);

/* fp16 alone scales its loss, and doubles the scale after so many good steps. */
static inline int32_t loss_scale_interval(const struct build *b) { return b->p->dtype == TT_F16 ? 1000 : 0; }

void optimizer_steps(struct build *b);
void optimizer_fused(struct build *b);
/* How many partial sums of squares each slice gives to the norm. */
static inline int64_t norm_partials(int slices) { return slices > 1 ? 256 : 1024; }

/* The norm of all gradients from their partial sums of squares, and the factor that clips them. */
void clip(struct build *b, const float *partial, int64_t count);
struct tt_adamw_args adamw_args(const struct build *b, const struct slice *s);

/* ---- late.c: the update apart from its step ---- */

/* That of the step before, whose state is `before`, beside the forward pass that follows. */
void update_before(struct build *b, const struct tt_state *before);
/* That of the last step, which has not made it. */
void update_now(struct build *b, struct tt_state *state);

/* ---- update.c: selective updates ---- */

void optimizer_chosen(struct build *b);

/* ---- block.c: the pieces chosen by the switches ---- */

/* `user` multiplies the result; of the gradient, that of this layer multiplies dr. NULL: no product does. */
void norm(struct build *b, struct residual *r, enum tt_weight w, struct norm_acts *n, const struct bundle *user);
struct measured normed(const struct norm_acts *n);
void norm_backward(struct build *b, const void *dy, const struct norm_acts *n, enum tt_weight w, struct measured *dr,
                   bool first, const struct bundle *user, int layer);
struct bundle down_bundle(const struct build *b);
/* What the projections of q, k and v are still without: biases and norms of heads, where the model has them. */
void finish_qkv(struct build *b, struct attention_acts *a);
void block_forward(struct build *b, struct residual *r, struct block_acts *a);
void block_backward(struct build *b, struct block_acts *a, struct measured *dr);
/* A block as far as its keys and values. */
void block_keys(struct build *b, struct residual *r, struct block_acts *a);

/* ---- decode.c ---- */

/* The keys and values of packed rows, rotated, into the cache of the sequence that TT_X_SEQUENCE says. */
void cache_fill(struct build *b, const void *qkv);
/* A block for one token of each sequence; returns its output. */
void *decode_block(struct build *b, void *x);
/* The last norm and the head, and the choice of the next tokens. */
void decode_head(struct build *b, void *x);

/* ---- head.c: the last norm's output to losses and back ---- */

/* Rows of a chunk; and the products of so many. */
int64_t head_rows(const struct build *b);
struct bundle head_bundle(const struct build *b, int64_t rows);
/* Writes losses; with train also dy and the head's gradient. */
void head_and_loss(struct build *b, struct measured y, void *dy);

#endif
