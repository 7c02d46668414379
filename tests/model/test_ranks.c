/* Several ranks compute what one does: each version, precision and sharding, compared with one rank that has the
 * batches of all. */
#include "tests/core/plan/plan_check.h"
#include "tests/model/ranks_fixture.h"

static int turn; /* few: two of the four shardings, and the other two in the next call */

static void check_shards(const struct tt_config *c, int n, const char *what)
{
    struct outcome one = alone(c, n);
    struct tt_config shard = *c;
    turn++;
    for (int s = TT_SHARD_NONE; s <= TT_SHARD_WEIGHTS; s++) {
        char name[80];
        if (test_few() && s % 2 != turn % 2) continue;
        shard.shard = (enum tt_sharding)s;
        snprintf(name, sizeof name, "%s, %s", what, tt_shard_names[s]);
        compare(&shard, n, &one, name);
    }
    free_outcome(&one);
}

/* Runs the check in every version and every precision of this device. */
static void each_version_and_precision(void (*check)(struct tt_config *c, const char *what))
{
    struct tt_backend b;
    struct tt_device_info info;
    CHECK_OK(tt_backend_open(NULL, &b));
    CHECK_OK(b.ops->info(b.self, &info));
    tt_backend_close(&b);
    for (int v = first_version(); v < TT_VERSIONS; v++)
        for (int p = 0; p < TT_PRECISIONS; p++) {
            if (!tested_in(&info, p)) continue;
            struct tt_config c = config_of(v, (enum tt_precision)p);
            char what[64];
            snprintf(what, sizeof what, "%s in %s", tt_version_names[v], tt_precision_names[p]);
            check(&c, what);
            if (p != TT_PREC_FP8) continue;
            c.fp8_scaling = TT_SCALING_DELAYED;
            check(&c, "fp8 with delayed scales");
            c.fp8_scaling = TT_SCALING_ROW;
            if (info.fp8_rows) check(&c, "fp8 with scales of rows");
        }
}

static void check_two(struct tt_config *c, const char *what) { check_shards(c, 2, what); }

static void every_version_and_precision(void) { each_version_and_precision(check_two); }

static void odd_numbers_and_shapes(void)
{
    struct tt_config c = config_of(TT_FLASH, TT_FP32);
    check_shards(&c, 3, "three");
    c.grad_accum = 3;
    check_shards(&c, 2, "accumulated");
    c.tie_embeddings = false;
    check_shards(&c, 4, "accumulated and untied");
    c.grad_accum = 1, c.recompute = TT_RECOMPUTE_BLOCK, c.num_layers = 1;
    check_shards(&c, 2, "one layer, computed again");
}

static void moments_in_bf16(void)
{
    struct tt_config c = config_of(TT_FLASH, TT_FP32);
    c.moments = TT_MOMENTS_BF16;
    check_shards(&c, 2, "moments in bf16");
    c.update = TT_UPDATE_TOP_K, c.update_every = 1;
    strcpy(c.update_share, "0.4");
    check_shards(&c, 3, "moments in bf16, of chosen matrices");
}

static void selective_updates(void)
{
    struct tt_config c = config_of(TT_FLASH, TT_FP32);
    c.update = TT_UPDATE_TOP_K;
    c.update_every = 1;
    strcpy(c.update_share, "0.4");
    check_shards(&c, 2, "matrices");
    c.update_level = TT_LEVEL_ROWS;
    c.update_by = TT_BY_RELATIVE;
    check_shards(&c, 3, "rows, relative");
    c.update_level = TT_LEVEL_LAYER;
    c.update_by = TT_BY_RMS;
    c.update_rest = TT_REST_DECAY;
    c.grad_accum = 2;
    check_shards(&c, 2, "layers by rms, accumulated");
    c.update_every = 3;
    check_shards(&c, 2, "layers by rms, accumulated, kept for three steps");
    c.tie_embeddings = false;
    c.grad_accum = 1;
    c.update_level = TT_LEVEL_MATRIX;
    c.update_by = TT_BY_NORM;
    strcpy(c.update_share, "0.1");
    check_shards(&c, 3, "matrices, untied, kept for three steps");
}

/* If each layer fills a bucket, weights are gathered one layer ahead; that must not change the results. */
static void a_bucket_for_each_layer(void)
{
    struct tt_config c = config_of(TT_FLASH, TT_FP32);
    c.hidden_dim = 320, c.num_heads = 5, c.num_kv_heads = 5, c.ffn_dim = 800, c.seq_len = 8, c.batch_size = 1;
    struct tt_params p;
    c.ranks = 2;
    CHECK_OK(tt_params_create(&c, &p));
    CHECK(p.bucket_count == c.num_layers + 2, "%d buckets", p.bucket_count);
    tt_params_free(&p);
    c.ranks = 1;
    turn = 0; /* few: --shard optimizer and weights */
    check_shards(&c, 2, "large layers");
}

/* Every byte of the arena is in exactly one bucket, every bucket has a part for each rank, and the buckets make up the
 * arena. */
static void parts_are_the_arena(void)
{
    for (int n = 1; n <= 7; n++) {
        struct tt_config c = config_of(TT_FLASH, TT_FP32);
        struct tt_params p;
        int64_t end = 0;
        c.ranks = n, c.tie_embeddings = n % 2;
        CHECK_OK(tt_params_create(&c, &p));
        for (int i = 0; i < p.bucket_count; i++) {
            CHECK(p.buckets[i].offset == end && p.buckets[i].count > 0, "bucket %d of %d ranks", i, n);
            CHECK(p.buckets[i].count % ((int64_t)n * 64) == 0, "bucket %d has no part for each of %d ranks", i, n);
            end += p.buckets[i].count;
        }
        CHECK(end == p.total, "%d ranks: buckets end at %lld of %lld", n, (long long)end, (long long)p.total);
        tt_params_free(&p);
    }
}

/* The plans of every rank are ordered, whichever stream an operation is on, and more sharding needs less memory. */
static void plans_are_in_order(void)
{
    struct tt_config c = config_of(TT_FLASH, TT_FP32);
    size_t before = SIZE_MAX;
    c.hidden_dim = 320, c.num_heads = 5, c.num_kv_heads = 5, c.ffn_dim = 800, c.num_layers = 6, c.seq_len = 8;
    c.batch_size = 1;
    for (int s = TT_SHARD_NONE; s <= TT_SHARD_WEIGHTS; s++) {
        struct tt_backend b;
        struct tt_session session;
        c.shard = (enum tt_sharding)s;
        c.ranks = 4, c.rank = s;
        CHECK_OK(tt_backend_open(NULL, &b));
        CHECK_OK(tt_session_plan(&session, &b, &c, TT_USE_TRAIN));
        CHECK_OK(plan_check(session.step, true));
        CHECK(session.step->collective && session.step->signals > 4, "%s: nothing runs beside", tt_shard_names[s]);
        size_t total = tt_engine_total(&session.engine);
        CHECK(total < before, "%s needs %zu bytes, and less divided %zu", tt_shard_names[s], total, before);
        before = total;
        tt_session_close(&session);
        tt_backend_close(&b);
    }
}

/* The memory and traffic predicted before a run are what the run uses. */
static void costs_are_those_of_a_run(void)
{
    for (int s = 0; s < TT_SHARDINGS; s++) {
        struct tt_config c = config_of(TT_FLASH, TT_FP32);
        struct tt_shard_cost cost;
        struct tt_backend b;
        c.hidden_dim = 320, c.num_heads = 5, c.num_kv_heads = 5, c.ffn_dim = 800, c.seq_len = 8, c.grad_accum = 2;
        c.ranks = 2;
        c.shard = TT_SHARD_WEIGHTS - (enum tt_sharding)s; /* not the one that is asked for */
        CHECK_OK(tt_backend_open(NULL, &b));
        CHECK_OK(tt_shard_cost_of(&b, &c, (enum tt_sharding)s, &cost));
        tt_backend_close(&b);
        c.shard = (enum tt_sharding)s;
        int n = test_few() ? 1 : STEPS;
        struct outcome o = train_as(&c, 2, (struct course){.steps = n});
        const char *name = tt_shard_names[s];
        CHECK(o.seen == n * cost.collectives, "%s: %lld collectives, not %d x %d", name, (long long)o.seen, n,
              cost.collectives);
        CHECK(fabs(o.sent - n * cost.sent) < 1, "%s: %.0f bytes sent, not %.0f", name, o.sent, n * cost.sent);
        CHECK(fabs(cost.memory.total / o.peak - 1) < 0.05, "%s: %.0f bytes, not %.0f", name, o.peak, cost.memory.total);
        free_outcome(&o);
    }
}

/* ---- a hundred steps ---- */

static int steps_of_a_hundred(void) { return test_few() ? 30 : LONG; }

/* The largest difference of any step's losses, relative to the first loss. */
static double losses_apart(const struct outcome *a, const struct outcome *b)
{
    double worst = 0;
    for (int i = 0; i < steps_of_a_hundred(); i++) {
        double far = fabs((double)a->losses[i] - (double)b->losses[i]) / (double)b->losses[0];
        if (isnan(far)) return INFINITY;
        if (far > worst) worst = far;
    }
    return worst;
}

/* After so many steps the effect of rounding cannot be derived, so the bound is measured. One rank alone, with the
 * sequences of each batch in another order, adds the same numbers in another order. Several ranks may differ at most
 * ten times as much. (The loss falls because the model memorises its few batches.) */
static void check_hundred(struct tt_config *c, const char *what)
{
    if (test_few() && c->precision != TT_FP32) return;
    c->hidden_dim = 32, c->num_layers = 2, c->num_heads = 4, c->num_kv_heads = 2, c->ffn_dim = 48, c->seq_len = 12;
    int n = steps_of_a_hundred();
    c->num_steps = n, c->learning_rate = 1e-2;
    if (c->precision == TT_PREC_FP8) c->seq_len = 16;
    struct course order = {.steps = n, .batches = 4}, other = order;
    struct tt_config all = *c, ranked = *c;
    *sequences_of(&all) *= 2;
    other.turned = 1;
    struct outcome one = train_as(&all, 1, order), turned = train_as(&all, 1, other);
    double loss = losses_apart(&turned, &one), weights = apart(c, one.weights, turned.weights, 1);
    CHECK((double)one.losses[n - 1] < 0.7 * (double)one.losses[0], "%s: nothing is learned: %g", what,
          (double)one.losses[n - 1]);
    if (c->precision == TT_FP32) CHECK(loss < 1e-4, "%s: another order alone makes losses differ by %g", what, loss);
    for (int s = TT_SHARD_NONE; s <= TT_SHARD_WEIGHTS; s += TT_SHARD_WEIGHTS) {
        ranked.shard = (enum tt_sharding)s;
        struct outcome two = train_as(&ranked, 2, order);
        CHECK(losses_apart(&two, &one) <= 10 * loss + 1e-6, "%s, %s: losses %g apart, by another order %g", what,
              tt_shard_names[s], losses_apart(&two, &one), loss);
        double far = apart(c, one.weights, two.weights, 2);
        CHECK(far <= 10 * weights + 1e-6, "%s, %s: weights %g apart, by another order %g", what, tt_shard_names[s], far,
              weights);
        free_outcome(&two);
    }
    free_outcome(&one);
    free_outcome(&turned);
}

static void a_hundred_steps(void) { each_version_and_precision(check_hundred); }

/* A rank that keeps parts of the weights initialises only these, with the same values as in the whole. */
static void parts_begin_as_the_whole(void)
{
    struct tt_config c = tiny_config();
    struct tt_model *m;
    c.ranks = 3, c.rank = 1, c.shard = TT_SHARD_WEIGHTS;
    CHECK_OK(tt_model_create(&c, &m));
    size_t total = (size_t)m->params.total;
    float *whole = malloc(total * sizeof *whole), *parts = malloc(total * sizeof *parts);
    for (size_t i = 0; i < total; i++) parts[i] = -77; /* cannot be a weight: 77 / init_std deviations from 0 */
    tt_model_init_weights(m, whole);
    tt_model_init_parts(m, parts);
    int64_t same = 0, untouched = 0;
    for (int i = 0; i < m->params.bucket_count; i++) {
        struct tt_part part = tt_part_of(&m->params, i);
        for (int64_t j = part.begin; j < part.begin + part.count; j++) same += parts[j] == whole[j];
    }
    for (size_t i = 0; i < total; i++) untouched += parts[i] == -77;
    CHECK(3 * same == (int64_t)total && 3 * untouched == 2 * (int64_t)total, "%lld and %lld of %zu", (long long)same,
          (long long)untouched, total);
    free(whole);
    free(parts);
    tt_model_free(m);
}

int main(void)
{
    struct tt_backend b;
    OPEN_OR_SKIP(tt_backend_open(NULL, &b));
    tt_backend_close(&b);
    TEST(parts_are_the_arena);
    TEST(parts_begin_as_the_whole);
    TEST(plans_are_in_order);
    TEST(costs_are_those_of_a_run);
    TEST(every_version_and_precision);
    TEST(odd_numbers_and_shapes);
    TEST(moments_in_bf16);
    TEST(selective_updates);
    TEST(a_bucket_for_each_layer);
    TEST(a_hundred_steps);
    return test_end();
}
