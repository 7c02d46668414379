/* Selective updates in whole runs: a stopped run resumes with the same choices, another kind of update can take over,
 * and the metrics say what was chosen. */
#include <unistd.h>

#include "core/base/file.h"
#include "core/train/loop.h"
#include "tests/model/update_fixture.h"

static char root[] = "/tmp/tt-test-update-XXXXXX";

static float *train(const struct tt_config *c, const char *from, int64_t until)
{
    struct tt_session s;
    struct tt_config loop = *c;
    struct tt_run run;
    struct tt_data *data = fixture_data(c);
    struct tt_train_result result;
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
    if (!test_few()) check_resume(3, TT_BY_RELATIVE, TT_REST_FREEZE);
}

/* Resuming a run that updated all weights, and the reverse. Other groups are refused. */
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

/* From a checkpoint of a run that updated all weights, share 1 continues exactly like --update all. */
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

/* The metrics of a step report what was chosen. */
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
        if (layers == 3)
            n = sscanf(list, "\"layers\":[%d,%d,%d],\"outside\":%d}", &in[0], &in[1], &in[2], &outside);
        else
            n = sscanf(list, "\"layers\":[%d,%d],\"outside\":%d}", &in[0], &in[1], &outside);
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

/* Rows, then all weights, then layers, in one folder: the choices of the rows stay together with the file that explains
 * them. */
static void other_groups_have_files_of_their_own(void)
{
    struct tt_config c = run_config("levels"), alone = run_config("alone");
    char from[1100], path[1200], *bits, *old;
    size_t n, m;
    free(train(&alone, NULL, 3));
    free(train(&c, NULL, 3));
    snprintf(from, sizeof from, "%s/step-00000003", c.out);
    struct tt_config all = c;
    all.update = TT_UPDATE_ALL;
    all.update_level = TT_LEVEL_MATRIX;
    all.update_share[0] = 0;
    free(train(&all, from, 4));
    snprintf(from, sizeof from, "%s/step-00000004", c.out);
    c.update_level = TT_LEVEL_LAYER;
    free(train(&c, from, 6));
    snprintf(path, sizeof path, "%s/choices-before-5.bits", c.out);
    CHECK_OK(tt_file_read(path, 1 << 20, &old, &n));
    snprintf(path, sizeof path, "%s/choices.bits", alone.out);
    CHECK_OK(tt_file_read(path, 1 << 20, &bits, &m));
    CHECK(n == m && !memcmp(old, bits, n), "%zu and %zu bytes", n, m);
    free(old), free(bits);
    snprintf(path, sizeof path, "%s/choices.bits", c.out);
    CHECK_OK(tt_file_read(path, 1 << 20, &bits, &n));
    size_t each = n / 6, set = 0;
    for (size_t i = 0; i < 4 * each; i++) set += bits[i] != 0;
    CHECK(n % 6 == 0 && each >= 4 && !set, "%zu bytes, %zu of them of steps before the layers", n, set);
    snprintf(path, sizeof path, "%s/groups-before-5.csv", c.out);
    CHECK(tt_is_file(path));
    free(bits);
}

int main(void)
{
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){.threads = 2}, &backend));
    if (!mkdtemp(root)) return 1;
    TEST(resume_gives_the_same_bits);
    TEST(other_updates_take_over);
    TEST(all_groups_go_on_as_all);
    TEST(other_groups_have_files_of_their_own);
    TEST(metrics_say_what_was_chosen);
    tt_backend_close(&backend);
    tt_status_free(tt_remove_tree(root));
    return test_end();
}
