/* What the files of model/ share to write a plan: the state of a plan that is being written, and the functions that add
 * operations to it. For model/ alone.
 *
 * B sequences of S tokens make T rows; C hidden, H query heads and KV key/value heads of size D, F ffn, V vocabulary; a
 * packed q|k|v row is P = (H + 2·KV)·D wide. */
#ifndef TT_BUILD_H
#define TT_BUILD_H

#include "core/base/sample.h"
#include "model/model.h"
#include "model/params.h"

/* A matrix as a factor of 8-bit products: its codes, as they are and transposed, and their scale. */
struct factor {
    const uint8_t *codes, *transposed; /* NULL: not made */
    const float *scale;
};

struct build {
    struct tt_plan *p;
    const struct tt_model *m;
    const struct tt_config *c;
    bool train;      /* a backward pass follows */
    bool accumulate; /* the backward pass adds to the gradients instead of overwriting them */
    bool between;    /* the step is between two choices of --update-every */
    bool late;       /* the step makes the update that the previous one left, and leaves its own (late.c) */
    int64_t sequences; /* sequences in the cache of keys and values; 0: there is no cache */
    const struct tt_sampling *how; /* how the next tokens are chosen, among those below `known`; NULL: they are not */
    int64_t known;
    int64_t B, S, T, C, H, KV, D, F, V, P, positions;
    char *weights, *grads;        /* the arenas, or this rank's parts of them; weights in the activation type */
    struct bucket_acts *buckets;  /* one for each bucket of the parameter table */
    float *master;                /* fp32 weights that the optimiser changes: `weights` or a copy; or NULL */
    uint16_t *low;                /* their low 16 bits; `weights` has the others (core/checkpoint/weights.h); or NULL */
    const int32_t *tokens;        /* B rows of S+1 */
    const struct tt_state *state; /* of the run, with the slot of the tokens; NULL when not training */
    int64_t slot_stride;
    const int32_t *starts, *ends; /* (B, S) bounds of each token's document; NULL: not needed */
    const float *cos, *sin; /* (positions, D/2) */
    float loss_factor;      /* 1 / tokens of the step */
    float *loss;            /* the mean loss is summed here; the next float counts the targets that do not count */
    float *amax;            /* largest magnitudes of tensors of this micro-batch; NULL: none yet */
    int64_t amax_used;
    struct factor head;     /* the head's weights in 8 bits, for this micro-batch; codes are NULL until they are made */
    float *scales;          /* with --fp8-scaling delayed, in training: TT_X_SCALES (scales.h); else NULL */
};

/* A tensor on its way from the kernel that writes it to the product that reads it, in one of three forms: x with its
 * largest magnitude, codes, or the input of a norm. */
struct measured {
    void *x;
    float *amax;        /* its largest magnitude; NULL: the kernel that writes the tensor does not take it */
    uint8_t *codes;     /* or NULL; made with the scale of the tensor's history; x may not be in memory */
    uint8_t *transposed; /* the same codes transposed, of a gradient */
    const float *scale;  /* of codes */
    const float *rstd;  /* or NULL; the tensor is x·rstd·weight, which is not in memory */
    const void *weight;
};

/* What a norm leaves for its backward pass. */
struct norm_acts {
    void *x;    /* (T, C) the residual stream it normalised */
    void *y;    /* (T, C) result; NULL: only its codes are made */
    float *amax; /* of y, as in struct measured */
    bool cast;   /* products make its codes from x, rstd and weight, so y need not be in memory */
    const void *weight;
    void *xhat; /* (T, C) x·rstd, before the weight; norm_steps only */
    float *rstd; /* (T) */
};

/* What a product with 8-bit factors leaves for its backward pass (bundle.c). */
struct fp8_acts {
    const uint8_t *x; /* (in, rows) codes of its input, transposed; NULL: the backward pass makes them */
    const float *x_scale, *w_scale;
};

struct attention_acts {
    void *qkv;                 /* (T, P) */
    void *raw;                 /* (T, (H + KV)·D) q and k before their norms */
    struct norm_acts head_norm[2]; /* of q and of k, T·H and T·KV rows of D; head_norm_steps only */
    void *q, *k, *v;           /* (B, H or KV, S, D) */
    void *k_all, *v_all;       /* k and v repeated to H heads; k and v themselves where H = KV */
    void *prob;                /* (B, H, S, S) */
    float *lse;                /* (B, H, S) logsumexp of the scores; flash only */
    void *o;                   /* (T, H·D) */
    float *amax, *d_amax;      /* largest magnitudes of o and of dqkv, or NULL; flash only */
    uint8_t *codes;            /* of o, which is in memory too; made with the scale of its history; or NULL */
    const float *code_scale;
    uint8_t *o_codes;          /* of o transposed, made by the backward pass; or NULL */
    const float *o_scale;
    uint8_t *d_codes, *d_transposed; /* instead of dqkv, with the scale of its history; or NULL */
    const float *d_scale;
};

struct ffn_acts {
    void *gu;   /* (T, 2F) */
    void *silu; /* (T, F); swiglu_steps only */
    void *h;    /* (T, F) */
    uint8_t *codes; /* codes of h, which the forward pass made instead of h; or NULL */
    float *amax, *d_amax; /* of h, and of the gradient of gu, as in struct measured */
};

struct block_acts {
    struct norm_acts norm1, norm2;
    struct attention_acts attn;
    struct ffn_acts ffn;
    struct fp8_acts qkv, out, gate_up, down; /* of the products with these weights */
};

/* A whole bucket in use, where each rank keeps only its part of it. NULL: not in use. */
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

/* New buffers of the plan: (rows, cols) of the activation type, and n floats. */
void *activation(struct build *b, const char *name, int64_t rows, int64_t cols);
float *floats(struct build *b, const char *name, int64_t n);
void *view(const struct build *b, const void *base, int64_t elements); /* base + elements of that type */
void *weight(struct build *b, enum tt_weight w);                       /* in the plan's current layer */
float *gradient(struct build *b, enum tt_weight w);

/* y (rows, out) of `type` = x (rows, in) · Wᵀ, with W stored as (out, in). ld* is the distance between rows. */
void linear(struct build *b, const void *x, const void *w, void *y, enum tt_dtype type, int64_t rows, int64_t in,
            int64_t out, int64_t ldy);
/* y (rows, out) = from + x·Wᵀ. */
void linear_add(struct build *b, const void *x, const void *w, const void *from, void *y, int64_t rows, int64_t in,
                int64_t out);
/* qkv (T, P) = x (T, C)·Wᵀ with q and k rotated. */
void linear_rope(struct build *b, const void *x, const void *w, void *qkv);
/* y (rows, out) = exp(x·Wᵀ - shift of the row), and partial sums of its rows, as tt_gemm_exp defines them. */
void linear_exp(struct build *b, const void *x, const void *w, const float *shift, void *y, float *sums, int64_t rows,
                int64_t in, int64_t out);
/* dx (rows, in) = dy·W (+ dx when add). */
void linear_dx(struct build *b, const void *dy, int64_t lddy, const void *w, void *dx, int64_t rows, int64_t in,
               int64_t out, bool add);
/* dW (out, in) = dyᵀ·x (+ dW when add). */
void linear_dw(struct build *b, const void *dy, int64_t lddy, const void *x, float *dw, int64_t rows, int64_t in,
               int64_t out, bool add);
/* Products with SwiGLU in them. They compute what the products alone and then SwiGLU's kernels would. Forward: gu
 * (rows, 2F) = x (rows, in)·Wᵀ, and h (rows, F) = SwiGLU of gu. Backward: dh (rows, F) = dy (rows, out)·W is not
 * stored; gu becomes its own gradient, and h is computed again. */
void linear_swiglu(struct build *b, const void *x, const void *w, void *gu, void *h, int64_t rows, int64_t in,
                   int64_t F);
void linear_dx_swiglu(struct build *b, const void *dy, const void *w, void *gu, void *h, int64_t rows, int64_t F,
                      int64_t out);
/* C (m, n) = op(A)·op(B) for `batch` matrices that follow each other in memory. */
void batched(struct build *b, const void *a, bool trans_a, const void *bb, bool trans_b, void *c, int64_t batch,
             int64_t m, int64_t n, int64_t k);
/* Operations added between these two calls go to the side stream, if `flops` is small enough (fusion overlap). */
void begin_side_stream(struct build *b, double flops);
void end_side_stream(struct build *b);

/* ---- bundle.c: products with weights, of any precision ---- */

/* The weights that one input is multiplied by: one matrix, or several that are adjacent in the arena and whose results
 * are adjacent in a row. `whole`: with one product for all of them; else with one for each. */
struct bundle {
    int n;
    enum tt_weight w[3];
    int64_t out[3];
    int64_t rows, in, width; /* size of the input; distance between rows of the output: the sum of out, or more */
    bool whole;
    bool in_floats; /* the output is fp32 whatever activations are; of one matrix only */
};

/* Whether its factors are 8-bit. */
bool bundle_in_fp8(const struct build *b, const struct bundle *s);

/* Whether each row of an 8-bit factor has a scale of its own (--fp8-scaling row). */
bool scaled_by_rows(const struct build *b);

/* Where the kernel that writes a tensor puts its largest magnitude, of a tensor that this bundle multiplies, forward or
 * backward. It is 0 before. NULL if it is not needed or not taken: the factors are not 8-bit, their scales come from a
 * history or are per row, or the tensor is not written by the fused kernel (`writer`). */
float *amax_for(struct build *b, const struct bundle *s, enum tt_fusion writer);

/* y (rows, width) = x (rows, in)·Wᵀ. `kept` gets what the backward pass needs. `again`: the backward pass has x in
 * another form, so its transposed codes are not kept. */
void bundle_forward(struct build *b, const struct bundle *s, struct measured x, bool again, void *y,
                    struct fp8_acts *kept);

/* dy (rows, width) as a factor of both products of the backward pass. */
struct output_gradient {
    const void *dy;
    const uint8_t *codes, *transposed; /* of 8-bit products */
    const float *scale;
};
struct output_gradient output_gradient(struct build *b, const struct bundle *s, struct measured dy);
/* dx (rows, in) = dy·W; dW = dyᵀ·x (+ dW when add); or both, where dW is added to if b->accumulate. */
void bundle_dx(struct build *b, const struct bundle *s, const struct output_gradient *d, const struct fp8_acts *kept,
               void *dx);
void bundle_dw(struct build *b, const struct bundle *s, const struct output_gradient *d, const void *x,
               const struct fp8_acts *kept, bool add);
void bundle_backward(struct build *b, const struct bundle *s, const struct output_gradient *d, const void *x,
                     const struct fp8_acts *kept, void *dx);
/* Sets what attention makes of its output for the 8-bit product `out`: codes, if their scale comes from a history, or
 * the largest magnitude. */
void attention_codes(struct build *b, struct attention_acts *a, const struct bundle *out);
/* Whether attention's backward pass, which reads the output anyway, makes its transposed codes. Then they are in `kept`
 * after that pass. */
bool attention_makes_input(struct build *b, struct attention_acts *a, const struct bundle *out, struct fp8_acts *kept);
/* Sets what attention's backward pass makes of the gradient of q, k and v for the product `qkv`: codes instead of dqkv,
 * or the largest magnitude. It makes neither if other kernels still change that gradient afterwards (`ends` is false).
 * attention_gradient then returns the gradient: those codes, or what is made of dqkv. */
void attention_codes_backward(struct build *b, struct attention_acts *a, const struct bundle *qkv, bool ends);
struct output_gradient attention_gradient(struct build *b, const struct attention_acts *a, const struct bundle *qkv,
                                          void *dqkv);
/* SwiGLU with codes as its only result, if their scale comes from a history. Returns whether it was done. */
bool swiglu_codes(struct build *b, struct ffn_acts *f, const struct bundle *down);
/* SwiGLU's backward pass with codes as its only result. Returns the gradient of gate and up. The transposed codes of h,
 * which is computed again, go into `kept`, that of the down projection. */
struct output_gradient swiglu_codes_backward(struct build *b, struct ffn_acts *f, const void *dh,
                                             const struct bundle *gate_up, struct fp8_acts *kept);
/* Sets what a norm's backward pass makes of `dr`, the gradient of the residual stream, for the bundle `user` of `layer`
 * that multiplies it next (NULL: none does): codes too, if their scale comes from a history, or the largest
 * magnitude. */
void residual_codes(struct build *b, struct measured *dr, const struct bundle *user, int layer);
/* At the end of a step: adds its largest magnitudes to the history. Does nothing without a history. */
void record_scales(struct build *b);

/* ---- ranks.c: what several ranks do together; with one, nothing ---- */

/* The whole bucket where each rank keeps only its part: its weights, gathered if they are not yet, and the buffer of
 * its gradients of this micro-batch. */
void *whole_weights(struct build *b, int bucket);
float *whole_gradients(struct build *b, int bucket);
/* The gathered weights are not needed any more; the next use gathers them again. */
void drop_weights(struct build *b, int bucket);
void drop_all(struct build *b); /* of all buckets, and their gradients, before a micro-batch */
/* To be called before and after a layer; direction is +1 forward and -1 backward. Weights are gathered a bucket ahead,
 * and dropped when the last layer of their bucket is done. */
void enter_layer(struct build *b, int layer, int direction);
void leave_layer(struct build *b, int layer, int direction);
/* To be called when the gradients of a bucket are complete: sums them over the ranks. */
void sum_bucket(struct build *b, int bucket);
/* The same for the layer's bucket, if this was its last layer in the backward pass. */
void sum_layer(struct build *b, int layer);
/* The loss, and the number of targets that do not count. */
void sum_loss(struct build *b);
/* `rows` has n floats for each rank. Gives all ranks the row of each. */
void gather_rows(struct build *b, float *rows, int64_t n);
/* Sums the partial sums of squares over the ranks, where each rank has only its part of the gradients. */
void sum_partials(struct build *b, float *partial, int64_t count);

/* The weights that the optimiser updates at a time: the whole arena, or this rank's part of a bucket. */
struct slice {
    int bucket;
    int64_t first, n, decay_end; /* first: in the arena; decay_end: from there, weights below it decay */
    float *grad, *w;             /* w: NULL with `low` */
    void *m, *v;                 /* floats, or bf16 (tt_params.moments) */
    void *copy;                  /* or NULL */
    uint16_t *low;               /* or NULL */
};

int slice_count(const struct build *b);
struct slice slice_of(struct build *b, int i);
/* A piece of the arena, where nothing is sharded. */
struct slice slice_at(struct build *b, int64_t offset, int64_t count);
/* To be called when the slice's weights are updated: sends them to the other ranks, if these keep all weights. */
void share_slice(struct build *b, const struct slice *s);

/* ---- one kernel per mathematical step (baseline.c), and fused (fused.c); same arguments, same result ---- */

/* Adds r->delta to the residual stream, if there is one, and normalises it with the weights w. */
void norm_steps(struct build *b, struct residual *r, enum tt_weight w, struct norm_acts *n);
void norm_fused(struct build *b, struct residual *r, enum tt_weight w, struct norm_acts *n);
/* dr (T, C) += the gradient of dy through the norm; with `first`, dr = that gradient. */
void norm_steps_backward(struct build *b, const void *dy, const struct norm_acts *n, enum tt_weight w,
                         struct measured dr, bool first);
void norm_fused_backward(struct build *b, const void *dy, const struct norm_acts *n, enum tt_weight w,
                         struct measured dr, bool first);

/* RMSNorm of each head of q and k, in place in packed rows. */
void head_norm_steps(struct build *b, struct attention_acts *a);
void head_norm_fused(struct build *b, struct attention_acts *a);
void head_norm_steps_backward(struct build *b, const struct attention_acts *a, void *dqkv);
void head_norm_fused_backward(struct build *b, const struct attention_acts *a, void *dqkv);

/* RoPE, in place on q and k of packed rows. */
void rope_steps(struct build *b, void *qkv, bool inverse);
void rope_fused(struct build *b, void *qkv);

/* Attention from a->qkv to a->o; backward from dout, the gradient of o, to dqkv. */
void attention_steps(struct build *b, struct attention_acts *a);
void attention_fused(struct build *b, struct attention_acts *a);
void attention_flash(struct build *b, struct attention_acts *a);
void attention_steps_backward(struct build *b, const struct attention_acts *a, const void *dout, void *dqkv);
void attention_fused_backward(struct build *b, const struct attention_acts *a, const void *dout, void *dqkv);
void attention_flash_backward(struct build *b, const struct attention_acts *a, const void *dout, void *dqkv);
/* Shared by the first two: splits packed rows into heads, and merges the gradients of heads into packed rows. */
void split_heads(struct build *b, struct attention_acts *a);
void merge_heads_backward(struct build *b, const void *dq, const void *dk, const void *dv, void *dqkv);

void swiglu_steps(struct build *b, struct ffn_acts *f);
void swiglu_fused(struct build *b, struct ffn_acts *f);
/* Returns the gradient of gate and up. f->h is where h lies then. */
void *swiglu_steps_backward(struct build *b, struct ffn_acts *f, void *dh);
void *swiglu_fused_backward(struct build *b, struct ffn_acts *f, void *dh);

/* Losses of `rows` rows of logits, from row `first` of the T on. In training the gradient replaces the logits;
 * loss_steps does that part in the backward phase. */
void loss_steps(struct build *b, struct measured logits, float *losses, int64_t rows, int64_t first);
void loss_fused(struct build *b, struct measured logits, int64_t ldx, float *losses, int64_t rows, int64_t first);

/* Good steps after which the loss scale doubles. Only fp16 scales its loss; 0 otherwise. */
static inline int32_t loss_scale_interval(const struct build *b) { return b->p->dtype == TT_F16 ? 1000 : 0; }

void optimizer_steps(struct build *b);
void optimizer_fused(struct build *b);
/* How many partial sums of squares each slice gives to the norm. */
static inline int64_t norm_partials(int slices) { return slices > 1 ? 256 : 1024; }

/* The norm of all gradients from their partial sums of squares, and the factor that clips them. */
void clip(struct build *b, const float *partial, int64_t count);
struct tt_adamw_args adamw_args(const struct build *b, const struct slice *s);

/* ---- late.c: an update that is not made in its own step ---- */

/* The update that the previous step left, with its state `before`, beside the forward pass that follows. */
void update_before(struct build *b, const struct tt_state *before);
/* The update that the last step left, by itself. */
void update_now(struct build *b, struct tt_state *state);

/* ---- update.c: selective updates ---- */

/* In place of optimizer_fused: updates the chosen groups of weights only. */
void optimizer_chosen(struct build *b);

/* ---- block.c: the pieces chosen by the switches ---- */

/* `user` is the bundle that multiplies the result next; in norm_backward, the one of `layer` that multiplies dr next.
 * NULL: no product does. */
void norm(struct build *b, struct residual *r, enum tt_weight w, struct norm_acts *n, const struct bundle *user);
/* The result of a norm, for the product that reads it. */
struct measured normed(const struct norm_acts *n);
void norm_backward(struct build *b, const void *dy, const struct norm_acts *n, enum tt_weight w, struct measured *dr,
                   bool first, const struct bundle *user, int layer);
struct bundle down_bundle(const struct build *b);
/* Adds to the projections of q, k and v what the model has besides: biases and norms of heads. */
void finish_qkv(struct build *b, struct attention_acts *a);
void block_forward(struct build *b, struct residual *r, struct block_acts *a);
void block_backward(struct build *b, struct block_acts *a, struct measured *dr);
/* The first part of a block, up to its keys and values. */
void block_keys(struct build *b, struct residual *r, struct block_acts *a);

/* ---- decode.c ---- */

/* Copies keys, which are rotated, and values from packed rows into the cache of the sequence in TT_X_SEQUENCE. */
void cache_fill(struct build *b, const void *qkv);
/* A block for one token of each sequence; returns its output. */
void *decode_block(struct build *b, void *x);
/* The last norm and the head, and with b->how the choice of the next tokens. */
void decode_head(struct build *b, void *x);

/* ---- head.c: the last norm's output to losses and back ---- */

/* Rows of logits in a chunk, and the product of so many rows with the head. */
int64_t head_rows(const struct build *b);
struct bundle head_bundle(const struct build *b, int64_t rows);
/* Adds the loss to b->loss; in training also writes dy and the head's gradient. */
void head_and_loss(struct build *b, struct measured y, void *dy);

#endif
