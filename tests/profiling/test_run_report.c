/* A training run's files, read back and shown: also half a line, a foreign one, NaN and infinity, and more steps than a
 * screen is wide. */
#include <math.h>
#include <unistd.h>

#include "core/base/file.h"
#include "profiling/report/html_run.h"
#include "tests/profiling/markup.h"
#include "tests/test.h"

static char folder[] = "/tmp/tt-test-run-XXXXXX";

static const char *at(const char *name)
{
    static char path[2][200];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static void put(const char *name, const char *text) { CHECK_OK(tt_file_replace(at(name), text, strlen(text))); }

static const char lines[] =
    "{\"step\":1,\"loss\":4.5,\"grad_norm\":2.5,\"lr\":0.001,\"tokens_per_second\":null,\"applied\":true}\n"
    "{\"step\":2,\"loss\":null,\"grad_norm\":null,\"lr\":0.002,\"tokens_per_second\":100,\"applied\":false}\n"
    "{\"step\":2,\"val_loss\":4.25}\n"
    "not one of ours\n"
    "{\"steps\":7}\n"
    "[1, 2]\n"
    "\n"
    "{\"step\":3,\"loss\":3.5,\"grad_norm\":1.5,\"lr\":0.003,\"tokens_per_second\":200,\"applied\":true,"
    "\"loss_scale\":65536,\"skipped\":1}\n"
    "{\"step\":4,\"val_loss\":3.25}\n"
    "{\"step\":4,\"epoch\":1,\"epoch_loss\":3.5}\n"
    "{\"step\":5,\"los";

static void lines_are_read(void)
{
    struct tt_curve c;
    put("metrics.jsonl", lines);
    CHECK_OK(tt_curve_read(folder, &c));
    CHECK(c.n == 3 && c.validation_count == 2 && c.not_applied == 1 && !c.end, "%zu, %zu", c.n, c.validation_count);
    CHECK(c.steps[0].step == 1 && c.steps[0].column[TT_CURVE_LOSS] == 4.5 && c.steps[0].column[TT_CURVE_NORM] == 2.5);
    CHECK(isnan(c.steps[0].column[TT_CURVE_SPEED]) && isnan(c.steps[0].column[TT_CURVE_SCALE]));
    CHECK(isnan(c.steps[1].column[TT_CURVE_LOSS]) && c.steps[1].column[TT_CURVE_SPEED] == 100);
    CHECK(c.steps[2].column[TT_CURVE_LR] == 0.003 && c.steps[2].column[TT_CURVE_SCALE] == 65536);
    CHECK(c.validations[1].step == 4 && c.validations[1].loss == 3.25);
    tt_curve_free(&c);
}

static void what_is_no_run_is_refused(void)
{
    struct tt_curve c;
    put("metrics.jsonl", "\n{}\n");
    CHECK_FAILS(tt_curve_read(folder, &c), "has no step of a training run yet");
    tt_curve_free(&c);
    unlink(at("metrics.jsonl"));
    CHECK_FAILS(tt_curve_read(folder, &c), "metrics.jsonl");
    tt_curve_free(&c);
    put("metrics.jsonl", lines);
    put("run.json", "{\"loss\": ");
    CHECK_FAILS(tt_curve_read(folder, &c), "run.json");
    tt_curve_free(&c);
    unlink(at("run.json"));
}

/* The page for the current contents of the folder. */
static char *page(void)
{
    struct tt_curve c;
    char *text = NULL;
    size_t n;
    CHECK_OK(tt_curve_read(folder, &c));
    CHECK_OK(tt_curve_write_html(&c, "<b>", at("report.html")));
    tt_curve_free(&c);
    CHECK_OK(tt_file_read(at("report.html"), 1 << 24, &text, &n));
    const char *fault = markup_fault(text, NULL);
    CHECK(!fault[0], "%s", fault);
    CHECK(!strstr(text, "nan") && !strstr(text, "inf\""), "a figure that is none");
    return text;
}

static void a_run_that_goes_on_is_shown(void)
{
    put("metrics.jsonl", lines);
    char *text = page();
    CHECK(strstr(text, "Step 3; the run has not ended.") && strstr(text, "1 step changed no weights"));
    CHECK(strstr(text, "&lt;b&gt;") && !strstr(text, "<h1>Training run: <b>"));
    CHECK(!strstr(text, "Where the time went") && !strstr(text, "floor: the entropy"));
    free(text);
}

static void the_end_is_shown(void)
{
    put("metrics.jsonl", lines);
    put("run.json", "{\"learnable\": true, \"num_steps\": 3, \"step\": 3, \"steps\": 3, \"loss\": 3.5, "
                    "\"val_loss\": 3.25, \"floor\": 2.5, \"seconds\": 10, \"data_wait_seconds\": 1, "
                    "\"validation_seconds\": 2, \"saving_seconds\": 0.5, \"device\": \"cpu\", "
                    "\"sample\": \"a <i> & b\"}");
    char *text = page();
    CHECK(strstr(text, "All 3 steps are done. Validation loss 3.2500, 30.0 % above the floor of 2.5000."));
    CHECK(strstr(text, "6.50 s, 65.0 %") && strstr(text, "1.00 s, 10.0 %") && strstr(text, "2.00 s, 20.0 %"));
    CHECK(strstr(text, "a &lt;i&gt; &amp; b") && strstr(text, "floor: the entropy"));
    free(text);
    put("run.json", "{\"learnable\": 5, \"num_steps\": \"x\", \"step\": 2, \"seconds\": -1, "
                    "\"sample\": 7, \"floor\": 1}");
    text = page();
    CHECK(strstr(text, "Step 3; the run has not ended.") && !strstr(text, "Where the time went"));
    free(text);
    /* before the first step */
    put("run.json", "{\"learnable\": true, \"num_steps\": 300, \"floor\": 2.5, \"model\": \"2 layers\"}");
    text = page();
    CHECK(strstr(text, "Step 3 of 300; the run has not ended.") && strstr(text, "floor: the entropy"));
    CHECK(strstr(text, "2 layers") && !strstr(text, "Where the time went"));
    free(text);
    unlink(at("run.json"));
}

/* Three groups in one tensor and one in another, in four steps and half of a fifth. */
static void choices_are_shown(void)
{
    const uint32_t bits[] = {1, 1 | 2, 0, 8, 8};
    struct tt_run_choices c;
    put("groups.csv", "group,tensor,first_row,rows\n0,a<b,0,64\n1,a<b,64,64\n2,a<b,128,9\n3,norm,0,32\n");
    CHECK_OK(tt_file_replace(at("choices.bits"), bits, sizeof bits - 2));
    CHECK_OK(tt_run_choices_read(folder, &c));
    CHECK(c.groups == 4 && c.steps == 4 && c.row_count == 2 && c.columns == 4, "%lld groups, %lld steps",
          (long long)c.groups, (long long)c.steps);
    const float want[] = {1 / 3.0f, 2 / 3.0f, 0, 0, 0, 0, 0, 1};
    CHECK(!memcmp(c.shade, want, sizeof want) && c.rows[0].share == 0.25 && c.rows[1].share == 0.25, "%g",
          c.rows[0].share);
    tt_run_choices_free(&c);
    char *text = page();
    CHECK(strstr(text, "Which weights were updated") && strstr(text, "a&lt;b") && strstr(text, "25.0 %"));
    free(text);
    put("groups.csv", "group,tensor,first_row,rows\n0,emb,0,64\n1,layers.0.wq,0,64\n2,layers.1.wq,0,64\n"
                      "1,layers.0.norm,0,8\n2,layers.1.norm,0,8\n3,norm,0,8\n");
    CHECK_OK(tt_run_choices_read(folder, &c));
    CHECK(c.groups == 4 && c.row_count == 4 && !strcmp(c.rows[1].name, "layers.0") &&
          !strcmp(c.rows[2].name, "layers.1") && !strcmp(c.rows[3].name, "norm"), "%s", c.rows[1].name);
    tt_run_choices_free(&c);
}

static void damaged_choices_are_refused(void)
{
    static const char *const bad[] = {"x\n1,a,0,64\n", "x\n-1,a,0,64\n", "x\n0,a,0\n", "x\n0,a,0,64\n2,b,0,1\n"};
    struct tt_run_choices c;
    for (int i = 0; i < 4; i++) {
        put("groups.csv", bad[i]);
        CHECK_FAILS(tt_run_choices_read(folder, &c), "not as tt train wrote it");
        tt_run_choices_free(&c);
    }
    put("groups.csv", "group,tensor,first_row,rows\n0,a,0,64\n");
    put("choices.bits", "");
    char *text = page();
    CHECK(!strstr(text, "Which weights were updated"), "no step has chosen yet");
    free(text);
    unlink(at("groups.csv"));
    unlink(at("choices.bits"));
}

/* A picture of any number of choices has only as many marks as fit. */
static void many_choices_become_few_marks(void)
{
    enum { STEPS = 3000, ROWS = 300, WORDS = (ROWS + 31) / 32 };
    struct tt_text groups = {0};
    uint32_t *bits = calloc(STEPS * WORDS, sizeof *bits);
    tt_text_puts(&groups, "group,tensor,first_row,rows\n");
    for (int g = 0; g < ROWS; g++) tt_text_printf(&groups, "%d,tensor.%d,0,8\n", g, g);
    for (int s = 0; s < STEPS; s++)
        for (int g = s % 7; g < ROWS; g += 7) bits[s * WORDS + g / 32] |= 1u << g % 32;
    put("groups.csv", groups.s);
    CHECK_OK(tt_file_replace(at("choices.bits"), bits, STEPS * WORDS * sizeof *bits));
    char *text = page();
    CHECK(strlen(text) < 4 << 20 && strstr(text, "14.3 %"), "%zu bytes", strlen(text));
    free(text);
    free(bits);
    tt_text_free(&groups);
    unlink(at("groups.csv"));
    unlink(at("choices.bits"));
}

static void many_steps_become_few_points(void)
{
    struct tt_text t = {0};
    for (int i = 1; i <= 5000; i++)
        tt_text_printf(&t, "{\"step\":%d,\"loss\":%g,\"grad_norm\":1e%d,\"lr\":0.1}\n", i, 1 + 1.0 / i, i % 5);
    put("metrics.jsonl", t.s);
    tt_text_free(&t);
    char *text = page();
    CHECK(strstr(text, "Each point is the mean of 9 steps.") && strlen(text) < 120000, "%zu bytes", strlen(text));
    free(text);
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    TEST(lines_are_read);
    TEST(what_is_no_run_is_refused);
    TEST(a_run_that_goes_on_is_shown);
    TEST(the_end_is_shown);
    TEST(choices_are_shown);
    TEST(damaged_choices_are_refused);
    TEST(many_choices_become_few_marks);
    TEST(many_steps_become_few_points);
    tt_status_free(tt_remove_tree(folder));
    return test_end();
}
