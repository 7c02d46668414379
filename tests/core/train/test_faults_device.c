/* Faults of the device: every allocation of a run fails once, and gradients get a NaN. Nothing may leak, nothing bad
 * may be saved, and the previous checkpoint must still be there. */
#include <dirent.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/train/loop.h"
#include "core/train/state.h"
#include "tests/backend/faulty_backend.h"
#include "tests/model/model_fixture.h"

static struct tt_backend real;
static char root[] = "/tmp/tt-test-device-XXXXXX";

static struct tt_config run_config(const char *name)
{
    struct tt_config c = tiny_config();
    c.vocab_size = 64;
    c.num_steps = 12;
    c.val_interval = 5;
    c.log_interval = 50; /* so that the metrics are not read before a checkpoint is due */
    c.save_interval = 4;
    c.keep = 1;
    c.quiet = true;
    c.precision = TT_FP32;
    snprintf(c.out, sizeof c.out, "%s/%s", root, name);
    return c;
}

/* A complete run on the wrapped backend. `loop` configures the loop and may differ from the model. The run begins with
 * a checkpoint, or else with this loss scale. */
static tt_status run_from(struct faulty *f, struct tt_backend *b, const struct tt_config *c,
                          const struct tt_config *loop,
                          const char *checkpoint, float loss_scale, struct tt_train_result *result)
{
    struct tt_session s = {0};
    struct tt_run run;
    struct tt_data *data = NULL;
    tt_status st =
        tt_data_open(&(struct tt_data_options){.source = "builtin", .seq_len = c->seq_len, .vocab_size = 64}, &data);
    if (!st) st = tt_session_open(&s, b, c, TT_USE_TRAIN | TT_USE_EVAL);
    if (!st) st = tt_session_run(&s, loop, (struct tt_origin){.checkpoint = checkpoint}, data, &run);
    if (!st && !checkpoint) { /* the loop may use fp16 while the model computes in fp32 */
        run.progress.loss_scale = loss_scale;
        struct tt_state state = tt_state_begin(loop->precision, &run.progress);
        st = tt_engine_upload(&s.engine, TT_X_STATE, 0, &state, sizeof state);
    }
    if (!st) st = loop->out[0] ? tt_make_dirs(loop->out) : TT_OK;
    if (!st) {
        f->victim = (float *)s.engine.externals[TT_X_GRADS] + 5;
        st = tt_train_run(&(struct tt_train){.run = &run, .config_text = "seed: 1\n"}, result);
    }
    tt_session_close(&s);
    tt_data_close(data);
    return st;
}

static tt_status run(struct faulty *f, struct tt_backend *b, const struct tt_config *c, const struct tt_config *loop,
                     struct tt_train_result *result)
{
    return run_from(f, b, c, loop, NULL, 0, result);
}

/* The newest step saved in dir; -1: none. */
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

static bool same_file(const char *a, const char *b, int step, const char *name)
{
    char path[1300], *text[2] = {0};
    size_t n[2] = {0};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/step-%08d/%s", i ? b : a, step, name);
        CHECK_OK(tt_file_read(path, 1 << 24, &text[i], &n[i]));
    }
    bool same = text[0] && text[1] && n[0] == n[1] && !memcmp(text[0], text[1], n[0]);
    free(text[0]);
    free(text[1]);
    return same;
}

/* Compares everything: weights, moments, position in the data, best loss, counts. */
static bool same_checkpoint(const char *a, const char *b, int step)
{
    return same_file(a, b, step, "model.safetensors") && same_file(a, b, step, "state.safetensors") &&
           same_file(a, b, step, "checkpoint.json");
}

/* The line of the bad step is the last one and says that it was not applied. */
static void check_last_line(const char *out, int bad)
{
    char path[1300], words[32], *text = NULL;
    size_t n = 0;
    snprintf(path, sizeof path, "%s/metrics.jsonl", out);
    CHECK_OK(tt_file_read(path, 1 << 20, &text, &n));
    if (!text) return;
    while (n && text[n - 1] == '\n') text[--n] = 0;
    const char *line = strrchr(text, '\n') ? strrchr(text, '\n') + 1 : text;
    snprintf(words, sizeof words, "{\"step\":%d,", bad);
    CHECK(!strncmp(line, words, strlen(words)) && strstr(line, "\"applied\":false"), "NaN in step %d: %s", bad, line);
    free(text);
}

/* The metrics are not read before step 4, and the steps after the bad one are good again. Even so, the checkpoint is
 * the run before the bad step, to the bit, and resuming from it reaches the same end. */
static void check_stop(const struct tt_config *whole, int bad, bool on_the_way)
{
    struct faulty f;
    struct tt_train_result r;
    struct tt_backend b = faulty_wrap(&f, real);
    struct tt_config c = run_config(name_of(on_the_way ? "stop" : "late", whole->version, bad));
    char words[64], path[1200];
    c.version = whole->version;
    if (!on_the_way) c.save_interval = c.val_interval = 0;
    f.bad_step = bad;
    snprintf(words, sizeof words, bad == 1 ? "look at what it began with" : "/step-%08d. Lower", bad - 1);
    tt_status st = run(&f, &b, &c, &c, &r);
    CHECK(st && strstr(st->text, words), "NaN in step %d: %s", bad, st ? st->text : "went on");
    snprintf(words, sizeof words, "step %d: loss or gradients are not finite", bad);
    CHECK(st && strstr(st->text, words) == st->text, "NaN in step %d: %s", bad, st ? st->text : "went on");
    tt_status_free(st);
    check_last_line(c.out, bad);
    CHECK(saved(c.out) == (bad == 1 ? -1 : bad - 1) && r.steps == bad - 1, "NaN in step %d: saved %ld", bad,
          saved(c.out));
    if (bad == 1 || !on_the_way) {
        bool same = bad == 1 || (same_file(c.out, whole->out, bad - 1, "model.safetensors") &&
                                 same_file(c.out, whole->out, bad - 1, "state.safetensors"));
        CHECK(same, "NaN in step %d, noticed at the end: the checkpoint is not that of the run before it", bad);
        return;
    }
    CHECK(same_checkpoint(c.out, whole->out, bad - 1),
          "NaN in step %d: the checkpoint is not that of the run before it", bad);
    b = faulty_wrap(&f, real);
    snprintf(path, sizeof path, "%s/step-%08d", c.out, bad - 1);
    CHECK_OK(run_from(&f, &b, &c, &c, path, 0, &r));
    CHECK(same_checkpoint(c.out, whole->out, 12), "NaN in step %d: what went on from there has other bits", bad);
}

static void a_nan_stops_and_saves_the_run_before_it(void)
{
    struct faulty f;
    struct tt_train_result r;
    for (int v = first_version(); v < TT_VERSIONS; v++) {
        struct tt_backend b = faulty_wrap(&f, real);
        struct tt_config whole = run_config(name_of("whole", v, 0));
        whole.version = (enum tt_version)v;
        whole.save_interval = 1;
        whole.keep = 0;
        CHECK_OK(run(&f, &b, &whole, &whole, &r));
        for (int bad = 1; bad <= 12; bad += test_few() ? 6 : 1) check_stop(&whole, bad, true);
        check_stop(&whole, 3, false);
    }
}

/* A run that was resumed from another folder stops in its first step. Its own folder then also has a checkpoint to
 * resume from. */
static void a_nan_after_a_resume_is_saved_here(void)
{
    struct faulty f;
    struct tt_train_result r;
    struct tt_backend b = faulty_wrap(&f, real);
    struct tt_config c = run_config("came-from"), here = run_config("went-to");
    char path[1200];
    CHECK_OK(run(&f, &b, &c, &c, &r));
    snprintf(path, sizeof path, "%s/step-%08d", c.out, 12);
    here.num_steps = 16;
    b = faulty_wrap(&f, real);
    f.bad_step = 1;
    CHECK_FAILS(run_from(&f, &b, &here, &here, path, 0, &r), "step 13: loss or gradients are not finite");
    CHECK(saved(here.out) == 12 && same_file(here.out, c.out, 12, "model.safetensors") &&
          same_file(here.out, c.out, 12, "state.safetensors"));
}

/* If the save fails, only the previous checkpoint is left, and the message names it. */
static void a_run_that_cannot_be_saved_says_so(void)
{
    struct faulty f;
    struct tt_train_result r;
    struct tt_backend b = faulty_wrap(&f, real);
    struct tt_config c = run_config("taken");
    char path[1200];
    snprintf(path, sizeof path, "%s/step-%08d", c.out, 5);
    CHECK_OK(tt_make_dirs(c.out));
    FILE *in_the_way = fopen(path, "w"); /* a file with the checkpoint's name */
    CHECK(in_the_way && !fclose(in_the_way));
    f.bad_step = 6;
    tt_status st = run(&f, &b, &c, &c, &r);
    CHECK(st && strstr(st->text, "step 6: loss or gradients are not finite, and the state before it cannot be saved: "
                                 "the newest checkpoint is that of step 4") == st->text,
          "%s", st ? st->text : "went on");
    tt_status_free(st);
    CHECK(saved(c.out) == 4);
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

/* The step with the NaN changes no bit of the weights. */
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

/* Weights and moments after batches 0 to 5. The third batch is bad, or left out if `bad` is LEFT_OUT. */
struct trace {
    float *w, *m, *v;
    int64_t n;
    struct tt_state state;
};

enum bad { LEFT_OUT, HAS_NAN, OVERFLOWS };

static struct trace six_batches(enum tt_version v, enum bad bad)
{
    struct faulty f;
    struct tt_backend b = faulty_wrap(&f, real);
    struct tt_config c = run_config("trace");
    struct tt_session s;
    c.version = v;
    c.lr_schedule = TT_DECAY_CONSTANT; /* the schedule counts skipped steps too */
    c.warmup_steps = 0;
    f.bad_step = bad ? 3 : 0;
    f.overflow = bad == OVERFLOWS;
    f.grow_after = bad == OVERFLOWS ? 1000 : 0;
    CHECK_OK(tt_session_open(&s, &b, &c, TT_USE_TRAIN));
    fixture_weights(&s);
    if (bad == OVERFLOWS) {
        struct tt_state scaled = {.loss_scale = 1024};
        CHECK_OK(tt_engine_upload(&s.engine, TT_X_STATE, 0, &scaled, sizeof scaled));
    }
    f.victim = (float *)s.engine.externals[TT_X_GRADS] + 5;
    for (int batch = 0, step = 0; batch < 6; batch++) {
        if (batch == 2 && !bad) continue;
        fixture_batch(&s, step++, batch);
        CHECK_OK(tt_plan_run(s.step, &b, NULL));
    }
    struct trace t = {.w = fixture_read(&s, TT_X_WEIGHTS), .m = fixture_read(&s, TT_X_MOMENT1),
                      .v = fixture_read(&s, TT_X_MOMENT2), .n = s.model->params.total};
    CHECK_OK(tt_engine_download(&s.engine, TT_X_STATE, 0, &t.state, sizeof t.state));
    tt_session_close(&s);
    return t;
}

static bool same_trace(const struct trace *a, const struct trace *b)
{
    size_t bytes = (size_t)a->n * sizeof *a->w;
    return !memcmp(a->w, b->w, bytes) && !memcmp(a->m, b->m, bytes) && !memcmp(a->v, b->v, bytes);
}

static void free_trace(struct trace *t)
{
    free(t->w);
    free(t->m);
    free(t->v);
}

/* A skipped step does not affect later ones: AdamW corrects the bias for the updates that were applied. A loss scale is
 * a power of two and changes no bit in fp32. */
static void a_skipped_step_leaves_no_trace(void)
{
    for (int v = first_version(); v < TT_VERSIONS; v++) {
        struct trace want = six_batches((enum tt_version)v, LEFT_OUT);
        for (enum bad bad = HAS_NAN; bad <= OVERFLOWS; bad++) {
            struct trace got = six_batches((enum tt_version)v, bad);
            CHECK(same_trace(&got, &want), "%s, %s: later steps know of the skipped one", tt_version_names[v],
                  bad == HAS_NAN ? "NaN" : "overflow");
            CHECK(got.state.step == 6 && got.state.skipped == 1 && got.state.bias1 == want.state.bias1 &&
                  got.state.bias2 == want.state.bias2,
                  "%s: %lld skipped, bias %.9g instead of %.9g", tt_version_names[v], (long long)got.state.skipped,
                  (double)got.state.bias1, (double)want.state.bias1);
            CHECK(got.state.loss_scale == (bad == OVERFLOWS ? 512 : 1), "loss scale %g", (double)got.state.loss_scale);
            free_trace(&got);
        }
        free_trace(&want);
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

/* fp16 begins with a loss scale that is too large and halves it until nothing overflows. That is no error as long as
 * the scale is at least 2; at 1 it cannot be lowered. */
static void an_overflow_in_fp16_is_no_nan(void)
{
    static const struct {
        enum tt_precision precision;
        float scale;
        bool fault;
    } cases[] = {{TT_FP32, 0, true}, {TT_PREC_FP16, 0, false}, {TT_PREC_FP16, 2, false}, {TT_PREC_FP16, 1, true}};
    struct faulty f;
    struct tt_train_result r;
    for (int i = 0; i < 4; i++) {
        struct tt_backend b = faulty_wrap(&f, real);
        struct tt_config c = run_config(name_of("overflow", i, 0)), loop = c;
        f.bad_step = 2;
        f.overflow = true;
        f.grow_after = cases[i].precision == TT_PREC_FP16 ? 1000 : 0;
        loop.precision = cases[i].precision;
        tt_status st = run_from(&f, &b, &c, &loop, NULL, cases[i].scale, &r);
        if (cases[i].fault)
            CHECK(st && strstr(st->text, "step 2: loss or gradients are not finite"), "case %d: %s", i,
                  st ? st->text : "went on");
        else
            CHECK(!st, "case %d: %s", i, st->text);
        tt_status_free(st);
    }
}

/* Before the first step there was no update that could have been too large. */
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
        CHECK(st && strstr(st->text, bad == 1 ? "what it began with" : "Lower --learning-rate"), "%s",
              st ? st->text : "went on");
        tt_status_free(st);
    }
}

int main(void)
{
    CHECK(mkdtemp(root) != NULL, "no folder for the test");
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){0}, &real));
    TEST(every_allocation_may_fail);
    TEST(a_nan_stops_and_saves_the_run_before_it);
    TEST(a_nan_after_a_resume_is_saved_here);
    TEST(a_run_that_cannot_be_saved_says_so);
    TEST(a_nan_changes_no_weight);
    TEST(a_skipped_step_leaves_no_trace);
    TEST(a_nan_can_be_skipped);
    TEST(an_overflow_in_fp16_is_no_nan);
    TEST(advice_fits_the_step);
    tt_backend_close(&real);
    CHECK_OK(tt_remove_tree(root));
    return test_end();
}
