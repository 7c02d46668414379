/* Selective updates in whole steps: all groups chosen is what --update all does, the groups with the largest gradients
 * are the ones that change, the others keep their bits, and a run that is stopped goes on with the same ones. */
#include <unistd.h>

#include "core/base/file.h"
#include "core/train/loop.h"
#include "tests/core/plan/plan_check.h"
#include "tests/model/model_fixture.h"

static struct tt_backend backend;
static char root[] = "/tmp/tt-test-update-XXXXXX";

static struct tt_config update_config(enum tt_update_level level, const char *share)
{
    struct tt_config c = tiny_config();
    c.version = TT_FLASH;
    c.vocab_size = 150; /* so that rows make three groups of it */
    c.clip_norm = 0.5;
    c.grad_accum = 2;
    c.update = TT_UPDATE_TOP_K;
    c.update_level = level;
    c.update_every = 1;
    snprintf(c.update_share, sizeof c.update_share, "%s", share);
    return c;
}

/* Weights and moments, one arena behind the other. */
static float *arenas(struct tt_session *s)
{
    int64_t n = s->model->params.total;
    size_t bytes = (size_t)n * sizeof(float);
    float *all = malloc(3 * bytes);
    CHECK_OK(tt_weights_read(&s->engine, &s->model->params, all));
    CHECK_OK(tt_engine_download(&s->engine, TT_X_MOMENT1, 0, all + n, bytes));
    CHECK_OK(tt_engine_download(&s->engine, TT_X_MOMENT2, 0, all + 2 * n, bytes));
    return all;
}

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

/* ---- all of them ---- */

static void all_groups_are_all_weights(void)
{
    struct tt_config all = update_config(TT_LEVEL_MATRIX, "");
    all.update = TT_UPDATE_ALL;
    for (int level = TT_LEVEL_MATRIX; level <= TT_LEVEL_ROWS; level++)
        for (int rest = TT_REST_FREEZE; rest <= TT_REST_DECAY; rest++) {
            struct tt_config some = update_config((enum tt_update_level)level, "1");
            some.update_rest = (enum tt_update_rest)rest;
            some.update_by = (enum tt_update_by)((level + rest) % 4);
            struct tt_session a, b;
            open_session(&a, &all);
            open_session(&b, &some);
            for (int i = 0; i < 4; i++) step(&a, i), step(&b, i);
            float *x = arenas(&a), *y = arenas(&b);
            CHECK(!memcmp(x, y, 3 * (size_t)a.model->params.total * sizeof *x), "level %d, rest %d", level, rest);
            free(x), free(y);
            tt_session_close(&a);
            tt_session_close(&b);
        }
}

/* ---- the largest of them ---- */

static int group_of(const struct tt_param *t, int64_t element)
{
    int64_t width = t->shape[1] ? t->shape[1] : 1;
    return t->group + (int)(element / width / t->group_rows);
}

/* The keys of all groups, in double, from the gradients and weights that the step saw. */
static double *keys_of(struct tt_session *s, enum tt_update_by by, const float *weights)
{
    const struct tt_params *p = &s->model->params;
    float *g = malloc((size_t)p->total * sizeof *g);
    double *key = calloc((size_t)p->groups.count, sizeof *key), *norm = calloc((size_t)p->groups.count, sizeof *norm);
    CHECK_OK(tt_engine_download(&s->engine, TT_X_GRADS, 0, g, (size_t)p->total * sizeof *g));
    for (int i = 0; i < p->n; i++)
        for (int64_t j = 0; j < p->items[i].count; j++) {
            int64_t at = p->items[i].offset + j;
            key[group_of(&p->items[i], j)] += (double)g[at] * (double)g[at];
            norm[group_of(&p->items[i], j)] += (double)weights[at] * (double)weights[at];
        }
    for (int i = 0; i < p->groups.count; i++)
        key[i] /= by == TT_BY_RMS ? (double)p->groups.size[i] : by == TT_BY_RELATIVE ? norm[i] : 1;
    free(g);
    free(norm);
    return key;
}

static bool *chosen_in(struct tt_session *s, int64_t step)
{
    int groups = s->model->params.groups.count;
    size_t words = TT_CHOICE_WORDS((size_t)groups);
    uint32_t *bits = calloc(words, sizeof *bits);
    bool *chosen = calloc((size_t)groups, sizeof *chosen);
    CHECK_OK(tt_engine_download(&s->engine, TT_X_CHOICES, (size_t)(step - 1) % TT_RING_ENTRIES * words * sizeof *bits,
                                bits, words * sizeof *bits));
    for (int g = 0; g < groups; g++) chosen[g] = bits[g / 32] >> g % 32 & 1;
    free(bits);
    return chosen;
}

/* No group that was left out has a larger key than one that was chosen, but for what rounding may exchange. */
static void check_choice(const struct tt_groups *g, const bool *chosen, const double *key, const char *what)
{
    double least = INFINITY, most = 0;
    int count = 0;
    for (int i = 0; i < g->count; i++) {
        count += chosen[i];
        if (chosen[i]) least = fmin(least, key[i]);
        else most = fmax(most, key[i]);
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
            if (chosen[group_of(&p->items[i], j)]) changed += differs, wanted++;
            else touched += differs;
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

static void the_largest_change(void)
{
    for (int by = TT_BY_NORM; by <= TT_BY_RANDOM; by++)
        for (int level = TT_LEVEL_MATRIX; level <= TT_LEVEL_ROWS; level++)
            check_steps((enum tt_update_level)level, (enum tt_update_by)by, (enum tt_update_rest)(level % 2));
}

/* Every weight belongs to one group, and the sizes of all of them are the model's. */
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

/* Nothing is read that nothing wrote, nothing reaches beyond its end, what is written is read. */
static void plans_are_sound(void)
{
    for (int by = TT_BY_NORM; by <= TT_BY_RANDOM; by++)
        for (int shard = TT_SHARD_NONE; shard <= TT_SHARD_WEIGHTS; shard++)
            for (int precision = TT_FP32; precision < TT_PRECISIONS; precision++) {
                struct tt_config c = update_config((enum tt_update_level)(by % 3), "0.2");
                struct tt_session s;
                c.update_by = (enum tt_update_by)by;
                c.precision = (enum tt_precision)precision;
                c.shard = (enum tt_sharding)shard;
                c.ranks = shard ? 3 : 1;
                c.rank = shard ? 2 : 0;
                CHECK_OK(tt_session_plan(&s, &backend, &c, TT_USE_TRAIN | TT_USE_PREDICT));
                CHECK_OK(plan_check(s.step, true));
                tt_session_close(&s);
            }
}

/* ---- between two choices ---- */

static struct tt_config between_config(enum tt_update_level level, const char *share)
{
    struct tt_config c = update_config(level, share);
    c.update_every = 3;
    c.num_layers = 3;
    return c;
}

static bool overlap(const struct tt_params *p, const bool *chosen, size_t from, size_t to)
{
    for (int i = 0; i < p->n; i++)
        for (int64_t j = 0; j < p->items[i].count; j++) {
            size_t at = (size_t)(p->items[i].offset + j) * sizeof(float);
            if (at >= from && at < to && chosen[group_of(&p->items[i], j)]) return true;
        }
    return false;
}

/* Every product that makes gradients makes some of a chosen group, and no layer below the lowest chosen one has any
 * backward pass. */
static void check_left_over(const struct tt_session *s, const struct tt_plan *less, const bool *chosen, int lowest)
{
    const struct tt_params *p = &s->model->params;
    int written = 0;
    for (int i = 0; i < less->count; i++) {
        const struct tt_op *op = &less->ops[i];
        size_t offset;
        bool below = op->phase == TT_BACKWARD && op->layer >= 0 && op->layer < lowest;
        CHECK(!below, "%s of layer %d, and the lowest chosen is %d", tt_op_name(op), op->layer, lowest);
        written += op->kernel == TT_K_embedding_backward;
        if (op->kind != TT_OP_GEMM || tt_plan_owner(op->args.gemm.c, &offset) != -1 - TT_X_GRADS) continue;
        size_t bytes = (size_t)(op->args.gemm.m * op->args.gemm.n) * sizeof(float);
        CHECK(overlap(p, chosen, offset, offset + bytes), "layer %d: gradients that nobody wants", op->layer);
        written++;
    }
    CHECK(written > 0 && less->count < s->between->count, "%d of %d operations, %d of them write gradients",
          less->count, s->between->count, written);
}

/* Groups whose tensors have that in their names. */
static void check_reduced(const struct tt_config *c, const char *name, int lowest)
{
    struct tt_session s;
    struct tt_plan *less;
    CHECK_OK(tt_session_plan(&s, &backend, c, TT_USE_TRAIN | TT_USE_PREDICT));
    const struct tt_params *p = &s.model->params;
    bool *chosen = calloc((size_t)p->groups.count, sizeof *chosen);
    for (int i = 0; i < p->n; i++)
        if (strstr(p->items[i].name, name)) chosen[p->items[i].group] = true;
    CHECK_OK(plan_check(s.between, c->recompute == TT_RECOMPUTE_NONE));
    CHECK_OK(tt_between_reduce(s.model, s.between, chosen, &less));
    CHECK_OK(plan_check(less, false));
    check_left_over(&s, less, chosen, lowest);
    free(chosen);
    tt_plan_free(less);
    tt_session_close(&s);
}

static void what_is_frozen_is_left_out(void)
{
    for (int level = TT_LEVEL_MATRIX; level <= TT_LEVEL_ROWS; level++)
        for (int recompute = TT_RECOMPUTE_NONE; recompute <= TT_RECOMPUTE_BLOCK; recompute++) {
            struct tt_config c = between_config((enum tt_update_level)level, "0.2");
            c.recompute = (enum tt_recompute)recompute;
            c.version = level == TT_LEVEL_ROWS ? TT_FUSED : TT_FLASH;
            check_reduced(&c, "layers.2.feed_forward.w2", 2);
            check_reduced(&c, "layers.1.", 1);
            c.tie_embeddings = false;
            check_reduced(&c, "output", (int)c.num_layers);
            check_reduced(&c, "tok_embeddings", 0);
        }
}

/* The same with every operation, chosen or not: what tt_run gets from plan_of instead. */
static struct tt_plan *everything;

static tt_status plan_with_everything(void *interval, int64_t step, const struct tt_plan **out, bool *renewed)
{
    TT_TRY(tt_between_plan(interval, step, out, renewed));
    if (*out) *out = everything;
    return TT_OK;
}

enum { BETWEEN_STEPS = 8 };

/* `norms`: of each step, by the metrics. */
static float *run_steps(const struct tt_config *c, bool whole, float *norms, int *reduced)
{
    struct tt_session s;
    struct tt_run run;
    struct tt_metrics ring[BETWEEN_STEPS];
    CHECK_OK(tt_session_open(&s, &backend, c, TT_USE_TRAIN));
    CHECK_OK(tt_session_run(&s, c, (struct tt_origin){0}, NULL, &run));
    bool *all = calloc((size_t)s.model->params.groups.count, sizeof *all);
    for (int g = 0; g < s.model->params.groups.count; g++) all[g] = true;
    CHECK_OK(tt_between_reduce(s.model, s.between, all, &everything));
    CHECK(everything->count == s.between->count, "%d of %d operations", everything->count, s.between->count);
    tt_engine_bind(&s.engine, everything);
    if (whole) run.plan_of = plan_with_everything;
    CHECK_OK(tt_run_start(&run, TT_TOKENS_GIVEN));
    for (int i = 0; i < BETWEEN_STEPS; i++) {
        fixture_tokens(&s, i);
        CHECK_OK(tt_run_step(&run));
        *reduced += run.reduced;
    }
    CHECK_OK(tt_engine_download(&s.engine, TT_X_RING, 0, ring, sizeof ring));
    for (int i = 0; i < BETWEEN_STEPS; i++) norms[i] = ring[i].grad_norm;
    float *x = arenas(&s);
    tt_run_close(&run);
    tt_plan_free(everything);
    free(all);
    tt_session_close(&s);
    return x;
}

/* What is left out changes nothing of what the others become. */
static void reduced_plans_give_the_same_bits(void)
{
    for (int level = TT_LEVEL_MATRIX; level <= TT_LEVEL_ROWS; level++)
        for (int by = TT_BY_NORM; by <= TT_BY_RANDOM; by++) {
            struct tt_config c = between_config((enum tt_update_level)level, "0.15");
            float norms[2][BETWEEN_STEPS];
            int less = 0, whole = 0;
            struct tt_model *m;
            c.update_by = (enum tt_update_by)by;
            c.tie_embeddings = by % 2;
            c.grad_accum = 1 + level % 2;
            c.version = by == TT_BY_RMS ? TT_FUSED : TT_FLASH;
            float *x = run_steps(&c, false, norms[0], &less), *y = run_steps(&c, true, norms[1], &whole);
            CHECK_OK(tt_model_create(&c, &m));
            CHECK(!memcmp(x, y, 3 * (size_t)m->params.total * sizeof *x), "level %d, by %d", level, by);
            CHECK(!memcmp(norms[0], norms[1], sizeof norms[0]), "level %d, by %d: norms", level, by);
            CHECK(less == 5 && whole == 5, "%d and %d steps between choices", less, whole); /* 1, 4 and 7 choose */
            tt_model_free(m);
            free(x), free(y);
        }
}

/* In the step that chooses, the norm is that of all gradients; in those between, that of the chosen ones. */
static void clipping_goes_by_the_gradients_there_are(void)
{
    struct tt_config c = between_config(TT_LEVEL_MATRIX, "0.2");
    struct tt_session s;
    struct tt_run run;
    CHECK_OK(tt_session_open(&s, &backend, &c, TT_USE_TRAIN));
    CHECK_OK(tt_session_run(&s, &c, (struct tt_origin){0}, NULL, &run));
    CHECK_OK(tt_run_start(&run, TT_TOKENS_GIVEN));
    const struct tt_params *p = &s.model->params;
    for (int i = 0; i < 5; i++) {
        struct tt_state state;
        float *before = arenas(&s);
        double all = 0, some = 0;
        fixture_tokens(&s, i);
        CHECK_OK(tt_run_step(&run));
        CHECK_OK(tt_engine_download(&s.engine, TT_X_STATE, 0, &state, sizeof state));
        double *key = keys_of(&s, TT_BY_NORM, before);
        bool *chosen = chosen_in(&s, i + 1);
        for (int g = 0; g < p->groups.count; g++) all += key[g], some += chosen[g] ? key[g] : 0;
        double want = sqrt(i % 3 ? some : all), norm = (double)state.grad_norm;
        CHECK(fabs(norm - want) < 1e-5 * want, "step %d: norm %g, not %g", i + 1, norm, want);
        CHECK(fabs((double)state.clip - fmin(1, c.clip_norm / want)) < 1e-5, "step %d: clip %g", i + 1,
              (double)state.clip);
        free(before), free(key), free(chosen);
    }
    tt_run_close(&run);
    tt_session_close(&s);
}

/* A step that should choose and is skipped leaves it to the next one; one that is skipped in between counts as one of
 * the steps for which a choice holds. */
static void a_skipped_step_chooses_nothing(void)
{
    struct tt_config c = between_config(TT_LEVEL_MATRIX, "0.2");
    struct tt_session s;
    struct tt_run run;
    const float bad = NAN;
    const bool between[] = {false, false, true, true, false, true}, skipped[] = {true, false, true};
    CHECK_OK(tt_session_open(&s, &backend, &c, TT_USE_TRAIN));
    CHECK_OK(tt_session_run(&s, &c, (struct tt_origin){0}, NULL, &run));
    CHECK_OK(tt_run_start(&run, TT_TOKENS_GIVEN));
    for (int i = 0; i < 6; i++) {
        float *was = arenas(&s), one = was[0];
        fixture_tokens(&s, i);
        if (i < 3 && skipped[i]) CHECK_OK(tt_engine_upload(&s.engine, TT_X_WEIGHTS, 0, &bad, sizeof bad));
        CHECK_OK(tt_run_step(&run));
        if (i < 3 && skipped[i]) CHECK_OK(tt_engine_upload(&s.engine, TT_X_WEIGHTS, 0, &one, sizeof one));
        CHECK(run.reduced == between[i], "step %d", i + 1);
        free(was);
    }
    tt_run_close(&run);
    tt_session_close(&s);
}

/* ---- a run ---- */

static float *train(const struct tt_config *c, const char *from, int64_t until)
{
    struct tt_session s;
    struct tt_config loop = *c;
    struct tt_run run;
    struct tt_data *data = NULL;
    struct tt_train_result result;
    CHECK_OK(tt_data_open(&(struct tt_data_options){.source = c->data, .val_fraction = 0.1, .seq_len = c->seq_len,
                                                    .vocab_size = c->vocab_size, .seed = (uint64_t)c->seed}, &data));
    CHECK_OK(tt_session_open(&s, &backend, c, TT_USE_TRAIN));
    loop.num_steps = until;
    CHECK_OK(tt_session_run(&s, &loop, (struct tt_origin){.checkpoint = from}, data, &run));
    CHECK_OK(tt_train_run(&(struct tt_train){.run = &run, .config_text = "precision: fp32\n"}, &result));
    float *all = arenas(&s);
    tt_session_close(&s);
    tt_data_close(data);
    return all;
}

static struct tt_config run_config(const char *name)
{
    struct tt_config c = update_config(TT_LEVEL_ROWS, "0.25");
    c.num_steps = 7;
    c.quiet = true;
    c.keep = 0;
    snprintf(c.out, sizeof c.out, "%s/%s", root, name);
    CHECK_OK(tt_make_dirs(c.out));
    return c;
}

static void check_same_file(const char *a, const char *b, const char *name)
{
    char path[1200], *x = NULL, *y = NULL;
    size_t n = 0, m = 0;
    snprintf(path, sizeof path, "%s/%s", a, name);
    CHECK_OK(tt_file_read(path, 1 << 20, &x, &n));
    snprintf(path, sizeof path, "%s/%s", b, name);
    CHECK_OK(tt_file_read(path, 1 << 20, &y, &m));
    CHECK(n > 0 && n == m && !memcmp(x, y, n), "%s: %zu and %zu bytes", name, n, m);
    free(x), free(y);
}

static void check_resume(int64_t every, enum tt_update_by by, enum tt_update_rest rest)
{
    struct tt_config a = run_config("straight"), b = run_config("stopped");
    struct tt_model *m;
    char from[1100];
    a.update_every = b.update_every = every;
    a.update_by = b.update_by = by;
    a.update_rest = b.update_rest = rest;
    float *x = train(&a, NULL, 7);
    free(train(&b, NULL, 4));
    snprintf(from, sizeof from, "%s/step-00000004", b.out);
    float *y = train(&b, from, 7);
    CHECK_OK(tt_model_create(&a, &m));
    CHECK(!memcmp(x, y, 3 * (size_t)m->params.total * sizeof *x), "every %lld, by %d, rest %d", (long long)every, by,
          rest);
    check_same_file(a.out, b.out, "choices.bits");
    check_same_file(a.out, b.out, "groups.csv");
    tt_model_free(m);
    free(x), free(y);
}

static void resume_gives_the_same_bits(void)
{
    check_resume(1, TT_BY_NORM, TT_REST_FREEZE);
    check_resume(3, TT_BY_RANDOM, TT_REST_DECAY); /* in the middle of an interval */
    check_resume(3, TT_BY_RELATIVE, TT_REST_FREEZE);
}

/* A checkpoint of a run that updated all weights, and the way back; other groups are refused. */
static void other_updates_take_over(void)
{
    struct tt_config all = run_config("all"), some = run_config("some"), other = run_config("other");
    char from[1100];
    all.update = TT_UPDATE_ALL;
    all.update_level = TT_LEVEL_MATRIX;
    all.update_share[0] = 0;
    free(train(&all, NULL, 3));
    snprintf(from, sizeof from, "%s/step-00000003", all.out);
    free(train(&some, from, 5));
    snprintf(from, sizeof from, "%s/step-00000005", some.out);
    free(train(&all, from, 7));
    struct tt_session s;
    struct tt_progress progress;
    other.update_level = TT_LEVEL_LAYER;
    CHECK_OK(tt_session_open(&s, &backend, &other, TT_USE_TRAIN));
    CHECK_FAILS(tt_session_load(&s, from, &progress), "give --update-level as it was then, or --update all");
    tt_session_close(&s);
}

/* From a checkpoint in which all were updated, share 1 goes on as all does. */
static void all_groups_go_on_as_all(void)
{
    struct tt_config all = run_config("begun"), some = run_config("gone-on");
    struct tt_model *m;
    char from[1100];
    all.update = TT_UPDATE_ALL;
    all.update_level = TT_LEVEL_MATRIX;
    all.update_share[0] = 0;
    strcpy(some.update_share, "1");
    free(train(&all, NULL, 3));
    snprintf(from, sizeof from, "%s/step-00000003", all.out);
    float *x = train(&all, from, 6), *y = train(&some, from, 6);
    CHECK_OK(tt_model_create(&all, &m));
    CHECK(!memcmp(x, y, 3 * (size_t)m->params.total * sizeof *x));
    tt_model_free(m);
    free(x), free(y);
}

/* A step that is not finite changes nothing and counts for no group; the next one chooses as if it had not been. */
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
    CHECK_OK(tt_engine_upload(&s.engine, TT_X_WEIGHTS, 0, &bad, sizeof bad)); /* so that the loss is not finite */
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

/* What the metrics say of a step is what was chosen. */
static void metrics_say_what_was_chosen(void)
{
    struct tt_config c = run_config("metrics");
    char path[1100], *text, want[64];
    size_t size;
    struct tt_model *m;
    CHECK_OK(tt_model_create(&c, &m));
    free(train(&c, NULL, 4));
    snprintf(path, sizeof path, "%s/metrics.jsonl", c.out);
    CHECK_OK(tt_file_read(path, 1 << 20, &text, &size));
    snprintf(want, sizeof want, "\"updated\":{\"groups\":%d,\"share\":0.", m->params.groups.chosen);
    int lines = 0;
    for (const char *at = text; (at = strstr(at, want)); at++) {
        int in[3] = {0}, outside = -1, n = 0, layers = (int)c.num_layers;
        const char *list = strstr(at, "\"layers\":[");
        if (layers == 3) n = sscanf(list, "\"layers\":[%d,%d,%d],\"outside\":%d}", &in[0], &in[1], &in[2], &outside);
        else n = sscanf(list, "\"layers\":[%d,%d],\"outside\":%d}", &in[0], &in[1], &outside);
        CHECK(n == layers + 1 && in[0] + in[1] + in[2] + outside == m->params.groups.chosen, "%.80s", list);
        lines++;
    }
    CHECK(lines == 4, "%d lines", lines);
    free(text);
    snprintf(path, sizeof path, "%s/choices.bits", c.out);
    CHECK_OK(tt_file_read(path, 1 << 20, &text, &size));
    size_t words = TT_CHOICE_WORDS((size_t)m->params.groups.count), set = 0;
    for (size_t i = 0; i < size; i++) set += (size_t)__builtin_popcount((unsigned char)text[i]);
    CHECK(size == 4 * words * 4 && set == 4 * (size_t)m->params.groups.chosen, "%zu bytes, %zu chosen", size, set);
    free(text);
    tt_model_free(m);
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
    if (!mkdtemp(root)) return 1;
    TEST(groups_are_the_model);
    TEST(plans_are_sound);
    TEST(all_groups_are_all_weights);
    TEST(the_largest_change);
    TEST(what_is_frozen_is_left_out);
    TEST(reduced_plans_give_the_same_bits);
    TEST(clipping_goes_by_the_gradients_there_are);
    TEST(a_skipped_step_chooses_nothing);
    TEST(resume_gives_the_same_bits);
    TEST(other_updates_take_over);
    TEST(all_groups_go_on_as_all);
    TEST(skipped_steps_do_not_count);
    TEST(metrics_say_what_was_chosen);
    TEST(bad_values_are_refused);
    tt_backend_close(&backend);
    tt_status_free(tt_remove_tree(root));
    return test_end();
}
