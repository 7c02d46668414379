/* Generation: one new token of each sequence. Its key and value join a cache, and its query attends to all of it.
 *
 * A step reads every weight once, which takes nearly all of its time. So a block has five kernels, and what is small
 * beside the weights (norms, residual, RoPE, SwiGLU) is a part of the kernel that has its data at hand. Biases of q, k
 * and v and norms of q and k have kernels of their own. All versions of the model generate with these kernels. */
#include <math.h>

#include "model/build.h"

static void *cache_of(struct build *b, int half)
{
    int64_t each = b->sequences * b->positions * b->KV * b->D;
    size_t bytes = (size_t)(2 * b->c->num_layers * each) * tt_dtype_size(b->p->dtype);
    return view(b, tt_plan_external(b->p, TT_X_CACHE, bytes), (2 * b->p->layer + half) * each);
}

void cache_fill(struct build *b, const void *qkv)
{
    const int32_t *sequence = tt_plan_external(b->p, TT_X_SEQUENCE, sizeof *sequence);
    void *k = view(b, qkv, b->H * b->D), *v = view(b, k, b->KV * b->D);
    b->p->group = TT_G_ATTENTION;
    LAUNCH(b->p, cache_fill, .k = k, .v = v, .k_cache = cache_of(b, 0), .v_cache = cache_of(b, 1), .sequence = sequence,
           .T = b->T, .kv_heads = b->KV, .D = b->D, .ld = b->P, .length = b->positions);
}

static int32_t *positions(struct build *b)
{
    return tt_plan_external(b->p, TT_X_POSITION, (size_t)b->sequences * sizeof(int32_t));
}

static void attend(struct build *b, const void *qkv, void *o)
{
    size_t parts = (size_t)(b->T * b->H * TT_DECODE_PARTS(b->positions) * (b->D + 2));
    b->p->group = TT_G_ATTENTION;
    LAUNCH(b->p, attention_decode, .qkv = qkv, .cos = b->cos, .sin = b->sin, .pos = positions(b),
           .k_cache = cache_of(b, 0), .v_cache = cache_of(b, 1), .o = o,
           .parts = floats(b, "attention_parts", (int64_t)parts), .rows = b->T, .heads = b->H, .kv_heads = b->KV,
           .D = b->D, .length = b->positions, .scale = 1.0f / sqrtf((float)b->D));
}

void *decode_block(struct build *b, void *x)
{
    float eps = (float)b->c->norm_eps;
    void *qkv = activation(b, "qkv", b->T, b->P), *o = activation(b, "attention_out", b->T, b->H * b->D);
    void *between = activation(b, "residual", b->T, b->C), *h = activation(b, "ffn_hidden", b->T, b->F);
    void *y = activation(b, "residual", b->T, b->C);
    b->p->group = TT_G_QKV;
    LAUNCH(b->p, rows_linear, .type_y = b->p->dtype, .x = x, .norm = weight(b, TT_W_ATTENTION_NORM),
           .w = weight(b, TT_W_Q), .y = qkv, .rows = b->T, .in = b->C, .out = b->P, .eps = eps);
    finish_qkv(b, &(struct attention_acts){.qkv = qkv});
    attend(b, qkv, o);
    LAUNCH(b->p, rows_linear, .type_y = b->p->dtype, .x = o, .w = weight(b, TT_W_O), .residual = x, .y = between,
           .rows = b->T, .in = b->H * b->D, .out = b->C);
    b->p->group = TT_G_GATE_UP;
    LAUNCH(b->p, rows_linear, .type_y = b->p->dtype, .x = between, .norm = weight(b, TT_W_FFN_NORM),
           .w = weight(b, TT_W_GATE), .y = h, .rows = b->T, .in = b->C, .out = b->F, .eps = eps, .gated = true);
    b->p->group = TT_G_DOWN;
    LAUNCH(b->p, rows_linear, .type_y = b->p->dtype, .x = h, .w = weight(b, TT_W_DOWN), .residual = between, .y = y,
           .rows = b->T, .in = b->F, .out = b->C);
    return y;
}

/* Logits are fp32 whatever the activations are. */
static float *logits_of(struct build *b, void *x)
{
    float *logits = tt_plan_external(b->p, TT_X_LOGITS, (size_t)(b->T * b->V) * sizeof *logits);
    b->p->group = TT_G_LOSS;
    LAUNCH(b->p, rows_linear, .type_y = TT_F32, .x = x, .norm = weight(b, TT_W_NORM), .w = weight(b, TT_W_HEAD),
           .y = logits, .rows = b->T, .in = b->C, .out = b->V, .eps = (float)b->c->norm_eps);
    return logits;
}

void decode_head(struct build *b, void *x)
{
    float *logits = logits_of(b, x);
    if (!b->how) return;
    size_t rows = (size_t)b->T;
    LAUNCH(b->p, sample, .logits = logits,
           .draws = tt_plan_external(b->p, TT_X_DRAWS, rows * (size_t)b->positions * 4),
           .seen = tt_plan_external(b->p, TT_X_SEEN, rows * TT_SEEN_WORDS((size_t)b->V) * 4),
           .work = tt_plan_buffer(b->p, "sample_work", rows * 2 * (size_t)b->V * 4), .tokens = (int32_t *)b->tokens,
           .pos = positions(b), .chosen = tt_plan_external(b->p, TT_X_CHOSEN, rows * 4), .rows = b->T, .V = b->V,
           .length = b->positions, .known = b->known, .top_k = b->how->top_k,
           .temperature = (float)b->how->temperature, .top_p = (float)b->how->top_p,
           .penalty = b->how->penalty > 0 ? (float)b->how->penalty : 1.0f);
}
