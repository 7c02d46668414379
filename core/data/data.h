/* Datasets. A sample is S+1 tokens: S inputs, and the targets, which are the inputs shifted by one. A token of a
 * prompt, which is ignored as a target, is ~token (tt_token_of in token_file.h). The order of samples depends only on
 * the seed, so the position is all that a run needs to resume. */
#ifndef TT_DATA_H
#define TT_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/data/text_reader.h"
#include "core/data/tokenizers/tokenizer.h"

struct tt_data;

enum tt_split { TT_TRAIN, TT_VAL };

struct tt_data_options {
    const char *source;     /* "builtin", "random", a token or text file, a glob of them, or a folder of texts */
    const char *val_source; /* "" or NULL: hold out val_fraction of the source (builtin, random: other samples) */
    const char *tokenizer;  /* for text files: "bytes", "chars", "bpe" or a tokenizer file; "" = bytes */
    struct tt_text_options text; /* how text files are read */
    double val_fraction;    /* 0 = hold out nothing */
    int64_t seq_len;
    int64_t vocab_size; /* of the model; 0 = as large as the data need ("bpe": 1024) */
    uint64_t seed;
    int threads; /* that read text, as for tt_parallel */
    /* Called while text is read, with what is being done and how much of it is done; may be NULL. */
    void (*progress)(const char *what, int64_t done, int64_t total, void *arg);
    void *arg;
};

/* Checks all data before it returns: files missing, empty, truncated, too short, with a wrong magic number, or with a
 * token outside the vocabulary. */
tt_status tt_data_open(const struct tt_data_options *options, struct tt_data **out);
void tt_data_close(struct tt_data *d);

/* The sample at `position` (0, 1, 2, …; each epoch has its own order) into out[0..S]. Thread-safe. The order of
 * validation samples from files does not depend on the seed, so that runs can be compared. */
tt_status tt_data_sample(struct tt_data *d, enum tt_split split, uint64_t position, int32_t *out);

int64_t tt_data_vocab(const struct tt_data *d);                        /* all tokens are below this */
int64_t tt_data_samples(const struct tt_data *d, enum tt_split split); /* in one epoch; 0 = endless */
bool tt_data_validates(const struct tt_data *d);                       /* false when nothing is held out */
/* A hash of all tokens of the files; 0 for data without files. */
uint64_t tt_data_mark(const struct tt_data *d);
double tt_data_floor(const struct tt_data *d);         /* exact mean entropy per token in nats; negative = unknown */
bool tt_data_learnable(const struct tt_data *d);       /* false for random tokens */
const char *tt_data_describe(const struct tt_data *d); /* one line for the log */
const struct tt_tokenizer *tt_data_tokenizer(const struct tt_data *d); /* to turn tokens into text; NULL = unknown */
/* The token after each document, as the token files or the tokenizer say; -1 = none. */
int32_t tt_data_end_token(const struct tt_data *d);
/* Whether this token is in the data. Reads token files until it finds one. */
tt_status tt_data_contains(const struct tt_data *d, int32_t token, bool *contains);

/* The built-in language: how many of the sentences in these tokens are grammatical. An unfinished last sentence counts
 * as grammatical if it is the prefix of one. */
struct tt_grammar_check {
    int64_t sentences, grammatical;
    int64_t first_error; /* index of the first token that violates the grammar; -1 = none */
};
struct tt_grammar_check tt_builtin_check(const int32_t *tokens, int64_t n);

/* A background thread that prefetches whole steps (`rows` samples of S+1 tokens each) into a ring of buffers that the
 * caller owns. next() waits for the buffer of the next step, release() gives the oldest buffer back. */
struct tt_loader;
struct tt_loader_options {
    struct tt_data *data;
    enum tt_split split;
    int64_t rows, seq_len;
    uint64_t position; /* first sample */
    int64_t stride;    /* samples per step of all ranks together; 0: rows */
    int32_t **buffers; /* count pointers to rows·(seq_len+1) tokens */
    int count;
    bool on_demand; /* no prefetch: load a step only when next() asks for it, to measure what prefetching gains */
};
tt_status tt_loader_open(const struct tt_loader_options *options, struct tt_loader **out);
tt_status tt_loader_next(struct tt_loader *l, int32_t **buffer); /* also returns errors of the thread */
void tt_loader_release(struct tt_loader *l);
double tt_loader_waited(const struct tt_loader *l); /* seconds next() has waited so far */
void tt_loader_close(struct tt_loader *l);          /* stops and joins the thread, also in the middle of a step */

/* Writes a token file as llm.c does: a header of 256 int32 (magic, version, count, and what llm.c leaves 0: the end
 * token plus 1), then the tokens. uint16 tokens have magic 20240520 and version 1, uint32 tokens magic 20240801 and
 * version 7. If some tokens are ignored as targets (~token), the version is 100 more, and one bit per token follows the
 * tokens, the lowest bit of each byte first: 1 if the token is ignored. `width` is 2 or 4 bytes per token; 0 chooses 2
 * if the vocabulary fits. */
tt_status tt_tokens_write(const char *path, const int32_t *tokens, int64_t n, int64_t vocab_size, int width);
/* The same for documents that are followed by the token `end_token`; -1: not known. Only here may tokens be ignored as
 * targets. */
tt_status tt_tokens_write_documents(const char *path, const int32_t *tokens, int64_t n, int64_t vocab_size, int width,
                                    int32_t end_token);

#endif
