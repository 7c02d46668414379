/* The tokens of a step, in rows of S+1; the target of each token is the next one. One that is ignored as a target is
 * stored as ~token. */
#ifndef TT_GPU_TOKENS_H
#define TT_GPU_TOKENS_H

#include "backend/gpu/gpu.h"

GPU_DEVICE const int32_t *step_tokens(const int32_t *tokens, const struct tt_state *state, int64_t slot_stride)
{
    return tokens + (state ? state->slot * slot_stride : 0);
}
GPU_DEVICE int32_t stored_at(const int32_t *base, int64_t t, int64_t S)
{
    return base[(uint32_t)t / (uint32_t)S * (S + 1) + (uint32_t)t % (uint32_t)S];
}
GPU_DEVICE int32_t token_at(const int32_t *base, int64_t t, int64_t S)
{
    int32_t token = stored_at(base, t, S);
    return token < 0 ? ~token : token;
}
/* Negative: ignored. */
GPU_DEVICE int32_t target_at(const int32_t *base, int64_t t, int64_t S) { return stored_at(base + 1, t, S); }

#endif
