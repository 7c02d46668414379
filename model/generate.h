/* Next-token logits of one sequence, token by token. Either with a key/value cache, or by recomputing the whole
 * sequence for each token (slow; the tests compare the cache with it). */
#ifndef TT_GENERATE_H
#define TT_GENERATE_H

#include "core/plan/engine.h"
#include "model/model.h"

struct tt_generator {
    const struct tt_engine *weights;
    struct tt_model *model; /* the shape for one sequence of `planned` tokens */
    struct tt_engine engine;
    struct tt_plan *plan;
    int64_t length, planned, at; /* tokens: room for, planned for, and fed so far */
    int64_t prompt;              /* tokens of the prompt (rope_prompt of the model) */
    bool cached;
    int32_t *tokens; /* (length + 1) */
};

/* For a sequence of at most `length` tokens, the first `prompt` of which are its prompt. Weights are taken from
 * `weights`, an engine on the same backend that outlives the generator. */
tt_status tt_generator_open(struct tt_generator *g, const struct tt_config *c, const struct tt_engine *weights,
                            int64_t length, int64_t prompt, bool cached);
/* Feeds the next token of the sequence. `logits` (vocab_size) gets those of the token after it, or is NULL. An error
 * when the room is used up. */
tt_status tt_generator_feed(struct tt_generator *g, int32_t token, float *logits);
void tt_generator_close(struct tt_generator *g);

#endif
