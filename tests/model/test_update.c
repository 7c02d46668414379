/* Selective updates in single steps: choosing all groups equals --update all, the groups with the largest gradients
 * change, and the others keep their bits. */
#include "tests/core/plan/plan_check.h"
#include "tests/model/update_fixture.h"

static void open_session(struct tt_session *s, const struct tt_config *c)
{
    CHECK_OK(tt_session_open(s, &backend, c, TT_USE_TRAIN));
    CHECK_OK(tt_session_init_weights(s));
}

static void step(struct tt_session *s, int i)
{
    fixture_tokens(s, i);
    CHECK_OK(tt_plan_run(s->step, &backend, NULL));
    CHECK_OK(backend.ops->stream_sync(backend.self, NULL));
}

/* ---- all groups ---- */

static void check_all(enum tt_update_level level, enum tt_update_rest rest, enum tt_moments moments)
{
    struct tt_config all = update_config(TT_LEVEL_MATRIX, ""), some = update_config(level, "1");
    all.update = TT_UPDATE_ALL;
    all.moments = some.moments = moments;
    some.update_rest = rest;
    some.update_by = (enum tt_update_by)(((int)level + (int)rest) % 4);
    struct tt_session a, b;
    open_session(&a, &all);
    open_session(&b, &some);
    for (int i = 0; i < (test_few() ? 2 : 4); i++) step(&a, i), step(&b, i);
    float *x = arenas(&a), *y = arenas(&b);
    CHECK(!memcmp(x, y, 3 * (size_t)a.model->params.total * sizeof *x), "level %d, rest %d, moments %d", level, rest,
          moments);
    free(x), free(y);
    tt_session_close(&a);
    tt_session_close(&b);
}

/* Few: each level once. */
static void all_groups_are_all_weights(void)
{
    for (int level = TT_LEVEL_MATRIX; level <= TT_LEVEL_ROWS; level++)
        for (int rest = TT_REST_FREEZE; rest <= TT_REST_DECAY; rest++)
            for (int moments = TT_MOMENTS_FP32; moments <= TT_MOMENTS_BF16; moments++)
                if (!test_few() || (rest == level % 2 && moments == level % 2))
                    check_all((enum tt_update_level)level, (enum tt_update_rest)rest, (enum tt_moments)moments);
}

/* ---- the largest groups ---- */

/* No omitted group has a larger key than a chosen one, except by rounding. */
static void check_choice(const struct tt_groups *g, const bool *chosen, const double *key, const char *what)
{
    double least = INFINITY, most = 0;
    int count = 0;
    for (int i = 0; i < g->count; i++) {
        count += chosen[i];
        if (chosen[i])
            least = fmin(least, key[i]);
        else
            most = fmax(most, key[i]);
    }
    CHECK(count == g->chosen && least >= most * (1 - 1e-5), "%s: %d chosen; least of them %g, largest of the others %g",
          what, count, least, most);
}

static void check_changes(const struct tt_params *p, const bool *chosen, const float *before, const float *after,
                          const char *what)
{
    int64_t changed = 0, touched = 0, wanted = 0;
    for (int i = 0; i < p->n; i++)
        for (int64_t j = 0; j < p->items[i].count; j++) {
            int64_t at = p->items[i].offset + j;
            bool differs = before[at] != after[at] || before[p->total + at] != after[p->total + at] ||
                           before[2 * p->total + at] != after[2 * p->total + at];
            if (chosen[group_of(&p->items[i], j)])
                changed += differs, wanted++;
            else
                touched += differs;
        }
    CHECK(!touched && changed > wanted / 2, "%s: %lld weights of other groups changed, of the chosen ones %lld of %lld",
          what, (long long)touched, (long long)changed, (long long)wanted);
}

static void check_steps(enum tt_update_level level, enum tt_update_by by, enum tt_update_rest rest)
{
    struct tt_config c = update_config(level, "0.3");
    struct tt_session s;
    char what[80];
    c.update_by = by;
    c.update_rest = rest;
    open_session(&s, &c);
    const struct tt_params *p = &s.model->params;
    int64_t seen = 0;
    for (int i = 0; i < 3; i++) {
        snprintf(what, sizeof what, "level %d, by %d, rest %d, step %d", level, by, rest, i + 1);
        float *before = arenas(&s);
        step(&s, i);
        float *after = arenas(&s);
        bool *chosen = chosen_in(&s, i + 1);
        double *key = keys_of(&s, by, before);
        if (by != TT_BY_RANDOM) check_choice(&p->groups, chosen, key, what);
        check_changes(p, chosen, before, after, what);
        free(before), free(after), free(chosen), free(key);
    }
    struct tt_update_group *g = calloc((size_t)p->groups.count + 1, sizeof *g);
    CHECK_OK(tt_engine_download(&s.engine, TT_X_UPDATES, 0, g, ((size_t)p->groups.count + 1) * sizeof *g));
    for (int i = 0; i < p->groups.count; i++) seen += g[i].updates;
    CHECK(seen == 3 * p->groups.chosen && g[p->groups.count].updates == 3, "%s: %lld updates in all", what,
          (long long)seen);
    free(g);
    tt_session_close(&s);
}

/* Few: each criterion and each level once. */
static void the_largest_change(void)
{
    for (int by = TT_BY_NORM; by <= TT_BY_RANDOM; by++)
        for (int level = TT_LEVEL_MATRIX; level <= TT_LEVEL_ROWS; level++)
            if (!test_few() || level == by % 3)
                check_steps((enum tt_update_level)level, (enum tt_update_by)by, (enum tt_update_rest)(level % 2));
}

/* Every weight belongs to one group, and the sizes of all groups sum to the model's. */
static void groups_are_the_model(void)
{
    for (int level = TT_LEVEL_MATRIX; level <= TT_LEVEL_ROWS; level++) {
        struct tt_config c = update_config((enum tt_update_level)level, "0.5");
        struct tt_model *m;
        int64_t sum = 0;
        c.tie_embeddings = level == TT_LEVEL_ROWS;
        CHECK_OK(tt_model_create(&c, &m));
        for (int g = 0; g < m->params.groups.count; g++) sum += m->params.groups.size[g];
        CHECK(sum == tt_model_param_count(m), "level %d: %lld", level, (long long)sum);
        if (level == TT_LEVEL_LAYER) CHECK(m->params.groups.count == c.num_layers + 3, "%d", m->params.groups.count);
        if (level == TT_LEVEL_MATRIX) CHECK(m->params.groups.count == m->params.n, "%d", m->params.groups.count);
        tt_model_free(m);
    }
}

/* Nothing is read before it was written, nothing reaches beyond its end, and everything written is read. */
static void plans_are_sound(void)
{
    for (int by = TT_BY_NORM; by <= TT_BY_RANDOM; by++)
        for (int shard = TT_SHARD_NONE; shard <= TT_SHARD_WEIGHTS; shard++)
            for (int precision = TT_FP32; precision < TT_PRECISIONS; precision++) {
                struct tt_config c = update_config((enum tt_update_level)(by % 3), "0.2");
                struct tt_session s;
                c.update_by = (enum tt_update_by)by;
                c.precision = (enum tt_precision)precision;
                if (precision == TT_PREC_FP8) make_even(&c);
                c.shard = (enum tt_sharding)shard;
                c.ranks = shard ? 3 : 1;
                c.rank = shard ? 2 : 0;
                CHECK_OK(tt_session_plan(&s, &backend, &c, TT_USE_TRAIN | TT_USE_PREDICT));
                CHECK_OK(plan_check(s.step, true));
                tt_session_close(&s);
            }
}

/* A step with a NaN or infinity changes nothing and counts for no group. The next step chooses as if it had not
 * happened. */
static void skipped_steps_do_not_count(void)
{
    struct tt_config c = update_config(TT_LEVEL_ROWS, "0.25");
    struct tt_session s;
    const float bad = NAN;
    open_session(&s, &c);
    int groups = s.model->params.groups.count;
    size_t bytes = ((size_t)groups + 1) * sizeof(struct tt_update_group);
    struct tt_update_group *was = calloc(1, bytes), *now = calloc(1, bytes);
    step(&s, 0);
    CHECK_OK(tt_engine_download(&s.engine, TT_X_UPDATES, 0, was, bytes));
    float *before = arenas(&s), one = before[0];
    CHECK_OK(tt_engine_upload(&s.engine, TT_X_WEIGHTS, 0, &bad, sizeof bad)); /* makes the loss NaN */
    step(&s, 1);
    CHECK_OK(tt_engine_upload(&s.engine, TT_X_WEIGHTS, 0, &one, sizeof one));
    float *after = arenas(&s);
    bool *chosen = chosen_in(&s, 2);
    CHECK_OK(tt_engine_download(&s.engine, TT_X_UPDATES, 0, now, bytes));
    CHECK(!memcmp(before, after, 3 * (size_t)s.model->params.total * sizeof *before) && !memcmp(was, now, bytes));
    for (int g = 0; g < groups; g++) CHECK(!chosen[g], "group %d", g);
    step(&s, 2);
    CHECK_OK(tt_engine_download(&s.engine, TT_X_UPDATES, 0, now, bytes));
    CHECK(now[groups].updates == 2 && now[groups].last == 3, "step %lld", (long long)now[groups].last);
    free(was), free(now), free(before), free(after), free(chosen);
    tt_session_close(&s);
}

static void bad_values_are_refused(void)
{
    struct tt_config c = update_config(TT_LEVEL_LAYER, "");
    struct tt_model *m = NULL;
    struct tt_plan *p = NULL;
    c.update_count = 1000;
    CHECK_FAILS(tt_model_create(&c, &m), "--update-count 1000 is more than the");
    c.update_count = 1;
    strcpy(c.update_share, "0.5");
    CHECK_FAILS(tt_config_check_shape(&c), "give one of them");
    c.update_share[0] = 0;
    c.update = TT_UPDATE_ALL;
    CHECK_FAILS(tt_config_check_shape(&c), "add --update top-k, or leave --update-count out");
    CHECK_FAILS(tt_update_share_check("0"), "not a share");
    CHECK_FAILS(tt_update_share_check("1.01"), "not a share");
    CHECK_FAILS(tt_update_share_check("half"), "not a share");
    CHECK_FAILS(tt_update_share_check("nan"), "not a share");
    CHECK_OK(tt_update_share_check("1"));
    c.update = TT_UPDATE_TOP_K;
    c.version = TT_BASELINE;
    CHECK_OK(tt_model_create(&c, &m));
    CHECK_FAILS(tt_model_plan_train(m, &p), "--fuse optimizer");
    tt_model_free(m);
}

int main(void)
{
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){.threads = 2}, &backend));
    TEST(groups_are_the_model);
    TEST(plans_are_sound);
    TEST(all_groups_are_all_weights);
    TEST(the_largest_change);
    TEST(skipped_steps_do_not_count);
    TEST(bad_values_are_refused);
    tt_backend_close(&backend);
    return test_end();
}
