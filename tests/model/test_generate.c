/* Generation. The cache gives the logits of computing everything anew, at every position, in every version. A batch
 * gives what each prompt gives alone. Sampling draws with the stated probabilities. */
#include "core/base/sample.h"
#include "model/continue.h"
#include "model/generate.h"
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
        CHECK_OK(tt_generator_open(&cached, &c, &s.engine, length, length, true));
        CHECK_OK(tt_generator_open(&whole, &c, &s.engine, length, length, false));
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

/* ---- batches ---- */

enum { PROMPTS = 5, NEW = 20, VOCAB = 61 };

struct kept {
    int32_t tokens[PROMPTS][NEW];
    int64_t counts[PROMPTS];
    int32_t end; /* the token that ends a row */
};

static bool keep(int64_t row, int32_t token, void *arg)
{
    struct kept *k = arg;
    k->tokens[row][k->counts[row]++] = token;
    return token != k->end;
}

/* Prompts with lengths on both sides of the powers of two in which they are read. */
static void make_prompts(struct tt_prompt *prompts, int32_t tokens[PROMPTS][40])
{
    static const int64_t counts[PROMPTS] = {1, 2, 17, 18, 35};
    for (int p = 0; p < PROMPTS; p++) {
        for (int i = 0; i < 40; i++) tokens[p][i] = (int32_t)(tt_random(9, (uint64_t)p, (uint64_t)i) % VOCAB);
        prompts[p] = (struct tt_prompt){tokens[p], counts[p], (uint64_t)(100 + p)};
    }
}

static void open_session(struct tt_session *s, enum tt_version v)
{
    struct tt_config c = tiny_config();
    c.version = v;
    c.init_std = 0.3; /* so that rows differ */
    CHECK_OK(tt_session_open(s, &backend, &c, 0));
    CHECK_OK(tt_session_init_weights(s));
}

static struct kept continued(const struct tt_session *s, const struct tt_prompt *prompts, int64_t rows,
                             struct tt_sampling how, int32_t end, bool uncached)
{
    struct kept k = {.end = end};
    struct tt_continuation w = {.prompts = prompts,
                                .rows = rows,
                                .max_tokens = NEW,
                                .how = how,
                                .uncached = uncached,
                                .on_token = keep,
                                .arg = &k};
    CHECK_OK(tt_continue(&s->model->config, &s->engine, &w));
    return k;
}

static const struct tt_sampling ways[] = {{0, 0, 1, 1}, {0.9, 0, 1, 1}, {1.2, 9, 0.8, 1}, {0, 0, 1, 1.3}};

static void same_rows(const struct kept *a, int64_t row, const struct kept *b, int64_t other, const char *what)
{
    CHECK(a->counts[row] == b->counts[other], "%s: row %d has %d tokens, not %d", what, (int)row, (int)a->counts[row],
          (int)b->counts[other]);
    CHECK(!memcmp(a->tokens[row], b->tokens[other], (size_t)a->counts[row] * sizeof(int32_t)), "%s: row %d differs",
          what, (int)row);
}

static void batches_are_like_prompts_alone(void)
{
    struct tt_prompt prompts[PROMPTS];
    int32_t tokens[PROMPTS][40];
    make_prompts(prompts, tokens);
    for (int v = 0; v < TT_VERSIONS; v++) {
        struct tt_session s;
        open_session(&s, (enum tt_version)v);
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            struct kept all = continued(&s, prompts, PROMPTS, ways[i], -1, false);
            int32_t end = all.tokens[2][7];
            struct kept ended = continued(&s, prompts, PROMPTS, ways[i], end, false);
            for (int p = 0; p < PROMPTS; p++) {
                struct kept alone = continued(&s, &prompts[p], 1, ways[i], -1, false);
                CHECK(all.counts[p] == NEW, "%d tokens", (int)all.counts[p]);
                same_rows(&all, p, &alone, 0, "alone");
                alone = continued(&s, &prompts[p], 1, ways[i], end, false);
                same_rows(&ended, p, &alone, 0, "alone, with an end");
            }
            CHECK(ended.counts[2] <= 8, "the end token ends a row after %d tokens", (int)ended.counts[2]);
        }
        tt_session_close(&s);
    }
}

static void without_a_cache_the_same(void)
{
    struct tt_prompt prompts[PROMPTS];
    int32_t tokens[PROMPTS][40];
    struct tt_session s;
    make_prompts(prompts, tokens);
    open_session(&s, TT_FLASH);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct kept cached = continued(&s, prompts, PROMPTS, ways[i], -1, false);
        struct kept whole = continued(&s, prompts, PROMPTS, ways[i], -1, true);
        for (int p = 0; p < PROMPTS; p++) same_rows(&cached, p, &whole, p, "without a cache");
    }
    tt_session_close(&s);
}

/* The angles depend on each row's own prompt and what follows it, not on the size of the cache or on what could still
 * follow. */
static void dynamic_angles_are_of_each_row(void)
{
    struct tt_prompt prompts[PROMPTS];
    int32_t tokens[PROMPTS][40];
    struct tt_session s;
    struct tt_config c = tiny_config();
    make_prompts(prompts, tokens);
    c.init_std = 0.3;
    strcpy(c.rope_scaling, "dynamic,factor=8,max_position_embeddings=16");
    CHECK_OK(tt_session_open(&s, &backend, &c, 0));
    CHECK_OK(tt_session_init_weights(&s));
    struct kept cached = continued(&s, prompts, PROMPTS, ways[0], -1, false);
    struct kept whole = continued(&s, prompts, PROMPTS, ways[0], -1, true);
    for (int p = 0; p < PROMPTS; p++) {
        struct kept alone = continued(&s, &prompts[p], 1, ways[0], -1, false);
        same_rows(&cached, p, &whole, p, "without a cache");
        same_rows(&cached, p, &alone, 0, "alone");
    }
    tt_session_close(&s);
}

/* The results of RepetitionPenaltyLogitsProcessor of transformers 5.22 with penalties of 1.3 and 0.5. */
static void penalty_is_that_of_transformers(void)
{
    static const float before[] = {1.5f, -0.75f, 0.0f, 2.25f, -3.0f, 0.1f};
    static const float more[] = {1.1538461446762085f, -0.9749999642372131f, 0.0f, 2.25f, -3.8999998569488525f, 0.1f};
    static const float less[] = {3.0f, -0.375f, 0.0f, 2.25f, -1.5f, 0.1f};
    uint32_t seen = 1 | 2 | 4 | 16;
    float x[6];
    memcpy(x, before, sizeof x);
    tt_penalise(x, 6, &seen, 1.3);
    CHECK(!memcmp(x, more, sizeof x), "penalty 1.3 gives %.9g %.9g %.9g", (double)x[0], (double)x[1], (double)x[4]);
    memcpy(x, before, sizeof x);
    tt_penalise(x, 6, &seen, 0.5);
    CHECK(!memcmp(x, less, sizeof x), "penalty 0.5");
}

/* ---- sampling ---- */

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
    count_draws(&(struct tt_sampling){0.7, 0, 1, 0}, counts);
    for (int i = 0; i < 5; i++) {
        double p = exp((double)logits[i] / 0.7) / total;
        CHECK(fabs(counts[i] / 20000.0 - p) < 1e-3, "token %d: %d draws for p %.4f", i, counts[i], p);
    }
}

static void sampling_cuts(void)
{
    int counts[5];
    count_draws(&(struct tt_sampling){0, 0, 1, 0}, counts);
    CHECK(counts[1] == 20000, "temperature 0 takes the first of the largest");
    count_draws(&(struct tt_sampling){1, 3, 1, 0}, counts);
    CHECK(counts[0] == 0 && counts[2] == 0 && counts[3] > 0, "top-k 3 leaves the three largest");
    count_draws(&(struct tt_sampling){1, 0, 0.5, 0}, counts);
    CHECK(counts[1] > 0 && counts[4] > 0 && counts[0] + counts[2] + counts[3] == 0,
          "top-p 0.5 needs two of the largest");
    count_draws(&(struct tt_sampling){1, 1, 0.01, 0}, counts);
    CHECK(counts[1] == 20000, "one candidate is left");
}

static void weights_that_are_none_are_named(void)
{
    struct tt_config c = tiny_config();
    struct tt_session s;
    int32_t token = 3;
    struct tt_prompt prompt = {&token, 1, 0};
    struct tt_continuation what = {.prompts = &prompt, .rows = 1, .max_tokens = 2, .how = {0, 0, 1, 0}};
    CHECK_OK(tt_session_open(&s, &backend, &c, 0));
    float *weights = calloc((size_t)s.model->params.total, sizeof *weights);
    weights[3 * c.hidden_dim] = NAN; /* in the embedding of the prompt */
    CHECK_OK(tt_session_set_weights(&s, weights));
    CHECK_FAILS(tt_continue(&c, &s.engine, &what), "not finite");
    what.uncached = true;
    CHECK_FAILS(tt_continue(&c, &s.engine, &what), "not finite");
    free(weights);
    tt_session_close(&s);
}

int main(void)
{
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){0}, &backend));
    TEST(cached_equals_uncached);
    TEST(batches_are_like_prompts_alone);
    TEST(without_a_cache_the_same);
    TEST(dynamic_angles_are_of_each_row);
    TEST(penalty_is_that_of_transformers);
    TEST(sampling_follows_the_softmax);
    TEST(sampling_cuts);
    TEST(weights_that_are_none_are_named);
    tt_backend_close(&backend);
    return test_end();
}
