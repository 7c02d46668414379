/* The whole loop. Stopping anywhere and resuming gives the same bits as not stopping, in every version. Any version can
 * continue another one's run. Nothing is allocated after the first step. A step with a NaN or infinity stops the run or
 * is skipped. */
#include <dirent.h>
#include <unistd.h>

#include "backend/relay.h"
#include "core/base/file.h"
#include "core/base/half.h"
#include "core/checkpoint/moments.h"
#include "core/train/loop.h"
#include "tests/backend/faulty_backend.h"
#include "tests/model/model_fixture.h"

static struct tt_backend backend;
static struct faulty *faulty; /* wraps the backend; NULL: not wrapped */
static char root[] = "/tmp/tt-test-train-XXXXXX";

static struct tt_config loop_config(enum tt_version v, const char *name)
{
    struct tt_config c = tiny_config();
    c.version = v;
    c.vocab_size = 64;
    c.clip_norm = 1;
    c.grad_accum = 2;
    c.num_steps = 7;
    c.val_interval = 3;
    c.quiet = true;
    c.keep = 2;
    snprintf(c.out, sizeof c.out, "%s/%s", root, name);
    CHECK_OK(tt_make_dirs(c.out));
    return c;
}

/* Trains from `from` (a checkpoint, or NULL) until step `until`. Returns weights and moments; the caller frees them. */
static float *train(const struct tt_config *c, const char *from, int64_t until, struct tt_train_result *result,
                    tt_status *status)
{
    struct tt_session s;
    struct tt_config loop = *c;
    struct tt_run run;
    struct tt_data *data = fixture_data(c);
    char config[64];
    snprintf(config, sizeof config, "precision: %s\n", tt_precision_names[c->precision]);
    CHECK_OK(tt_session_open(&s, &backend, c, TT_USE_TRAIN | TT_USE_EVAL)); /* the schedule of the whole run */
    loop.num_steps = until;
    CHECK_OK(tt_session_run(&s, &loop, (struct tt_origin){.checkpoint = from}, data, &run));
    if (faulty) faulty->victim = (float *)s.engine.externals[TT_X_GRADS] + 5;
    tt_status st = tt_train_run(&(struct tt_train){.run = &run, .config_text = config}, result);
    if (status)
        *status = st;
    else
        CHECK_OK(st);
    int64_t n = s.model->params.total;
    float *all = malloc((size_t)(3 * n) * sizeof *all);
    CHECK_OK(tt_weights_read(&s.engine, &s.model->params, all));
    CHECK_OK(tt_moments_read(&s.engine, &s.model->params, TT_X_MOMENT1, all + n));
    CHECK_OK(tt_moments_read(&s.engine, &s.model->params, TT_X_MOMENT2, all + 2 * n));
    tt_session_close(&s);
    tt_data_close(data);
    return all;
}

static int64_t arena_floats(const struct tt_config *c)
{
    struct tt_model *m;
    CHECK_OK(tt_model_create(c, &m));
    int64_t n = 3 * m->params.total;
    tt_model_free(m);
    return n;
}

static void resume_gives_the_same_bits(void)
{
    for (int v = first_version(); v < TT_VERSIONS; v++)
        for (int stop = test_few() ? 3 : 1; stop < 7; stop += test_few() ? 6 : 2) {
            struct tt_config a = loop_config((enum tt_version)v, "straight"),
                             b = loop_config((enum tt_version)v, "stopped");
            struct tt_train_result one, two;
            char from[1200];
            float *x = train(&a, NULL, 7, &one, NULL);
            free(train(&b, NULL, stop, &two, NULL));
            snprintf(from, sizeof from, "%s/step-%08d", b.out, stop);
            float *y = train(&b, from, 7, &two, NULL);
            CHECK(!memcmp(x, y, (size_t)arena_floats(&a) * sizeof *x), "version %d stopped at %d", v, stop);
            CHECK(one.val_loss == two.val_loss, "validation %.9g against %.9g", one.val_loss, two.val_loss);
            free(x);
            free(y);
        }
}

static void check_twice(enum tt_version v, enum tt_precision p)
{
    struct tt_config c = loop_config(v, "again");
    struct tt_train_result r;
    char from[1200];
    c.precision = p;
    if (p == TT_PREC_FP8) make_even(&c);
    float *x = train(&c, NULL, 7, &r, NULL), *y = train(&c, NULL, 7, &r, NULL);
    CHECK(!memcmp(x, y, (size_t)arena_floats(&c) * sizeof *x), "%s in %s", tt_version_names[v], tt_precision_names[p]);
    free(y);
    free(train(&c, NULL, 3, &r, NULL));
    snprintf(from, sizeof from, "%s/step-%08d", c.out, 3);
    y = train(&c, from, 7, &r, NULL);
    CHECK(!memcmp(x, y, (size_t)arena_floats(&c) * sizeof *x), "%s in %s, resumed", tt_version_names[v],
          tt_precision_names[p]);
    free(x);
    free(y);
}

/* Moments in bf16: a checkpoint stores them unchanged. It can be resumed with floats, and one with floats can be
 * resumed in bf16. */
static void moments_in_bf16(void)
{
    for (int v = TT_FUSED; v < TT_VERSIONS; v++) {
        struct tt_config c = loop_config((enum tt_version)v, "halves"),
                         floats = loop_config((enum tt_version)v, "floats");
        struct tt_train_result r, of_floats;
        char from[1200];
        float *z = train(&floats, NULL, 7, &of_floats, NULL);
        c.moments = TT_MOMENTS_BF16;
        float *x = train(&c, NULL, 7, &r, NULL), *y = train(&c, NULL, 7, &r, NULL);
        int64_t n = arena_floats(&c);
        CHECK(!memcmp(x, y, (size_t)n * sizeof *x), "%s: another run, other bits", tt_version_names[v]);
        CHECK(memcmp(x, z, (size_t)n * sizeof *x), "%s: the same bits as with floats", tt_version_names[v]);
        CHECK(fabs(r.val_loss - of_floats.val_loss) < 1e-3 * of_floats.val_loss, "%s: %.6g, with floats %.6g",
              tt_version_names[v], r.val_loss, of_floats.val_loss);
        for (int64_t i = n / 3; i < n; i++)
            if (tt_from_bf16(tt_to_bf16(x[i])) != x[i])
                CHECK(false, "moment %d is no bf16: %.9g", (int)i, (double)x[i]);
        free(y);
        free(train(&c, NULL, 3, &r, NULL));
        snprintf(from, sizeof from, "%s/step-%08d", c.out, 3);
        y = train(&c, from, 7, &r, NULL);
        CHECK(!memcmp(x, y, (size_t)n * sizeof *x), "%s: resumed, other bits", tt_version_names[v]);
        free(y);
        free(train(&floats, from, 7, &r, NULL));
        CHECK(fabs(r.val_loss - of_floats.val_loss) < 1e-3 * of_floats.val_loss, "resumed with floats: %.6g",
              r.val_loss);
        free(x);
        free(z);
    }
}

static void one_kernel_has_them(void)
{
    struct tt_config c = loop_config(TT_BASELINE, "refused");
    struct tt_session s;
    c.moments = TT_MOMENTS_BF16;
    tt_status st = tt_session_open(&s, &backend, &c, TT_USE_TRAIN);
    CHECK(st && st->code == TT_USAGE && strstr(st->text, "--moments bf16 needs the optimiser in one kernel"), "%s",
          st ? st->text : "taken");
    tt_status_free(st);
    tt_session_close(&s);
}

static void two_runs_give_the_same_bits(void)
{
    struct tt_device_info info;
    CHECK_OK(backend.ops->info(backend.self, &info));
    for (int v = first_version(); v < TT_VERSIONS; v++)
        for (int p = 0; p < TT_PRECISIONS; p++) {
            bool spared = test_few() && tested_in(&info, TT_PREC_BF16) && p != TT_PREC_BF16;
            if (tested_in(&info, p) && p != TT_TF32 && !spared) check_twice((enum tt_version)v, (enum tt_precision)p);
        }
}

static void versions_take_over_from_each_other(void)
{
    struct tt_config start = loop_config(TT_BASELINE, "relay");
    struct tt_train_result r;
    char from[1200];
    free(train(&start, NULL, 3, &r, NULL));
    snprintf(from, sizeof from, "%s/step-%08d", start.out, 3);
    double val[TT_VERSIONS];
    for (int v = 0; v < TT_VERSIONS; v++) {
        struct tt_config c = loop_config((enum tt_version)v, "relay-on");
        free(train(&c, from, 6, &r, NULL));
        val[v] = r.val_loss;
        CHECK(fabs(val[v] - val[0]) < 1e-5 * val[0], "version %d: %.7f against %.7f", v, val[v], val[0]);
    }
}

static void losses_fall_and_are_written(void)
{
    struct tt_config c = loop_config(TT_FLASH, "falls");
    struct tt_train_result r;
    int steps = test_few() ? 9 : 60; /* nine steps are too few to judge the learning */
    c.num_steps = steps;
    c.val_interval = steps / 3;
    free(train(&c, NULL, steps, &r, NULL));
    CHECK(r.val_loss < (test_few() ? 4.3 : 3.6), "validation loss %.4f after %d steps, ln 64 = 4.16", r.val_loss,
          steps);
    CHECK(r.steps == steps && r.tokens_per_second > 0, "%lld steps", (long long)r.steps);
    char path[1200], *text;
    size_t n;
    int lines = 0, val = 0;
    snprintf(path, sizeof path, "%s/metrics.jsonl", c.out);
    CHECK_OK(tt_file_read(path, 1 << 20, &text, &n));
    for (char *at = text; (at = strchr(at, '\n')); at++) lines++;
    for (char *at = text; (at = strstr(at, "val_loss")); at++) val++;
    CHECK(lines == steps + 3 && val == 3, "%d lines, %d validations", lines, val);
    free(text);
}

static void early_stop(void)
{
    struct tt_config c = loop_config(TT_FUSED, "patience");
    struct tt_train_result r;
    c.num_steps = 100;
    c.learning_rate = 1e-12; /* so that the loss never improves */
    c.val_interval = 1;
    c.patience = 3;
    strcpy(c.data, "random");
    free(train(&c, NULL, 100, &r, NULL));
    CHECK(r.early_stop && r.steps < 100, "stopped %d after %lld steps", r.early_stop, (long long)r.steps);
}

/* ---- NaN and infinity ---- */

static struct tt_progress progress_of(const char *out, int step)
{
    struct tt_progress p = {0};
    char path[1200], *config = NULL;
    snprintf(path, sizeof path, "%s/step-%08d", out, step);
    CHECK_OK(tt_checkpoint_peek(path, &p, &config));
    free(config);
    return p;
}

/* Weights and moments of a checkpoint; the caller frees them. */
static float *saved_arenas(const struct tt_config *c, int step)
{
    struct tt_model *m;
    char path[1200];
    CHECK_OK(tt_model_create(c, &m));
    int64_t n = m->params.total;
    float *all = calloc((size_t)(3 * n), sizeof *all);
    struct tt_checkpoint in = {.params = &m->params, .w = all, .m = all + n, .v = all + 2 * n};
    snprintf(path, sizeof path, "%s/step-%08d", c->out, step);
    CHECK_OK(tt_checkpoint_load(path, &in));
    free((char *)in.config);
    tt_model_free(m);
    return all;
}

static bool same_steps(const struct tt_config *c, int a, int b)
{
    float *x = saved_arenas(c, a), *y = saved_arenas(c, b);
    bool same = !memcmp(x, y, (size_t)arena_floats(c) * sizeof *x);
    free(x);
    free(y);
    return same;
}

/* 't' or 'f' for each step in metrics.jsonl: whether it was applied. */
static void applied_steps(const char *out, char steps[64])
{
    char path[1200], *text = NULL;
    size_t n, count = 0;
    snprintf(path, sizeof path, "%s/metrics.jsonl", out);
    CHECK_OK(tt_file_read(path, 1 << 20, &text, &n));
    for (char *at = text; at && (at = strstr(at, "\"applied\":")) && count < 63; at++)
        steps[count++] = at[strlen("\"applied\":")];
    steps[count] = 0;
    free(text);
}

static struct tt_config bad_config(const char *name, enum tt_on_nan on_nan)
{
    struct tt_config c = loop_config(TT_FLASH, name);
    c.val_interval = 0;
    c.save_interval = 1;
    c.keep = 0;
    c.on_nan = on_nan;
    return c;
}

/* The first step makes the weights so large that nothing is finite any more. Whether the run stops or skips, they stay
 * as that step left them. */
static void not_finite_stops_or_skips(void)
{
    for (int skip = 0; skip < 2; skip++) {
        struct tt_config c = bad_config(skip ? "skip" : "stop", skip ? TT_NAN_SKIP : TT_NAN_STOP);
        struct tt_train_result r;
        tt_status st;
        char steps[64];
        c.learning_rate = 1e30;
        c.warmup_steps = 0;
        float *first = train(&c, NULL, 1, &r, NULL), *all = train(&c, NULL, 7, &r, &st);
        CHECK(!memcmp(first, all, (size_t)arena_floats(&c) * sizeof *all), "%s: weights or moments moved", c.out);
        applied_steps(c.out, steps);
        if (skip) {
            CHECK(!st, "%s", st->text);
            CHECK(!strcmp(steps, "tffffff") && r.steps == 7, "applied: %s", steps);
            for (int step = 2; step <= 7; step++)
                CHECK(same_steps(&c, 1, step) && progress_of(c.out, step).skipped == step - 1, "step %d", step);
        } else {
            CHECK(st && st->code == TT_FAILED && strstr(st->text, "step 2: loss or gradients are not finite"), "%s",
                  st ? st->text : "went on");
            CHECK(!strcmp(steps, "tf") && r.steps == 1 && progress_of(c.out, 1).skipped == 0, "applied: %s", steps);
        }
        tt_status_free(st);
        free(first);
        free(all);
    }
}

/* A NaN in the fourth of seven steps, in every version: that step changes nothing, later steps do, and a run that is
 * resumed in between has the same bits. test_faults_device checks that they are the bits of a run without that step. */
static void one_bad_step_is_skipped(void)
{
    for (int v = first_version(); v < TT_VERSIONS; v++) {
        struct faulty f;
        struct tt_backend healthy = backend;
        struct tt_config c = bad_config("bad-one", TT_NAN_SKIP);
        struct tt_train_result r;
        char steps[64], from[1200];
        c.version = (enum tt_version)v;
        backend = faulty_wrap(&f, healthy);
        f.bad_step = 4;
        faulty = &f;
        float *x = train(&c, NULL, 7, &r, NULL);
        faulty = NULL;
        backend = healthy;
        applied_steps(c.out, steps);
        CHECK(!strcmp(steps, "tttfttt"), "%s: applied: %s", tt_version_names[v], steps);
        CHECK(same_steps(&c, 3, 4), "%s: the bad step moved weights or moments", tt_version_names[v]);
        for (int step = 1; step <= 7; step++) {
            CHECK(progress_of(c.out, step).skipped == (step >= 4), "%s: %lld skipped after step %d",
                  tt_version_names[v], (long long)progress_of(c.out, step).skipped, step);
            if (step > 1 && step != 4)
                CHECK(!same_steps(&c, step - 1, step), "%s: step %d moved nothing", tt_version_names[v], step);
        }
        for (int stop = 4; stop <= 5; stop++) {
            snprintf(from, sizeof from, "%s/step-%08d", c.out, stop);
            float *y = train(&c, from, 7, &r, NULL);
            CHECK(!memcmp(x, y, (size_t)arena_floats(&c) * sizeof *x), "%s: resumed after step %d", tt_version_names[v],
                  stop);
            free(y);
        }
        free(x);
    }
}

static void keeps_the_last_two(void)
{
    struct tt_config c = loop_config(TT_FUSED, "kept");
    struct tt_train_result r;
    int found = 0;
    c.save_interval = 1;
    free(train(&c, NULL, 5, &r, NULL));
    DIR *d = opendir(c.out);
    for (struct dirent *e; d && (e = readdir(d));) found += !strncmp(e->d_name, "step-", 5);
    if (d) closedir(d);
    CHECK(found == 2, "%d checkpoints", found);
}

/* ---- the time of a step is the device's, however far ahead the host is ---- */

/* A device whose clock advances a millisecond with each piece of work, and not while the host does something else. */
struct steady {
    struct tt_relay relay;
    struct {
        tt_event event;
        int64_t at;
    } seen[1024];
    int count;
};

static int64_t *steady_time(struct steady *d, tt_event e)
{
    int i = 0;
    while (i < d->count && d->seen[i].event != e) i++;
    if (i == d->count) d->seen[d->count++].event = e;
    return &d->seen[i].at;
}

static tt_status steady_record(void *self, tt_event e, tt_stream s)
{
    struct steady *d = self;
    *steady_time(d, e) = d->relay.work;
    return d->relay.real.ops->event_record(d->relay.real.self, e, s);
}

static tt_status steady_elapsed(void *self, tt_event from, tt_event to, double *seconds)
{
    struct steady *d = self;
    *seconds = 1e-3 * (double)(*steady_time(d, to) - *steady_time(d, from));
    return TT_OK;
}

static void each_step_has_its_own_time(void)
{
    static struct steady d;
    struct tt_backend real = backend;
    struct tt_config c = loop_config(TT_FLASH, "clock");
    struct tt_train_result result;
    char path[1100], line[500];
    c.graph = TT_SWITCH_OFF;
    c.save_interval = 2;
    c.log_interval = 3;
    backend = tt_relay_open(&d.relay, &real);
    d.relay.ops.event_record = steady_record;
    d.relay.ops.event_elapsed = steady_elapsed;
    free(train(&c, NULL, c.num_steps, &result, NULL));
    backend = real;
    snprintf(path, sizeof path, "%s/metrics.jsonl", c.out);
    FILE *in = fopen(path, "r");
    double first = 0, speed;
    int lines = 0;
    while (in && fgets(line, sizeof line, in)) {
        const char *at = strstr(line, "\"tokens_per_second\":");
        if (!at || sscanf(at, "\"tokens_per_second\":%lf", &speed) != 1) continue;
        if (!lines++) first = speed;
        CHECK(speed == first && speed > 0, "step %d: %g tokens/s, the first %g", lines, speed, first);
    }
    CHECK(lines == 7, "%d lines with a speed", lines);
    if (in) fclose(in);
}

int main(void)
{
    CHECK(mkdtemp(root) != NULL, "no folder for the test");
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){0}, &backend));
    TEST(resume_gives_the_same_bits);
    TEST(two_runs_give_the_same_bits);
    TEST(moments_in_bf16);
    TEST(one_kernel_has_them);
    TEST(versions_take_over_from_each_other);
    TEST(losses_fall_and_are_written);
    TEST(early_stop);
    TEST(each_step_has_its_own_time);
    TEST(not_finite_stops_or_skips);
    TEST(one_bad_step_is_skipped);
    TEST(keeps_the_last_two);
    tt_backend_close(&backend);
    CHECK_OK(tt_remove_tree(root));
    return test_end();
}
