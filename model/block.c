/* One block, forward and backward. The version and --fuse say which pieces of baseline.c, fused.c and flash.c make it
 * up. */
#include "model/build.h"

void norm(struct build *b, struct residual *r, enum tt_weight w, struct norm_acts *n, const struct bundle *user)
{
    n->amax = user ? amax_for(b, user, TT_FUSE_NORM) : NULL;
    bool delayed = b->scales && user && bundle_in_fp8(b, user);
    n->cast = (n->amax || delayed) && b->p->layer >= 0; /* the last norm keeps y: every chunk of the head reads it */
    (fused(b, TT_FUSE_NORM) ? norm_fused : norm_steps)(b, r, w, n);
}

struct measured normed(const struct norm_acts *n)
{
    if (n->y) return (struct measured){.x = n->y, .amax = n->amax};
    return (struct measured){.x = n->x, .amax = n->amax, .rstd = n->rstd, .weight = n->weight};
}

void norm_backward(struct build *b, const void *dy, const struct norm_acts *n, enum tt_weight w, struct measured *dr,
                   bool first, const struct bundle *user, int layer)
{
    residual_codes(b, dr, user, layer);
    (fused(b, TT_FUSE_NORM) ? norm_fused_backward : norm_steps_backward)(b, dy, n, w, *dr, first);
}

static struct bundle qkv_bundle(const struct build *b)
{
    return (struct bundle){.n = 3, .w = {TT_W_Q, TT_W_K, TT_W_V}, .out = {b->H * b->D, b->KV * b->D, b->KV * b->D},
                           .rows = b->T, .in = b->C, .width = b->P, .whole = fused(b, TT_FUSE_QKV)};
}

static struct bundle gate_up_bundle(const struct build *b)
{
    return (struct bundle){.n = 2, .w = {TT_W_GATE, TT_W_UP}, .out = {b->F, b->F}, .rows = b->T, .in = b->C,
                           .width = 2 * b->F, .whole = fused(b, TT_FUSE_GATE_UP)};
}

static struct bundle out_bundle(const struct build *b)
{
    return (struct bundle){.n = 1, .w = {TT_W_O}, .out = {b->C}, .rows = b->T, .in = b->H * b->D, .width = b->C,
                           .whole = true};
}

struct bundle down_bundle(const struct build *b)
{
    return (struct bundle){.n = 1, .w = {TT_W_DOWN}, .out = {b->C}, .rows = b->T, .in = b->F, .width = b->C,
                           .whole = true};
}

static void bias(struct build *b, void *qkv)
{
    if (!b->c->qkv_bias) return;
    LAUNCH(b->p, add_cols, .x = qkv, .w = weight(b, TT_W_QKV_BIAS), .out = qkv, .rows = b->T, .cols = b->P);
}

static void bias_backward(struct build *b, const void *dqkv)
{
    if (!b->c->qkv_bias) return;
    LAUNCH(b->p, col_sum, .x = dqkv, .out = gradient(b, TT_W_QKV_BIAS), .rows = b->T, .cols = b->P,
           .accumulate = b->accumulate);
}

void finish_qkv(struct build *b, struct attention_acts *a)
{
    bias(b, a->qkv);
    if (b->c->qk_norm) (fused(b, TT_FUSE_NORM) ? head_norm_fused : head_norm_steps)(b, a);
}

static void head_norm_backward(struct build *b, const struct attention_acts *a, void *dqkv)
{
    if (b->c->qk_norm) (fused(b, TT_FUSE_NORM) ? head_norm_fused_backward : head_norm_steps_backward)(b, a, dqkv);
}

/* RoPE works in place on packed rows, unless it is fused with what comes next: the split into heads, and backward their
 * merging or flash's last kernel. */
static void rope(struct build *b, void *qkv)
{
    if (!fused(b, TT_FUSE_ROPE))
        rope_steps(b, qkv, false);
    else if (fused(b, TT_FUSE_ATTENTION))
        rope_fused(b, qkv);
}

static void rope_backward(struct build *b, void *dqkv)
{
    if (!fused(b, TT_FUSE_ROPE)) rope_steps(b, dqkv, true);
}

static void attention_core(struct build *b, struct attention_acts *a)
{
    if (fused(b, TT_FUSE_ATTENTION))
        attention_flash(b, a);
    else
        (fused(b, TT_FUSE_SOFTMAX) ? attention_fused : attention_steps)(b, a);
}

static void attention_core_backward(struct build *b, const struct attention_acts *a, const void *dout, void *dqkv)
{
    if (fused(b, TT_FUSE_ATTENTION))
        attention_flash_backward(b, a, dout, dqkv);
    else
        (fused(b, TT_FUSE_SOFTMAX) ? attention_fused_backward : attention_steps_backward)(b, a, dout, dqkv);
}

/* Whether RoPE is a part of the product of q, k and v, where the device has such products. Not for generation, as with
 * SwiGLU below. */
static bool rope_in_product(const struct build *b)
{
    struct bundle qkv = qkv_bundle(b);
    return b->m->product_epilogues && fused(b, TT_FUSE_ROPE) && fused(b, TT_FUSE_ATTENTION) && qkv.whole &&
           !b->c->qkv_bias && !b->c->qk_norm && !b->sequences && !bundle_in_fp8(b, &qkv);
}

void block_keys(struct build *b, struct residual *r, struct block_acts *a)
{
    struct bundle qkv = qkv_bundle(b);
    norm(b, r, TT_W_ATTENTION_NORM, &a->norm1, &qkv);
    b->p->group = TT_G_QKV;
    a->attn.qkv = activation(b, "qkv", b->T, b->P);
    if (rope_in_product(b)) {
        linear_rope(b, a->norm1.y, weight(b, TT_W_Q), a->attn.qkv);
        return;
    }
    bundle_forward(b, &qkv, normed(&a->norm1), false, a->attn.qkv, &a->qkv);
    finish_qkv(b, &a->attn);
    rope(b, a->attn.qkv);
    if (b->sequences) cache_fill(b, a->attn.qkv);
}

/* Whether SwiGLU is a part of the products around it, where the device has such products. Not for generation: prompts
 * have all lengths, and the products would be timed for each. */
static bool swiglu_in_products(const struct build *b)
{
    struct bundle gate_up = gate_up_bundle(b);
    return b->m->product_epilogues && fused(b, TT_FUSE_SWIGLU) && fused(b, TT_FUSE_GATE_UP) && !b->sequences &&
           !bundle_in_fp8(b, &gate_up);
}

static void ffn_inner(struct build *b, struct block_acts *a)
{
    struct bundle gate_up = gate_up_bundle(b), down = down_bundle(b);
    b->p->group = TT_G_GATE_UP;
    a->ffn.gu = activation(b, "ffn_gate_up", b->T, 2 * b->F);
    if (swiglu_in_products(b)) {
        a->ffn.h = activation(b, "ffn_hidden", b->T, b->F);
        linear_swiglu(b, a->norm2.y, weight(b, TT_W_GATE), a->ffn.gu, a->ffn.h, b->T, b->C, b->F);
        return;
    }
    bundle_forward(b, &gate_up, normed(&a->norm2), false, a->ffn.gu, &a->gate_up);
    if (swiglu_codes(b, &a->ffn, &down)) return;
    a->ffn.amax = amax_for(b, &down, TT_FUSE_SWIGLU);
    (fused(b, TT_FUSE_SWIGLU) ? swiglu_fused : swiglu_steps)(b, &a->ffn);
}

/* Adds x·Wᵀ to the residual stream. The product does it where the device adds for less than the next norm would; else
 * that norm does it. */
static void add_to_residual(struct build *b, const struct bundle *s, struct measured x, const char *name,
                            struct residual *r, struct fp8_acts *kept)
{
    if (b->m->product_epilogues && fused(b, TT_FUSE_NORM) && !b->sequences && !bundle_in_fp8(b, s)) {
        void *sum = activation(b, "residual", s->rows, s->width);
        linear_add(b, x.x, weight(b, s->w[0]), r->x, sum, s->rows, s->in, s->width);
        r->x = sum;
        return;
    }
    r->delta = activation(b, name, s->rows, s->width);
    bundle_forward(b, s, x, true, r->delta, kept);
}

/* The part of a block that the backward pass needs: up to the input of the down projection. */
static void block_inner(struct build *b, struct residual *r, struct block_acts *a)
{
    struct bundle out = out_bundle(b), gate_up = gate_up_bundle(b);
    block_keys(b, r, a);
    attention_codes(b, &a->attn, &out);
    attention_core(b, &a->attn);
    b->p->group = TT_G_ATTENTION;
    add_to_residual(b, &out, (struct measured){.x = a->attn.o, .amax = a->attn.amax, .codes = a->attn.codes},
                    "attention_delta", r, &a->out);

    norm(b, r, TT_W_FFN_NORM, &a->norm2, &gate_up);
    ffn_inner(b, a);
}

void block_forward(struct build *b, struct residual *r, struct block_acts *a)
{
    struct bundle down = down_bundle(b);
    block_inner(b, r, a);
    b->p->group = TT_G_DOWN;
    add_to_residual(b, &down, (struct measured){.x = a->ffn.h, .amax = a->ffn.amax, .codes = a->ffn.codes}, "ffn_delta",
                    r, &a->down);
}

/* From the gradient of the block's output to that of gate and up; a->ffn.h is where h lies then, or its codes are in
 * a->down. */
static struct output_gradient down_backward(struct build *b, struct block_acts *a, const struct output_gradient *dr,
                                            void *dh)
{
    struct bundle down = down_bundle(b), gate_up = gate_up_bundle(b);
    if (swiglu_in_products(b)) {
        linear_dx_swiglu(b, dr->dy, weight(b, TT_W_DOWN), a->ffn.gu, dh, b->T, b->F, b->C);
        a->ffn.h = dh;
        return (struct output_gradient){.dy = a->ffn.gu};
    }
    bundle_dx(b, &down, dr, &a->down, dh);
    a->ffn.d_amax = amax_for(b, &gate_up, TT_FUSE_SWIGLU);
    if (fused(b, TT_FUSE_SWIGLU) && bundle_in_fp8(b, &gate_up) && bundle_in_fp8(b, &down) && !scaled_by_rows(b))
        return swiglu_codes_backward(b, &a->ffn, dh, &gate_up, &a->down);
    void *dgu = (fused(b, TT_FUSE_SWIGLU) ? swiglu_fused_backward : swiglu_steps_backward)(b, &a->ffn, dh);
    return output_gradient(b, &gate_up, (struct measured){.x = dgu, .amax = a->ffn.d_amax});
}

static void ffn_backward(struct build *b, struct block_acts *a, struct measured *dr)
{
    struct bundle gate_up = gate_up_bundle(b), down = down_bundle(b), out = out_bundle(b);
    void *dh = activation(b, "d_ffn_hidden", b->T, b->F), *dy = activation(b, "d_norm", b->T, b->C);
    b->p->group = TT_G_DOWN;
    struct output_gradient d = output_gradient(b, &down, *dr), dgu = down_backward(b, a, &d, dh);
    b->p->group = TT_G_DOWN;
    bundle_dw(b, &down, &d, a->ffn.h, &a->down, b->accumulate);
    b->p->group = TT_G_GATE_UP;
    bundle_backward(b, &gate_up, &dgu, a->norm2.y, &a->gate_up, dy);
    norm_backward(b, dy, &a->norm2, TT_W_FFN_NORM, dr, false, &out, b->p->layer);
}

/* Whether attention's last kernel is the one that writes the gradient of q, k and v. */
static bool attention_ends_backward(const struct build *b)
{
    return fused(b, TT_FUSE_ATTENTION) && fused(b, TT_FUSE_ROPE) && !b->c->qk_norm;
}

static void attention_backward(struct build *b, struct block_acts *a, struct measured *dr)
{
    struct bundle qkv = qkv_bundle(b), out = out_bundle(b), below = down_bundle(b);
    int64_t width = b->H * b->D;
    void *dout = activation(b, "d_attention_out", b->T, width), *dqkv = activation(b, "d_qkv", b->T, b->P);
    void *dy = activation(b, "d_norm", b->T, b->C);
    b->p->group = TT_G_ATTENTION;
    struct output_gradient d = output_gradient(b, &out, *dr);
    bool makes_input = attention_makes_input(b, &a->attn, &out, &a->out);
    if (makes_input)
        bundle_dx(b, &out, &d, &a->out, dout);
    else
        bundle_backward(b, &out, &d, a->attn.o, &a->out, dout);
    attention_codes_backward(b, &a->attn, &qkv, attention_ends_backward(b));
    attention_core_backward(b, &a->attn, dout, dqkv);
    if (makes_input) bundle_dw(b, &out, &d, a->attn.o, &a->out, b->accumulate);
    rope_backward(b, dqkv);
    head_norm_backward(b, &a->attn, dqkv);
    b->p->group = TT_G_QKV;
    bias_backward(b, dqkv);
    d = attention_gradient(b, &a->attn, &qkv, dqkv);
    bundle_backward(b, &qkv, &d, a->norm1.y, &a->qkv, dy);
    norm_backward(b, dy, &a->norm1, TT_W_ATTENTION_NORM, dr, false, b->p->layer > 0 ? &below : NULL, b->p->layer - 1);
}

/* With recomputation, what the backward pass needs is computed once more just before it: the whole block from its
 * input, or the attention from q, k, v. What the forward pass left then dies early, and the planner reuses its
 * bytes. */
void block_backward(struct build *b, struct block_acts *a, struct measured *dr)
{
    if (b->c->recompute == TT_RECOMPUTE_BLOCK) {
        struct residual again = {a->norm1.x, NULL};
        block_inner(b, &again, a);
    }
    ffn_backward(b, a, dr);
    if (b->c->recompute == TT_RECOMPUTE_ATTENTION) {
        a->attn.amax = NULL, a->attn.codes = NULL; /* o has its scale, and its product is done */
        attention_core(b, &a->attn);
    }
    attention_backward(b, a, dr);
}
