/* Continues prompts with a model: the loop over tokens that `tt generate` and the library share. */
#ifndef TT_CONTINUE_H
#define TT_CONTINUE_H

#include "core/base/sample.h"
#include "core/plan/engine.h"
#include "model/model.h"

struct tt_prompt {
    const int32_t *tokens; /* at least one */
    int64_t count;
    uint64_t seed; /* of this prompt's draws */
};

/* Every prompt is continued as it would be alone. */
struct tt_continuation {
    const struct tt_prompt *prompts;
    int64_t rows, max_tokens;
    struct tt_sampling how;
    int64_t known; /* only tokens below are chosen: those the tokenizer knows; 0 = all */
    bool uncached; /* no cache: every token recomputes all before it, prompt after prompt; slow, for tests */
    /* Called with each new token of a prompt. If it returns false, the continuation ends with that token. */
    bool (*on_token)(int64_t row, int32_t token, void *arg);
    void *arg;
    double prompt_seconds, seconds; /* out: for reading the prompts, and for the tokens after the first */
    int64_t steps;                  /* out: steps for the tokens after the first */
};

/* `weights` is an engine with the weights of a model of configuration c. */
tt_status tt_continue(const struct tt_config *c, const struct tt_engine *weights, struct tt_continuation *what);

#endif
