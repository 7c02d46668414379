/* The steps between two choices of --update-every: they leave out only what the weights that are not chosen need. */
#include "core/train/loop.h"
#include "tests/core/plan/plan_check.h"
#include "tests/model/update_fixture.h"

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

/* Every product that computes gradients computes some of a chosen group, and no layer below the lowest chosen one has a
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

/* Chooses the groups of the tensors with `name` in their names. */
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

/* A plan for the same steps with every operation, chosen or not; plan_of gives it to tt_run instead. */
static struct tt_plan *everything;

static tt_status plan_with_everything(void *interval, int64_t step, const struct tt_plan **out, bool *renewed)
{
    TT_TRY(tt_between_plan(interval, step, out, renewed));
    if (*out) *out = everything;
    return TT_OK;
}

enum { BETWEEN_STEPS = 8 };

/* `norms`: each step's, from the metrics. */
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

/* Leaving operations out does not change the rest. Few: each criterion and each level once. */
static void reduced_plans_give_the_same_bits(void)
{
    for (int level = TT_LEVEL_MATRIX; level <= TT_LEVEL_ROWS; level++)
        for (int by = TT_BY_NORM; by <= TT_BY_RANDOM; by++) {
            if (test_few() && level != by % 3) continue;
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

/* The step that chooses uses the norm of all gradients; the steps in between use that of the chosen ones. */
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

/* If a step that should choose is skipped, the next one chooses. A step skipped in between counts among the steps for
 * which a choice holds. */
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

int main(void)
{
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){.threads = 2}, &backend));
    TEST(what_is_frozen_is_left_out);
    TEST(reduced_plans_give_the_same_bits);
    TEST(clipping_goes_by_the_gradients_there_are);
    TEST(a_skipped_step_chooses_nothing);
    tt_backend_close(&backend);
    return test_end();
}
