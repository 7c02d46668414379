/* Token lookup and its gradient. */
#ifndef TT_CPU_TOKENS_H
#define TT_CPU_TOKENS_H

/* Where this step's tokens start. */
static inline const int32_t *step_tokens(const int32_t *tokens, const struct tt_state *state, int64_t slot_stride)
{
    return tokens + (state ? state->slot * slot_stride : 0);
}

/* Tokens are stored in rows of S+1; the target of each is the next one. One that is ignored as a target is stored as
 * ~token. */
static inline int32_t token_at(const int32_t *base, int64_t t, int64_t S)
{
    int32_t token = base[t / S * (S + 1) + t % S];
    return token < 0 ? ~token : token;
}
/* Negative: ignored. */
static inline int32_t target_at(const int32_t *base, int64_t t, int64_t S)
{
    return base[t / S * (S + 1) + t % S + 1];
}

static void k_embedding(const struct cpu_team *team, const struct tt_embedding_args *a)
{
    const int32_t *base = step_tokens(a->tokens, a->state, a->slot_stride);
    PARALLEL_FOR(team, a->T * a->C)
    for (int64_t t = 0; t < a->T; t++)
        row_copy((float *)a->y + t * a->C, (const float *)a->weight + token_at(base, t, a->S) * a->C, a->C);
}

/* A token may occur many times, so each thread takes some columns and goes through all tokens in order. */
static void k_embedding_backward(const struct cpu_team *team, const struct tt_embedding_backward_args *a)
{
    const int32_t *base = step_tokens(a->tokens, a->state, a->slot_stride);
    PARALLEL_FOR(team, a->T * a->C)
    for (int64_t c = 0; c < a->C; c += COLUMNS) {
        int64_t n = smaller(COLUMNS, a->C - c);
        for (int64_t t = 0; t < a->T; t++) {
            const float *dy = (const float *)a->dy + t * a->C + c;
            float *dw = a->dweight + token_at(base, t, a->S) * a->C + c;
            SIMD
            for (int64_t i = 0; i < n; i++) dw[i] += dy[i];
        }
    }
}

static void k_document_bounds(const struct cpu_team *team, const struct tt_document_bounds_args *a)
{
    const int32_t *base = step_tokens(a->tokens, a->state, a->slot_stride);
    PARALLEL_FOR(team, a->B * a->S)
    for (int64_t b = 0; b < a->B; b++) {
        const int32_t *tokens = base + b * (a->S + 1);
        int32_t start = 0, end = (int32_t)a->S;
        for (int64_t i = 0; i < a->S; i++) {
            a->starts[b * a->S + i] = start;
            if (tokens[i] == a->end) start = (int32_t)i + 1;
        }
        for (int64_t i = a->S - 1; a->ends && i >= 0; i--) {
            if (tokens[i] == a->end) end = (int32_t)i + 1;
            a->ends[b * a->S + i] = end;
        }
    }
}

#endif
