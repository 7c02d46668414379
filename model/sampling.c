#include "model/sampling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/rng.h"
#include "model/generate.h"

/* Streams of random numbers, apart from those of weights and data. */
enum { STREAM_SAMPLE = 1 << 20 };

static tt_status loop(struct tt_generator *g, const struct tt_continuation *w, int64_t vocab, int32_t *tokens,
                      float *logits, struct tt_candidate *scratch)
{
    int64_t total = w->prompt_count + w->max_tokens;
    for (int64_t i = 0; i + 1 < total; i++) {
        TT_TRY(tt_generator_feed(g, tokens[i], logits));
        if (i + 1 < w->prompt_count) continue;
        for (int64_t v = 0; v < vocab; v++)
            if (!isfinite(logits[v]))
                return tt_fail(TT_FAILED,
                               "the logits are not finite: the weights hold NaN or Inf, or numbers overflow");
        double u = tt_uniform(w->seed, STREAM_SAMPLE, (uint64_t)i);
        tokens[i + 1] = tt_sample(logits, w->known > 0 && w->known < vocab ? w->known : vocab, &w->how, u, scratch);
        if (w->on_token && !w->on_token(tokens[i + 1], w->arg)) break;
    }
    return TT_OK;
}

tt_status tt_continue(const struct tt_session *s, const struct tt_continuation *w, int32_t *tokens)
{
    int64_t vocab = s->model->config.vocab_size;
    struct tt_generator g;
    float *logits = malloc((size_t)vocab * sizeof *logits);
    struct tt_candidate *scratch = malloc((size_t)vocab * sizeof *scratch);
    memcpy(tokens, w->prompt, (size_t)w->prompt_count * sizeof *tokens);
    tt_status st = tt_generator_open(&g, &s->model->config, &s->engine, w->prompt_count + w->max_tokens, w->cached);
    if (!st && (!logits || !scratch)) st = tt_no_memory("%lld logits", (long long)vocab);
    if (!st) st = loop(&g, w, vocab, tokens, logits, scratch);
    tt_generator_close(&g);
    free(logits);
    free(scratch);
    return st;
}

tt_status tt_sample_builtin(const struct tt_session *s, const struct tt_config *c, const struct tt_data *data,
                            struct tt_text *text, struct tt_grammar_check *check)
{
    enum { SAMPLE = 64 };
    int32_t start = 0, tokens[SAMPLE + 1]; /* a sequence starts where a sentence has just ended */
    struct tt_continuation what = {.prompt = &start, .prompt_count = 1, .max_tokens = c->seq_len < SAMPLE
                                   ? c->seq_len : SAMPLE,
                                   .how = {.temperature = 0.8, .top_p = 1}, .seed = (uint64_t)c->seed, .cached = true};
    if (tt_data_tokenizer(data)) what.known = tt_tokenizer_size(tt_data_tokenizer(data));
    TT_TRY(tt_continue(s, &what, tokens));
    *check = tt_builtin_check(tokens + 1, what.max_tokens);
    if (tt_data_tokenizer(data)) tt_tokenizer_decode(tt_data_tokenizer(data), tokens + 1, what.max_tokens, text);
    return tt_text_status(text);
}
