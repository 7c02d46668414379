/* A tiny model on the device, for tests of whole models. Its sizes are odd, so that nothing is a multiple of
 * anything. */
#ifndef TT_MODEL_FIXTURE_H
#define TT_MODEL_FIXTURE_H

#include "core/base/rng.h"
#include "core/checkpoint/weights.h"
#include "core/data/data.h"
#include "model/params.h"
#include "model/session.h"
#include "tests/test.h"

static inline struct tt_config tiny_config(void)
{
    struct tt_config c = {.hidden_dim = 48, .num_layers = 3, .num_heads = 6, .num_kv_heads = 2, .ffn_dim = 76,
                          .vocab_size = 61,
                          .seq_len = 19, .batch_size = 3, .rope_theta = 10000, .norm_eps = 1e-6, .init_std = 0.08,
                          .tie_embeddings = true, .num_steps = 20, .grad_accum = 1, .seed = 7, .learning_rate = 3e-3,
                          .min_lr_ratio = 0.1, .weight_decay = 0.1, .beta1 = 0.9, .beta2 = 0.95, .adam_eps = 1e-8,
                          .clip_norm = 0, .warmup_steps = 2, .lr_schedule = TT_DECAY_COSINE, .log_interval = 1,
                          .prefetch = TT_SWITCH_ON, .val_batches = 2, .val_fraction = 0.1};
    if (test_few()) c.num_layers = 2;
    strcpy(c.preset, "default");
    strcpy(c.data, "builtin");
    return c;
}

/* The configured data, with a tenth held out. */
static inline struct tt_data *fixture_data(const struct tt_config *c)
{
    struct tt_data *d = NULL;
    CHECK_OK(tt_data_open(&(struct tt_data_options){.source = c->data, .val_fraction = 0.1, .seq_len = c->seq_len,
                                                    .vocab_size = c->vocab_size, .seed = (uint64_t)c->seed}, &d));
    return d;
}

/* Sizes with which every product is 8-bit in fp8; heads of 16. */
static inline void make_even(struct tt_config *c)
{
    c->hidden_dim = 64, c->num_heads = 4, c->num_kv_heads = 2, c->ffn_dim = 96, c->vocab_size = 80, c->seq_len = 16;
}

/* Whether models are tested in this precision on such a device. */
static inline bool tested_in(const struct tt_device_info *info, int precision)
{
    return info->has[precision] && (precision == TT_FP32 || !test_fp32());
}

/* for (int v = first_version(); v < TT_VERSIONS; v++): all versions, or only the last. */
static inline int first_version(void) { return test_few() ? TT_FLASH : 0; }

/* Uploads batch number `batch` for training step `step` (from 0): random, the same for all versions. */
static inline void fixture_batch(struct tt_session *s, int step, int batch)
{
    const struct tt_config *c = &s->model->config;
    int64_t n = c->batch_size * c->grad_accum * (c->seq_len + 1);
    int32_t *tokens = malloc((size_t)n * sizeof *tokens);
    for (int64_t i = 0; i < n; i++)
        tokens[i] = (int32_t)(tt_random(99, (uint64_t)batch, (uint64_t)i) % (uint64_t)c->vocab_size);
    size_t bytes = (size_t)n * sizeof *tokens;
    CHECK_OK(tt_engine_upload(&s->engine, TT_X_TOKENS, (size_t)(step % TT_TOKEN_SLOTS) * bytes, tokens, bytes));
    free(tokens);
}

/* A different batch for each step. */
static inline void fixture_tokens(struct tt_session *s, int step) { fixture_batch(s, step, step); }

/* Norm weights are not all one and biases not all zero, so that their effect shows. */
static inline void fixture_weights(struct tt_session *s)
{
    int64_t n = s->model->params.total;
    float *w = malloc((size_t)n * sizeof *w);
    tt_model_init_weights(s->model, w);
    for (int64_t i = s->model->params.decay_end; i < n; i++)
        if (w[i] != 0) w[i] += 0.2f * (float)tt_normal(5, 1, (uint64_t)i);
    for (int i = 0; i < s->model->params.n; i++) {
        const struct tt_param *t = &s->model->params.items[i];
        for (int64_t j = 0; j < t->count && tt_param_is_bias(t); j++)
            w[t->offset + j] = 0.3f * (float)tt_normal(5, 2, (uint64_t)(t->offset + j));
    }
    CHECK_OK(tt_session_set_weights(s, w));
    struct tt_state state = {.loss_scale = 1};
    CHECK_OK(tt_engine_upload(&s->engine, TT_X_STATE, 0, &state, sizeof state));
    free(w);
}

/* A copy of an arena; the caller frees it. */
static inline float *fixture_read(struct tt_session *s, enum tt_external x)
{
    size_t bytes = (size_t)s->model->params.total * sizeof(float);
    float *host = malloc(bytes);
    if (x == TT_X_WEIGHTS)
        CHECK_OK(tt_weights_read(&s->engine, &s->model->params, host));
    else
        CHECK_OK(tt_engine_download(&s->engine, x, 0, host, bytes));
    return host;
}

static inline double fixture_loss(struct tt_session *s)
{
    struct tt_state state;
    CHECK_OK(tt_engine_download(&s->engine, TT_X_STATE, 0, &state, sizeof state));
    return (double)state.loss;
}

/* The root mean square of the difference, relative to that of y. */
static inline double relative_error(const float *x, const float *y, int64_t n)
{
    double diff = 0, norm = 0;
    for (int64_t i = 0; i < n; i++) {
        diff += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
        norm += (double)y[i] * (double)y[i];
    }
    if (!isfinite(diff) || !isfinite(norm)) return INFINITY; /* a NaN is never near */
    return norm > 0 ? sqrt(diff / norm) : diff > 0 ? INFINITY : 0;
}

#endif
