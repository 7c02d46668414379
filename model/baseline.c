/* Baseline: one kernel per mathematical step, as an eager framework runs it. Every intermediate goes through memory,
 * and most of the step's kernels do a single multiplication or addition per number they load. */
#include <math.h>

#include "model/build.h"

/* ---- RMSNorm: x·w / sqrt(mean(x²) + eps) ---- */

static void residual_add(struct build *b, struct residual *r)
{
    if (!r->delta) return;
    void *sum = activation(b, "residual", b->T, b->C);
    b->p->group = TT_G_RESIDUAL;
    LAUNCH(b->p, add, .x = r->x, .y = r->delta, .out = sum, .rows = b->T, .cols = b->C, .ldx = b->C, .ldy = b->C,
           .ldo = b->C);
    *r = (struct residual){sum, NULL};
}

/* RMSNorm of rows of `cols` elements that follow each other in memory. */
static struct norm_acts rms_steps(struct build *b, void *x, const void *w, int64_t rows, int64_t cols)
{
    void *square = activation(b, "norm_square", rows, cols);
    float *mean = floats(b, "norm_mean", rows);
    struct norm_acts n = {.x = x, .xhat = activation(b, "norm_xhat", rows, cols),
                          .y = activation(b, "norm", rows, cols), .rstd = floats(b, "norm_rstd", rows)};
    LAUNCH(b->p, square, .x = x, .out = square, .n = rows * cols);
    LAUNCH(b->p, row_sum, .x = square, .out = mean, .rows = rows, .cols = cols, .factor = 1.0f / (float)cols);
    LAUNCH(b->p, rsqrt, .mean = mean, .rstd = n.rstd, .n = rows, .eps = (float)b->c->norm_eps);
    LAUNCH(b->p, mul_rows, .x = x, .s = n.rstd, .out = n.xhat, .rows = rows, .cols = cols);
    LAUNCH(b->p, mul_cols, .x = n.xhat, .w = w, .out = n.y, .rows = rows, .cols = cols);
    return n;
}

/* dx may be dy. */
static void rms_steps_backward(struct build *b, const void *dy, const struct norm_acts *n, const void *w, float *dw,
                               void *dx, int64_t rows, int64_t cols)
{
    void *t = activation(b, "norm_temp", rows, cols), *dxhat = activation(b, "norm_dxhat", rows, cols);
    float *coef = floats(b, "norm_coef", rows);
    /* y = xhat·w */
    LAUNCH(b->p, mul, .x = dy, .y = n->xhat, .out = t, .rows = rows, .cols = cols, .ldx = cols, .ldy = cols,
           .ldo = cols);
    LAUNCH(b->p, col_sum, .x = t, .out = dw, .rows = rows, .cols = cols, .accumulate = b->accumulate);
    LAUNCH(b->p, mul_cols, .x = dy, .w = w, .out = dxhat, .rows = rows, .cols = cols);
    /* xhat = x·rstd: the gradient by rstd, then by x */
    LAUNCH(b->p, mul, .x = dxhat, .y = n->x, .out = t, .rows = rows, .cols = cols, .ldx = cols, .ldy = cols,
           .ldo = cols);
    LAUNCH(b->p, row_sum, .x = t, .out = coef, .rows = rows, .cols = cols, .factor = 1);
    LAUNCH(b->p, rsqrt_backward, .drstd = coef, .rstd = n->rstd, .coef = coef, .n = rows, .cols = cols);
    LAUNCH(b->p, mul_rows, .x = n->x, .s = coef, .out = t, .rows = rows, .cols = cols);
    LAUNCH(b->p, mul_rows, .x = dxhat, .s = n->rstd, .out = dxhat, .rows = rows, .cols = cols);
    LAUNCH(b->p, add, .x = dxhat, .y = t, .out = dx, .rows = rows, .cols = cols, .ldx = cols, .ldy = cols,
           .ldo = cols);
}

void norm_steps(struct build *b, struct residual *r, enum tt_weight w, struct norm_acts *n)
{
    residual_add(b, r);
    b->p->group = TT_G_NORM;
    *n = rms_steps(b, r->x, weight(b, w), b->T, b->C);
}

void norm_steps_backward(struct build *b, const void *dy, const struct norm_acts *n, enum tt_weight w,
                         struct measured dr, bool first)
{
    int64_t T = b->T, C = b->C;
    b->p->group = TT_G_NORM;
    void *dx = first ? dr.x : activation(b, "norm_dx", T, C);
    rms_steps_backward(b, dy, n, weight(b, w), gradient(b, w), dx, T, C);
    if (first) return;
    b->p->group = TT_G_RESIDUAL;
    LAUNCH(b->p, add, .x = dr.x, .y = dx, .out = dr.x, .rows = T, .cols = C, .ldx = C, .ldy = C, .ldo = C);
}

/* ---- the same for each head of q and k: copied out of the packed rows, and back. The heads are split and merged as
 * for sequences of one token, so these are plain copies ---- */

static void heads_out(struct build *b, const void *packed, void *x, int64_t heads)
{
    LAUNCH(b->p, heads_split, .x = packed, .out = x, .B = b->T, .S = 1, .heads = heads, .D = b->D, .ldx = b->P);
}

static void heads_back(struct build *b, const void *x, void *packed, int64_t heads)
{
    LAUNCH(b->p, heads_merge, .x = x, .out = packed, .B = b->T, .S = 1, .heads = heads, .D = b->D, .ldo = b->P);
}

void head_norm_steps(struct build *b, struct attention_acts *a)
{
    b->p->group = TT_G_NORM;
    for (int k = 0; k < 2; k++) {
        int64_t heads = k ? b->KV : b->H;
        void *packed = view(b, a->qkv, k * b->H * b->D), *x = activation(b, "head_raw", b->T, heads * b->D);
        heads_out(b, packed, x, heads);
        a->head_norm[k] = rms_steps(b, x, view(b, weight(b, TT_W_QK_NORM), k * b->D), b->T * heads, b->D);
        heads_back(b, a->head_norm[k].y, packed, heads);
    }
}

void head_norm_steps_backward(struct build *b, const struct attention_acts *a, void *dqkv)
{
    b->p->group = TT_G_NORM;
    for (int k = 0; k < 2; k++) {
        int64_t heads = k ? b->KV : b->H;
        void *packed = view(b, dqkv, k * b->H * b->D), *dx = activation(b, "d_head", b->T, heads * b->D);
        heads_out(b, packed, dx, heads);
        rms_steps_backward(b, dx, &a->head_norm[k], view(b, weight(b, TT_W_QK_NORM), k * b->D),
                           gradient(b, TT_W_QK_NORM) + k * b->D, dx, b->T * heads, b->D);
        heads_back(b, dx, packed, heads);
    }
}

/* ---- RoPE: x·cos + rotate(x)·sin ---- */

static void rope_one(struct build *b, void *x, int64_t heads, bool inverse)
{
    int64_t T = b->T, S = b->S, D = b->D, width = heads * D, ld = b->P;
    void *c = activation(b, "rope_cos", T, width), *s = activation(b, "rope_sin", T, width);
    LAUNCH(b->p, rope_cos, .x = x, .out = c, .table = b->cos, .T = T, .S = S, .heads = heads, .D = D, .ldx = ld,
           .ldo = width);
    if (inverse) { /* backward: first through ·sin, then through rotate */
        void *t = activation(b, "rope_turned", T, width);
        LAUNCH(b->p, rope_sin, .x = x, .out = t, .table = b->sin, .T = T, .S = S, .heads = heads, .D = D, .ldx = ld,
               .ldo = width);
        LAUNCH(b->p, rope_rotate, .x = t, .out = s, .T = T, .heads = heads, .D = D, .ldx = width, .ldo = width,
               .inverse = true);
    } else {
        LAUNCH(b->p, rope_rotate, .x = x, .out = s, .T = T, .heads = heads, .D = D, .ldx = ld, .ldo = width);
        LAUNCH(b->p, rope_sin, .x = s, .out = s, .table = b->sin, .T = T, .S = S, .heads = heads, .D = D, .ldx = width,
               .ldo = width);
    }
    LAUNCH(b->p, add, .x = c, .y = s, .out = x, .rows = T, .cols = width, .ldx = width, .ldy = width, .ldo = ld);
}

void rope_steps(struct build *b, void *qkv, bool inverse)
{
    b->p->group = TT_G_ROPE;
    rope_one(b, qkv, b->H, inverse);
    rope_one(b, view(b, qkv, b->H * b->D), b->KV, inverse);
}

/* ---- attention with K and V repeated, and S×S in memory ---- */

static void *repeat(struct build *b, const void *x, const char *name)
{
    if (b->H == b->KV) return (void *)x;
    void *all = activation(b, name, b->T, b->H * b->D);
    LAUNCH(b->p, repeat_kv, .x = x, .out = all, .B = b->B, .heads = b->H, .kv_heads = b->KV, .n = b->S * b->D);
    return all;
}

static void *repeat_backward(struct build *b, void *d_all, const char *name)
{
    if (b->H == b->KV) return d_all;
    void *d = activation(b, name, b->T, b->KV * b->D);
    LAUNCH(b->p, repeat_kv_backward, .dy = d_all, .dx = d, .B = b->B, .heads = b->H, .kv_heads = b->KV,
           .n = b->S * b->D);
    return d;
}

void attention_steps(struct build *b, struct attention_acts *a)
{
    int64_t S = b->S, D = b->D, heads = b->B * b->H;
    split_heads(b, a);
    b->p->group = TT_G_SCORES;
    a->k_all = repeat(b, a->k, "k_repeated");
    a->v_all = repeat(b, a->v, "v_repeated");
    a->prob = activation(b, "attention_prob", heads * S, S);
    batched(b, a->q, false, a->k_all, true, a->prob, heads, S, S, D);
    LAUNCH(b->p, scale, .x = a->prob, .n = heads * S * S, .factor = 1.0f / sqrtf((float)D));
    b->p->group = TT_G_SOFTMAX;
    LAUNCH(b->p, causal_mask, .x = a->prob, .starts = b->starts, .count = heads, .S = S, .heads = b->H);
    LAUNCH(b->p, softmax, .x = a->prob, .rows = heads * S, .cols = S);
    b->p->group = TT_G_ATTENTION;
    void *oh = activation(b, "attention_heads", b->T, b->H * D);
    a->o = activation(b, "attention_out", b->T, b->H * D);
    batched(b, a->prob, false, a->v_all, false, oh, heads, S, D, S);
    LAUNCH(b->p, heads_merge, .x = oh, .out = a->o, .B = b->B, .S = S, .heads = b->H, .D = D, .ldo = b->H * D);
}

void attention_steps_backward(struct build *b, const struct attention_acts *a, const void *dout, void *dqkv)
{
    int64_t S = b->S, D = b->D, heads = b->B * b->H;
    void *doh = activation(b, "d_attention_heads", b->T, b->H * D), *ds = activation(b, "d_scores", heads * S, S);
    void *dq = activation(b, "dq", b->T, b->H * D);
    void *dk = activation(b, "dk_repeated", b->T, b->H * D), *dv = activation(b, "dv_repeated", b->T, b->H * D);
    b->p->group = TT_G_ATTENTION;
    LAUNCH(b->p, heads_split, .x = dout, .out = doh, .B = b->B, .S = S, .heads = b->H, .D = D, .ldx = b->H * D);
    batched(b, a->prob, true, doh, false, dv, heads, S, D, S);
    batched(b, doh, false, a->v_all, true, ds, heads, S, S, D);
    b->p->group = TT_G_SOFTMAX;
    LAUNCH(b->p, softmax_backward, .y = a->prob, .dy = ds, .dx = ds, .rows = heads * S, .cols = S);
    b->p->group = TT_G_SCORES;
    LAUNCH(b->p, scale, .x = ds, .n = heads * S * S, .factor = 1.0f / sqrtf((float)D));
    batched(b, ds, false, a->k_all, false, dq, heads, S, D, S);
    batched(b, ds, true, a->q, false, dk, heads, S, D, S);
    dk = repeat_backward(b, dk, "dk");
    dv = repeat_backward(b, dv, "dv");
    merge_heads_backward(b, dq, dk, dv, dqkv);
}

/* ---- SwiGLU: silu(gate)·up ---- */

void swiglu_steps(struct build *b, struct ffn_acts *f)
{
    int64_t T = b->T, F = b->F;
    b->p->group = TT_G_ACTIVATION;
    f->silu = activation(b, "ffn_silu", T, F);
    f->h = activation(b, "ffn_hidden", T, F);
    LAUNCH(b->p, silu, .x = f->gu, .out = f->silu, .rows = T, .cols = F, .ldx = 2 * F, .ldo = F);
    LAUNCH(b->p, mul, .x = f->silu, .y = view(b, f->gu, F), .out = f->h, .rows = T, .cols = F, .ldx = F, .ldy = 2 * F,
           .ldo = F);
}

void *swiglu_steps_backward(struct build *b, struct ffn_acts *f, void *dh)
{
    int64_t T = b->T, F = b->F;
    void *ds = activation(b, "d_silu", T, F), *dgu = activation(b, "d_gate_up", T, 2 * F);
    b->p->group = TT_G_ACTIVATION;
    LAUNCH(b->p, mul, .x = dh, .y = view(b, f->gu, F), .out = ds, .rows = T, .cols = F, .ldx = F, .ldy = 2 * F,
           .ldo = F);
    LAUNCH(b->p, mul, .x = dh, .y = f->silu, .out = view(b, dgu, F), .rows = T, .cols = F, .ldx = F, .ldy = F,
           .ldo = 2 * F);
    LAUNCH(b->p, silu_backward, .x = f->gu, .dy = ds, .dx = dgu, .rows = T, .cols = F, .ldx = 2 * F, .lddy = F,
           .lddx = 2 * F);
    return dgu;
}

/* ---- loss: log-softmax, gather, mean. Written as x - logsumexp(x), since in log(softmax(x)) small probabilities
 * underflow ---- */

void loss_steps(struct build *b, struct measured logits, float *losses, int64_t rows, int64_t first)
{
    int64_t V = b->V;
    float *lse = floats(b, "loss_logsumexp", rows);
    b->p->group = TT_G_LOSS;
    LAUNCH(b->p, row_logsumexp, .x = logits.x, .lse = lse, .rows = rows, .cols = V);
    LAUNCH(b->p, sub_rows, .x = logits.x, .s = lse, .rows = rows, .cols = V);
    LAUNCH(b->p, gather_nll, .x = logits.x, .tokens = b->tokens, .state = b->state, .losses = losses, .rows = rows,
           .cols = V, .first = first, .S = b->S, .slot_stride = b->slot_stride);
    if (!b->train) return;
    b->p->phase = TT_BACKWARD;
    LAUNCH(b->p, exp, .x = logits.x, .n = rows * V);
    LAUNCH(b->p, sub_target, .x = logits.x, .tokens = b->tokens, .state = b->state, .rows = rows, .cols = V,
           .first = first, .S = b->S, .slot_stride = b->slot_stride);
    LAUNCH(b->p, scale, .x = logits.x, .state = b->state, .n = rows * V, .factor = b->loss_factor);
}

/* ---- optimiser: one kernel for each step and tensor ---- */

enum { PARTS_PER_TENSOR = 16 };

static int piece_count(const struct build *b) { return slice_count(b) > 1 ? slice_count(b) : b->m->params.n; }

/* A tensor, or where the optimiser is sharded, this rank's part of a bucket. */
static struct slice piece_of(struct build *b, int i)
{
    const struct tt_param *t = &b->m->params.items[i];
    return slice_count(b) > 1 ? slice_of(b, i) : slice_at(b, t->offset, t->count);
}

static void adamw_steps(struct build *b, const struct slice *s)
{
    const struct tt_config *c = b->c;
    int64_t n = s->n;
    LAUNCH(b->p, clip_grad, .state = b->state, .g = s->grad, .n = n);
    LAUNCH(b->p, adam_m, .state = b->state, .m = s->m, .g = s->grad, .n = n, .beta1 = (float)c->beta1);
    LAUNCH(b->p, adam_v, .state = b->state, .v = s->v, .g = s->grad, .n = n, .beta2 = (float)c->beta2);
    if (s->decay_end > 0)
        LAUNCH(b->p, weight_decay, .state = b->state, .w = s->w, .n = n, .decay = (float)c->weight_decay);
    LAUNCH(b->p, adam_update, .state = b->state, .w = s->w, .m = s->m, .v = s->v, .n = n, .eps = (float)c->adam_eps);
    if (s->copy) LAUNCH(b->p, cast, .x = s->w, .out = s->copy, .n = n);
}

void optimizer_steps(struct build *b)
{
    int pieces = piece_count(b);
    int64_t count = (int64_t)pieces * PARTS_PER_TENSOR;
    float *partial = floats(b, "grad_norm_partial", count);
    b->p->group = TT_G_CLIP;
    for (int i = 0; i < pieces; i++) {
        struct slice s = piece_of(b, i);
        LAUNCH(b->p, sum_squares, .x = s.grad, .partial = partial + i * PARTS_PER_TENSOR, .n = s.n,
               .parts = PARTS_PER_TENSOR);
    }
    sum_partials(b, partial, count);
    clip(b, partial, count);
    b->p->group = TT_G_OPTIMIZER;
    for (int i = 0; i < pieces; i++) {
        struct slice s = piece_of(b, i);
        adamw_steps(b, &s);
        share_slice(b, &s);
    }
}
