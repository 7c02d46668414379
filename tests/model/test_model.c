/* All versions, every single fusion, recomputation, tying and accumulation compute the same loss and the same gradient
 * of every tensor, and every tensor has a gradient. */
#include "tests/core/plan/plan_check.h"
#include "tests/model/model_fixture.h"

static struct tt_backend backend;

/* Loss and gradients of the first step; the caller frees grads. */
static double one_step(const struct tt_config *c, float **grads)
{
    struct tt_session s;
    CHECK_OK(tt_session_open(&s, &backend, c, TT_USE_TRAIN));
    fixture_weights(&s);
    fixture_tokens(&s, 0);
    CHECK_OK(tt_plan_run(s.step, &backend, NULL));
    double loss = fixture_loss(&s);
    *grads = fixture_read(&s, TT_X_GRADS);
    tt_session_close(&s);
    return loss;
}

static void compare(const struct tt_config *a, const struct tt_config *b, const char *what)
{
    struct tt_model *m;
    float *x, *y;
    double loss_a = one_step(a, &x), loss_b = one_step(b, &y);
    CHECK(fabs(loss_a - loss_b) < 2e-6 * fabs(loss_b), "%s: loss %.8f against %.8f", what, loss_a, loss_b);
    CHECK(loss_a > 3 && loss_a < 6, "%s: loss %.8f", what, loss_a);
    CHECK_OK(tt_model_create(a, &m));
    for (int i = 0; i < m->params.n; i++) {
        const struct tt_param *t = &m->params.items[i];
        double error = relative_error(x + t->offset, y + t->offset, t->count), size = 0;
        for (int64_t j = 0; j < t->count; j++) size += fabs((double)x[t->offset + j]);
        /* with a single position attention has no choice: q and k get rounding errors instead of a gradient */
        bool of_q_or_k = strstr(t->name, ".wq.") || strstr(t->name, ".wk.") || strstr(t->name, ".q_norm.") ||
                         strstr(t->name, ".k_norm."), none = a->seq_len == 1 && of_q_or_k;
        CHECK(none || error < 2e-5, "%s: gradient of %s differs by %g", what, t->name, error);
        CHECK(none ? size < 1e-7 * (double)t->count : size > 1e-6 * (double)t->count, "%s: gradient of %s sums to %g",
              what, t->name, size);
    }
    tt_model_free(m);
    free(x);
    free(y);
}

static bool extras; /* what Qwen adds to a LLaMA */

static struct tt_config of_version(enum tt_version v, const char *fuse)
{
    struct tt_config c = tiny_config();
    c.qkv_bias = c.qk_norm = extras;
    c.version = v;
    strcpy(c.fuse, fuse);
    return c;
}

static void versions_agree(void)
{
    struct tt_config base = of_version(TT_BASELINE, ""), f = of_version(TT_FUSED, ""), flash = of_version(TT_FLASH, "");
    compare(&f, &base, "fused");
    compare(&flash, &base, "flash");
    base.tie_embeddings = flash.tie_embeddings = f.tie_embeddings = false;
    if (!test_few()) compare(&f, &base, "fused untied");
    compare(&flash, &base, "flash untied");
}

static void shapes_agree(void)
{
    static const int64_t shapes[][7] = {/* hidden, heads, kv, seq, batch, layers, head */
                                        {48, 6, 6, 19, 3, 2, 0}, {48, 6, 1, 1, 5, 1, 0},   {36, 3, 3, 70, 1, 2, 0},
                                        {64, 1, 1, 33, 2, 1, 0}, {36, 4, 2, 19, 2, 2, 16}, {50, 3, 1, 9, 2, 2, 6}};
    for (size_t i = test_few() ? 1 : 0; i < sizeof shapes / sizeof *shapes; i += test_few() ? 2 : 1) {
        struct tt_config base = of_version(TT_BASELINE, "");
        base.hidden_dim = shapes[i][0], base.num_heads = shapes[i][1], base.num_kv_heads = shapes[i][2];
        base.seq_len = shapes[i][3], base.batch_size = shapes[i][4], base.num_layers = shapes[i][5];
        base.head_dim = shapes[i][6];
        struct tt_config f = base, flash = base;
        f.version = TT_FUSED, flash.version = TT_FLASH;
        flash.head_chunk = 7;
        char what[32];
        snprintf(what, sizeof what, "shape %zu", i);
        compare(&f, &base, what);
        compare(&flash, &base, what);
    }
}

static void single_fusions_agree(void)
{
    struct tt_config base = of_version(TT_BASELINE, ""), flash = of_version(TT_FLASH, "");
    for (int i = 0; i < TT_FUSION_COUNT; i += test_few() ? 3 : 1) {
        char without[64];
        snprintf(without, sizeof without, "no-%s", tt_fusion_names[i]);
        struct tt_config one = of_version(TT_BASELINE, tt_fusion_names[i]), all_but = of_version(TT_FLASH, without);
        compare(&one, &base, tt_fusion_names[i]);
        compare(&all_but, &flash, without);
    }
}

static void recompute_agrees(void)
{
    for (int v = first_version(); v < TT_VERSIONS; v++)
        for (int r = TT_RECOMPUTE_ATTENTION; r <= TT_RECOMPUTE_BLOCK; r++) {
            struct tt_config plain = of_version((enum tt_version)v, ""), again = plain;
            again.recompute = (enum tt_recompute)r;
            compare(&again, &plain, tt_recompute_names[r]);
        }
}

/* In 16 bits every version stays as close to fp32 as its rounding allows, in every tensor. A head's norm has so few
 * weights that their sums may cancel, which doubles the relative error. */
static void check_narrow(enum tt_version v, enum tt_precision p, int64_t vocabulary, double tolerance)
{
    struct tt_config full = of_version(TT_BASELINE, ""), narrow = of_version(v, "");
    full.vocab_size = narrow.vocab_size = vocabulary;
    struct tt_model *m;
    float *x, *y;
    narrow.precision = p;
    double a = one_step(&narrow, &x), b = one_step(&full, &y);
    CHECK(fabs(a - b) < tolerance * b, "%s: loss %.6f against %.6f", tt_precision_names[p], a, b);
    CHECK_OK(tt_model_create(&full, &m));
    for (int i = 0; i < m->params.n; i++) {
        const struct tt_param *t = &m->params.items[i];
        double error = relative_error(x + t->offset, y + t->offset, t->count);
        double most = (t->count < 16 ? 12 : 6) * tolerance;
        CHECK(error < most, "%s %s: gradient of %s differs by %g", tt_version_names[v], tt_precision_names[p], t->name,
              error);
    }
    tt_model_free(m);
    free(x);
    free(y);
}

static void narrow_precisions_agree(void)
{
    struct tt_device_info info;
    CHECK_OK(backend.ops->info(backend.self, &info));
    for (int v = first_version(); v < TT_VERSIONS; v++) {
        if (tested_in(&info, TT_PREC_BF16)) check_narrow((enum tt_version)v, TT_PREC_BF16, 61, 1e-2);
        if (tested_in(&info, TT_PREC_FP16)) check_narrow((enum tt_version)v, TT_PREC_FP16, 61, 2e-3);
        /* a vocabulary so large that the head's products leave columns over, which have products of their own */
        if (tested_in(&info, TT_PREC_BF16)) check_narrow((enum tt_version)v, TT_PREC_BF16, 523, 1e-2);
    }
}

/* One batch of 6 equals two of 3 and three of 2. */
static void accumulation_agrees(void)
{
    for (int v = first_version(); v < TT_VERSIONS; v++)
        for (int tie = test_few(); tie < 2; tie++) {
            struct tt_config whole = of_version((enum tt_version)v, "");
            whole.batch_size = 6;
            whole.tie_embeddings = tie;
            struct tt_config two = whole, three = whole;
            two.batch_size = 3, two.grad_accum = 2;
            three.batch_size = 2, three.grad_accum = 3;
            compare(&two, &whole, "two micro-batches");
            if (!test_few()) compare(&three, &whole, "three micro-batches");
        }
}

/* Accumulating the same micro-batch twice gives the same gradient as once: the sum doubles, and the mean does not. */
static void accumulating_twice_doubles(void)
{
    struct tt_config once = of_version(TT_FUSED, ""), twice = once;
    struct tt_session s;
    float *x, *y;
    one_step(&once, &x);
    twice.grad_accum = 2;
    CHECK_OK(tt_session_open(&s, &backend, &twice, TT_USE_TRAIN));
    fixture_weights(&s);
    int64_t n = once.batch_size * (once.seq_len + 1);
    int32_t *tokens = malloc((size_t)(2 * n) * sizeof *tokens);
    for (int64_t i = 0; i < 2 * n; i++)
        tokens[i] = (int32_t)(tt_random(99, 0, (uint64_t)(i % n)) % (uint64_t)once.vocab_size);
    CHECK_OK(tt_engine_upload(&s.engine, TT_X_TOKENS, 0, tokens, (size_t)(2 * n) * sizeof *tokens));
    CHECK_OK(tt_plan_run(s.step, &backend, NULL));
    y = fixture_read(&s, TT_X_GRADS);
    double error = relative_error(y, x, s.model->params.total);
    CHECK(error < 1e-6, "off by %g", error);
    tt_session_close(&s);
    free(tokens);
    free(x);
    free(y);
}

/* For the directional derivative: the loss of the evaluation's forward pass at w + h·direction. */
static double loss_at(struct tt_session *s, const float *w, const float *direction, double h)
{
    int64_t n = s->model->params.total;
    float zero = 0, loss, *moved = malloc((size_t)n * sizeof *moved);
    for (int64_t i = 0; i < n; i++) moved[i] = (float)((double)w[i] + h * (double)direction[i]);
    CHECK_OK(tt_engine_upload(&s->engine, TT_X_WEIGHTS, 0, moved, (size_t)n * sizeof *moved));
    CHECK_OK(tt_engine_upload(&s->engine, TT_X_VAL_LOSS, 0, &zero, sizeof zero));
    CHECK_OK(tt_plan_run(s->eval, &backend, NULL));
    CHECK_OK(tt_engine_download(&s->engine, TT_X_VAL_LOSS, 0, &loss, sizeof loss));
    free(moved);
    return (double)loss;
}

/* In every version, with all targets and with only a few. */
static void gradient_is_the_derivative(void)
{
    for (int i = 2 * first_version(); i < 2 * TT_VERSIONS; i++) {
        int v = i / 2;
        struct tt_config c = of_version((enum tt_version)v, "");
        struct tt_session s;
        CHECK_OK(tt_session_open(&s, &backend, &c, TT_USE_TRAIN | TT_USE_EVAL));
        fixture_weights(&s);
        fixture_tokens(&s, 0);
        int64_t n = s.model->params.total, count = c.batch_size * (c.seq_len + 1);
        int32_t *tokens = malloc((size_t)count * sizeof *tokens);
        CHECK_OK(tt_engine_download(&s.engine, TT_X_TOKENS, 0, tokens, (size_t)count * sizeof *tokens));
        int64_t counted = 0;
        for (int64_t k = 0; k < count; k++) {
            bool ignored = i % 2 && (k % 3 || k < 2 * c.seq_len);
            if (ignored) tokens[k] = ~tokens[k];
            counted += !ignored && k % (c.seq_len + 1);
        }
        CHECK_OK(tt_engine_upload(&s.engine, TT_X_TOKENS, 0, tokens, (size_t)count * sizeof *tokens));
        CHECK_OK(tt_engine_upload(&s.engine, TT_X_VAL_TOKENS, 0, tokens, (size_t)count * sizeof *tokens));
        float *w = fixture_read(&s, TT_X_WEIGHTS);
        CHECK_OK(tt_plan_run(s.step, &backend, NULL));
        float *g = fixture_read(&s, TT_X_GRADS);
        double square = 0, h = 3e-3;
        for (int64_t i = 0; i < n; i++) square += (double)g[i] * (double)g[i];
        float *direction = malloc((size_t)n * sizeof *direction); /* in the direction of the gradient, with length 1 */
        for (int64_t i = 0; i < n; i++) direction[i] = (float)((double)g[i] / sqrt(square));
        double slope = (loss_at(&s, w, direction, h) - loss_at(&s, w, direction, -h)) / (2 * h);
        if (v == TT_BASELINE) slope *= (double)(c.batch_size * c.seq_len) / (double)counted; /* clip_grad did so */
        CHECK(fabs(slope - sqrt(square)) < 2e-3 * sqrt(square), "version %d, masked %d: slope %.7f, gradient %.7f", v,
              i % 2, slope, sqrt(square));
        free(direction);
        free(tokens);
        free(w);
        free(g);
        tt_session_close(&s);
    }
}

static void check_plan(const struct tt_config *c)
{
    struct tt_session s;
    CHECK_OK(tt_session_plan(&s, &backend, c, TT_USE_TRAIN | TT_USE_EVAL));
    CHECK_OK(plan_check(s.step, c->recompute == TT_RECOMPUTE_NONE));
    CHECK_OK(plan_check(s.eval, false));
    tt_session_close(&s);
}

static void plans_are_sound(void)
{
    for (int v = 0; v < TT_VERSIONS; v++)
        for (int r = 0; r <= TT_RECOMPUTE_BLOCK; r++)
            for (int tie = 0; tie < 2; tie++) {
                struct tt_config c = of_version((enum tt_version)v, "");
                c.recompute = (enum tt_recompute)r;
                c.tie_embeddings = tie;
                c.grad_accum = 1 + r;
                c.head_chunk = 20;
                check_plan(&c);
            }
}

/* Placement shares memory, and recomputation lowers the peak. */
static size_t arena(enum tt_version v, enum tt_recompute r)
{
    struct tt_config c = of_version(v, "");
    c.num_layers = 6, c.seq_len = 64, c.recompute = r;
    struct tt_session s;
    CHECK_OK(tt_session_plan(&s, &backend, &c, TT_USE_TRAIN));
    size_t all = 0, bytes = s.step->arena_bytes;
    for (int i = 0; i < s.step->buffer_count; i++) all += s.step->buffers[i].bytes;
    CHECK(bytes < all * 6 / 10, "arena %zu of %zu", bytes, all);
    tt_session_close(&s);
    return bytes;
}

/* ---- a device that computes in fp32 if asked for tf32 ---- */

static bool told_tf32;

static tt_status told_info(void *self, struct tt_device_info *out)
{
    TT_TRY(backend.ops->info(self, out));
    out->has[TT_TF32] = told_tf32;
    out->tf32_as_fp32 = true;
    return TT_OK;
}

static void attention_follows_the_device(void)
{
    struct tt_backend_ops ops = *backend.ops;
    struct tt_backend told = {&ops, backend.self};
    struct tt_config c = of_version(TT_FLASH, "");
    struct tt_session s;
    ops.info = told_info;
    c.precision = TT_TF32;
    for (int has = 0; has < 2; has++) {
        told_tf32 = has;
        CHECK_OK(tt_session_plan(&s, &told, &c, TT_USE_TRAIN));
        int seen = 0;
        for (int i = 0; i < s.step->count; i++) {
            const struct tt_op *op = &s.step->ops[i];
            if (op->kind != TT_OP_KERNEL || (op->kernel != TT_K_flash && op->kernel != TT_K_flash_backward)) continue;
            int64_t tf32 = op->kernel == TT_K_flash ? op->args.flash.tf32 : op->args.flash_backward.tf32;
            CHECK(tf32 == has, "operation %d takes %s", i, tf32 ? "tf32" : "fp32");
            seen++;
        }
        CHECK(seen == 2 * c.num_layers, "%d kernels of attention", seen);
        tt_session_close(&s);
    }
}

static void memory_is_shared(void)
{
    for (int v = 0; v < TT_VERSIONS; v++) {
        size_t none = arena((enum tt_version)v, TT_RECOMPUTE_NONE),
               attention = arena((enum tt_version)v, TT_RECOMPUTE_ATTENTION);
        size_t block = arena((enum tt_version)v, TT_RECOMPUTE_BLOCK);
        CHECK(attention < none && block < attention, "version %d: none %zu, attention %zu, block %zu", v, none,
              attention, block);
    }
    CHECK(arena(TT_FLASH, TT_RECOMPUTE_NONE) < arena(TT_FUSED, TT_RECOMPUTE_NONE), "flash needs less than fused");
}

static void extras_agree(void)
{
    extras = true;
    plans_are_sound();
    versions_agree();
    shapes_agree();
    single_fusions_agree();
    recompute_agrees();
    narrow_precisions_agree();
    accumulation_agrees();
    gradient_is_the_derivative();
    extras = false;
}

int main(void)
{
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){0}, &backend));
    TEST(plans_are_sound);
    TEST(versions_agree);
    TEST(shapes_agree);
    TEST(single_fusions_agree);
    TEST(recompute_agrees);
    TEST(narrow_precisions_agree);
    TEST(accumulation_agrees);
    TEST(accumulating_twice_doubles);
    TEST(gradient_is_the_derivative);
    TEST(extras_agree);
    TEST(memory_is_shared);
    TEST(attention_follows_the_device);
    tt_backend_close(&backend);
    return test_end();
}
