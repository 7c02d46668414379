/* A run that continues in another precision, from every precision of this device to every other: by --resume,
 * --init-from, an import and the library. fp16 starts with a fresh loss scale, the others have none, and what stays the
 * same has the same bits. */
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "cli/commands.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/checkpoint/checkpoint.h"
#include "lib/libtt.h"
#include "tests/model/model_fixture.h"

static char root[] = "/tmp/tt-test-precision-XXXXXX";
static struct tt_device_info info;
static const float first_scale = 0x1p16f;

/* ---- commands as a user types them ---- */

static tt_status command(enum tt_command which, tt_status (*run)(const struct tt_options *), const char *format,
                         va_list list)
{
    char line[4096], *words[64];
    int n = 0;
    vsnprintf(line, sizeof line, format, list);
    for (char *word = strtok(line, " "); word && n < 64; word = strtok(NULL, " ")) words[n++] = word;
    struct tt_options o;
    TT_TRY(tt_options_parse(&o, which, n, words));
    fflush(stdout);
    char path[1200];
    snprintf(path, sizeof path, "%s/log", root);
    int out = dup(STDOUT_FILENO), log = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666); /* catches its output */
    dup2(log, STDOUT_FILENO);
    tt_status st = run(&o);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    close(out);
    close(log);
    return st;
}

static void __attribute__((format(printf, 1, 2))) train(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    CHECK_OK(command(TT_CMD_TRAIN, tt_cmd_train, format, list));
    va_end(list);
}

static void __attribute__((format(printf, 1, 2))) import(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    CHECK_OK(command(TT_CMD_IMPORT, tt_cmd_import, format, list));
    va_end(list);
}

/* A path in the test's folder, in one of a few buffers used in turn. */
static const char *__attribute__((format(printf, 1, 2))) at(const char *format, ...)
{
    static char buffers[8][1200];
    static int turn;
    char *out = buffers[turn++ % 8];
    int n = snprintf(out, 1200, "%s/", root);
    va_list list;
    va_start(list, format);
    vsnprintf(out + n, (size_t)(1200 - n), format, list);
    va_end(list);
    return out;
}

#define SHOWN "--threads 1 --val-interval 0 --gemm-tune off"
#define COMMON SHOWN " --json"
#define SHAPE " --hidden-dim 32 --num-layers 1 --num-heads 2 --num-kv-heads 1 --ffn-dim 32 --batch-size 2 --seq-len 16"

/* ---- results ---- */

static struct tt_progress progress_of(const char *checkpoint)
{
    struct tt_progress p = {0};
    char *config = NULL;
    CHECK_OK(tt_checkpoint_peek(checkpoint, &p, &config));
    free(config);
    return p;
}

static bool same_file(const char *a, const char *b, const char *name)
{
    char path[2][1300], *text[2] = {0};
    size_t n[2] = {0};
    const char *folders[] = {a, b};
    for (int i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "%s/%s", folders[i], name);
        CHECK_OK(tt_file_read(path[i], 1 << 24, &text[i], &n[i]));
    }
    bool same = text[0] && text[1] && n[0] == n[1] && !memcmp(text[0], text[1], n[0]);
    free(text[0]);
    free(text[1]);
    return same;
}

static bool same_bits(const char *a, const char *b)
{
    return same_file(a, b, "model.safetensors") && same_file(a, b, "state.safetensors");
}

/* A number from the line of one step in metrics.jsonl; NaN if it has none. */
static double metric(const char *out, int64_t step, const char *name)
{
    char path[1300], *text = NULL;
    size_t n = 0;
    double value = NAN;
    snprintf(path, sizeof path, "%s/metrics.jsonl", out);
    CHECK_OK(tt_file_read(path, 1 << 20, &text, &n));
    for (char *line = text ? strtok(text, "\n") : NULL; line; line = strtok(NULL, "\n")) {
        struct tt_json *j = NULL;
        CHECK_OK(tt_json_parse(line, strlen(line), &j));
        if (tt_json_number(j, "step", NAN) == (double)step) value = tt_json_number(j, name, NAN);
        tt_json_free(j);
    }
    free(text);
    return value;
}

/* Checks the loss scale after `steps` steps that began without one in this precision; `before` steps were skipped
 * earlier. */
static void check_fresh(const char *checkpoint, enum tt_precision p, int64_t steps, int64_t before)
{
    struct tt_progress now = progress_of(checkpoint);
    int64_t halved = now.skipped - before;
    CHECK(halved >= 0 && halved < steps, "%s: no step of %lld was applied", checkpoint, (long long)steps);
    if (p == TT_PREC_FP16)
        CHECK(now.loss_scale == ldexpf(first_scale, -(int)halved), "%s: loss scale %g after %lld skipped steps",
              checkpoint, (double)now.loss_scale, (long long)halved);
    else
        CHECK(now.loss_scale == 1 && now.good_steps == 0 && halved == 0, "%s: loss scale %g", checkpoint,
              (double)now.loss_scale);
}

static double difference(double a, double b) { return fabs(a - b) / fabs(b); }

/* ---- a run in each precision to continue from, with a checkpoint in the middle ---- */

enum { MIDDLE = 2, END = 4, LATER = 6 };

static void start_runs(void)
{
    for (int p = 0; p < TT_PRECISIONS; p++) {
        if (!tested_in(&info, p)) continue;
        train(COMMON SHAPE " --precision %s --num-steps %d --save-interval %d --keep 0 --out %s", tt_precision_names[p],
              END, MIDDLE, at("run-%d", p));
        check_fresh(at("run-%d/step-%08d", p, MIDDLE), (enum tt_precision)p, MIDDLE, 0);
        for (int step = 1; step <= END; step++)
            CHECK(difference(metric(at("run-%d", p), step, "loss"), metric(at("run-%d", TT_FP32), step, "loss")) < 2e-2,
                  "%s: loss %g in step %d", tt_precision_names[p], metric(at("run-%d", p), step, "loss"), step);
    }
}

/* ---- --resume, to another precision and back ---- */

static void check_resume(enum tt_precision from, enum tt_precision to)
{
    const char *there = at("resume-%d-%d", from, to), *back = at("back-%d-%d", from, to);
    const char *middle = at("run-%d/step-%08d", from, MIDDLE);
    train(COMMON " --resume %s --precision %s --out %s", middle, tt_precision_names[to], there);
    const char *end = at("resume-%d-%d/step-%08d", from, to, END);
    if (from == to) {
        CHECK(same_bits(end, at("run-%d/step-%08d", from, END)), "%s resumed has other bits", tt_precision_names[from]);
        return;
    }
    int64_t skipped = progress_of(middle).skipped;
    check_fresh(end, to, END - MIDDLE, skipped);
    CHECK(difference(metric(there, END, "loss"), metric(at("run-%d", TT_FP32), END, "loss")) < 2e-2,
          "%s to %s: loss %g", tt_precision_names[from], tt_precision_names[to], metric(there, END, "loss"));
    CHECK(difference(metric(there, END, "grad_norm"), metric(at("run-%d", TT_FP32), END, "grad_norm")) < 5e-2,
          "%s to %s: norm %g", tt_precision_names[from], tt_precision_names[to], metric(there, END, "grad_norm"));
    skipped = progress_of(end).skipped;
    train(COMMON " --resume %s --precision %s --num-steps %d --out %s", there, tt_precision_names[from], LATER, back);
    check_fresh(at("back-%d-%d/step-%08d", from, to, LATER), from, LATER - END, skipped);
}

/* ---- the library gives the same bits as tt train ---- */

static void check_library(enum tt_precision from, enum tt_precision to)
{
    char settings[200];
    struct libtt_error error;
    snprintf(settings, sizeof settings, "precision: %s\nthreads: 1\ngemm-tune: \"off\"\n", tt_precision_names[to]);
    libtt_backend *b = libtt_open(settings, &error);
    CHECK(b != NULL, "%s", error.text);
    libtt_model *m = b ? libtt_load(b, at("run-%d/step-%08d", from, MIDDLE), settings, &error) : NULL;
    CHECK(m != NULL, "%s", error.text);
    for (int i = MIDDLE; m && i < END; i++) CHECK(libtt_step(m, NULL, NULL, &error), "%s", error.text);
    CHECK(m && libtt_save(m, at("library-%d-%d", from, to), &error), "%s", error.text);
    libtt_free(m);
    libtt_close(b);
    const char *ours = at("library-%d-%d/step-%08d", from, to, END),
               *theirs = at("resume-%d-%d/step-%08d", from, to, END);
    CHECK(same_bits(ours, theirs), "%s to %s: the library has other bits than tt train", tt_precision_names[from],
          tt_precision_names[to]);
    if (from != to) check_fresh(ours, to, END - MIDDLE, progress_of(at("run-%d/step-%08d", from, MIDDLE)).skipped);
    struct tt_progress x = progress_of(ours), y = progress_of(theirs);
    CHECK(x.loss_scale == y.loss_scale && x.skipped == y.skipped && x.good_steps == y.good_steps,
          "loss scale %g against %g", (double)x.loss_scale, (double)y.loss_scale);
}

/* ---- --init-from: a new run, wherever the weights come from ---- */

static void check_init_from(enum tt_precision from, enum tt_precision to)
{
    train(COMMON " --init-from %s --precision %s --num-steps %d --save-interval 0 --out %s", at("run-%d", from),
          tt_precision_names[to], MIDDLE, at("init-%d-%d", from, to));
    check_fresh(at("init-%d-%d/step-%08d", from, to, MIDDLE), to, MIDDLE, 0);
}

static void each_pair(void (*check)(enum tt_precision, enum tt_precision))
{
    for (int from = 0; from < TT_PRECISIONS; from++)
        for (int to = 0; to < TT_PRECISIONS; to++) {
            bool spared = test_few() && from != TT_PREC_FP16 && to != TT_PREC_FP16 && from + to > 0;
            if (tested_in(&info, from) && tested_in(&info, to) && !spared)
                check((enum tt_precision)from, (enum tt_precision)to);
        }
}

static void resumes(void) { each_pair(check_resume); }
static void resumes_in_the_library(void) { each_pair(check_library); }
static void begins_with_the_weights_of_another(void) { each_pair(check_init_from); }

/* ---- output: the loss scale and the skipped steps if there is a scale, the rest unchanged ---- */

static bool has_words(const char *path, const char *words)
{
    char *text = NULL;
    size_t n = 0;
    CHECK_OK(tt_file_read(path, 1 << 24, &text, &n));
    bool found = text && memmem(text, n, words, strlen(words));
    free(text);
    return found;
}

/* The only event file in the folder. */
static const char *events_in(const char *folder)
{
    const char *found = NULL;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strstr(e->d_name, "tfevents")) found = at("%s/%s", strrchr(folder, '/') + 1, e->d_name);
    if (d) closedir(d);
    CHECK(found != NULL, "no event file in %s", folder);
    return found ? found : "";
}

static void shows_the_loss_scale(void)
{
    for (int p = 0; p < TT_PRECISIONS; p++) {
        if (!tested_in(&info, p)) continue;
        const char *out = at("shown-%d", p), *board = at("board-%d", p);
        train(SHOWN SHAPE
              " --precision %s --data random --vocab-size 64 --num-steps %d --log-interval 1 --out %s --tensorboard %s",
              tt_precision_names[p], MIDDLE, out, board);
        bool scaled = p == TT_PREC_FP16;
        int skipped = 0;
        for (int step = 1; step <= MIDDLE; step++) {
            double scale = metric(out, step, "loss_scale"), count = metric(out, step, "skipped");
            double want = ldexp((double)first_scale, -skipped); /* the scale of the step itself, not of the next one */
            skipped = isnan(count) ? 0 : (int)count;
            CHECK(scaled ? scale == want && count >= 0 && count <= step : isnan(scale) && isnan(count),
                  "%s, step %d: scale %g, skipped %g", tt_precision_names[p], step, scale, count);
        }
        CHECK(has_words(at("log"), "  scale 65536  skipped ") == scaled, "%s: the log line", tt_precision_names[p]);
        CHECK(has_words(events_in(board), "train/loss_scale") == scaled, "%s: TensorBoard", tt_precision_names[p]);
        CHECK(has_words(events_in(board), "train/skipped_steps") == scaled, "%s: TensorBoard", tt_precision_names[p]);
    }
}

/* ---- an import has weights and no loss scale, whatever type they were stored in ---- */

static void goes_on_from_an_import(void)
{
    import("tests/fixtures/hf/mqa_untied_fp16 --out %s --seq-len 16 --json", at("imported"));
    for (int p = 0; p < TT_PRECISIONS; p++) {
        if (!tested_in(&info, p)) continue;
        train(COMMON " --resume %s --precision %s --data random --batch-size 2 --num-steps %d --out %s", at("imported"),
              tt_precision_names[p], MIDDLE, at("tuned-%d", p));
        check_fresh(at("tuned-%d/step-%08d", p, MIDDLE), (enum tt_precision)p, MIDDLE, 0);
        train(COMMON " --init-from %s --precision %s --data random --batch-size 2 --num-steps %d --out %s",
              at("imported"), tt_precision_names[p], MIDDLE, at("anew-%d", p));
        check_fresh(at("anew-%d/step-%08d", p, MIDDLE), (enum tt_precision)p, MIDDLE, 0);
    }
}

int main(void)
{
    struct tt_backend backend;
    CHECK(mkdtemp(root) != NULL, "no folder for the test");
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){0}, &backend));
    CHECK_OK(backend.ops->info(backend.self, &info));
    tt_backend_close(&backend);
    TEST(start_runs);
    TEST(resumes);
    TEST(resumes_in_the_library);
    TEST(begins_with_the_weights_of_another);
    TEST(goes_on_from_an_import);
    TEST(shows_the_loss_scale);
    CHECK_OK(tt_remove_tree(root));
    return test_end();
}
