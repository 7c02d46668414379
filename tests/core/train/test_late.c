/* The fusion late-update in whole runs: a step leaves its update to the next one, without a visible difference. Weights
 * and moments read between two steps equal, to the bit, those of steps that make their own updates. */
#include <unistd.h>

#include "core/base/file.h"
#include "core/checkpoint/moments.h"
#include "core/train/loop.h"
#include "tests/backend/faulty_backend.h"
#include "tests/backend/graph_backend.h"
#include "tests/model/model_fixture.h"

static struct tt_backend real, backend;
static struct graph_backend graphs;
static struct faulty faulty;
static char root[] = "/tmp/tt-test-late-XXXXXX";

static struct tt_config late_config(enum tt_version v, const char *name, bool late)
{
    struct tt_config c = tiny_config();
    c.version = v;
    c.vocab_size = 64;
    c.clip_norm = 1;
    c.num_steps = 7;
    c.val_interval = 3;
    c.graph = TT_SWITCH_ON;
    c.quiet = true;
    c.keep = 0;
    if (!late) strcpy(c.fuse, "no-late-update");
    snprintf(c.out, sizeof c.out, "%s/%s-%s", root, name, late ? "late" : "own");
    CHECK_OK(tt_make_dirs(c.out));
    return c;
}

/* Weights and both moments; the caller frees them. */
static float *arenas(struct tt_session *s)
{
    int64_t n = s->model->params.total;
    float *all = malloc((size_t)(3 * n) * sizeof *all);
    CHECK_OK(tt_weights_read(&s->engine, &s->model->params, all));
    CHECK_OK(tt_moments_read(&s->engine, &s->model->params, TT_X_MOMENT1, all + n));
    CHECK_OK(tt_moments_read(&s->engine, &s->model->params, TT_X_MOMENT2, all + 2 * n));
    return all;
}

static void same(struct tt_session *a, float *x, struct tt_session *b, float *y, const char *what, int step)
{
    int64_t n = a->model->params.total;
    static const char *const names[] = {"weights", "first moments", "second moments"};
    CHECK(n == b->model->params.total, "models of two sizes");
    for (int i = 0; i < 3; i++)
        CHECK(!memcmp(x + i * n, y + i * n, (size_t)n * sizeof *x), "%s, step %d: other %s", what, step, names[i]);
    free(x);
    free(y);
}

/* ---- step by step ---- */

struct pair {
    struct tt_config c[2]; /* with its own updates, and late */
    struct tt_session s[2];
    struct tt_run run[2];
    struct tt_data *data;
    enum tt_fp8_scaling scaling; /* of 8-bit factors */
};

static void open_pair(struct pair *p, enum tt_version v, enum tt_precision precision)
{
    for (int i = 0; i < 2; i++) {
        struct tt_config *c = &p->c[i];
        *c = late_config(v, "pair", i);
        c->precision = precision;
        if (precision == TT_PREC_FP8) make_even(c);
        c->fp8_scaling = p->scaling;
        if (!i) p->data = fixture_data(c);
        CHECK_OK(tt_session_open(&p->s[i], &backend, c, TT_USE_TRAIN | TT_USE_EVAL));
        CHECK(!p->s[i].late == !i && !p->s[i].update == !i, "a late plan: %d", i);
        CHECK_OK(tt_session_run(&p->s[i], c, (struct tt_origin){0}, p->data, &p->run[i]));
        CHECK_OK(tt_run_start(&p->run[i], TT_TOKENS_FED));
    }
}

static void step_pair(struct pair *p, int steps)
{
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < steps; k++) CHECK_OK(tt_run_step(&p->run[i]));
}

static void same_pair(struct pair *p, const char *what, int step)
{
    same(&p->s[0], arenas(&p->s[0]), &p->s[1], arenas(&p->s[1]), what, step);
}

static void close_pair(struct pair *p)
{
    for (int i = 0; i < 2; i++) {
        tt_run_close(&p->run[i]);
        tt_session_close(&p->s[i]);
    }
    tt_data_close(p->data);
}

/* Reads after one, two, ... steps: each time the pending update is made separately, and the next step does not make it
 * again. */
static void check_readers(enum tt_precision p, enum tt_fp8_scaling scaling)
{
    struct pair pair = {.scaling = scaling};
    int step = 0;
    open_pair(&pair, TT_FLASH, p);
    for (int k = 1; k <= 4; k++) {
        step_pair(&pair, k);
        CHECK(pair.run[1].late.due && !pair.run[0].late.due, "no update is due");
        same_pair(&pair, tt_precision_names[p], step += k);
        CHECK(!pair.run[1].late.due, "an update is due still");
        same_pair(&pair, "read again", step);
    }
    CHECK(!graphs.relay.real.ops || graphs.replays > 0, "nothing was replayed");
    close_pair(&pair);
}

static void whoever_reads_sees_the_update(void)
{
    struct tt_device_info info;
    CHECK_OK(real.ops->info(real.self, &info));
    for (int p = 0; p < TT_PRECISIONS; p++)
        if (tested_in(&info, p)) check_readers((enum tt_precision)p, TT_SCALING_TENSOR);
    if (tested_in(&info, TT_PREC_FP8)) check_readers(TT_PREC_FP8, TT_SCALING_DELAYED);
}

static void validation_sees_the_update(void)
{
    struct pair p = {0};
    struct tt_evaluation on[2];
    open_pair(&p, TT_FUSED, TT_FP32);
    for (int k = 0; k < 4; k++) {
        step_pair(&p, k);
        for (int i = 0; i < 2; i++) CHECK_OK(tt_run_evaluate(&p.run[i], &on[i]));
        CHECK(on[0].loss == on[1].loss, "after %d more steps: %.9g and %.9g", k, on[0].loss, on[1].loss);
    }
    step_pair(&p, 1);
    same_pair(&p, "validated", 7);
    close_pair(&p);
}

/* Like a profile: steps of the usual plan between replays of the late one. */
static void steps_of_both_kinds_take_turns(void)
{
    struct pair p = {0};
    open_pair(&p, TT_FLASH, TT_FP32);
    struct tt_stepper launched = {.backend = &backend, .plan = p.s[1].step, .warm = true};
    for (int k = 0; k < 8; k++) {
        CHECK_OK(tt_run_step(&p.run[0]));
        CHECK_OK(k & 2 ? tt_run_step_by(&p.run[1], &launched) : tt_run_step(&p.run[1]));
        CHECK(p.run[1].late.due == !(k & 2), "step %d", k);
    }
    same_pair(&p, "in turns", 8);
    tt_stepper_close(&launched);
    close_pair(&p);
}

static void closing_makes_the_update(void)
{
    struct pair p = {0};
    open_pair(&p, TT_FLASH, TT_FP32);
    step_pair(&p, 3);
    tt_run_close(&p.run[1]);
    CHECK(!p.run[1].late.due && !p.s[1].engine.late, "the engine still knows the run");
    same_pair(&p, "closed", 3);
    close_pair(&p);
}

/* New weights from outside replace those that the pending update would change. */
static void an_update_is_not_made_to_other_weights(void)
{
    struct pair p = {0};
    open_pair(&p, TT_FLASH, TT_FP32);
    step_pair(&p, 3);
    int64_t n = p.s[0].model->params.total;
    float *w = malloc((size_t)n * sizeof *w);
    tt_model_init_weights(p.s[0].model, w);
    for (int i = 0; i < 2; i++) CHECK_OK(tt_session_set_weights(&p.s[i], w));
    same_pair(&p, "replaced", 3);
    step_pair(&p, 2);
    same_pair(&p, "replaced", 5);
    free(w);
    close_pair(&p);
}

/* ---- the loop ---- */

/* Trains from `from` (a checkpoint, or NULL) until step `until`. Returns the arenas. */
static float *train(const struct tt_config *c, const char *from, int64_t until, int64_t *n,
                    struct tt_train_result *result)
{
    struct tt_session s;
    struct tt_config loop = *c;
    struct tt_run run;
    struct tt_data *data = fixture_data(c);
    loop.num_steps = until;
    CHECK_OK(tt_session_open(&s, &backend, c, TT_USE_TRAIN | TT_USE_EVAL));
    CHECK_OK(tt_session_run(&s, &loop, (struct tt_origin){.checkpoint = from}, data, &run));
    if (faulty.real.ops) faulty.victim = (float *)s.engine.externals[TT_X_GRADS] + 5;
    faulty.step = 0;
    tt_status st = tt_train_run(&(struct tt_train){.run = &run, .config_text = "precision: fp32\n"}, result);
    CHECK_OK(st);
    float *all = arenas(&s);
    *n = 3 * s.model->params.total;
    tt_session_close(&s);
    tt_data_close(data);
    return all;
}

static void check_runs(struct tt_config own, struct tt_config late, const char *what)
{
    struct tt_train_result one, two;
    int64_t n, m;
    float *x = train(&own, NULL, 7, &n, &one), *y = train(&late, NULL, 7, &m, &two);
    CHECK(n == m && !memcmp(x, y, (size_t)n * sizeof *x), "%s: other bits", what);
    CHECK(one.val_loss == two.val_loss && one.loss == two.loss && one.skipped == two.skipped,
          "%s: loss %.9g and %.9g, validation %.9g and %.9g", what, one.loss, two.loss, one.val_loss, two.val_loss);
    free(y);
    for (int stop = 2; stop < 7; stop += 3) { /* a checkpoint of either kind resumes as either kind */
        char from[1200];
        struct tt_config *first = stop == 2 ? &late : &own, *second = stop == 2 ? &own : &late;
        free(train(first, NULL, stop, &m, &two));
        snprintf(from, sizeof from, "%s/step-%08d", first->out, stop);
        y = train(second, from, 7, &m, &two);
        CHECK(!memcmp(x, y, (size_t)n * sizeof *x), "%s: stopped at %d: other bits", what, stop);
        free(y);
    }
    free(x);
}

static void runs_give_the_same_bits(void)
{
    for (int v = test_few() ? TT_FLASH : TT_FUSED; v <= TT_FLASH; v++)
        for (int accum = 1; accum <= 2; accum++) {
            struct tt_config own = late_config((enum tt_version)v, "run", false),
                             late = late_config((enum tt_version)v, "run", true);
            own.grad_accum = late.grad_accum = accum;
            own.save_interval = late.save_interval = 2;
            own.tie_embeddings = late.tie_embeddings = accum == 1;
            own.moments = late.moments = accum == 2 ? TT_MOMENTS_BF16 : TT_MOMENTS_FP32;
            check_runs(own, late, tt_version_names[v]);
        }
}

/* A skipped step leaves no pending update. */
static void a_bad_step_leaves_no_update(void)
{
    if (real.ops->graph_begin) SKIP("a captured step cannot be looked into");
    struct tt_backend healthy = backend, sick = faulty_wrap(&faulty, real);
    struct graph_backend around;
    backend = graph_wrap(&around, &sick);
    for (int bad = 3; bad <= 4; bad++) {
        struct tt_config own = late_config(TT_FLASH, "bad", false), late = late_config(TT_FLASH, "bad", true);
        struct tt_train_result one, two;
        int64_t n, m;
        faulty.bad_step = bad;
        own.on_nan = late.on_nan = TT_NAN_SKIP;
        float *x = train(&own, NULL, 7, &n, &one), *y = train(&late, NULL, 7, &m, &two);
        CHECK(one.skipped == 1 && two.skipped == 1, "skipped %lld and %lld", (long long)one.skipped,
              (long long)two.skipped);
        CHECK(n == m && !memcmp(x, y, (size_t)n * sizeof *x), "bad step %d: other bits", bad);
        free(x);
        free(y);
    }
    backend = healthy;
    faulty = (struct faulty){0};
}

/* Cases without late updates: without a graph, with AdamW in single steps, with chosen groups. */
static void where_steps_make_their_own_updates(void)
{
    static const char *const without[] = {"no-graph", "no-optimizer", "no-late-update"};
    for (int i = 0; i < 5; i++) {
        struct tt_config c = late_config(TT_FLASH, "without", true);
        struct tt_session s;
        if (i < 3) strcpy(c.fuse, without[i]);
        if (i == 3) c.graph = TT_SWITCH_OFF;
        if (i == 4) c.update = TT_UPDATE_TOP_K, c.update_count = 2, c.update_every = 1;
        CHECK_OK(tt_session_plan(&s, &backend, &c, TT_USE_TRAIN));
        CHECK(!s.late && !s.update && !s.model->fuse[TT_FUSE_LATE], "case %d is late", i);
        tt_session_close(&s);
    }
}

int main(void)
{
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){.gemm_tune = TT_TUNE_QUICK}, &real));
    CHECK(mkdtemp(root) != NULL, "no folder for the test");
    backend = graph_wrap(&graphs, &real);
    TEST(whoever_reads_sees_the_update);
    TEST(validation_sees_the_update);
    TEST(steps_of_both_kinds_take_turns);
    TEST(closing_makes_the_update);
    TEST(an_update_is_not_made_to_other_weights);
    TEST(runs_give_the_same_bits);
    TEST(a_bad_step_leaves_no_update);
    TEST(where_steps_make_their_own_updates);
    tt_backend_close(&real);
    CHECK_OK(tt_remove_tree(root));
    return test_end();
}
