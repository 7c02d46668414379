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
tt_status tt_tokenizer_chars(const char *text, int64_t n, struct tt_tokenizer **out);
/* Byte-pair encoding of vocab_size tokens (256 bytes and the merges), trained on text. `progress` may be NULL. */
tt_status tt_tokenizer_train(const char *text, int64_t n, int64_t vocab_size,
                             void (*progress)(int64_t done, int64_t total, void *), void *arg,
                             struct tt_tokenizer **out);

tt_status tt_tokenizer_load(const char *path, struct tt_tokenizer **out);
tt_status tt_tokenizer_save(const struct tt_tokenizer *t, const char *path);
void tt_tokenizer_free(struct tt_tokenizer *t);

const char *tt_tokenizer_kind(const struct tt_tokenizer *t); /* "bytes", "words", "chars", "bpe", "byte-level" */
int64_t tt_tokenizer_size(const struct tt_tokenizer *t);

/* *tokens is malloc'd. An unknown word or character is an error that names it and its position. */
tt_status tt_tokenizer_encode(const struct tt_tokenizer *t, const char *text, int64_t n, int32_t **tokens,
                              int64_t *count);
/* Appends. A token out of range becomes U+FFFD. */
void tt_tokenizer_decode(const struct tt_tokenizer *t, const int32_t *tokens, int64_t n, struct tt_text *out);
/* Whether every token that both have decodes to the same text. */
bool tt_tokenizers_agree(const struct tt_tokenizer *a, const struct tt_tokenizer *b);

#endif
