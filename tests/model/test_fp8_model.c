/* Models with 8-bit factors: loss and gradients stay near those without, in every version, and equivalent computations
 * have the same bits. */
#include "core/base/fp8.h"
#include "model/scales.h"
#include "tests/model/fp8_fixture.h"

/* The precision of everything else in an fp8 run. */
static enum tt_precision rest(void) { return info.has[TT_PREC_BF16] ? TT_PREC_BF16 : TT_FP32; }

struct result {
    double loss;
    float *grads;
    struct tt_state state;
};

static struct result one_step(const struct tt_config *c, const struct tt_backend_options *options, float spoilt)
{
    struct result r;
    struct tt_session s;
    struct tt_backend own;
    if (options) CHECK_OK(tt_backend_open(options, &own));
    struct tt_backend *b = options ? &own : &backend;
    CHECK_OK(tt_session_open(&s, b, c, TT_USE_TRAIN));
    fixture_weights(&s);
    if (spoilt != 0) {
        float *w = fixture_read(&s, TT_X_WEIGHTS);
        w[tt_param_offset(&s.model->params, c, 1, TT_W_GATE) + 5] = spoilt;
        CHECK_OK(tt_session_set_weights(&s, w));
        free(w);
    }
    fixture_tokens(&s, 0);
    CHECK_OK(tt_plan_run(s.step, b, NULL));
    r.loss = fixture_loss(&s);
    r.grads = fixture_read(&s, TT_X_GRADS);
    CHECK_OK(tt_engine_download(&s.engine, TT_X_STATE, 0, &r.state, sizeof r.state));
    tt_session_close(&s);
    if (options) tt_backend_close(&own);
    return r;
}

/* Of each tensor's gradient, the norm of the difference relative to its own norm; the largest, or with of_blocks the
 * smallest among the matrices of the layers. */
static double worst_gradient(const struct tt_config *c, const struct result *x, const struct result *y, bool of_blocks,
                             char name[96])
{
    struct tt_model *m;
    double worst = of_blocks ? INFINITY : 0;
    CHECK_OK(tt_model_create(c, &m));
    for (int i = 0; i < m->params.n; i++) {
        const struct tt_param *t = &m->params.items[i];
        double error = relative_error(x->grads + t->offset, y->grads + t->offset, t->count);
        if (of_blocks ? t->layer < 0 || !t->shape[1] || error > worst : error < worst) continue;
        worst = error;
        snprintf(name, 96, "%s", t->name);
    }
    tt_model_free(m);
    return worst;
}

/* A code of E4M3 is off by at most a sixteenth, one of E5M2 by an eighth: 3 and 6 % in the mean square. A sum of such
 * terms is off by as much, and a gradient passes through up to four products in each of three layers. The smallest
 * difference shows that the products of every layer really are in 8 bits. */
static void check_near(struct tt_config *c, enum tt_fp8 which, const char *what)
{
    struct tt_config without = *c;
    char name[96] = "";
    c->fp8 = which;
    without.precision = rest();
    struct result x = one_step(c, NULL, 0), y = one_step(&without, NULL, 0);
    CHECK(fabs(x.loss - y.loss) < 5e-3 * y.loss, "%s: loss %.6f against %.6f", what, x.loss, y.loss);
    double most = worst_gradient(c, &x, &y, false, name);
    CHECK(most < 0.3, "%s: the gradient of %s differs by %g", what, name, most);
    double least = worst_gradient(c, &x, &y, true, name);
    CHECK(least > 0.01, "%s: the gradient of %s differs by %g only", what, name, least);
    printf("     %s: loss off by %.1e, gradients by %.3f to %.3f\n", what, fabs(x.loss - y.loss) / y.loss, least, most);
    free(x.grads);
    free(y.grads);
}

static void gradients_are_near(void)
{
    for (int v = first_version(); v < TT_VERSIONS; v++) {
        struct tt_config c = even_config((enum tt_version)v, TT_PREC_FP8);
        check_near(&c, TT_FP8_LINEAR, tt_version_names[v]);
        c.tie_embeddings = false;
        c.grad_accum = 2;
        check_near(&c, TT_FP8_ALL, "with the head, two micro-batches");
        c.fp8_scaling = TT_SCALING_DELAYED; /* this first step uses estimated scales */
        check_near(&c, TT_FP8_ALL, "the same with delayed scales");
        c.fp8_scaling = TT_SCALING_ROW;
        if (info.fp8_rows) check_near(&c, TT_FP8_ALL, "the same with scales of rows");
    }
}

/* Estimated scales do not cut off the weights of a trained model; the loss would show it. */
static void estimates_are_wide(void)
{
    struct tt_config c = even_config(TT_FLASH, TT_PREC_FP8), without = c;
    c.fp8_scaling = TT_SCALING_DELAYED;
    without.precision = rest();
    struct result x = one_step(&c, NULL, 12), y = one_step(&without, NULL, 12);
    CHECK(fabs(x.loss - y.loss) < 5e-3 * y.loss, "loss %.6f against %.6f", x.loss, y.loss);
    char name[96] = "";
    double most = worst_gradient(&c, &x, &y, false, name);
    CHECK(most < 0.3, "the gradient of %s differs by %g", name, most);
    free(x.grads);
    free(y.grads);
}

/* With one scale per row, gradients of products are nearer to those without 8-bit factors. On a CPU this model's errors
 * are 0.92 of those with one scale per tensor, in the mean over its matrices. */
static void rows_are_nearer(void)
{
    struct tt_config c = even_config(TT_FLASH, TT_PREC_FP8), without = c;
    struct tt_model *m;
    double error[2] = {0};
    if (!info.fp8_rows) SKIP("this device does not multiply 8-bit numbers with scales of rows");
    without.precision = rest();
    CHECK_OK(tt_model_create(&c, &m));
    struct result want = one_step(&without, NULL, 0);
    for (int by_rows = 0; by_rows < 2; by_rows++) {
        c.fp8_scaling = by_rows ? TT_SCALING_ROW : TT_SCALING_TENSOR;
        struct result got = one_step(&c, NULL, 0);
        for (int i = 0; i < m->params.n; i++) {
            const struct tt_param *t = &m->params.items[i];
            if (t->layer >= 0 && t->shape[1])
                error[by_rows] += relative_error(got.grads + t->offset, want.grads + t->offset, t->count);
        }
        free(got.grads);
    }
    printf("     errors of gradients by rows over those by tensors: %.3f\n", error[1] / error[0]);
    CHECK(error[1] < error[0], "errors add up to %g by rows, %g by tensors", error[1], error[0]);
    tt_model_free(m);
    free(want.grads);
}

/* A device whose library has no row scales reports that in one line; a prediction still has a plan. */
static const struct tt_backend_ops *with_rows;

static tt_status say_no_rows(void *self, struct tt_device_info *out)
{
    TT_TRY(with_rows->info(self, out));
    out->fp8_rows = false;
    return TT_OK;
}

static void rows_are_refused(void)
{
    struct tt_config c = even_config(TT_FLASH, TT_PREC_FP8);
    struct tt_backend_ops lacking = *backend.ops;
    struct tt_session s;
    c.fp8_scaling = TT_SCALING_ROW;
    with_rows = backend.ops, lacking.info = say_no_rows, backend.ops = &lacking;
    tt_status st = tt_session_plan(&s, &backend, &c, TT_USE_TRAIN);
    CHECK(st && st->code == TT_USAGE && strstr(st->text, "use --fp8-scaling tensor or delayed") &&
              !strchr(st->text, '\n'), "%s", st ? st->text : "nothing is said");
    tt_status_free(st);
    tt_session_close(&s);
    CHECK_OK(tt_session_plan(&s, &backend, &c, TT_USE_TRAIN | TT_USE_PREDICT));
    tt_session_close(&s);
    backend.ops = with_rows;
}

/* ---- scales from a history ---- */

static void next_step(struct tt_session *s, int step)
{
    fixture_tokens(s, step);
    CHECK_OK(tt_plan_run(s->step, s->backend, NULL));
}

static float *read_scales(struct tt_session *s)
{
    float *scales = malloc(s->engine.bytes[TT_X_SCALES]);
    CHECK_OK(tt_engine_download(&s->engine, TT_X_SCALES, 0, scales, s->engine.bytes[TT_X_SCALES]));
    return scales;
}

/* After a step every tensor has a scale from its own magnitude, and the next step's gradients are as near as with
 * current scales. */
static void histories_are_kept(void)
{
    for (int v = first_version(); v < TT_VERSIONS; v++) {
        struct tt_config c = even_config((enum tt_version)v, TT_PREC_FP8), without = c;
        struct tt_session s, plain;
        char name[96] = "";
        c.fp8 = TT_FP8_ALL, c.fp8_scaling = TT_SCALING_DELAYED, c.learning_rate = without.learning_rate = 0;
        without.precision = rest();
        CHECK_OK(tt_session_open(&s, &backend, &c, TT_USE_TRAIN));
        CHECK_OK(tt_session_open(&plain, &backend, &without, TT_USE_TRAIN));
        fixture_weights(&s);
        fixture_weights(&plain);
        for (int step = 0; step < 3; step++) next_step(&s, step), next_step(&plain, step);
        int64_t n = tt_scales_count(&c);
        float *scales = read_scales(&s), *history = scales + TT_FP8_APART * n, *amax = history + TT_FP8_HISTORY * n;
        for (int64_t i = 0; i < n; i++) {
            enum tt_dtype to = i < 2 * n / 3 ? tt_fp8_e4m3(info.fp8_fnuz) : tt_fp8_e5m2(info.fp8_fnuz);
            float most = 0;
            for (int k = 0; k < 3; k++) {
                CHECK(history[k * n + i] > 0, "tensor %d of step %d has no magnitude", (int)i, k);
                most = fmaxf(most, history[k * n + i]);
            }
            float room = i < 2 * n / 3 ? 2 : 32;
            CHECK(scales[i * TT_FP8_APART] == room * tt_fp8_scale(most, to), "the scale of tensor %d", (int)i);
            CHECK(amax[i] == 0 && history[3 * n + i] == 0, "tensor %d", (int)i);
        }
        struct result x = {.grads = fixture_read(&s, TT_X_GRADS)}, y = {.grads = fixture_read(&plain, TT_X_GRADS)};
        double most = worst_gradient(&c, &x, &y, false, name);
        CHECK(most < 0.3, "the gradient of %s differs by %g", name, most);
        free(x.grads), free(y.grads), free(scales);
        tt_session_close(&s);
        tt_session_close(&plain);
    }
}

/* Magnitudes a thousand times those of the history: numbers saturate, the step stays finite, and the next step has
 * fitting scales. A thousand times smaller, or all weights 0: finite too. */
static void sudden_magnitudes_are_met(void)
{
    struct tt_config c = even_config(TT_FLASH, TT_PREC_FP8);
    static const float factors[] = {1000, 1e-3f, 0};
    c.fp8_scaling = TT_SCALING_DELAYED, c.learning_rate = 0;
    for (size_t k = 0; k < sizeof factors / sizeof *factors; k++) {
        struct tt_session s;
        struct tt_state state;
        CHECK_OK(tt_session_open(&s, &backend, &c, TT_USE_TRAIN));
        fixture_weights(&s);
        next_step(&s, 0);
        float *before = read_scales(&s), *w = fixture_read(&s, TT_X_WEIGHTS);
        int64_t at = tt_param_offset(&s.model->params, &c, 1, TT_W_DOWN), n = c.hidden_dim * c.ffn_dim;
        for (int64_t i = 0; i < n; i++) w[at + i] *= factors[k];
        CHECK_OK(tt_session_set_weights(&s, w));
        next_step(&s, 1);
        CHECK_OK(tt_engine_download(&s.engine, TT_X_STATE, 0, &state, sizeof state));
        CHECK(state.apply && isfinite(state.loss) && isfinite(state.grad_norm), "factor %g: loss %g",
              (double)factors[k], (double)state.loss);
        float *after = read_scales(&s);
        int64_t slot = TT_FP8_APART * tt_scales_index(&c, 1, TT_W_DOWN, TT_FACTOR_WEIGHTS);
        if (factors[k] > 1)
            CHECK(after[slot] == before[slot] * 1024 || after[slot] == before[slot] * 512, "scale %g after %g",
                  (double)after[slot], (double)before[slot]);
        else
            CHECK(after[slot] == before[slot], "the history forgot its largest");
        free(before), free(after), free(w);
        tt_session_close(&s);
    }
}

/* A step with a NaN or infinity is not applied, and leaves neither in the history. */
static void nan_is_not_remembered(void)
{
    struct tt_config c = even_config(TT_FLASH, TT_PREC_FP8);
    static const float spoilt[] = {INFINITY, NAN};
    c.fp8_scaling = TT_SCALING_DELAYED;
    for (int k = 0; k < 2; k++) {
        struct tt_session s;
        struct tt_state state;
        CHECK_OK(tt_session_open(&s, &backend, &c, TT_USE_TRAIN));
        fixture_weights(&s);
        next_step(&s, 0);
        int64_t at = tt_param_offset(&s.model->params, &c, 1, TT_W_UP) + 9;
        float *good = fixture_read(&s, TT_X_WEIGHTS), keep = good[at];
        good[at] = spoilt[k];
        CHECK_OK(tt_session_set_weights(&s, good));
        next_step(&s, 1);
        CHECK_OK(tt_engine_download(&s.engine, TT_X_STATE, 0, &state, sizeof state));
        CHECK(!state.apply && !isfinite(state.loss), "with %g: loss %g", (double)spoilt[k], (double)state.loss);
        good[at] = keep;
        CHECK_OK(tt_session_set_weights(&s, good));
        float *scales = read_scales(&s);
        for (size_t i = 0; i < s.engine.bytes[TT_X_SCALES] / sizeof *scales; i++)
            CHECK(isfinite(scales[i]), "%g is left at %zu", (double)scales[i], i);
        next_step(&s, 2);
        CHECK_OK(tt_engine_download(&s.engine, TT_X_STATE, 0, &state, sizeof state));
        CHECK(state.apply && isfinite(state.loss), "then: loss %g", (double)state.loss);
        free(good), free(scales);
        tt_session_close(&s);
    }
}

static void check_same(const struct tt_config *a, const struct tt_config *b, const struct tt_backend_options *options,
                       const char *what)
{
    struct tt_model *m;
    struct result x = one_step(a, NULL, 0), y = one_step(b, options, 0);
    CHECK_OK(tt_model_create(a, &m));
    CHECK(!memcmp(x.grads, y.grads, (size_t)m->params.total * sizeof(float)), "%s: other bits", what);
    tt_model_free(m);
    free(x.grads);
    free(y.grads);
}

static void same_bits(void)
{
    for (int v = first_version(); v < TT_VERSIONS; v++) {
        struct tt_config c = even_config((enum tt_version)v, TT_PREC_FP8), again = c;
        check_same(&c, &c, &(struct tt_backend_options){.threads = 1}, "another run");
        for (int r = TT_RECOMPUTE_ATTENTION; r <= TT_RECOMPUTE_BLOCK; r++)
            for (int d = 0; d <= (info.fp8_rows ? TT_SCALING_ROW : TT_SCALING_DELAYED); d++) {
                again.recompute = (enum tt_recompute)r;
                again.fp8_scaling = c.fp8_scaling = (enum tt_fp8_scaling)d;
                check_same(&again, &c, NULL, tt_recompute_names[r]);
            }
        check_same(&c, &c, &(struct tt_backend_options){.threads = 1}, "another run with other scales");
        c.fp8_scaling = TT_SCALING_DELAYED;
        check_same(&c, &c, &(struct tt_backend_options){.threads = 1}, "another run with delayed scales");
    }
}

/* Products of other sizes are not in 8 bits. */
static void odd_sizes_are_left_alone(void)
{
    struct tt_config odd = tiny_config(), without = odd;
    odd.version = without.version = TT_FLASH;
    odd.precision = TT_PREC_FP8;
    odd.fp8 = TT_FP8_ALL;
    without.precision = rest();
    check_same(&odd, &without, NULL, "odd sizes");
}

/* A NaN or infinity must show as such and not be saturated away. */
static void infinities_are_not_hidden(void)
{
    struct tt_config c = even_config(TT_FLASH, TT_PREC_FP8);
    static const float spoilt[] = {INFINITY, NAN};
    for (int i = 0; i < (info.fp8_rows ? 6 : 4); i++) {
        c.fp8_scaling = (enum tt_fp8_scaling)(i / 2);
        struct result r = one_step(&c, NULL, spoilt[i % 2]);
        CHECK(!r.state.apply && !isfinite(r.loss), "with %g: loss %g", (double)spoilt[i % 2], r.loss);
        free(r.grads);
    }
}

/* ---- FNUZ, the number format of gfx942: a CPU rounds to it as that chip does ----
 *
 * Its numbers are OCP's numbers halved, except for the largest ones of E4M3 and the smallest. With power-of-two scales
 * nearly all tensors give the same numbers. The exceptions are tensors whose largest value is between 1.75 and 1.875
 * times a power of two, and the smallest values in each. */

static const struct tt_backend_ops *ocp;

static tt_status say_fnuz(void *self, struct tt_device_info *out)
{
    TT_TRY(ocp->info(self, out));
    out->fp8_fnuz = true;
    return TT_OK;
}

static void numbers_of_another_chip(void)
{
    struct tt_config c = even_config(TT_FLASH, TT_PREC_FP8);
    struct tt_backend_ops fnuz = *backend.ops;
    struct tt_session s;
    if (strcmp(backend.ops->name, "cpu")) SKIP("a GPU has one kind of 8-bit numbers");
    struct result x = one_step(&c, NULL, 0);
    ocp = backend.ops, fnuz.info = say_fnuz, backend.ops = &fnuz;
    CHECK_OK(tt_session_plan(&s, &backend, &c, TT_USE_TRAIN));
    for (int i = 0; i < s.step->count; i++) {
        const struct tt_gemm *g = &s.step->ops[i].args.gemm;
        if (s.step->ops[i].kind != TT_OP_GEMM || !tt_is_fp8(g->type_a)) continue;
        CHECK(tt_fp8_fnuz(g->type_a) && tt_fp8_fnuz(g->type_b), "product %d", i);
    }
    tt_session_close(&s);
    check_near(&c, TT_FP8_LINEAR, "FNUZ");
    struct result y = one_step(&c, NULL, 0);
    backend.ops = ocp;
    char name[96] = "";
    double apart = worst_gradient(&c, &x, &y, false, name);
    CHECK(apart < 0.05, "the gradient of %s is %g from that in OCP's numbers", name, apart);
    free(x.grads);
    free(y.grads);
}

/* A CPU multiplies the factors as floats, which need memory too: as much as the largest product needs. */
static void scratch_is_counted(void)
{
    struct tt_config c = even_config(TT_FLASH, TT_PREC_FP8);
    struct tt_backend own;
    struct tt_session s;
    struct tt_device_info before, after;
    int64_t most = 0;
    CHECK_OK(tt_backend_open(&(struct tt_backend_options){0}, &own));
    CHECK_OK(own.ops->info(own.self, &before));
    CHECK_OK(tt_session_open(&s, &own, &c, TT_USE_TRAIN));
    for (int i = 0; i < s.step->count; i++) {
        const struct tt_gemm *g = &s.step->ops[i].args.gemm;
        if (s.step->ops[i].kind != TT_OP_GEMM || !tt_is_fp8(g->type_a)) continue;
        if ((g->m + g->n) * g->k > most) most = (g->m + g->n) * g->k;
    }
    fixture_weights(&s);
    fixture_tokens(&s, 0);
    CHECK_OK(tt_plan_run(s.step, &own, NULL));
    CHECK(s.engine.wide_bytes == (size_t)most * sizeof(float), "%zu bytes planned", s.engine.wide_bytes);
    tt_session_close(&s);
    CHECK_OK(own.ops->info(own.self, &after));
    CHECK(after.memory_used - before.memory_used == (size_t)most * sizeof(float), "%zu bytes more, not %zu",
          after.memory_used - before.memory_used, (size_t)most * sizeof(float));
    tt_backend_close(&own);
}

int main(void)
{
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){0}, &backend));
    CHECK_OK(backend.ops->info(backend.self, &info));
    if (!strcmp(tt_backend_name(), "cpu")) TEST(scratch_is_counted);
    if (tested_in(&info, TT_PREC_FP8)) {
        TEST(gradients_are_near);
        TEST(estimates_are_wide);
        TEST(rows_are_nearer);
        TEST(rows_are_refused);
        TEST(same_bits);
        TEST(odd_sizes_are_left_alone);
        TEST(infinities_are_not_hidden);
        TEST(histories_are_kept);
        TEST(sudden_magnitudes_are_met);
        TEST(nan_is_not_remembered);
        TEST(numbers_of_another_chip);
    }
    tt_backend_close(&backend);
    return test_end();
}
