/* Text to tokens and back: bytes, the characters of a text, byte-pair encoding, a list of words (the built-in
 * language), or a byte-level BPE of another program. Saved as JSON. */
#ifndef TT_TOKENIZER_H
#define TT_TOKENIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/base/text.h"

struct tt_tokenizer;

tt_status tt_tokenizer_bytes(struct tt_tokenizer **out);
tt_status tt_tokenizer_words(const char *const *words, int n, struct tt_tokenizer **out);

/* A stretch of text that is encoded by itself: no token goes on beyond its end. */
struct tt_stretch {
    const char *text;
    int64_t n;
    int64_t at; /* where it begins in its file, for messages */
};

/* Learns a tokenizer from text that comes in parts: "chars", the characters of it, or "bpe", byte-pair encoding. */
struct tt_learner;
tt_status tt_learner_open(const char *kind, struct tt_learner **out);
/* Counts the stretches with several threads (as for tt_parallel; 0: as many as there are). What is learnt does not
 * depend on how many. On an error, *bad is the index of the stretch that it is about. */
tt_status tt_learner_add(struct tt_learner *l, int threads, const struct tt_stretch *stretches, int64_t count,
                         int64_t *bad);
/* With `ends`, "chars" has a token that ends documents: the character 0. "bpe" has vocab_size tokens: 256 bytes and the
 * merges; `progress` may be NULL. */
tt_status tt_learner_finish(struct tt_learner *l, bool ends, int64_t vocab_size,
                            void (*progress)(int64_t done, int64_t total, void *), void *arg,
                            struct tt_tokenizer **out);
void tt_learner_close(struct tt_learner *l);

/* The same for one text that is in memory. */
tt_status tt_tokenizer_chars(const char *text, int64_t n, struct tt_tokenizer **out);
tt_status tt_tokenizer_train(const char *text, int64_t n, int64_t vocab_size,
                             void (*progress)(int64_t done, int64_t total, void *), void *arg,
                             struct tt_tokenizer **out);

tt_status tt_tokenizer_load(const char *path, struct tt_tokenizer **out);
tt_status tt_tokenizer_save(const struct tt_tokenizer *t, const char *path);
void tt_tokenizer_free(struct tt_tokenizer *t);

const char *tt_tokenizer_kind(const struct tt_tokenizer *t); /* "bytes", "words", "chars", "bpe", "byte-level" */
int64_t tt_tokenizer_size(const struct tt_tokenizer *t);
/* The token after each document; -1: there is none. For bytes and bpe it is 0, the byte 0, which no document contains.
 * For a tokenizer of another program it is its eos_token, else an added token with a usual name: <|endoftext|>, … */
int32_t tt_tokenizer_end(const struct tt_tokenizer *t);
/* The token that a tokenizer of another program puts before a text; -1: none. tt_tokenizer_encode leaves adding it to
 * its callers. */
int32_t tt_tokenizer_begin(const struct tt_tokenizer *t);
/* Whether the other program puts further tokens around a text. tt does not. */
bool tt_tokenizer_puts_more(const struct tt_tokenizer *t);
/* Where a text may be cut between two lines, as text_reader.c does, without changing its tokens. */
enum tt_line_cut {
    TT_CUT_AFTER_LINE, /* after \n and \r\n */
    TT_CUT_IN_CRLF,    /* after \n, but between \r and \n: the two are one token only if the text ends after them */
    TT_NO_CUT,         /* nowhere: a token may go on from line to line */
};
enum tt_line_cut tt_tokenizer_line_cut(const struct tt_tokenizer *t);

/* *tokens is malloc'd. An unknown word or character is an error that names it and its position. */
tt_status tt_tokenizer_encode(const struct tt_tokenizer *t, const char *text, int64_t n, int32_t **tokens,
                              int64_t *count);
/* The most tokens per byte of text: 1, or more if the tokenizer normalizes a text, which may make it longer. */
int tt_tokenizer_growth(const struct tt_tokenizer *t);
/* Encodes each stretch, with several threads. Stretch i has counts[i] tokens. They begin in `tokens` at the number of
 * bytes of all stretches before it times tt_tokenizer_growth; `tokens` has room for all bytes times that. On an error,
 * *bad is the first stretch with one. */
tt_status tt_tokenizer_encode_stretches(const struct tt_tokenizer *t, int threads, const struct tt_stretch *stretches,
                                        int64_t count, int32_t *tokens, int64_t *counts, int64_t *bad);
/* Appends. A token out of range becomes U+FFFD. */
void tt_tokenizer_decode(const struct tt_tokenizer *t, const int32_t *tokens, int64_t n, struct tt_text *out);
/* Whether every token that both have decodes to the same text. */
bool tt_tokenizers_agree(const struct tt_tokenizer *a, const struct tt_tokenizer *b);

#endif
