/* libtt: train a small LLaMA from a C or C++ program, on the device that the library was built for.
 *
 *     struct libtt_error error;
 *     libtt_backend *gpu = libtt_open(NULL, &error);
 *     libtt_model *model = libtt_create(gpu, "preset: tiny\nbatch-size: 16\n", &error);
 *     for (int i = 0; i < 100; i++) libtt_step(model, NULL, NULL, &error);
 *     libtt_save(model, "runs/mine", &error);
 *
 * Settings are texts of lines "option: value", the same as in a file for `tt train --config`; `tt help train` lists
 * them.
 * Weights, order of the data and learning rate are those of `tt train` with the same settings, and so are the bits:
 * what one saved, the other goes on with.
 *
 * What can fail returns false or NULL and says why in *error, which may be NULL. What was asked wrongly leaves a model
 * as it was; after a failure of the device, load it again. Nothing exits or prints, but for a line on stderr about a
 * damaged checkpoint that is passed over, or a device number where there is only the CPU. Use it from one thread at a
 * time. A program on the CPU whose address space is limited (ulimit -v) needs OPENBLAS_NUM_THREADS=1 in its environment
 * when it starts: OpenBLAS's own threads would wait for memory for ever. */
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
    LIBTT_FAILED = 1,    /* asked rightly, but it could not be done: a damaged file, no permission, space or memory */
    LIBTT_USAGE = 2,     /* asked wrongly: a setting, a value, a name of something that is not there, a token too
                            large */
    LIBTT_NO_DEVICE = 3, /* no usable GPU, driver or runtime */
};

struct libtt_error {
    int code;        /* one of the above; 0 after success */
    char text[1000]; /* one line: what went wrong and what to do; empty after success */
};

const char *libtt_version(void); /* "0.1.0 (cuda)" */

/* ---- a device ---- */

typedef struct libtt_backend libtt_backend;

/* Settings may be NULL. Those about the device count: device, threads, precision (tf32 or not), kernels, gemm-tune. */
libtt_backend *libtt_open(const char *settings, struct libtt_error *error);
const char *libtt_device(const libtt_backend *b); /* "NVIDIA H200"; lives as long as the backend */
void libtt_close(libtt_backend *b);               /* after its models; NULL is fine */

/* ---- a model ---- */

typedef struct libtt_model libtt_model;

/* With fresh weights, ready to train. Settings may be NULL: the default model on the built-in language. With `data:
 * none` the tokens come from the caller alone. */
libtt_model *libtt_create(libtt_backend *b, const char *settings, struct libtt_error *error);

/* From a checkpoint, or the newest good one in the folder of a run: weights, optimiser, settings and place in the data.
 * `settings`, which may be NULL, go before those of the checkpoint. */
libtt_model *libtt_load(libtt_backend *b, const char *path, const char *settings, struct libtt_error *error);
void libtt_free(libtt_model *m); /* NULL is fine */

struct libtt_shape {
    int64_t parameters;
    int64_t layers, hidden, heads, kv_heads, vocabulary;
    int64_t rows;       /* sequences in a step: batch-size times grad-accum */
    int64_t eval_rows;  /* sequences in an evaluation: batch-size */
    int64_t length;     /* tokens in a sequence, seq-len; one more is given, as the target of the last */
    int64_t step;       /* steps done */
    int64_t steps;      /* num-steps: where the learning rate has fallen to its end; going on is allowed */
    size_t device_bytes; /* memory of the device that the model takes */
};
struct libtt_shape libtt_shape(const libtt_model *m);

/* ---- work ---- */

struct libtt_metrics {
    int64_t step; /* this step's number, from 1 */
    float loss;   /* mean over the step's tokens, in nats */
    float grad_norm, learning_rate;
    /* False: loss or gradients were not finite, and the weights are as before; on-nan is for tt train alone. */
    bool applied;
};

/* One step of the optimiser over `rows` sequences of length + 1 tokens, row after row; NULL: the next ones of the data
 * that the settings name. With `out` it waits until the step is done; without, a GPU may still be at work when it
 * returns. */
bool libtt_step(libtt_model *m, const int32_t *tokens, struct libtt_metrics *out, struct libtt_error *error);

/* Mean loss over `eval_rows` sequences of length + 1 tokens; NULL: over the held-out data, val-batches of them. */
bool libtt_evaluate(libtt_model *m, const int32_t *tokens, double *loss, struct libtt_error *error);

/* A checkpoint dir/step-00000100, written aside and renamed, so that it is there whole or not at all; of those in the
 * folder the newest (setting keep: 3) stay. `tt train --resume DIR`, `tt generate --checkpoint DIR` and `tt export`
 * read it. */
bool libtt_save(libtt_model *m, const char *dir, struct libtt_error *error);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
