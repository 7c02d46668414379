#include "cli/sampling.h"

#include "model/continue.h"

enum { SAMPLE = 64 };

struct sample {
    int32_t tokens[SAMPLE];
    int64_t count;
};

static bool keep(int64_t row, int32_t token, void *arg)
{
    struct sample *s = arg;
    (void)row;
    s->tokens[s->count++] = token;
    return true;
}

tt_status tt_sample_builtin(const struct tt_session *s, const struct tt_config *c, const struct tt_data *data,
                            struct tt_text *text, struct tt_grammar_check *check)
{
    struct sample sample = {0};
    int32_t start = 0; /* a sequence starts where a sentence has just ended */
    struct tt_prompt prompt = {&start, 1, (uint64_t)c->seed};
    struct tt_continuation what = {.prompts = &prompt,
                                   .rows = 1,
                                   .max_tokens = c->seq_len < SAMPLE ? c->seq_len : SAMPLE,
                                   .how = {.temperature = 0.8, .top_p = 1},
                                   .on_token = keep,
                                   .arg = &sample};
    if (tt_data_tokenizer(data)) what.known = tt_tokenizer_size(tt_data_tokenizer(data));
    TT_TRY(tt_continue(&s->model->config, &s->engine, &what));
    *check = tt_builtin_check(sample.tokens, sample.count);
    if (tt_data_tokenizer(data)) tt_tokenizer_decode(tt_data_tokenizer(data), sample.tokens, sample.count, text);
    return tt_text_status(text);
}
