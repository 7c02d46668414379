/* Trains a model on tokens of its own, sums modulo 31, and saves it. With an installed libtt:
 *
 *     cc example.c -o example $(pkg-config --cflags --libs libtt)
 *     ./example runs/sums */
#include <libtt.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MODULUS = 31,
    EQUALS = MODULUS,
    VOCABULARY = MODULUS + 1,
    TERMS = 8,
    LENGTH = 4 * TERMS,
    ROWS = 32,
    STEPS = 300
};

static const char settings[] = "data: none\n"
                               "vocab-size: 32\n"
                               "seq-len: 32\n"
                               "batch-size: 32\n"
                               "hidden-dim: 64\n"
                               "num-layers: 2\n"
                               "num-steps: 300\n"
                               "learning-rate: 0.003\n";

/* A row is a sequence of sums, each as the four tokens a b = c with c = (a + b) mod 31, and one more token, the target
 * of the last position. */
static void make_rows(int32_t *tokens)
{
    for (int row = 0; row < ROWS; row++) {
        for (int i = 0; i < TERMS; i++, tokens += 4) {
            int a = rand() % 3, b = rand() % MODULUS;
            tokens[0] = a;
            tokens[1] = b;
            tokens[2] = EQUALS;
            tokens[3] = (a + b) % MODULUS;
        }
        *tokens++ = rand() % 3;
    }
}

static int failed(const struct libtt_error *error)
{
    fprintf(stderr, "%s\n", error->text);
    return error->code;
}

static int train(libtt_model *model, const char *folder, struct libtt_error *error)
{
    static int32_t tokens[ROWS * (LENGTH + 1)];
    struct libtt_metrics metrics;
    for (int i = 1; i <= STEPS; i++) {
        bool show = i % 100 == 0 || i == 1;
        make_rows(tokens);
        if (!libtt_step(model, tokens, show ? &metrics : NULL, error)) return failed(error);
        if (show) printf("step %d: loss %.3f\n", i, metrics.loss);
    }
    if (!libtt_save(model, folder, error)) return failed(error);
    printf("saved in %s\n", folder);
    return 0;
}

int main(int argc, char **argv)
{
    struct libtt_error error;
    libtt_backend *backend = libtt_open(NULL, &error);
    if (!backend) return failed(&error);
    printf("libtt %s on %s\n", libtt_version(), libtt_device(backend));
    libtt_model *model = libtt_create(backend, settings, &error);
    int code = model ? train(model, argc > 1 ? argv[1] : "runs/sums", &error) : failed(&error);
    libtt_free(model);
    libtt_close(backend);
    return code;
}
