/* Fused: what the baseline does in several passes over memory, in one kernel each. The mathematics is the same. */
#include <math.h>

#include "core/base/fp8.h"
#include "model/build.h"

/* ---- residual + RMSNorm ---- */

/* In how many parts the rows are summed for the weight gradient: enough to keep a GPU busy, but with at least eight
 * rows each. The bytes that parts move and the multiprocessors that their blocks hold are taken from the products
 * beside them. */
static int64_t norm_parts(const struct build *b)
{
    int64_t parts = (b->T + 7) / 8;
    return parts < 512 ? parts : 512;
}

/* With codes, each part has whole runs of 32 rows, from which the kernel can make the codes on the way. */
static int64_t norm_parts_of_codes(const struct build *b)
{
    int64_t runs = (b->T + 31) / 32, each = (runs + 511) / 512;
    return (runs + each - 1) / each;
}

void norm_fused(struct build *b, struct residual *r, enum tt_weight w, struct norm_acts *n)
{
    void *sum = r->delta ? activation(b, "residual", b->T, b->C) : NULL;
    *n = (struct norm_acts){.x = sum ? sum : r->x, .y = n->cast ? NULL : activation(b, "norm", b->T, b->C),
                            .amax = n->amax, .cast = n->cast, .weight = weight(b, w),
                            .rstd = floats(b, "norm_rstd", b->T)};
    b->p->group = TT_G_NORM;
    LAUNCH(b->p, rmsnorm, .x = r->x, .delta = r->delta, .weight = n->weight, .sum = sum, .y = n->y, .rstd = n->rstd,
           .amax = n->amax, .rows = b->T, .cols = b->C, .eps = (float)b->c->norm_eps);
    *r = (struct residual){n->x, NULL};
}

void norm_fused_backward(struct build *b, const void *dy, const struct norm_acts *n, enum tt_weight w,
                         struct measured dr, bool first)
{
    int64_t parts = dr.codes ? norm_parts_of_codes(b) : norm_parts(b);
    float *partial = floats(b, "norm_partial", parts * b->C);
    b->p->group = TT_G_NORM;
    LAUNCH(b->p, rmsnorm_backward, .dy = dy, .x = n->x, .weight = weight(b, w), .rstd = n->rstd,
           .dres = first ? NULL : dr.x, .dx = dr.x, .partial = partial, .amax = dr.amax,
           .to = tt_fp8_e5m2(b->m->fp8_fnuz), .code_scale = dr.scale, .codes = dr.codes, .transposed = dr.transposed,
           .rows = b->T, .cols = b->C, .parts = parts);
    /* Only beside small products. From a product that fills the device, it would take a multiprocessor and so delay a
     * whole wave of tiles. */
    begin_side_stream(b, 2.0 * (double)b->T * (double)b->C * (double)b->C);
    LAUNCH(b->p, reduce_parts, .partial = partial, .out = gradient(b, w), .parts = parts, .cols = b->C,
           .accumulate = b->accumulate);
    end_side_stream(b);
}

/* ---- RMSNorm of each head of q and k ---- */

void head_norm_fused(struct build *b, struct attention_acts *a)
{
    const void *w = weight(b, TT_W_QK_NORM);
    a->raw = b->train ? activation(b, "qk_raw", b->T, (b->H + b->KV) * b->D) : NULL;
    b->p->group = TT_G_NORM;
    LAUNCH(b->p, head_norm, .x = a->qkv, .q_weight = w, .k_weight = view(b, w, b->D), .raw = a->raw, .T = b->T,
           .heads = b->H, .kv_heads = b->KV, .D = b->D, .ld = b->P, .eps = (float)b->c->norm_eps);
}

void head_norm_fused_backward(struct build *b, const struct attention_acts *a, void *dqkv)
{
    const void *w = weight(b, TT_W_QK_NORM);
    int64_t parts = norm_parts(b);
    float *partial = floats(b, "norm_partial", parts * 2 * b->D);
    b->p->group = TT_G_NORM;
    LAUNCH(b->p, head_norm_backward, .dx = dqkv, .raw = a->raw, .q_weight = w, .k_weight = view(b, w, b->D),
           .partial = partial, .T = b->T, .heads = b->H, .kv_heads = b->KV, .D = b->D, .ld = b->P, .parts = parts,
           .eps = (float)b->c->norm_eps);
    LAUNCH(b->p, reduce_parts, .partial = partial, .out = gradient(b, TT_W_QK_NORM), .parts = parts,
           .cols = 2 * b->D, .accumulate = b->accumulate);
}

/* ---- RoPE ---- */

void rope_fused(struct build *b, void *qkv)
{
    b->p->group = TT_G_ROPE;
    LAUNCH(b->p, rope, .q = qkv, .k = view(b, qkv, b->H * b->D), .cos = b->cos, .sin = b->sin, .T = b->T, .S = b->S,
           .heads = b->H, .kv_heads = b->KV, .D = b->D, .ld = b->P);
}

/* With the rope fusion the split into heads rotates q and k on the way; without it they are rotated already. */
void split_heads(struct build *b, struct attention_acts *a)
{
    int64_t B = b->B, S = b->S, D = b->D, P = b->P;
    a->q = activation(b, "q", b->T, b->H * D);
    a->k = activation(b, "k", b->T, b->KV * D);
    a->v = activation(b, "v", b->T, b->KV * D);
    b->p->group = TT_G_ROPE;
    if (fused(b, TT_FUSE_ROPE)) {
        LAUNCH(b->p, rope_split, .qkv = a->qkv, .cos = b->cos, .sin = b->sin, .q = a->q, .k = a->k, .v = a->v, .B = B,
               .S = S, .heads = b->H, .kv_heads = b->KV, .D = D);
        return;
    }
    void *k = view(b, a->qkv, b->H * D), *v = view(b, k, b->KV * D);
    LAUNCH(b->p, heads_split, .x = a->qkv, .out = a->q, .B = B, .S = S, .heads = b->H, .D = D, .ldx = P);
    LAUNCH(b->p, heads_split, .x = k, .out = a->k, .B = B, .S = S, .heads = b->KV, .D = D, .ldx = P);
    LAUNCH(b->p, heads_split, .x = v, .out = a->v, .B = B, .S = S, .heads = b->KV, .D = D, .ldx = P);
}

void merge_heads_backward(struct build *b, const void *dq, const void *dk, const void *dv, void *dqkv)
{
    int64_t B = b->B, S = b->S, D = b->D, P = b->P;
    b->p->group = TT_G_ROPE;
    if (fused(b, TT_FUSE_ROPE)) {
        LAUNCH(b->p, rope_merge, .dq = dq, .dk = dk, .dv = dv, .cos = b->cos, .sin = b->sin, .dqkv = dqkv, .B = B,
               .S = S, .heads = b->H, .kv_heads = b->KV, .D = D);
        return;
    }
    void *dk_view = view(b, dqkv, b->H * D), *dv_view = view(b, dk_view, b->KV * D);
    LAUNCH(b->p, heads_merge, .x = dq, .out = dqkv, .B = B, .S = S, .heads = b->H, .D = D, .ldo = P);
    LAUNCH(b->p, heads_merge, .x = dk, .out = dk_view, .B = B, .S = S, .heads = b->KV, .D = D, .ldo = P);
    LAUNCH(b->p, heads_merge, .x = dv, .out = dv_view, .B = B, .S = S, .heads = b->KV, .D = D, .ldo = P);
}

/* ---- attention: scale + mask + softmax in one kernel. The G query heads that share a key head are adjacent in
 * memory, so one product of G·S rows serves them all and nothing is repeated ---- */

void attention_fused(struct build *b, struct attention_acts *a)
{
    int64_t S = b->S, D = b->D, groups = b->B * b->KV, rows = b->H / b->KV * S;
    split_heads(b, a);
    b->p->group = TT_G_SCORES;
    a->prob = activation(b, "attention_prob", b->B * b->H * S, S);
    batched(b, a->q, false, a->k, true, a->prob, groups, rows, S, D);
    b->p->group = TT_G_SOFTMAX;
    LAUNCH(b->p, causal_softmax, .x = a->prob, .starts = b->starts, .count = b->B * b->H, .S = S,
           .heads = b->H, .scale = 1.0f / sqrtf((float)D));
    b->p->group = TT_G_ATTENTION;
    void *oh = activation(b, "attention_heads", b->T, b->H * D);
    a->o = activation(b, "attention_out", b->T, b->H * D);
    batched(b, a->prob, false, a->v, false, oh, groups, rows, D, S);
    LAUNCH(b->p, heads_merge, .x = oh, .out = a->o, .B = b->B, .S = S, .heads = b->H, .D = D, .ldo = b->H * D);
}

void attention_fused_backward(struct build *b, const struct attention_acts *a, const void *dout, void *dqkv)
{
    int64_t S = b->S, D = b->D, groups = b->B * b->KV, rows = b->H / b->KV * S;
    void *doh = activation(b, "d_attention_heads", b->T, b->H * D), *ds = activation(b, "d_scores", b->B * b->H * S, S);
    void *dq = activation(b, "dq", b->T, b->H * D);
    void *dk = activation(b, "dk", b->T, b->KV * D), *dv = activation(b, "dv", b->T, b->KV * D);
    b->p->group = TT_G_ATTENTION;
    LAUNCH(b->p, heads_split, .x = dout, .out = doh, .B = b->B, .S = S, .heads = b->H, .D = D, .ldx = b->H * D);
    batched(b, a->prob, true, doh, false, dv, groups, S, D, rows);
    batched(b, doh, false, a->v, true, ds, groups, rows, S, D);
    b->p->group = TT_G_SOFTMAX;
    LAUNCH(b->p, causal_softmax_backward, .y = a->prob, .dy = ds, .dx = ds, .starts = b->starts, .count = b->B * b->H,
           .S = S, .heads = b->H, .scale = 1.0f / sqrtf((float)D));
    b->p->group = TT_G_SCORES;
    batched(b, ds, false, a->k, false, dq, groups, rows, D, S);
    batched(b, ds, true, a->q, false, dk, groups, S, D, rows);
    merge_heads_backward(b, dq, dk, dv, dqkv);
}

/* ---- SwiGLU ---- */

void swiglu_fused(struct build *b, struct ffn_acts *f)
{
    b->p->group = TT_G_ACTIVATION;
    f->h = activation(b, "ffn_hidden", b->T, b->F);
    LAUNCH(b->p, swiglu, .gu = f->gu, .h = f->h, .amax = f->amax, .rows = b->T, .F = b->F);
}

/* The hidden values are not kept from the forward pass but computed again, into the memory of their gradient: a fifth
 * more bytes for this kernel, a fifth less memory for the block. */
void *swiglu_fused_backward(struct build *b, struct ffn_acts *f, void *dh)
{
    b->p->group = TT_G_ACTIVATION;
    LAUNCH(b->p, swiglu_backward, .gu = f->gu, .dh = dh, .dgu = f->gu, .h = dh, .amax = f->d_amax, .rows = b->T,
           .F = b->F);
    f->h = dh;
    return f->gu;
}

/* ---- loss, the gradient written over the logits ---- */

void loss_fused(struct build *b, struct measured logits, int64_t ldx, float *losses, int64_t rows, int64_t first)
{
    b->p->group = TT_G_LOSS;
    LAUNCH(b->p, cross_entropy, .x = logits.x, .tokens = b->tokens, .state = b->state, .losses = losses,
           .amax = logits.amax, .rows = rows, .cols = b->V, .ldx = ldx, .first = first, .S = b->S,
           .slot_stride = b->slot_stride, .factor = b->loss_factor, .grad = b->train);
}

/* ---- optimiser: one pass over the arena for the norm, one for clip + AdamW ---- */

void clip(struct build *b, const float *partial, int64_t count)
{
    LAUNCH(b->p, clip_scale, .state = (struct tt_state *)b->state, .partial = partial, .count = count,
           .max_norm = (float)b->c->clip_norm, .targets = (float)(b->T * b->c->grad_accum * b->m->params.ranks),
           .grow_after = loss_scale_interval(b), .late = b->late);
}

struct tt_adamw_args adamw_args(const struct build *b, const struct slice *s)
{
    const struct tt_config *c = b->c;
    return (struct tt_adamw_args){.dtype = b->p->dtype, .state = b->state, .w = s->w, .m = s->m, .v = s->v,
                                  .moments = b->m->params.moments, .grad = s->grad, .first = s->first, .n = s->n,
                                  .copy = s->copy, .low = s->low, .decay_end = s->decay_end, .beta1 = (float)c->beta1,
                                  .beta2 = (float)c->beta2, .eps = (float)c->adam_eps, .decay = (float)c->weight_decay};
}

void optimizer_fused(struct build *b)
{
    int slices = slice_count(b);
    int64_t parts = norm_partials(slices);
    float *partial = floats(b, "grad_norm_partial", slices * parts);
    b->p->group = TT_G_CLIP;
    for (int i = 0; i < slices; i++) {
        struct slice s = slice_of(b, i);
        LAUNCH(b->p, sum_squares, .x = s.grad, .partial = partial + i * parts, .n = s.n, .parts = parts);
    }
    sum_partials(b, partial, slices * parts);
    clip(b, partial, slices * parts);
    if (b->late) return;
    b->p->group = TT_G_OPTIMIZER;
    for (int i = 0; i < slices; i++) {
        struct slice s = slice_of(b, i);
        struct tt_adamw_args args = adamw_args(b, &s);
        tt_plan_launch(b->p, TT_K_adamw, &args);
        share_slice(b, &s);
    }
}
