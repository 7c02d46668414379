/* Uses libtt like an outside program, and checks its answers. Leaves checkpoints in the given folder, which
 * test_library.sh compares with those of tt train. */
#include <libtt.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            failures++;                                                                            \
            printf("FAIL %s:%d: %s\n", __FILE__, __LINE__, #cond);                                 \
        }                                                                                          \
    } while (0)

/* The same settings as in test_library.sh. */
static const char settings[] = "hidden-dim: 32\nnum-layers: 2\nbatch-size: 4\nseq-len: 16\ngrad-accum: 2\nnum-steps: "
                               "6\nthreads: 1\n";

static libtt_backend *open_backend(void)
{
    struct libtt_error e;
    libtt_backend *b = libtt_open("threads: 1\n", &e);
    CHECK(b && e.code == 0 && !e.text[0]);
    if (!b) exit(1);
    CHECK(libtt_device(b)[0] && strchr(libtt_version(), '('));
    return b;
}

static void steps(libtt_model *m, int n, bool look)
{
    struct libtt_error e;
    struct libtt_metrics now;
    for (int i = 0; i < n; i++) {
        int64_t before = libtt_shape(m).step;
        CHECK(libtt_step(m, NULL, look ? &now : NULL, &e) && !e.code);
        CHECK(libtt_shape(m).step == before + 1);
        if (look)
            CHECK(now.step == before + 1 && isfinite(now.loss) && now.grad_norm > 0 && now.learning_rate > 0 &&
                  now.applied);
    }
}

/* Runs and saves half of a run; another model loads that and runs the other half. */
static void go_on(libtt_backend *b, const char *folder)
{
    struct libtt_error e;
    double loss = 0, again = -1;
    libtt_model *m = libtt_create(b, settings, &e);
    CHECK(m && libtt_shape(m).rows == 8 && libtt_shape(m).eval_rows == 4 && libtt_shape(m).length == 16 &&
          libtt_shape(m).steps == 6);
    CHECK(libtt_shape(m).hidden == 32 && libtt_shape(m).parameters > 0 &&
          libtt_shape(m).device_bytes > 4 * (size_t)libtt_shape(m).parameters);
    steps(m, 3, true);
    CHECK(libtt_evaluate(m, NULL, &loss, &e) && isfinite(loss));
    CHECK(libtt_save(m, folder, &e));
    libtt_free(m);
    m = libtt_load(b, folder, "threads: 1\n", &e);
    CHECK(m && libtt_shape(m).step == 3 && libtt_shape(m).hidden == 32);
    CHECK(libtt_evaluate(m, NULL, &again, &e) && loss == again);
    steps(m, 3, false);
    CHECK(libtt_save(m, folder, &e));
    libtt_free(m);
}

static bool two_more(int32_t token, void *arg)
{
    (void)token;
    return ++*(int *)arg < 2;
}

/* Generates text with the model that go_on saved. The tokens go to FOLDER.tokens, the model for transformers to
 * FOLDER.hf. */
static void write_text(libtt_backend *b, const char *folder)
{
    struct libtt_error e;
    struct libtt_sampling how = {.max_tokens = 20, .temperature = 0.8, .top_p = 1, .seed = 7};
    int32_t start = 0, tokens[20], again[20];
    int64_t made = 0;
    int seen = 0;
    char path[1000], text[1000];
    libtt_model *m = libtt_load(b, folder, "threads: 1\n", &e);
    CHECK(m && libtt_generate(m, &start, 1, &how, tokens, &made, &e) && made == 20);
    snprintf(path, sizeof path, "%s.tokens", folder);
    FILE *f = fopen(path, "w");
    for (int i = 0; i < 20; i++) fprintf(f, "%d\n", tokens[i]);
    fclose(f);

    int64_t bytes = libtt_decode(m, tokens, 20, text, sizeof text, &e);
    CHECK(bytes > 20 && bytes < (int64_t)sizeof text && libtt_decode(m, tokens, 20, NULL, 0, &e) == bytes);
    CHECK(libtt_encode(m, text, bytes, again, 20, &e) == 20 && !memcmp(tokens, again, sizeof tokens));
    CHECK(libtt_encode(m, "nosuchword", 10, again, 20, &e) == -1 && e.code && e.text[0]);
    CHECK(libtt_encode(m, "the", -1, again, 20, &e) == -1 && e.code == LIBTT_USAGE);
    CHECK(libtt_decode(m, tokens, -1, text, sizeof text, &e) == -1 && e.code == LIBTT_USAGE);
    how.on_token = two_more;
    how.arg = &seen;
    CHECK(libtt_generate(m, &start, 1, &how, again, &made, &e) && made == 2 && again[1] == tokens[1]);
    snprintf(path, sizeof path, "%s.hf", folder);
    CHECK(libtt_export(m, path, "bf16", &e) && !e.code);
    CHECK(!libtt_export(m, path, NULL, &e) && e.code == LIBTT_USAGE && strstr(e.text, "not empty"));
    snprintf(path, sizeof path, "%s.gguf", folder);
    CHECK(libtt_export(m, path, "q8_0", &e) && !e.code && strstr(e.text, "the tokenizer was left out"));
    CHECK(!libtt_export(m, "/dev/null/x", "q8_0", &e) && e.code == LIBTT_USAGE && strstr(e.text, "q8_0"));
    CHECK(!libtt_export(m, "/dev/null/x.gguf", "int8", &e) && e.code == LIBTT_USAGE && strstr(e.text, "int8"));
    steps(m, 1, true); /* the model can still train */
    libtt_free(m);

    m = libtt_load(b, folder, "data: none\nthreads: 1\n", &e); /* then the tokenizer is the checkpoint's */
    CHECK(m && libtt_decode(m, tokens, 20, NULL, 0, &e) == bytes);
    snprintf(path, sizeof path, "%s.again", folder);
    CHECK(libtt_save(m, path, &e)); /* and is saved again */
    libtt_free(m);
    m = libtt_load(b, path, "threads: 1\n", &e);
    CHECK(m && libtt_decode(m, tokens, 20, NULL, 0, &e) == bytes);
    libtt_free(m);
}

static void refuse_sampling(libtt_model *m)
{
    struct libtt_error e;
    static const struct libtt_sampling wrong[] = {{.max_tokens = 0, .top_p = 1}, {.max_tokens = 5, .top_p = 0},
                                                  {.max_tokens = 5, .top_p = 1, .temperature = -1},
                                                  {.max_tokens = 5, .top_p = 1, .top_k = -1},
                                                  {.max_tokens = 5, .top_p = 1, .repetition_penalty = -1}};
    struct libtt_sampling how = {.max_tokens = 5, .top_p = 1};
    int32_t prompt = 3, out[5];
    int64_t made = -1;
    CHECK(libtt_generate(m, &prompt, 1, &how, out, &made, &e) && made == 5);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(!libtt_generate(m, &prompt, 1, &wrong[i], out, &made, &e) && e.code == LIBTT_USAGE && made <= 5);
    CHECK(!libtt_generate(m, &prompt, -1, &how, out, &made, &e) && e.code == LIBTT_USAGE);
    CHECK(libtt_generate(m, NULL, 0, &how, out, &made, &e) && made == 5);
    prompt = 11;
    CHECK(!libtt_generate(m, &prompt, 1, &how, out, &made, &e) && e.code == LIBTT_USAGE);
    CHECK(libtt_encode(m, "a", 1, out, 5, &e) == -1 && strstr(e.text, "no tokenizer"));
    CHECK(libtt_decode(m, out, 5, NULL, 0, &e) == -1 && strstr(e.text, "no tokenizer"));
}

static void own_tokens(libtt_backend *b)
{
    struct libtt_error e;
    struct libtt_metrics first, last;
    int32_t tokens[4 * 17];
    double loss;
    libtt_model *m = libtt_create(b, "data: none\nvocab-size: 11\nhidden-dim: 32\nnum-layers: 1\nbatch-size: "
                                     "4\nseq-len: 16\nlearning-rate: 0.01\n"
                                     "warmup-steps: 0\n", &e);
    CHECK(m && libtt_shape(m).vocabulary == 11);
    if (!m) return;
    for (int i = 0; i < 4 * 17; i++) tokens[i] = i % 11;
    CHECK(libtt_evaluate(m, tokens, &loss, &e) && libtt_step(m, tokens, &first, &e));
    CHECK(fabs(loss - (double)first.loss) < 1e-5); /* the same weights and tokens */
    for (int i = 0; i < 30; i++) CHECK(libtt_step(m, tokens, &last, &e));
    CHECK(last.loss < 0.5f * first.loss);

    tokens[40] = 11;
    CHECK(!libtt_step(m, tokens, &last, &e) && e.code == LIBTT_USAGE && strstr(e.text, "token 6 of sequence 2 is 11"));
    tokens[40] = -1;
    CHECK(!libtt_evaluate(m, tokens, &loss, &e) && e.code == LIBTT_USAGE);
    CHECK(!libtt_step(m, NULL, NULL, &e) && e.code == LIBTT_USAGE && strstr(e.text, "data: none"));
    CHECK(!libtt_evaluate(m, NULL, &loss, NULL));
    CHECK(libtt_shape(m).step == 31);
    refuse_sampling(m);
    CHECK(!libtt_save(m, "/dev/null/x", &e) && e.code && e.text[0] && !strchr(e.text, '\n'));
    libtt_free(m);
}

static void refusals(libtt_backend *b)
{
    static const char *const wrong[] = {"hidden-dim: much\n", "hidden_dim: 33\n", "no-such: 1\n",
                                        "fault: random-access\n", "data: /no/such/file\n",
                                        "preset: [1]\n", "- a\n", "num-heads: 0\n", "batch-size: 4000000000\n",
                                        "resume: auto\n", "init-from: elsewhere\n"};
    struct libtt_error e;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(!libtt_create(b, wrong[i], &e));
        CHECK(e.code == LIBTT_USAGE && e.text[0] && !strchr(e.text, '\n'));
        if (e.code != LIBTT_USAGE) printf("%s -> %d %s\n", wrong[i], e.code, e.text);
        CHECK(!libtt_create(b, wrong[i], NULL));
    }
    CHECK(!libtt_load(b, "/no/such/run", NULL, &e) && e.code == LIBTT_USAGE);
    CHECK(!libtt_open("threads: -3\n", &e) && e.code == LIBTT_USAGE);
    libtt_free(NULL);
    libtt_close(NULL);
}

/* The library uses one device, without ranks. A step has the requested number of sequences, or the total of the ranks
 * that saved the checkpoint. */
static void one_device(libtt_backend *b, const char *of_ranks)
{
    struct libtt_error e;
    CHECK(!libtt_create(b, "preset: tiny\nranks: 2\n", &e) && e.code == LIBTT_USAGE &&
          strstr(e.text, "the library trains on one device") && !strchr(e.text, '\n'));
    CHECK(!libtt_create(b, "preset: tiny\nbatch-size: 3\nglobal-batch: 8\n", &e) && strstr(e.text, "no multiple"));
    libtt_model *m = libtt_create(b, "preset: tiny\nbatch-size: 4\nglobal-batch: 8\nthreads: 1\n", &e);
    CHECK(m && libtt_shape(m).rows == 8 && libtt_shape(m).eval_rows == 4);
    libtt_free(m);
    if (!of_ranks) return;
    m = libtt_load(b, of_ranks, "threads: 1\n", &e);
    CHECK(m && libtt_shape(m).rows == 8 && libtt_shape(m).step == 3);
    if (m) steps(m, 1, true);
    libtt_free(m);
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 3) return 2;
    setlocale(LC_ALL, ""); /* as most graphical programs do; a decimal point may be a comma from here on */
    const char point = *localeconv()->decimal_point;
    libtt_backend *b = open_backend();
    go_on(b, argv[1]);
    write_text(b, argv[1]);
    own_tokens(b);
    refusals(b);
    one_device(b, argc > 2 ? argv[2] : NULL);
    libtt_close(b);
    CHECK(*localeconv()->decimal_point == point); /* the library leaves the program's locale alone */
    if (!failures) printf("ok   the library answers, where a point is %c\n", point);
    return failures != 0;
}
