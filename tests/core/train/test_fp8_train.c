/* A short training on the built-in language learns with 8-bit factors as without. tests/peers/fp8.sh is the long
 * comparison. */
#include "core/config/config.h"
#include "lib/libtt.h"
#include "tests/model/model_fixture.h"

static struct tt_device_info info;

/* The held-out loss after a short training. */
static double trained(enum tt_precision p, const char *more)
{
    char settings[600];
    struct libtt_error error;
    double loss = NAN;
    snprintf(settings, sizeof settings,
             "precision: %s\nhidden-dim: 32\nnum-layers: 1\nnum-heads: 2\nnum-kv-heads: 1\nffn-dim: 64\nseq-len: 32\n"
             "batch-size: 8\nnum-steps: 80\nwarmup-steps: 10\nlearning-rate: 5e-3\nval-batches: 8\n"
             "gemm-tune: \"off\"\n%s", tt_precision_names[p], more);
    libtt_backend *b = libtt_open(settings, &error);
    libtt_model *m = b ? libtt_create(b, settings, &error) : NULL;
    CHECK(m, "%s", error.text);
    bool good = m;
    for (int i = 0; i < 80 && good; i++) good = libtt_step(m, NULL, NULL, &error);
    if (good) good = libtt_evaluate(m, NULL, &loss, &error);
    CHECK(good, "%s", error.text);
    if (m) libtt_free(m);
    libtt_close(b);
    return loss;
}

/* The loss of guessing among all tokens is 4.16, the floor is 2.08. */
static void learns_as_without(void)
{
    double without = trained(info.has[TT_PREC_BF16] ? TT_PREC_BF16 : TT_FP32, "");
    double linear = trained(TT_PREC_FP8, ""), all = trained(TT_PREC_FP8, "fp8: all\n");
    double delayed = trained(TT_PREC_FP8, "fp8: all\nfp8-scaling: delayed\n");
    double row = info.fp8_rows ? trained(TT_PREC_FP8, "fp8: all\nfp8-scaling: row\n") : without;
    printf("     held-out loss %.4f, in fp8 %.4f, with the head %.4f, and delayed scales %.4f, or by rows %.4f\n",
           without, linear, all, delayed, row);
    CHECK(without < 3, "it does not learn: %g", without);
    CHECK(fabs(linear - without) < 0.12, "fp8 %g, without %g", linear, without);
    CHECK(fabs(all - without) < 0.12, "with the head %g, without %g", all, without);
    CHECK(fabs(delayed - without) < 0.12, "with delayed scales %g, without %g", delayed, without);
    CHECK(fabs(row - without) < 0.12, "with scales of rows %g, without %g", row, without);
}

int main(void)
{
    struct tt_backend backend;
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){0}, &backend));
    CHECK_OK(backend.ops->info(backend.self, &info));
    tt_backend_close(&backend);
    if (tested_in(&info, TT_PREC_FP8)) TEST(learns_as_without);
    return test_end();
}
