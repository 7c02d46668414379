/* Faults of the device: every allocation of a run fails once, and a NaN comes into the gradients. Nothing may leak,
 * nothing may be saved that is not good, and the checkpoint from before must still be there. */
#include <dirent.h>
#include <unistd.h>

#include "core/file.h"
#include "core/train.h"
#include "tests/faulty_backend.h"
#include "tests/model_fixture.h"

static struct tt_backend real;
static char root[] = "/tmp/tt-test-device-XXXXXX";

static struct tt_config run_config(const char *name)
{
    struct tt_config c = tiny_config();
    c.vocab_size = 64;
    c.num_steps = 12;
    c.val_interval = 5;
    c.log_interval = 50; /* so that nobody looks at the metrics before a checkpoint is due */
    c.save_interval = 4;
    c.keep = 1;
    c.quiet = true;
    c.precision = TT_FP32;
    snprintf(c.out, sizeof c.out, "%s/%s", root, name);
    return c;
}

/* A whole run on the wrapped backend. `loop` is what the loop is told, which may differ from the model. */
static tt_status run(struct faulty *f, struct tt_backend *b, const struct tt_config *c, const struct tt_config *loop,
                     struct tt_train_result *result)
{
    struct tt_session s = {0};
    struct tt_data *data = NULL;
    tt_status st =
        tt_data_open(&(struct tt_data_options){.source = "builtin", .seq_len = c->seq_len, .vocab_size = 64}, &data);
    if (!st) st = tt_session_open(&s, b, c, TT_USE_TRAIN | TT_USE_EVAL);
    if (!st) st = tt_session_init_weights(&s);
    if (!st) st = loop->out[0] ? tt_make_dirs(loop->out) : TT_OK;
    if (!st) {
        f->victim = (float *)s.engine.externals[TT_X_GRADS] + 5;
        struct tt_train t = {.config = loop,
                             .params = &s.model->params,
                             .engine = &s.engine,
                             .step_plan = s.step,
                             .eval_plan = s.eval,
                             .data = data,
                             .config_text = "seed: 1\n",
                             .progress = {.best_val = INFINITY, .loss_scale = 1}};
        st = tt_train_run(&t, result);
    }
    tt_session_close(&s);
    tt_data_close(data);
    return st;
}

/* The newest step that is saved in dir; -1: none. */
static long saved(const char *dir)
{
    char *path = NULL;
    tt_status st = tt_checkpoint_find(dir, NULL, NULL, &path);
    long step = path ? strtol(strrchr(path, '-') + 1, NULL, 10) : -1;
    CHECK(!st, "%s", st->text);
    tt_status_free(st);
    free(path);
    return step;
}

/* ---- memory ---- */

static void every_allocation_may_fail(void)
{
    struct faulty f;
    struct tt_train_result r;
    for (int v = first_version(); v < TT_VERSIONS; v++) {
        int64_t n = 0;
        for (bool failed = true; failed && n < 1000;) {
            struct tt_backend b = faulty_wrap(&f, real);
            struct tt_config c = run_config("alloc");
            c.version = (enum tt_version)v;
            c.num_steps = 2;
            c.save_interval = 0;
            f.fail_at = n += test_few() ? 3 : 1;
            tt_status st = run(&f, &b, &c, &c, &r);
            failed = f.made >= n;
            if (failed)
                CHECK(st && st->code == TT_FAILED && strstr(st->text, "the test says so"), "allocation %lld: %s",
                      (long long)n, st ? st->text : "went on");
            else
                CHECK(!st, "%s", st->text);
            CHECK(!f.live, "allocation %lld: %lld things were not given back", (long long)n, (long long)f.live);
            if (failed) CHECK(saved(c.out) == -1);
            tt_status_free(st);
        }
        CHECK(n > 15, "only %lld allocations in a run", (long long)n);
        char dir[1100];
        snprintf(dir, sizeof dir, "%s/alloc", root);
        CHECK_OK(tt_remove_tree(dir));
    }
}

/* ---- NaN ---- */

static const char *name_of(const char *what, int version, int step)
{
    static char name[64];
    snprintf(name, sizeof name, "%s-%d-%d", what, version, step);
    return name;
}

/* Checkpoints at 4 and 8, the end at 12: whenever the NaN comes, the newest checkpoint is the last one before it. */
static void a_nan_stops_before_it_is_saved(void)
{
    struct faulty f;
    struct tt_train_result r;
    for (int v = first_version(); v < TT_VERSIONS; v++)
        for (int bad = 1; bad <= 12; bad += test_few() ? 6 : 1) {
            struct tt_backend b = faulty_wrap(&f, real);
            struct tt_config c = run_config(name_of("stop", v, bad));
            char words[32];
            c.version = (enum tt_version)v;
            f.bad_step = bad;
            snprintf(words, sizeof words, "step %d: loss or", bad);
            CHECK_FAILS(run(&f, &b, &c, &c, &r), words);
            long before = (bad - 1) / 4 * 4;
            CHECK(saved(c.out) == (before ? before : -1), "NaN in step %d: saved %ld", bad, saved(c.out));
        }
}

static float *weights_after(struct faulty *f, enum tt_version v, int64_t steps, int64_t bad)
{
    struct tt_backend b = faulty_wrap(f, real);
    struct tt_config c = run_config("weights");
    struct tt_session s;
    c.version = v;
    f->bad_step = bad;
    CHECK_OK(tt_session_open(&s, &b, &c, TT_USE_TRAIN));
    fixture_weights(&s);
    f->victim = (float *)s.engine.externals[TT_X_GRADS] + 5;
    for (int64_t i = 0; i < steps; i++) {
        fixture_tokens(&s, (int)i);
        CHECK_OK(tt_plan_run(s.step, &b, NULL));
    }
    float *w = fixture_read(&s, TT_X_WEIGHTS);
    CHECK(s.model->params.total > 1000);
    tt_session_close(&s);
    return w;
}

/* The step with the NaN changes no bit: weights after it are those before it. */
static void a_nan_changes_no_weight(void)
{
    struct faulty f;
    for (int v = first_version(); v < TT_VERSIONS; v++) {
        float *before = weights_after(&f, (enum tt_version)v, 3, 0),
              *after = weights_after(&f, (enum tt_version)v, 4, 4);
        float *further = weights_after(&f, (enum tt_version)v, 4, 0);
        CHECK(!memcmp(before, after, 1000 * sizeof *before), "version %d: a NaN reached the weights", v);
        CHECK(memcmp(before, further, 1000 * sizeof *before), "version %d: the weights do not move at all", v);
        free(before);
        free(after);
        free(further);
    }
}

static void a_nan_can_be_skipped(void)
{
    struct faulty f;
    struct tt_train_result r;
    for (int v = first_version(); v < TT_VERSIONS; v++) {
        struct tt_backend b = faulty_wrap(&f, real);
        struct tt_config c = run_config(name_of("skip", v, 0));
        struct tt_progress p;
        char path[1200], *config = NULL;
        c.version = (enum tt_version)v;
        c.on_nan = TT_NAN_SKIP;
        f.bad_step = 6;
        CHECK_OK(run(&f, &b, &c, &c, &r));
        CHECK(isfinite(r.val_loss) && saved(c.out) == 12);
        snprintf(path, sizeof path, "%s/step-%08d", c.out, 12);
        CHECK_OK(tt_checkpoint_peek(path, &p, &config));
        CHECK(p.skipped == 1, "%lld steps skipped", (long long)p.skipped);
        free(config);
    }
}

/* fp16 begins with a loss scale that is too large and halves it until nothing overflows: that is no fault. */
static void an_overflow_in_fp16_is_no_nan(void)
{
    struct faulty f;
    struct tt_train_result r;
    for (int half = 0; half < 2; half++) {
        struct tt_backend b = faulty_wrap(&f, real);
        struct tt_config c = run_config(name_of("overflow", half, 0)), loop = c;
        f.bad_step = 2;
        f.overflow = true;
        loop.precision = half ? TT_PREC_FP16 : TT_FP32;
        tt_status st = run(&f, &b, &c, &loop, &r);
        if (half)
            CHECK(!st, "%s", st->text);
        else
            CHECK(st && strstr(st->text, "step 2: loss or gradients are not finite"), "%s", st ? st->text : "went on");
        tt_status_free(st);
    }
}

/* Before the first step of a run there was no update that could be too large. */
static void advice_fits_the_step(void)
{
    struct faulty f;
    struct tt_train_result r;
    for (int bad = 1; bad <= 2; bad++) {
        struct tt_backend b = faulty_wrap(&f, real);
        struct tt_config c = run_config(name_of("advice", bad, 0)), loop = c;
        f.bad_step = bad;
        f.overflow = true;
        tt_status st = run(&f, &b, &c, &loop, &r);
        CHECK(st && strstr(st->text, bad == 1 ? "what it began with" : "Lower --learning-rate"), "%s", st ? st->text : "went on");
        tt_status_free(st);
    }
}

int main(void)
{
    CHECK(mkdtemp(root) != NULL, "no folder for the test");
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){0}, &real));
    TEST(every_allocation_may_fail);
    TEST(a_nan_stops_before_it_is_saved);
    TEST(a_nan_changes_no_weight);
    TEST(a_nan_can_be_skipped);
    TEST(an_overflow_in_fp16_is_no_nan);
    TEST(advice_fits_the_step);
    tt_backend_close(&real);
    CHECK_OK(tt_remove_tree(root));
    return test_end();
}
