/* Where tokens come from. A dataset answers "sample i": S+1 tokens, the inputs and their targets one further. Which
 * sample comes when depends only on the seed and the position, so a run resumes by its position alone. */
#ifndef TT_DATA_H
#define TT_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/data/tokenizers/tokenizer.h"

struct tt_data;

enum tt_split { TT_TRAIN, TT_VAL };

struct tt_data_options {
    const char *source;     /* "builtin", "random", a token file, a glob of them, or a text file */
    const char *val_source; /* "" or NULL: hold out val_fraction of the source (builtin, random: another stream) */
    const char *tokenizer;  /* for text files: "bytes", "chars", "bpe" or a tokenizer file; "" = bytes */
    int64_t max_chars;      /* of each text file, from its start; 0 = all */
    double val_fraction;    /* 0 = hold out nothing */
    int64_t seq_len;
    int64_t vocab_size; /* of the model; 0 = not known yet: take the data's own ("bpe": 1024) */
    uint64_t seed;
};

/* Checks everything that can be wrong (missing, empty, truncated, too short, wrong magic, token >= vocabulary) before
 * it returns. */
tt_status tt_data_open(const struct tt_data_options *options, struct tt_data **out);
void tt_data_close(struct tt_data *d);

/* Tokens of the sample at `position` (0, 1, 2, …; epochs follow each other, each in its own order) into out[0..S].
 * Several threads may ask at once. The order of held-out windows does not depend on the seed, so that runs compare. */
tt_status tt_data_sample(struct tt_data *d, enum tt_split split, uint64_t position, int32_t *out);

int64_t tt_data_vocab(const struct tt_data *d); /* tokens are below this: options.vocab_size, or the data's own */
int64_t tt_data_samples(const struct tt_data *d, enum tt_split split); /* in one epoch; 0 = endless */
bool tt_data_validates(const struct tt_data *d); /* false when nothing is held out */
/* A number that files of other tokens would hardly give; 0 of data that come from no file. */
uint64_t tt_data_mark(const struct tt_data *d);
double tt_data_floor(const struct tt_data *d);         /* exact mean entropy per token in nats; negative = unknown */
bool tt_data_learnable(const struct tt_data *d);       /* false for random tokens */
const char *tt_data_describe(const struct tt_data *d); /* one line for the log */
const struct tt_tokenizer *tt_data_tokenizer(const struct tt_data *d); /* to turn tokens into text; NULL = unknown */

/* The built-in language: how many of the sentences in these tokens are grammatical (a last unfinished one counts if it
 * is a prefix of a sentence). */
struct tt_grammar_check {
    int64_t sentences, grammatical;
    int64_t first_error; /* index of the first token no sentence could have there; -1 = none */
};
struct tt_grammar_check tt_builtin_check(const int32_t *tokens, int64_t n);

/* A background thread that gathers whole steps (rows samples of S+1 tokens) into buffers the caller owns, ahead of
 * time. Buffers are used in turn; next() waits for the buffer of the next step, release() gives the oldest back. */
struct tt_loader;
struct tt_loader_options {
    struct tt_data *data;
    enum tt_split split;
    int64_t rows, seq_len;
    uint64_t position; /* first sample */
    int64_t stride;    /* samples from one step's first to the next one's: as many as all ranks take; 0: rows */
    int32_t **buffers; /* count pointers to rows·(seq_len+1) tokens */
    int count;
    bool on_demand; /* gather a step only when next() asks for it: without prefetch, to see what prefetching is worth */
};
tt_status tt_loader_open(const struct tt_loader_options *options, struct tt_loader **out);
tt_status tt_loader_next(struct tt_loader *l, int32_t **buffer); /* an error of the thread comes out here */
void tt_loader_release(struct tt_loader *l);
double tt_loader_waited(const struct tt_loader *l); /* seconds next() has waited so far */
void tt_loader_close(struct tt_loader *l);          /* does not hang, whatever the thread is doing */

/* Token files of llm.c: a header of 256 int32 (magic 20240520, version 1: uint16; magic 20240801, version 7: uint32;
 * then the count), then the tokens. A token has `width` bytes: 2, 4, or 0 for 2 as long as the vocabulary fits. */
tt_status tt_tokens_write(const char *path, const int32_t *tokens, int64_t n, int64_t vocab_size, int width);

#endif
