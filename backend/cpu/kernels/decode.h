/* Attention of one new token over a cache of keys and values. */
#ifndef TT_CPU_DECODE_H
#define TT_CPU_DECODE_H

static void k_cache_append(const struct cpu_team *team, const struct tt_cache_append_args *a)
{
    (void)team;
    int64_t width = a->kv_heads * a->D, at = *a->pos * width;
    row_copy((float *)a->k_cache + at, a->k, width);
    row_copy((float *)a->v_cache + at, a->v, width);
}

static void k_attention_decode(const struct cpu_team *team, const struct tt_attention_decode_args *a)
{
    int64_t n = *a->pos + 1, D = a->D, width = a->kv_heads * D, G = a->heads / a->kv_heads;
    PARALLEL_FOR(team, a->heads * n * D)
    for (int64_t h = 0; h < a->heads; h++) {
        const float *q = (const float *)a->q + h * D;
        const float *k = (const float *)a->k_cache + h / G * D, *v = (const float *)a->v_cache + h / G * D;
        float *o = (float *)a->o + h * D, *p = a->scores + h * a->length;
        for (int64_t j = 0; j < n; j++) p[j] = (float)row_dot(q, k + j * width, D);
        softmax_row(p, n, a->scale);
        row_zero(o, D);
        for (int64_t j = 0; j < n; j++) {
            SIMD
            for (int64_t d = 0; d < D; d++) o[d] += p[j] * v[j * width + d];
        }
    }
}

#endif
