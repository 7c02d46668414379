/* A hundred steps on the built-in language: every version, in every precision of this device, follows the losses that
 * the CPU wrote into tests/golden/curve.txt. `test_curve --write` (in a CPU build) writes that file. */
#include "core/data/data.h"
#include "tests/model/model_fixture.h"

enum { STEPS = 100 };

static const char *const path = "tests/golden/curve.txt";
static struct tt_backend backend;
static double want[STEPS];

static struct tt_config curve_config(enum tt_version v, enum tt_precision p)
{
    struct tt_config c = tiny_config();
    c.hidden_dim = 64, c.num_heads = 4, c.num_kv_heads = 2, c.num_layers = 2, c.ffn_dim = 96;
    c.vocab_size = 64, c.seq_len = 32, c.batch_size = 8, c.init_std = 0.02, c.clip_norm = 1;
    c.num_steps = STEPS, c.warmup_steps = 10;
    c.version = v;
    c.precision = p;
    return c;
}

static int steps(void) { return test_few() ? 4 : STEPS; }

static void upload_batch(struct tt_session *s, struct tt_data *data, int step)
{
    const struct tt_config *c = &s->model->config;
    int64_t row = c->seq_len + 1;
    int32_t tokens[8 * 33];
    for (int64_t r = 0; r < c->batch_size; r++)
        CHECK_OK(tt_data_sample(data, TT_TRAIN, (uint64_t)(step * c->batch_size + r), tokens + r * row));
    CHECK_OK(tt_engine_upload(&s->engine, TT_X_TOKENS, (size_t)(step % TT_TOKEN_SLOTS) * sizeof tokens, tokens,
                              sizeof tokens));
}

static void losses(enum tt_version v, enum tt_precision p, double *out)
{
    struct tt_config c = curve_config(v, p);
    struct tt_session s;
    struct tt_data *data;
    struct tt_state state = {.loss_scale = p == TT_PREC_FP16 ? 0x1p12f : 1};
    CHECK_OK(tt_data_open(&(struct tt_data_options){.source = "builtin", .seq_len = c.seq_len, .vocab_size = 64,
                                                    .seed = 3}, &data));
    CHECK_OK(tt_session_open(&s, &backend, &c, TT_USE_TRAIN));
    CHECK_OK(tt_session_init_weights(&s));
    CHECK_OK(tt_engine_upload(&s.engine, TT_X_STATE, 0, &state, sizeof state));
    for (int i = 0; i < steps(); i++) {
        upload_batch(&s, data, i);
        CHECK_OK(tt_plan_run(s.step, &backend, NULL));
        out[i] = fixture_loss(&s);
    }
    tt_session_close(&s);
    tt_data_close(data);
}

static int write_curve(void)
{
    double x[STEPS];
    losses(TT_FUSED, TT_FP32, x);
    FILE *f = fopen(path, "w");
    for (int i = 0; f && i < steps(); i++) fprintf(f, "%.9g\n", x[i]);
    return !f || fclose(f);
}

static void read_curve(void)
{
    FILE *f = fopen(path, "r");
    CHECK(f != NULL, "no %s", path);
    for (int i = 0; f && i < STEPS; i++) CHECK(fscanf(f, "%lf", &want[i]) == 1, "line %d", i + 1);
    if (f) fclose(f);
    CHECK(want[0] > 4 && want[STEPS - 1] < 3.2, "the curve falls: %g to %g", want[0], want[STEPS - 1]);
}

static void follow(enum tt_precision p, double tolerance)
{
    for (int v = 0; v < TT_VERSIONS; v++) {
        double x[STEPS], worst = 0;
        losses((enum tt_version)v, p, x);
        for (int i = 0; i < steps(); i++) worst = fmax(worst, fabs(x[i] - want[i]) / want[i]);
        CHECK(worst < tolerance, "%s in %s: off by %g of the loss", tt_version_names[v], tt_precision_names[p], worst);
        printf("     %s in %s: within %.1e\n", tt_version_names[v], tt_precision_names[p], worst);
    }
}

static void fp32_follows(void) { follow(TT_FP32, 1e-4); }
static void tf32_follows(void) { follow(TT_TF32, 5e-3); }
static void bf16_follows(void) { follow(TT_PREC_BF16, 2e-2); }
static void fp16_follows(void) { follow(TT_PREC_FP16, 2e-2); }

int main(int argc, char **argv)
{
    struct tt_device_info info;
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){0}, &backend));
    if (argc > 1 && !strcmp(argv[1], "--write")) return write_curve();
    CHECK_OK(backend.ops->info(backend.self, &info));
    TEST(read_curve);
    TEST(fp32_follows);
    if (tested_in(&info, TT_PREC_BF16)) TEST(bf16_follows);
    if (tested_in(&info, TT_PREC_FP16)) TEST(fp16_follows);
    tt_backend_close(&backend);
    if (!tested_in(&info, TT_TF32)) return test_end();
    CHECK_OK(tt_backend_open(&(struct tt_backend_options){.precision = TT_TF32}, &backend));
    TEST(tf32_follows);
    tt_backend_close(&backend);
    return test_end();
}
