/* Generation: one new token of one sequence. Its key and value join a cache, and its query attends to all of it. */
#include <math.h>

#include "model/build.h"

void attention_decode(struct build *b, struct attention_acts *a)
{
    int64_t length = b->positions, row = b->KV * b->D, layer = b->p->layer;
    size_t bytes = (size_t)(2 * b->c->num_layers * length * row) * tt_dtype_size(b->p->dtype);
    void *k_cache = view(b, tt_plan_external(b->p, TT_X_CACHE, bytes), 2 * layer * length * row);
    void *v_cache = view(b, k_cache, length * row);
    const int32_t *pos = tt_plan_external(b->p, TT_X_POSITION, sizeof *pos);
    void *k = view(b, a->qkv, b->H * b->D), *v = view(b, k, row);
    float scale = 1.0f / sqrtf((float)b->D);
    b->p->group = TT_G_ROPE;
    LAUNCH(b->p, rope, .q = a->qkv, .k = k, .cos = b->cos, .sin = b->sin, .pos = pos, .T = 1, .S = 1, .heads = b->H,
           .kv_heads = b->KV, .D = b->D, .ld = b->P);
    b->p->group = TT_G_ATTENTION;
    a->o = activation(b, "attention_out", 1, b->H * b->D);
    LAUNCH(b->p, cache_append, .k = k, .v = v, .k_cache = k_cache, .v_cache = v_cache, .pos = pos, .kv_heads = b->KV,
           .D = b->D, .length = length);
    LAUNCH(b->p, attention_decode, .q = a->qkv, .k_cache = k_cache, .v_cache = v_cache, .pos = pos, .o = a->o,
           .scores = floats(b, "scores", b->H * length), .heads = b->H, .kv_heads = b->KV, .D = b->D, .length = length,
           .scale = scale);
}
