/* Text from a trained model. */
#ifndef TT_SAMPLING_H
#define TT_SAMPLING_H

#include "core/data/data.h"
#include "core/train/sample.h"
#include "model/session.h"

struct tt_continuation {
    const int32_t *prompt; /* at least one token */
    int64_t prompt_count, max_tokens;
    struct tt_sampling how;
    uint64_t seed;
    int64_t known; /* only tokens below are drawn: those the tokenizer knows; 0 = all */
    bool cached;
    /* Called with each new token; false ends it there. May be NULL. */
    bool (*on_token)(int32_t token, void *arg);
    void *arg;
};

/* Prompt and continuation into tokens[0 .. prompt_count + max_tokens). */
tt_status tt_continue(const struct tt_session *s, const struct tt_continuation *what, int32_t *tokens);

/* A short sample of the built-in language at temperature 1, and its check against the grammar. */
tt_status tt_sample_builtin(const struct tt_session *s, const struct tt_config *c, const struct tt_data *data,
                            struct tt_text *text, struct tt_grammar_check *check);

#endif
