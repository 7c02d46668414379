/* libtt: train a small LLaMA from a C or C++ program, on the device that the library was built for.
 *
 *     struct libtt_error error;
 *     libtt_backend *gpu = libtt_open(NULL, &error);
 *     libtt_model *model = libtt_create(gpu, "preset: tiny\nbatch-size: 16\n", &error);
 *     for (int i = 0; i < 100; i++) libtt_step(model, NULL, NULL, &error);
 *     libtt_save(model, "runs/mine", &error);
 *
 * Settings are lines "option: value", as in a file for `tt train --config`; `tt help train` lists the options. A model
 * trains exactly as with `tt train` and the same settings, bit for bit, and either can resume what the other saved. The
 * library trains on one device and refuses the setting "ranks". It loads what several ranks saved, and then takes as
 * many sequences in a step as they did. Processes that mpirun or srun starts train independently.
 *
 * A function that fails returns false or NULL and sets *error, which may be NULL. After LIBTT_USAGE the model is
 * unchanged; after a failure of the device, load it again. The library never exits. It prints nothing, except a line on
 * stderr when it skips a damaged checkpoint or ignores a device number on the CPU. Use it from one thread at a time. On
 * the CPU with a limited address space (ulimit -v), start the program with OPENBLAS_NUM_THREADS=1; otherwise the
 * threads of OpenBLAS may wait for memory forever. */
#ifndef LIBTT_H
#define LIBTT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- errors ---- */

enum {
    LIBTT_FAILED = 1,    /* a valid request that failed: a damaged file, no permission, no disk space, no memory */
    LIBTT_USAGE = 2,     /* an invalid request: a bad setting or value, a path that does not exist, a token that is too
                            large */
    LIBTT_NO_DEVICE = 3, /* no usable GPU, driver or runtime */
};

struct libtt_error {
    int code;        /* one of the above; 0 after success */
    char text[1000]; /* one line: what went wrong and what to do; after success empty, or a note of libtt_export */
};

const char *libtt_version(void); /* "0.1.0 (cuda)" */

/* ---- a device ---- */

typedef struct libtt_backend libtt_backend;

/* Settings may be NULL. Only those of the device are used: device, threads, precision (tf32 or not), kernels,
 * gemm-tune.
 */
libtt_backend *libtt_open(const char *settings, struct libtt_error *error);
const char *libtt_device(const libtt_backend *b); /* "NVIDIA H200"; lives as long as the backend */
void libtt_close(libtt_backend *b);               /* after its models; b may be NULL */

/* ---- a model ---- */

typedef struct libtt_model libtt_model;

/* A new model with random weights, ready to train. Settings may be NULL: the default model on the built-in language.
 * With `data: none` the caller gives all tokens. */
libtt_model *libtt_create(libtt_backend *b, const char *settings, struct libtt_error *error);

/* Loads a checkpoint, or the newest undamaged one in the folder of a run: weights, optimiser state, settings and
 * position in the data. `settings`, which may be NULL, override those of the checkpoint. */
libtt_model *libtt_load(libtt_backend *b, const char *path, const char *settings, struct libtt_error *error);
void libtt_free(libtt_model *m); /* m may be NULL */

struct libtt_shape {
    int64_t parameters;
    int64_t layers, hidden, heads, kv_heads, vocabulary;
    int64_t rows;        /* sequences in a step: batch-size times grad-accum */
    int64_t eval_rows;   /* sequences in an evaluation: batch-size */
    int64_t length;      /* seq-len; a sequence is passed with one more token, the target of the last */
    int64_t step;        /* steps done */
    int64_t steps;       /* num-steps, where the learning rate schedule ends; more steps are allowed */
    size_t device_bytes; /* device memory of the model */
};
struct libtt_shape libtt_shape(const libtt_model *m);

/* ---- work ---- */

struct libtt_metrics {
    int64_t step; /* number of this step, from 1 */
    float loss;   /* mean over the targets that count, in nats; NaN: none counts, all belong to prompts */
    float grad_norm, learning_rate;
    /* False: loss or gradients were not finite, so weights were not updated. The setting on-nan has no effect here. */
    bool applied;
};

/* One optimiser step over `rows` sequences of length + 1 tokens each. With tokens NULL it takes the next sequences of
 * the data in the settings. With `out` it waits until the step is done; without, it may return before the GPU is done.
 */
bool libtt_step(libtt_model *m, const int32_t *tokens, struct libtt_metrics *out, struct libtt_error *error);

/* The mean loss over `eval_rows` sequences of length + 1 tokens each. With tokens NULL, over val-batches batches of the
 * held-out data. */
bool libtt_evaluate(libtt_model *m, const int32_t *tokens, double *loss, struct libtt_error *error);

/* Saves a checkpoint such as dir/step-00000100. It is written to a temporary folder and renamed, so it is complete or
 * not there. Only the newest ones in the folder are kept (setting keep, default 3). `tt train --resume DIR`, `tt
 * generate --checkpoint DIR` and `tt export` read it. */
bool libtt_save(libtt_model *m, const char *dir, struct libtt_error *error);

/* Writes the model for other programs, as `tt export` does: into a folder that does not exist or is empty for Hugging
 * Face's transformers, or, where the path ends in .gguf, as a file for llama.cpp. Weights are stored as dtype: "fp32",
 * "bf16" or "fp16", in a file also "q8_0"; NULL is fp32. Where the model is written without its tokenizer, because the
 * format cannot express it, error->text says so. */
bool libtt_export(libtt_model *m, const char *path, const char *dtype, struct libtt_error *error);

/* ---- text ---- */

struct libtt_sampling {
    int64_t max_tokens; /* to generate, at least 1 */
    double temperature; /* below 1 sharpens, above 1 flattens the probabilities; 0 takes the likeliest token */
    int64_t top_k;      /* draw from this many of the likeliest tokens; 0: from all */
    double top_p;       /* draw from the likeliest tokens that together have this probability; 1: from all */
    double repetition_penalty; /* above 1 makes tokens that are there already less probable; 0 or 1: none */
    uint64_t seed;
    bool ignore_end; /* go on after the token that ends a text */
    /* Called with each new token; generation ends if it returns false. May be NULL. It must not use the model. */
    bool (*on_token)(int32_t token, void *arg);
    void *arg;
};

/* The token that ends a text: the one that ends the documents of the data, else the tokenizer's; -1: there is none. */
int32_t libtt_end_token(const libtt_model *m);

/* Continues a prompt of `count` tokens with the tokens that `tt generate` would draw. With 0 tokens the text starts
 * where one of the data would, as with an empty prompt of `tt generate`. The first token that ends a text, of which
 * there may be several, is the last of the continuation, unless ignore_end is set. `out` has room for max_tokens; *made
 * is the number of tokens in it. */
bool libtt_generate(libtt_model *m, const int32_t *prompt, int64_t count, const struct libtt_sampling *how,
                    int32_t *out, int64_t *made, struct libtt_error *error);

/* Text to tokens and back with the tokenizer of the data or of the checkpoint. Returns how many tokens or bytes there
 * are, of which the first `room` are written, or -1 after a failure. Text is UTF-8, with no 0 at its end. Some
 * tokenizers put a token before each text, as that of Llama 3 does. Then encode does so too, unless the text begins
 * with that token. */
int64_t libtt_encode(const libtt_model *m, const char *text, int64_t bytes, int32_t *tokens, int64_t room,
                     struct libtt_error *error);
int64_t libtt_decode(const libtt_model *m, const int32_t *tokens, int64_t count, char *text, int64_t room,
                     struct libtt_error *error);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
