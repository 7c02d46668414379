/* The whole model against PyTorch: logits, loss, every gradient, ten steps of AdamW. tests/golden/README.md describes
 * the files and how they are made. */
#include "core/checkpoint/safetensors.h"
#include "tests/model/model_fixture.h"

static struct tt_backend backend;

struct golden {
    struct tt_safetensors *file;
    struct tt_config c;
    int32_t *tokens; /* (10, B, S+1) */
    int64_t batch;   /* tokens in a step */
};

static double number(const struct golden *g, const char *key)
{
    const char *text = tt_safetensors_metadata(g->file, key);
    CHECK(text != NULL, "no %s", key);
    return text ? atof(text) : 0;
}

/* A switch; off if the file does not name it. */
static bool has(const struct golden *g, const char *key)
{
    const char *text = tt_safetensors_metadata(g->file, key);
    return text && !strcmp(text, "true");
}

static float *tensor(const struct golden *g, const char *prefix, const char *name, int64_t count)
{
    char full[160];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const struct tt_tensor *t = tt_safetensors_find(g->file, full);
    CHECK(t && t->count == count, "%s is missing or of another size", full);
    float *x = calloc((size_t)count, sizeof *x);
    if (t && t->count == count) CHECK_OK(tt_safetensors_read(g->file, t, x));
    return x;
}

static bool open_golden(struct golden *g, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "tests/golden/%s.safetensors", name);
    tt_status st = tt_safetensors_open(path, &g->file);
    CHECK(!st, "%s; start it in the folder of the repository", st ? st->text : "");
    tt_status_free(st);
    if (!g->file) return false;
    g->c = tiny_config();
    g->c.hidden_dim = (int64_t)number(g, "hidden_dim"), g->c.num_layers = (int64_t)number(g, "num_layers");
    g->c.num_heads = (int64_t)number(g, "num_heads"), g->c.num_kv_heads = (int64_t)number(g, "num_kv_heads");
    g->c.ffn_dim = (int64_t)number(g, "ffn_dim"), g->c.vocab_size = (int64_t)number(g, "vocab_size");
    g->c.seq_len = (int64_t)number(g, "seq_len"), g->c.batch_size = (int64_t)number(g, "batch_size");
    g->c.num_steps = (int64_t)number(g, "num_steps"), g->c.warmup_steps = (int64_t)number(g, "warmup_steps");
    g->c.rope_theta = number(g, "rope_theta"), g->c.norm_eps = number(g, "norm_eps");
    g->c.learning_rate = number(g, "learning_rate"), g->c.min_lr_ratio = number(g, "min_lr_ratio");
    g->c.weight_decay = number(g, "weight_decay"), g->c.clip_norm = number(g, "clip_norm");
    g->c.beta1 = number(g, "beta1"), g->c.beta2 = number(g, "beta2"), g->c.adam_eps = number(g, "adam_eps");
    if (tt_safetensors_metadata(g->file, "end_token")) {
        g->c.documents = TT_DOCUMENTS_SEPARATE;
        g->c.end_token = (int64_t)number(g, "end_token");
    }
    g->c.tie_embeddings = has(g, "tie_embeddings");
    g->c.qkv_bias = has(g, "qkv_bias"), g->c.qk_norm = has(g, "qk_norm");
    if (tt_safetensors_metadata(g->file, "head_dim")) g->c.head_dim = (int64_t)number(g, "head_dim");
    const char *scaling = tt_safetensors_metadata(g->file, "rope_scaling");
    snprintf(g->c.rope_scaling, sizeof g->c.rope_scaling, "%s", scaling ? scaling : "");
    g->batch = g->c.batch_size * (g->c.seq_len + 1);
    g->tokens = calloc((size_t)(10 * g->batch), sizeof *g->tokens);
    CHECK_OK(tt_safetensors_read_i32(g->file, tt_safetensors_find(g->file, "tokens"), g->tokens));
    return true;
}

static void close_golden(struct golden *g)
{
    tt_safetensors_close(g->file);
    free(g->tokens);
}

/* Compares the golden tensors with this prefix to one of our arenas. */
static void compare_arena(const struct golden *g, struct tt_session *s, const char *prefix, enum tt_external x,
                          double factor, double tolerance)
{
    float *ours = fixture_read(s, x);
    for (int i = 0; i < s->model->params.n; i++) {
        const struct tt_param *t = &s->model->params.items[i];
        float *theirs = tensor(g, prefix, t->name, t->count);
        for (int64_t j = 0; j < t->count; j++) ours[t->offset + j] *= (float)factor;
        double error = relative_error(ours + t->offset, theirs, t->count);
        CHECK(error < tolerance, "%s %s%s differs by %g", tt_version_names[s->model->config.version], prefix, t->name,
              error);
        free(theirs);
    }
    free(ours);
}

static void upload_weights(const struct golden *g, struct tt_session *s)
{
    float *w = calloc((size_t)s->model->params.total, sizeof *w);
    for (int i = 0; i < s->model->params.n; i++) {
        const struct tt_param *t = &s->model->params.items[i];
        float *theirs = tensor(g, "w0.", t->name, t->count);
        memcpy(w + t->offset, theirs, (size_t)t->count * sizeof *w);
        free(theirs);
    }
    CHECK_OK(tt_session_set_weights(s, w));
    free(w);
}

static void check_steps(const struct golden *g, struct tt_session *s)
{
    float *loss = tensor(g, "", "loss", 10), *norm = tensor(g, "", "grad_norm", 10);
    size_t bytes = (size_t)g->batch * sizeof(int32_t);
    for (int step = 0; step < 10; step++) {
        struct tt_state state;
        CHECK_OK(tt_engine_upload(&s->engine, TT_X_TOKENS, (size_t)(step % TT_TOKEN_SLOTS) * bytes,
                                  g->tokens + step * g->batch, bytes));
        CHECK_OK(tt_plan_run(s->step, &backend, NULL));
        CHECK_OK(tt_engine_download(&s->engine, TT_X_STATE, 0, &state, sizeof state));
        CHECK(fabsf(state.loss - loss[step]) < 5e-6f * loss[step], "step %d: loss %.7f against %.7f", step,
              (double)state.loss, (double)loss[step]);
        CHECK(fabsf(state.grad_norm - norm[step]) < 2e-5f * norm[step], "step %d: norm %.7f against %.7f", step,
              (double)state.grad_norm, (double)norm[step]);
        /* the optimiser in single steps clips the gradients in place */
        bool clipped = !s->model->fuse[TT_FUSE_OPTIMIZER];
        if (step == 0) compare_arena(g, s, "grad.", TT_X_GRADS, clipped ? 1 / (double)state.clip : 1, 1e-5);
    }
    compare_arena(g, s, "w10.", TT_X_WEIGHTS, 1, 1e-5);
    free(loss);
    free(norm);
}

static void check_logits(const struct golden *g, const struct tt_session *weights)
{
    const struct tt_config *c = &g->c;
    int64_t n = c->batch_size * c->seq_len * c->vocab_size;
    struct tt_engine e = {0};
    struct tt_plan *p;
    float *ours = malloc((size_t)n * sizeof *ours), *theirs = tensor(g, "", "logits", n);
    CHECK_OK(tt_model_plan_logits(weights->model, &p));
    tt_engine_borrow(&e, &weights->engine, TT_X_WEIGHTS);
    tt_engine_require(&e, p);
    CHECK_OK(tt_engine_alloc(&e, &backend));
    tt_engine_bind(&e, p);
    CHECK_OK(tt_model_upload_rope(weights->model, &e, c->seq_len));
    CHECK_OK(tt_engine_upload(&e, TT_X_VAL_TOKENS, 0, g->tokens, (size_t)g->batch * sizeof *g->tokens));
    CHECK_OK(tt_plan_run(p, &backend, NULL));
    CHECK_OK(tt_engine_download(&e, TT_X_LOGITS, 0, ours, (size_t)n * sizeof *ours));
    double error = relative_error(ours, theirs, n);
    CHECK(error < 2e-6, "logits differ by %g", error);
    tt_engine_free(&e);
    tt_plan_free(p);
    free(ours);
    free(theirs);
}

static void check_file(const char *name)
{
    struct golden g = {0};
    if (!open_golden(&g, name)) return;
    for (int v = 0; v < TT_VERSIONS; v++) {
        struct tt_session s;
        struct tt_config c = g.c;
        struct tt_state state = {.loss_scale = 1};
        c.version = (enum tt_version)v;
        c.head_chunk = 11;
        CHECK_OK(tt_session_open(&s, &backend, &c, TT_USE_TRAIN));
        CHECK_OK(tt_engine_upload(&s.engine, TT_X_STATE, 0, &state, sizeof state));
        upload_weights(&g, &s);
        check_logits(&g, &s);
        check_steps(&g, &s);
        tt_session_close(&s);
    }
    close_golden(&g);
}

static void gqa_tied(void) { check_file("gqa_tied"); }
static void mha_untied(void) { check_file("mha_untied"); }
static void mqa_tied(void) { check_file("mqa_tied"); }
static void yarn_tied(void) { check_file("yarn_tied"); }
static void qwen2(void) { check_file("qwen2"); }
static void qwen3(void) { check_file("qwen3"); }
static void documents(void) { check_file("documents"); }

int main(void)
{
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){0}, &backend));
    TEST(gqa_tied);
    TEST(documents);
    if (!test_few()) {
        TEST(mha_untied);
        TEST(mqa_tied);
        TEST(yarn_tied);
        TEST(qwen2);
        TEST(qwen3);
    }
    tt_backend_close(&backend);
    return test_end();
}
