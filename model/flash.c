/* Flash: attention whose S×S scores never exist in memory. The forward pass goes through the keys in tiles with a
 * running maximum and sum (online softmax); the backward pass computes the probabilities again from q, k and the saved
 * logsumexp. It reads q, k, v where the projection left them, so nothing is transposed or repeated either. */
#include <math.h>

#include "core/base/fp8.h"
#include "model/build.h"

void attention_flash(struct build *b, struct attention_acts *a)
{
    void *k = view(b, a->qkv, b->H * b->D), *v = view(b, k, b->KV * b->D);
    a->o = activation(b, "attention_out", b->T, b->H * b->D);
    a->lse = floats(b, "attention_lse", b->T * b->H);
    b->p->group = TT_G_ATTENTION;
    LAUNCH(b->p, flash, .q = a->qkv, .k = k, .v = v, .o = a->o, .lse = a->lse, .amax = a->amax,
           .to = tt_fp8_e4m3(b->m->fp8_fnuz), .code_scale = a->codes ? a->code_scale : NULL, .codes = a->codes,
           .starts = b->starts, .B = b->B, .S = b->S, .heads = b->H, .kv_heads = b->KV, .D = b->D, .ld = b->P,
           .scale = 1.0f / sqrtf((float)b->D), .tf32 = b->m->tf32, .tile = tt_config_flash_tile(b->c));
}

/* With the rope fusion the kernel also rotates the gradients of q and k back. */
void attention_flash_backward(struct build *b, const struct attention_acts *a, const void *dout, void *dqkv)
{
    void *k = view(b, a->qkv, b->H * b->D), *v = view(b, k, b->KV * b->D);
    void *dk = view(b, dqkv, b->H * b->D), *dv = view(b, dk, b->KV * b->D);
    float *delta = floats(b, "attention_delta", b->T * b->H);
    bool rotate = fused(b, TT_FUSE_ROPE);
    b->p->group = TT_G_ATTENTION;
    LAUNCH(b->p, flash_backward, .q = a->qkv, .k = k, .v = v, .o = a->o, .dout = dout, .lse = a->lse, .delta = delta,
           .cos = rotate ? b->cos : NULL, .sin = rotate ? b->sin : NULL, .dq = dqkv, .dk = dk, .dv = dv,
           .amax = a->d_amax, .to = tt_fp8_e5m2(b->m->fp8_fnuz), .code_scale = a->d_codes ? a->d_scale : NULL,
           .codes = a->d_codes, .transposed = a->d_transposed, .o_to = tt_fp8_e4m3(b->m->fp8_fnuz),
           .o_scale = a->o_codes ? a->o_scale : NULL, .o_codes = a->o_codes, .starts = b->starts, .ends = b->ends,
           .B = b->B, .S = b->S, .heads = b->H, .kv_heads = b->KV, .D = b->D, .ld = b->P,
           .scale = 1.0f / sqrtf((float)b->D), .tf32 = b->m->tf32, .tile = tt_config_flash_tile(b->c));
}
