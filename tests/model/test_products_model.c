/* A model in bf16 whose sizes allow fused products (SwiGLU, RoPE, the residual stream, cross-entropy): as close to fp32
 * as the same model without them, in every tensor. Skipped if the device has no such products. */
#include "tests/backend/products_or_skip.h"
#include "tests/model/model_fixture.h"

static struct tt_backend backend;

static struct tt_config config_of(enum tt_precision precision)
{
    struct tt_config c = tiny_config();
    c.version = TT_FLASH;
    c.precision = precision;
    c.num_layers = 2;
    c.hidden_dim = 128, c.num_heads = 2, c.num_kv_heads = 1, c.ffn_dim = 128, c.vocab_size = 192;
    c.seq_len = 33, c.batch_size = 3, c.head_chunk = 64;
    return c;
}

/* Loss and gradients of the first step; the caller frees grads. *more: the number of fused products. */
static double one_step(const struct tt_config *c, enum tt_kernel_set kernels, int *more, float **grads)
{
    struct tt_session s;
    CHECK_OK(tt_backend_open(&(struct tt_backend_options){.kernels = kernels}, &backend));
    CHECK_OK(tt_session_open(&s, &backend, c, TT_USE_TRAIN));
    fixture_weights(&s);
    fixture_tokens(&s, 0);
    CHECK_OK(tt_plan_run(s.step, &backend, NULL));
    double loss = fixture_loss(&s);
    *grads = fixture_read(&s, TT_X_GRADS);
    *more = 0;
    for (int i = 0; i < s.step->count; i++)
        *more += s.step->ops[i].kind == TT_OP_GEMM && (s.step->ops[i].args.gemm.with || s.step->ops[i].args.gemm.from);
    tt_session_close(&s);
    tt_backend_close(&backend);
    return loss;
}

static void check_accumulated(int64_t accumulate, bool tied)
{
    struct tt_config full = config_of(TT_FP32), narrow = config_of(TT_PREC_BF16);
    struct tt_model *m;
    float *x, *y, *z;
    int more[3];
    full.grad_accum = narrow.grad_accum = accumulate;
    full.tie_embeddings = narrow.tie_embeddings = tied;
    double a = one_step(&narrow, TT_NATIVE, &more[0], &x), b = one_step(&full, TT_NATIVE, &more[1], &y);
    double c = one_step(&narrow, TT_PORTABLE, &more[2], &z);
    int chunks = 2; /* 99 rows, 64 at a time */
    CHECK(more[0] == accumulate * (2 * 5 + chunks) && !more[1] && !more[2], "%d, %d and %d products do more", more[0],
          more[1], more[2]);
    CHECK(fabs(a - b) < 2e-3 * b && fabs(a - c) < 2e-3 * b, "loss %.6f, in fp32 %.6f, portable %.6f", a, b, c);
    CHECK_OK(tt_model_create(&full, &m));
    for (int i = 0; i < m->params.n; i++) {
        const struct tt_param *t = &m->params.items[i];
        double error = relative_error(x + t->offset, y + t->offset, t->count);
        double apart = relative_error(z + t->offset, y + t->offset, t->count);
        CHECK(error < 1.25 * apart + 1e-3, "gradient of %s differs by %g, and by %g without that", t->name, error,
              apart);
    }
    tt_model_free(m);
    free(x), free(y), free(z);
}

static void gradients_agree(void) { check_accumulated(1, true); }
static void accumulated_and_untied(void) { check_accumulated(2, false); }

int main(void)
{
    PRODUCTS_OR_SKIP(&backend);
    TEST(gradients_agree);
    TEST(accumulated_and_untied);
    return test_end();
}
