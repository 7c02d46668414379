#include "model/generate.h"

#include <stdlib.h>

enum { LEAST_PLANNED = 32 };

/* Makes model, plan and memory for sequences of `planned` tokens. */
static tt_status make(struct tt_generator *g, const struct tt_config *c, int64_t planned)
{
    struct tt_config *one;
    struct tt_device_info device;
    struct tt_backend *b = g->weights->backend;
    TT_TRY(tt_config_copy(c, &one));
    one->batch_size = 1;
    one->seq_len = planned;
    one->grad_accum = 1;
    one->documents = TT_DOCUMENTS_JOINED; /* a sequence is one document, with or without a cache */
    tt_status st = tt_model_create(one, &g->model);
    free(one);
    TT_TRY(st);
    g->planned = planned;
    g->model->rope_prompt = g->prompt;
    TT_TRY(b->ops->info(b->self, &device));
    tt_model_fit(g->model, &device);
    TT_TRY(g->cached ? tt_model_plan_decode(g->model, 1, planned, NULL, 0, &g->plan)
                     : tt_model_plan_logits(g->model, &g->plan));
    tt_engine_borrow(&g->engine, g->weights, TT_X_WEIGHTS);
    tt_engine_require(&g->engine, g->plan);
    TT_TRY(tt_engine_alloc(&g->engine, b));
    tt_engine_bind(&g->engine, g->plan);
    return tt_model_upload_rope(g->model, &g->engine, planned);
}

static void unmake(struct tt_generator *g)
{
    tt_engine_free(&g->engine);
    tt_plan_free(g->plan);
    tt_model_free(g->model);
    g->plan = NULL;
    g->model = NULL;
}

tt_status tt_generator_open(struct tt_generator *g, const struct tt_config *c, const struct tt_engine *weights,
                            int64_t length, int64_t prompt, bool cached)
{
    *g = (struct tt_generator){.weights = weights, .length = length, .prompt = prompt, .cached = cached};
    TT_TRY(tt_engine_settle(weights));
    g->tokens = calloc((size_t)length + 1, sizeof *g->tokens);
    if (!g->tokens) return tt_no_memory("a sequence of %lld tokens", (long long)length);
    return make(g, c, cached || length < LEAST_PLANNED ? length : LEAST_PLANNED);
}

/* Without a cache, a token costs as much as the whole planned sequence. So the plan grows with the sequence. */
static tt_status grow(struct tt_generator *g)
{
    struct tt_config *c;
    int64_t planned = g->planned;
    if (g->at <= planned) return TT_OK;
    while (planned < g->at) planned *= 2;
    TT_TRY(tt_config_copy(&g->model->config, &c));
    unmake(g);
    tt_status st = make(g, c, planned < g->length ? planned : g->length);
    free(c);
    return st;
}

static tt_status feed_cache(struct tt_generator *g, int32_t token)
{
    int32_t one[2] = {token, 0}, position = (int32_t)g->at - 1;
    TT_TRY(tt_engine_upload(&g->engine, TT_X_VAL_TOKENS, 0, one, sizeof one));
    return tt_engine_upload(&g->engine, TT_X_POSITION, 0, &position, sizeof position);
}

static tt_status feed_all(struct tt_generator *g)
{
    TT_TRY(grow(g));
    return tt_engine_upload(&g->engine, TT_X_VAL_TOKENS, 0, g->tokens, (size_t)(g->planned + 1) * sizeof *g->tokens);
}

tt_status tt_generator_feed(struct tt_generator *g, int32_t token, float *logits)
{
    size_t row = (size_t)g->model->config.vocab_size * sizeof(float);
    if (g->at >= g->length)
        return tt_fail(TT_FAILED, "the sequence is full: it has room for %lld tokens", (long long)g->length);
    g->tokens[g->at++] = token;
    if (!logits && !g->cached) return TT_OK;
    TT_TRY(g->cached ? feed_cache(g, token) : feed_all(g));
    TT_TRY(tt_plan_run(g->plan, g->engine.backend, NULL));
    if (!logits) return TT_OK;
    return tt_engine_download(&g->engine, TT_X_LOGITS, g->cached ? 0 : (size_t)(g->at - 1) * row, logits, row);
}

void tt_generator_close(struct tt_generator *g)
{
    unmake(g);
    free(g->tokens);
    *g = (struct tt_generator){0};
}
