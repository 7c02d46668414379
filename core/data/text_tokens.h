/* Learns a tokenizer from text files and encodes them, block by block and with several threads. */
#ifndef TT_TEXT_TOKENS_H
#define TT_TEXT_TOKENS_H

#include "core/data/text_reader.h"
#include "core/data/tokenizers/tokenizer.h"

struct tt_text_work {
    const char *const *paths;
    int count;
    struct tt_text_options options;
    int threads; /* as for tt_parallel */
    /* Called now and then with what is being done and how much of it is done; may be NULL. */
    void (*progress)(const char *what, int64_t done, int64_t total, void *arg);
    void *arg;
    struct tt_text_totals totals; /* of the last pass over the files */
};

/* Makes a tokenizer: "bytes" (also ""), "chars" or "bpe" learnt from these texts, or the one in the file `name`. "bpe"
 * gets vocab_size tokens. */
tt_status tt_text_tokenizer(struct tt_text_work *w, const char *name, int64_t vocab_size, struct tt_tokenizer **out);

/* Gives all tokens to `take`, in order. Each document begins with the token that the tokenizer puts before texts, if it
 * does, and is followed by the end token: the tokenizer's, else options.end_token. JSON Lines without an end token are
 * an error. A token of a prompt is ~token, since it is ignored as a target. */
typedef tt_status (*tt_take_tokens)(void *to, const int32_t *tokens, int64_t n);
tt_status tt_text_tokens(struct tt_text_work *w, const struct tt_tokenizer *t, tt_take_tokens take, void *to);

#endif
