#include "model/session.h"

#include <stdlib.h>

tt_status tt_session_plan(struct tt_session *s, const struct tt_config *c, unsigned use)
{
    *s = (struct tt_session){0};
    TT_TRY(tt_model_create(c, &s->model));
    if (use & TT_USE_TRAIN) TT_TRY(tt_model_plan_train(s->model, &s->step));
    if (use & TT_USE_EVAL) TT_TRY(tt_model_plan_eval(s->model, &s->eval));
    if (s->step) tt_engine_require(&s->engine, s->step);
    if (s->eval) tt_engine_require(&s->engine, s->eval);
    s->engine.bytes[TT_X_WEIGHTS] = (size_t)s->model->params.total * sizeof(float);
    return TT_OK;
}

/* Host memory for a device array: itself when the two share, else a buffer that put() copies and frees. */
static tt_status host_view(struct tt_session *s, enum tt_external x, size_t bytes, float **out)
{
    struct tt_device_info info;
    TT_TRY(s->backend->ops->info(s->backend->self, &info));
    *out = info.shares_memory ? s->engine.externals[x] : malloc(bytes);
    return *out ? TT_OK : tt_fail(TT_FAILED, "no %.0f MiB of host memory for the weights", (double)bytes / 0x1p20);
}

static tt_status put(struct tt_session *s, enum tt_external x, size_t bytes, float *host, bool keep)
{
    if (!host || host == s->engine.externals[x]) return TT_OK;
    tt_status st = keep ? tt_engine_upload(&s->engine, x, 0, host, bytes) : TT_OK;
    free(host);
    return st;
}

static tt_status upload_rope(struct tt_session *s)
{
    size_t bytes = s->engine.bytes[TT_X_ROPE];
    float *tables;
    if (!bytes) return TT_OK;
    TT_TRY(host_view(s, TT_X_ROPE, bytes, &tables));
    tt_model_rope_tables(s->model, s->model->config.seq_len, tables);
    return put(s, TT_X_ROPE, bytes, tables, true);
}

tt_status tt_session_open(struct tt_session *s, struct tt_backend *backend, const struct tt_config *c, unsigned use)
{
    TT_TRY(tt_session_plan(s, c, use));
    s->backend = backend;
    TT_TRY(tt_engine_alloc(&s->engine, backend));
    if (s->step) tt_engine_bind(&s->engine, s->step);
    if (s->eval) tt_engine_bind(&s->engine, s->eval);
    return upload_rope(s);
}

tt_status tt_session_init_weights(struct tt_session *s)
{
    float *weights;
    TT_TRY(host_view(s, TT_X_WEIGHTS, s->engine.bytes[TT_X_WEIGHTS], &weights));
    tt_model_init_weights(s->model, weights);
    return put(s, TT_X_WEIGHTS, s->engine.bytes[TT_X_WEIGHTS], weights, true);
}

tt_status tt_session_load(struct tt_session *s, const char *path, struct tt_progress *progress)
{
    static const enum tt_external which[] = {TT_X_WEIGHTS, TT_X_MOMENT1, TT_X_MOMENT2};
    size_t bytes = s->engine.bytes[TT_X_WEIGHTS];
    int n = s->step ? 3 : 1;
    float *host[3] = {0};
    tt_status st = TT_OK;
    for (int i = 0; i < n && !st; i++) st = host_view(s, which[i], bytes, &host[i]);
    struct tt_checkpoint c = {.params = &s->model->params, .w = host[0], .m = host[1], .v = host[2]};
    if (!st) st = tt_checkpoint_load(path, &c);
    for (int i = 0; i < n; i++) {
        tt_status copied = put(s, which[i], bytes, host[i], !st);
        if (!st)
            st = copied;
        else
            tt_status_free(copied);
    }
    if (!st && progress) *progress = c.progress;
    free((char *)c.config);
    return st;
}

void tt_session_close(struct tt_session *s)
{
    tt_engine_free(&s->engine);
    tt_plan_free(s->step);
    tt_plan_free(s->eval);
    tt_model_free(s->model);
    *s = (struct tt_session){0};
}
