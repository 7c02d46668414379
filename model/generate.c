#include "model/generate.h"

#include <stdlib.h>

tt_status tt_generator_open(struct tt_generator *g, const struct tt_config *c, const struct tt_engine *weights,
                            int64_t length, bool cached)
{
    *g = (struct tt_generator){.length = length, .cached = cached};
    struct tt_config *one;
    struct tt_device_info device;
    TT_TRY(tt_config_copy(c, &one));
    one->batch_size = 1;
    one->seq_len = length;
    one->grad_accum = 1;
    one->documents = TT_DOCUMENTS_JOINED; /* a sequence is one document, with or without a cache */
    tt_status st = tt_model_create(one, &g->model);
    free(one);
    TT_TRY(st);
    TT_TRY(weights->backend->ops->info(weights->backend->self, &device));
    tt_model_fit(g->model, &device);
    TT_TRY(cached ? tt_model_plan_decode(g->model, 1, length, NULL, 0, &g->plan)
                  : tt_model_plan_logits(g->model, &g->plan));
    g->tokens = calloc((size_t)length + 1, sizeof *g->tokens);
    if (!g->tokens) return tt_no_memory("a sequence of %lld tokens", (long long)length);
    tt_engine_borrow(&g->engine, weights, TT_X_WEIGHTS);
    tt_engine_require(&g->engine, g->plan);
    TT_TRY(tt_engine_alloc(&g->engine, weights->backend));
    tt_engine_bind(&g->engine, g->plan);
    return tt_model_upload_rope(g->model, &g->engine, length);
}

tt_status tt_generator_feed(struct tt_generator *g, int32_t token, float *logits)
{
    size_t row = (size_t)g->model->config.vocab_size * sizeof(float);
    if (g->at >= g->length)
        return tt_fail(TT_FAILED, "the sequence is full: it has room for %lld tokens", (long long)g->length);
    int32_t position = (int32_t)g->at;
    g->tokens[g->at++] = token;
    if (g->cached) {
        int32_t one[2] = {token, 0};
        TT_TRY(tt_engine_upload(&g->engine, TT_X_VAL_TOKENS, 0, one, sizeof one));
        TT_TRY(tt_engine_upload(&g->engine, TT_X_POSITION, 0, &position, sizeof position));
    } else {
        TT_TRY(tt_engine_upload(&g->engine, TT_X_VAL_TOKENS, 0, g->tokens,
                                (size_t)(g->length + 1) * sizeof *g->tokens));
    }
    TT_TRY(tt_plan_run(g->plan, g->engine.backend, NULL));
    return tt_engine_download(&g->engine, TT_X_LOGITS, g->cached ? 0 : (size_t)position * row, logits, row);
}

void tt_generator_close(struct tt_generator *g)
{
    tt_engine_free(&g->engine);
    tt_plan_free(g->plan);
    tt_model_free(g->model);
    free(g->tokens);
    *g = (struct tt_generator){0};
}
