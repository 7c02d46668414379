/* Heads larger than the device's flash attention supports: every command runs the fused version instead, reports that
 * where it names the version, and reports nothing if flash runs. The device is the real one with a smaller limit: the
 * linker redirects the commands' calls of tt_backend_open to this file. */
#include <unistd.h>

#include "cli/commands.h"
#include "core/base/cache.h"
#include "tests/profiling/ceilings_fixture.h"

tt_status __real_tt_backend_open(const struct tt_backend_options *options, struct tt_backend *out);
tt_status __wrap_tt_backend_open(const struct tt_backend_options *options, struct tt_backend *out);

enum { HEAD = 16, SMALL = 8 };
static int limit;    /* of the device's flash attention */
static int64_t seen; /* flash attention kernels launched so far */
static const struct tt_backend_ops *real;
static struct tt_backend_ops told;
static char dir[] = "/tmp/tt-flash-XXXXXX";

static tt_status told_info(void *self, struct tt_device_info *out)
{
    TT_TRY(real->info(self, out));
    out->flash_head = limit;
    if (test_few()) fixture_small(out);
    return TT_OK;
}

static tt_status told_launch(void *self, enum tt_kernel kernel, const void *args, tt_stream s)
{
    seen += kernel == TT_K_flash || kernel == TT_K_flash_backward;
    return real->launch(self, kernel, args, s);
}

tt_status __wrap_tt_backend_open(const struct tt_backend_options *options, struct tt_backend *out)
{
    TT_TRY(__real_tt_backend_open(options, out));
    real = out->ops;
    told = *real;
    told.info = told_info;
    told.launch = told_launch;
    out->ops = &told;
    return TT_OK;
}

/* ---- runs a command and returns its output; the caller frees it ---- */

static tt_status with_output(const char *path, tt_status (*command)(const struct tt_options *),
                             const struct tt_options *o)
{
    fflush(stdout);
    int before = dup(1);
    if (!freopen(path, "w", stdout)) return tt_fail(TT_FAILED, "%s cannot be written", path);
    tt_status st = command(o);
    fflush(stdout);
    dup2(before, 1);
    close(before);
    return st;
}

static char *output_of(enum tt_command which, tt_status (*command)(const struct tt_options *), int device_limit,
                       const char *line)
{
    static char text[600];
    char *words[80], path[100], *out = NULL;
    struct tt_options *o = calloc(1, sizeof *o);
    size_t n;
    int count = 0;
    limit = device_limit;
    seen = 0;
    snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok(text, " "); word && count < 80; word = strtok(NULL, " ")) words[count++] = word;
    snprintf(path, sizeof path, "%s/out", dir);
    tt_status st = tt_options_parse(o, which, count, words);
    if (!st) st = with_output(path, command, o);
    CHECK_OK(st);
    CHECK_OK(tt_file_read(path, 1 << 24, &out, &n));
    free(o);
    return out ? out : strdup("");
}

static const char *shape(void)
{
    return "--hidden-dim 32 --num-heads 2 --num-kv-heads 1 --num-layers 1 --ffn-dim 48 --seq-len 8 --batch-size 2 "
           "--vocab-size 40";
}

/* The output contains `words` only if the device refuses the heads. */
static void check_command(enum tt_command which, tt_status (*command)(const struct tt_options *), bool launches,
                          const char *options, const char *words)
{
    char line[600];
    for (int refused = 0; refused < 2; refused++) {
        snprintf(line, sizeof line, "%s %s", shape(), options);
        if (strchr(options, '/')) snprintf(line, sizeof line, "%s", options);
        char *out = output_of(which, command, refused ? SMALL : HEAD, line);
        CHECK((strstr(out, words) != NULL) == refused, "%s: \"%s\" is %s:\n%s", options, words,
              refused ? "missing" : "there", out);
        CHECK(!launches || (seen > 0) == !refused, "%s: %lld kernels of flash attention", options, (long long)seen);
        free(out);
    }
}

#define NOTE "note    heads of 16 are too large for this device's flash attention; it runs the fused attention " \
             "instead\n"

/* Only the rows of flash report it, not those of fused. */
static void bench_says_it_in_the_row(void)
{
    char line[600];
    snprintf(line, sizeof line,
             "%s --sizes tiny --versions fused,flash --repeats 2 --warmup 1 --data builtin --vocab-size 64", shape());
    char *out = output_of(TT_CMD_BENCH, tt_cmd_bench, SMALL, line);
    const char *fused = strstr(out, "1x32    fused"), *flash = strstr(out, "1x32    flash");
    const char *said = strstr(out, "  fused attention: heads of 16\n");
    CHECK(fused && flash && said > flash && seen == 0, "%s", out);
    free(out);
    snprintf(line + strlen(line), sizeof line - strlen(line), " --json --profile-dir %s", dir);
    out = output_of(TT_CMD_BENCH, tt_cmd_bench, SMALL, line);
    fused = strstr(out, "\"version\": \"fused\""), flash = strstr(out, "\"version\": \"flash\"");
    const char *no = strstr(out, "\"flash_refused\": false"), *yes = strstr(out, "\"flash_refused\": true");
    CHECK(fused && flash && no > fused && no < flash && yes > flash, "%s", out);
    free(out);
    char compare[200];
    snprintf(compare, sizeof compare, "%s/bench.json", dir);
    out = output_of(TT_CMD_COMPARE, tt_cmd_compare, SMALL, compare);
    CHECK(strstr(out, "version fused -> flash, flash attention refused\n"), "%s", out);
    free(out);
    out = output_of(TT_CMD_BENCH, tt_cmd_bench, 0, line); /* a device that takes any head */
    CHECK(!strstr(out, "\"flash_refused\": true") && seen > 0, "%s", out);
    free(out);
}

static void train_and_eval_say_it(void)
{
    char line[300], checkpoint[100];
    check_command(TT_CMD_TRAIN, tt_cmd_train, true,
                  "--version flash --num-steps 2 --val-interval 0 --data builtin --vocab-size 64 --out=", NOTE);
    check_command(TT_CMD_TRAIN, tt_cmd_train, true,
                  "--version flash --num-steps 2 --val-interval 0 --data builtin --vocab-size 64 --out= --json",
                  "\"flash_refused\":true");
    snprintf(checkpoint, sizeof checkpoint, "%s/run", dir);
    snprintf(line, sizeof line, "%s --version flash --num-steps 2 --data builtin --vocab-size 64 --out %s --quiet",
             shape(), checkpoint);
    free(output_of(TT_CMD_TRAIN, tt_cmd_train, HEAD, line));
    check_command(TT_CMD_EVAL, tt_cmd_eval, true, checkpoint, NOTE);
}

/* Without a cache the attention of training is used; the text must not depend on which of the two runs. */
static void generate_runs_without_a_cache(void)
{
    char line[300];
    char *out[2];
    snprintf(line, sizeof line, "%s/run --no-cache --max-tokens 6 --quiet", dir);
    for (int refused = 0; refused < 2; refused++) {
        out[refused] = output_of(TT_CMD_GENERATE, tt_cmd_generate, refused ? SMALL : HEAD, line);
        CHECK((seen > 0) == !refused, "%lld kernels of flash attention", (long long)seen);
    }
    CHECK(strlen(out[0]) > 6 && !strcmp(out[0], out[1]), "%s%s", out[0], out[1]);
    free(out[0]);
    free(out[1]);
}

static void plans_and_checks_say_it(void)
{
    check_command(TT_CMD_INFO, tt_cmd_info, false, "--version flash", NOTE);
    check_command(TT_CMD_INFO, tt_cmd_info, false, "--version flash --json", "\"flash_refused\": true");
    check_command(TT_CMD_CHECK, tt_cmd_check, true, "grads --version flash", NOTE);
    check_command(TT_CMD_CHECK, tt_cmd_check, true, "grads --version flash --json", "\"flash_refused\": true");
    check_command(TT_CMD_CHECK, tt_cmd_check, true, "grads --version fused --against flash", NOTE);
}

static void diagnose_says_it(void)
{
    char line[600];
    for (int refused = 0; refused < 2; refused++) {
        snprintf(line, sizeof line,
                 "%s --version flash --quick --num-steps 2 --data builtin --vocab-size 64 --out %s/none", shape(), dir);
        char *out = output_of(TT_CMD_DIAGNOSE, tt_cmd_diagnose, refused ? SMALL : HEAD, line);
        CHECK((strstr(out, "heads of 16 are too large") != NULL) == refused, "%s", out);
        free(out);
    }
}

/* A prediction does not ask a device; it uses the limit of GPUs. */
static void a_prediction_says_it(void)
{
    static const char *const widths[] = {"512", "1024"};
    for (int i = 0; i < 2; i++) {
        char line[200];
        snprintf(line, sizeof line, "--predict h200 --version flash --num-heads 2 --num-kv-heads 1 --hidden-dim %s",
                 widths[i]);
        char *out = output_of(TT_CMD_INFO, tt_cmd_info, 0, line);
        CHECK((strstr(out, "note    heads of 512 are too large") != NULL) == i, "%s", out);
        free(out);
        strcat(line, " --json");
        out = output_of(TT_CMD_INFO, tt_cmd_info, 0, line);
        CHECK((strstr(out, "\"flash_refused\": true") != NULL) == i, "%s", out);
        free(out);
    }
}

static void a_profile_says_it(void)
{
    char line[600], path[200], *text;
    size_t n;
    snprintf(line, sizeof line, "%s --version flash --num-steps 2 --warmup 1 --out %s/profile --quiet", shape(), dir);
    char *out = output_of(TT_CMD_PROFILE, tt_cmd_profile, SMALL, line);
    CHECK(strstr(out, "note    Not everything was computed as requested: heads of 16 are too large") && !seen, "%s",
          out);
    free(out);
    static const char *const files[] = {"summary.md", "report.html"};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/profile/%s", dir, files[i]);
        CHECK_OK(tt_file_read(path, 1 << 24, &text, &n));
        CHECK(strstr(text, "heads of 16 are too large"), "%s", files[i]);
        free(text);
    }
}

int main(void)
{
    struct tt_backend b;
    OPEN_OR_SKIP(__real_tt_backend_open(&(struct tt_backend_options){0}, &b));
    if (!mkdtemp(dir)) return 1;
    setenv("XDG_CACHE_HOME", dir, 1); /* do not keep the rates of a device with a false limit */
    char path[200];
    /* few: do not measure known rates with large products */
    if (test_few()) fixture_ceilings(&b, tt_cache_path("ceilings.json", path, sizeof path));
    tt_backend_close(&b);
    TEST(bench_says_it_in_the_row);
    TEST(train_and_eval_say_it);
    TEST(generate_runs_without_a_cache);
    TEST(plans_and_checks_say_it);
    TEST(diagnose_says_it);
    TEST(a_prediction_says_it);
    TEST(a_profile_says_it);
    CHECK_OK(tt_remove_tree(dir));
    return test_end();
}
