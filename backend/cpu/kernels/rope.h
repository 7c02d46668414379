/* RoPE on interleaved pairs, fused and in steps, and the conversions between the layouts (T, heads·D) and (B, heads, S,
 * D). */
#ifndef TT_CPU_ROPE_H
#define TT_CPU_ROPE_H

/* Rotates one head of one row by its angles; sign -1 rotates back. out may be x. */
static inline void rotate(float *out, const float *x, const float *cosine, const float *sine, int64_t D, float sign)
{
    SIMD
    for (int64_t i = 0; i < D / 2; i++) {
        float p = x[2 * i], q = x[2 * i + 1], c = cosine[i], s = sign * sine[i];
        out[2 * i] = p * c - q * s;
        out[2 * i + 1] = p * s + q * c;
    }
}

static void k_rope(const struct cpu_team *team, const struct tt_rope_args *a)
{
    int64_t D = a->D;
    float sign = a->inverse ? -1.0f : 1.0f;
    PARALLEL_FOR(team, a->T * (a->heads + a->kv_heads) * D)
    for (int64_t t = 0; t < a->T; t++) {
        int64_t at = t % a->S * (D / 2);
        float *q = (float *)a->q + t * a->ld, *k = (float *)a->k + t * a->ld;
        for (int64_t h = 0; h < a->heads; h++) rotate(q + h * D, q + h * D, a->cos + at, a->sin + at, D, sign);
        for (int64_t h = 0; h < a->kv_heads; h++) rotate(k + h * D, k + h * D, a->cos + at, a->sin + at, D, sign);
    }
}

/* out = x times a table entry per pair: rope_cos and rope_sin are this with their own table. */
#define ROPE_TABLE_KERNEL(name)                                                                    \
    static void k_##name(const struct cpu_team *team, const struct tt_##name##_args *a)            \
    {                                                                                              \
        PARALLEL_FOR(team, a->T * a->heads * a->D)                                                 \
        for (int64_t t = 0; t < a->T; t++) {                                                       \
            const float *table = a->table + t % a->S * (a->D / 2);                                 \
            for (int64_t h = 0; h < a->heads; h++) {                                               \
                const float *x = (const float *)a->x + t * a->ldx + h * a->D;                      \
                float *out = (float *)a->out + t * a->ldo + h * a->D;                              \
                SIMD                                                                               \
                for (int64_t i = 0; i < a->D / 2; i++) {                                           \
                    out[2 * i] = x[2 * i] * table[i];                                              \
                    out[2 * i + 1] = x[2 * i + 1] * table[i];                                      \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

ROPE_TABLE_KERNEL(rope_cos)
ROPE_TABLE_KERNEL(rope_sin)

static void k_rope_rotate(const struct cpu_team *team, const struct tt_rope_rotate_args *a)
{
    float sign = a->inverse ? -1.0f : 1.0f;
    int64_t pairs = a->heads * a->D / 2;
    PARALLEL_FOR(team, a->T * a->heads * a->D)
    for (int64_t t = 0; t < a->T; t++) {
        const float *x = (const float *)a->x + t * a->ldx;
        float *out = (float *)a->out + t * a->ldo;
        SIMD
        for (int64_t i = 0; i < pairs; i++) {
            out[2 * i] = -sign * x[2 * i + 1];
            out[2 * i + 1] = sign * x[2 * i];
        }
    }
}

static void k_heads_split(const struct cpu_team *team, const struct tt_heads_split_args *a)
{
    PARALLEL_FOR(team, a->B * a->S * a->heads * a->D)
    for (int64_t t = 0; t < a->B * a->S; t++) {
        int64_t b = t / a->S, i = t % a->S;
        for (int64_t h = 0; h < a->heads; h++)
            row_copy((float *)a->out + ((b * a->heads + h) * a->S + i) * a->D,
                     (const float *)a->x + t * a->ldx + h * a->D, a->D);
    }
}

static void k_heads_merge(const struct cpu_team *team, const struct tt_heads_merge_args *a)
{
    PARALLEL_FOR(team, a->B * a->S * a->heads * a->D)
    for (int64_t t = 0; t < a->B * a->S; t++) {
        int64_t b = t / a->S, i = t % a->S;
        for (int64_t h = 0; h < a->heads; h++)
            row_copy((float *)a->out + t * a->ldo + h * a->D,
                     (const float *)a->x + ((b * a->heads + h) * a->S + i) * a->D, a->D);
    }
}

static void k_rope_split(const struct cpu_team *team, const struct tt_rope_split_args *a)
{
    int64_t H = a->heads, KV = a->kv_heads, S = a->S, D = a->D;
    PARALLEL_FOR(team, a->B * S * (H + 2 * KV) * D)
    for (int64_t t = 0; t < a->B * S; t++) {
        int64_t b = t / S, i = t % S;
        const float *x = (const float *)a->qkv + t * (H + 2 * KV) * D, *c = a->cos + i * (D / 2);
        const float *s = a->sin + i * (D / 2);
        float *q = (float *)a->q + (b * H * S + i) * D; /* heads are S·D apart */
        float *k = (float *)a->k + (b * KV * S + i) * D, *v = (float *)a->v + (b * KV * S + i) * D;
        for (int64_t h = 0; h < H; h++) rotate(q + h * S * D, x + h * D, c, s, D, 1.0f);
        for (int64_t h = 0; h < KV; h++) rotate(k + h * S * D, x + (H + h) * D, c, s, D, 1.0f);
        for (int64_t h = 0; h < KV; h++) row_copy(v + h * S * D, x + (H + KV + h) * D, D);
    }
}

static void k_rope_merge(const struct cpu_team *team, const struct tt_rope_merge_args *a)
{
    int64_t H = a->heads, KV = a->kv_heads, S = a->S, D = a->D;
    PARALLEL_FOR(team, a->B * S * (H + 2 * KV) * D)
    for (int64_t t = 0; t < a->B * S; t++) {
        int64_t b = t / S, i = t % S;
        float *dx = (float *)a->dqkv + t * (H + 2 * KV) * D;
        const float *c = a->cos + i * (D / 2), *s = a->sin + i * (D / 2);
        const float *dq = (const float *)a->dq + (b * H * S + i) * D; /* heads are S·D apart */
        const float *dk = (const float *)a->dk + (b * KV * S + i) * D;
        const float *dv = (const float *)a->dv + (b * KV * S + i) * D;
        for (int64_t h = 0; h < H; h++) rotate(dx + h * D, dq + h * S * D, c, s, D, -1.0f);
        for (int64_t h = 0; h < KV; h++) rotate(dx + (H + h) * D, dk + h * S * D, c, s, D, -1.0f);
        for (int64_t h = 0; h < KV; h++) row_copy(dx + (H + KV + h) * D, dv + h * S * D, D);
    }
}

static void k_repeat_kv(const struct cpu_team *team, const struct tt_repeat_kv_args *a)
{
    int64_t G = a->heads / a->kv_heads;
    PARALLEL_FOR(team, a->B * a->heads * a->n)
    for (int64_t h = 0; h < a->B * a->heads; h++)
        row_copy((float *)a->out + h * a->n, (const float *)a->x + h / G * a->n, a->n);
}

static void k_repeat_kv_backward(const struct cpu_team *team, const struct tt_repeat_kv_backward_args *a)
{
    int64_t G = a->heads / a->kv_heads;
    PARALLEL_FOR(team, a->B * a->heads * a->n)
    for (int64_t h = 0; h < a->B * a->kv_heads; h++) {
        const float *dy = (const float *)a->dy + h * G * a->n;
        float *dx = (float *)a->dx + h * a->n;
        row_copy(dx, dy, a->n);
        for (int64_t g = 1; g < G; g++) {
            SIMD
            for (int64_t i = 0; i < a->n; i++) dx[i] += dy[g * a->n + i];
        }
    }
}

#endif
