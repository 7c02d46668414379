/* Generation: the cache gives the logits of computing everything anew, at every position, in every version; and
 * sampling draws what it says. */
#include "core/train/sample.h"
#include "model/generate.h"
#include "model/sampling.h"
#include "tests/model/model_fixture.h"

static struct tt_backend backend;

static void cached_equals_uncached(void)
{
    int length = test_few() ? 9 : 41;
    for (int v = 0; v < TT_VERSIONS; v++) {
        struct tt_config c = tiny_config();
        c.version = (enum tt_version)v;
        c.num_kv_heads = v == TT_FUSED ? 6 : 2;
        struct tt_session s;
        struct tt_generator cached, whole;
        float a[61], b[61];
        CHECK_OK(tt_session_open(&s, &backend, &c, 0));
        CHECK_OK(tt_session_init_weights(&s));
        CHECK_OK(tt_generator_open(&cached, &c, &s.engine, length, true));
        CHECK_OK(tt_generator_open(&whole, &c, &s.engine, length, false));
        for (int i = 0; i < length; i++) {
            int32_t token = (int32_t)(tt_random(3, 1, (uint64_t)i) % 61);
            CHECK_OK(tt_generator_feed(&cached, token, a));
            CHECK_OK(tt_generator_feed(&whole, token, b));
            double error = relative_error(a, b, 61);
            CHECK(error < 2e-6, "version %d, position %d: logits differ by %g", v, i, error);
        }
        CHECK_FAILS(tt_generator_feed(&cached, 1, a), "full");
        tt_generator_close(&cached);
        tt_generator_close(&whole);
        tt_session_close(&s);
    }
}

static const float logits[] = {0.5f, 2.0f, -1.0f, 1.0f, 2.0f};

static void count_draws(const struct tt_sampling *how, int *counts)
{
    struct tt_candidate scratch[5];
    memset(counts, 0, 5 * sizeof *counts);
    for (int i = 0; i < 20000; i++) counts[tt_sample(logits, 5, how, (i + 0.5) / 20000, scratch)]++;
}

static void sampling_follows_the_softmax(void)
{
    int counts[5];
    double total = 0;
    for (int i = 0; i < 5; i++) total += exp((double)logits[i] / 0.7);
    count_draws(&(struct tt_sampling){0.7, 0, 1}, counts);
    for (int i = 0; i < 5; i++) {
        double p = exp((double)logits[i] / 0.7) / total;
        CHECK(fabs(counts[i] / 20000.0 - p) < 1e-3, "token %d: %d draws for p %.4f", i, counts[i], p);
    }
}

static void sampling_cuts(void)
{
    int counts[5];
    count_draws(&(struct tt_sampling){0, 0, 1}, counts);
    CHECK(counts[1] == 20000, "temperature 0 takes the first of the largest");
    count_draws(&(struct tt_sampling){1, 3, 1}, counts);
    CHECK(counts[0] == 0 && counts[2] == 0 && counts[3] > 0, "top-k 3 leaves the three largest");
    count_draws(&(struct tt_sampling){1, 0, 0.5}, counts);
    CHECK(counts[1] > 0 && counts[4] > 0 && counts[0] + counts[2] + counts[3] == 0,
          "top-p 0.5 needs two of the largest");
    count_draws(&(struct tt_sampling){1, 1, 0.01}, counts);
    CHECK(counts[1] == 20000, "one candidate is left");
}

static void weights_that_are_none_are_named(void)
{
    struct tt_config c = tiny_config();
    struct tt_session s;
    int32_t prompt = 3, tokens[3];
    struct tt_continuation what = {.prompt = &prompt, .prompt_count = 1, .max_tokens = 2, .how = {0, 0, 1}};
    CHECK_OK(tt_session_open(&s, &backend, &c, 0));
    float *weights = calloc((size_t)s.model->params.total, sizeof *weights);
    weights[3 * c.hidden_dim] = NAN; /* in the embedding of the prompt */
    CHECK_OK(tt_session_set_weights(&s, weights));
    CHECK_FAILS(tt_continue(&s, &what, tokens), "not finite");
    free(weights);
    tt_session_close(&s);
}

int main(void)
{
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){0}, &backend));
    TEST(cached_equals_uncached);
    TEST(sampling_follows_the_softmax);
    TEST(sampling_cuts);
    TEST(weights_that_are_none_are_named);
    tt_backend_close(&backend);
    return test_end();
}
