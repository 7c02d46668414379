/* The library: text from a model. */
#include <stdlib.h>
#include <string.h>

#include "core/train/open.h"
#include "lib/inside.h"
#include "model/continue.h"

/* ---- tokens ---- */

struct taken {
    const struct libtt_sampling *how;
    struct tt_text_ends ends;
    int32_t *out;
    int64_t made;
};

static bool take(int64_t row, int32_t token, void *arg)
{
    struct taken *t = arg;
    (void)row;
    t->out[t->made++] = token;
    bool goes_on = !t->how->on_token || t->how->on_token(token, t->how->arg);
    return goes_on && !tt_ends_text(&t->ends, token);
}

int32_t libtt_end_token(const libtt_model *m) { return (int32_t)tt_text_end(&m->o.c, tt_library_tokenizer(m)); }

static tt_status check_sampling(const struct libtt_sampling *s)
{
    if (s->max_tokens < 1 || s->max_tokens > 1 << 20)
        return tt_fail(TT_USAGE, "max_tokens %lld: use 1 to %d", (long long)s->max_tokens, 1 << 20);
    if (!(s->temperature >= 0 && s->temperature <= 100))
        return tt_fail(TT_USAGE, "temperature %g: use 0 to 100", s->temperature);
    if (s->top_k < 0) return tt_fail(TT_USAGE, "top_k %lld: use 0 or more", (long long)s->top_k);
    if (!(s->top_p > 0 && s->top_p <= 1)) return tt_fail(TT_USAGE, "top_p %g: use more than 0, at most 1", s->top_p);
    if (!(s->repetition_penalty >= 0 && s->repetition_penalty <= 100))
        return tt_fail(TT_USAGE, "repetition_penalty %g: use 0 to 100", s->repetition_penalty);
    return TT_OK;
}

static tt_status continue_prompt(libtt_model *m, const int32_t *prompt, int64_t count,
                                 const struct libtt_sampling *how, int32_t *out, int64_t *made)
{
    struct taken taken = {.how = how, .out = out};
    const struct tt_tokenizer *tokenizer = tt_library_tokenizer(m);
    if (!how->ignore_end) taken.ends = tt_text_ends(&m->o.c, tokenizer);
    struct tt_prompt one = {prompt, count, how->seed};
    struct tt_continuation what = {.prompts = &one, .rows = 1, .max_tokens = how->max_tokens,
                                   .how = {how->temperature, how->top_k, how->top_p, how->repetition_penalty},
                                   .known = tokenizer ? tt_tokenizer_size(tokenizer) : 0,
                                   .on_token = take, .arg = &taken};
    TT_TRY(tt_library_check(m, prompt, 1, count));
    TT_TRY(tt_continue(&m->o.c, &m->session.engine, &what));
    *made = taken.made;
    return TT_OK;
}

static tt_status generate(libtt_model *m, const int32_t *prompt, int64_t count, const struct libtt_sampling *how,
                          int32_t *out, int64_t *made)
{
    int32_t *start = NULL;
    *made = 0;
    TT_TRY(check_sampling(how));
    if (count < 0 || count > 1 << 20)
        return tt_fail(TT_USAGE, "a prompt of %lld tokens: use 0 to %d", (long long)count, 1 << 20);
    if (!count)
        TT_TRY(tt_text_start(tt_library_tokenizer(m), m->o.c.vocab_size, m->run.progress.data_end, &start, &count));
    tt_status st = continue_prompt(m, start ? start : prompt, count, how, out, made);
    free(start);
    return st;
}

bool libtt_generate(libtt_model *m, const int32_t *prompt, int64_t count, const struct libtt_sampling *how,
                    int32_t *out, int64_t *made, struct libtt_error *error)
{
    locale_t before = tt_library_begin();
    return tt_library_end(before, generate(m, prompt, count, how, out, made), error);
}

/* ---- text ---- */

static tt_status need_tokenizer(const libtt_model *m)
{
    return tt_library_tokenizer(m) ? TT_OK : tt_fail(TT_USAGE, "the model has no tokenizer; use tokens, not text");
}

static tt_status encode(const libtt_model *m, const char *text, int64_t bytes, int32_t *tokens, int64_t room,
                        int64_t *count)
{
    int32_t *all = NULL;
    if (bytes < 0)
        return tt_fail(TT_USAGE, "a text of %lld bytes: give its length, which is not looked for", (long long)bytes);
    TT_TRY(need_tokenizer(m));
    TT_TRY(tt_tokenizer_encode(tt_library_tokenizer(m), text, bytes, &all, count));
    int32_t begin = tt_tokenizer_begin(tt_library_tokenizer(m));
    int64_t put = begin >= 0 && (!*count || all[0] != begin);
    if (put && room > 0) tokens[0] = begin;
    for (int64_t i = 0; i < *count && i + put < room; i++) tokens[i + put] = all[i];
    *count += put;
    free(all);
    return TT_OK;
}

int64_t libtt_encode(const libtt_model *m, const char *text, int64_t bytes, int32_t *tokens, int64_t room,
                     struct libtt_error *error)
{
    int64_t count = 0;
    locale_t before = tt_library_begin();
    return tt_library_end(before, encode(m, text, bytes, tokens, room, &count), error) ? count : -1;
}

static tt_status decode(const libtt_model *m, const int32_t *tokens, int64_t count, char *text, int64_t room,
                        int64_t *bytes)
{
    struct tt_text all = {0};
    if (count < 0) return tt_fail(TT_USAGE, "%lld tokens: give how many there are", (long long)count);
    TT_TRY(need_tokenizer(m));
    TT_TRY(tt_library_check(m, tokens, 1, count));
    tt_tokenizer_decode(tt_library_tokenizer(m), tokens, count, &all);
    tt_status st = tt_text_status(&all);
    *bytes = (int64_t)all.n;
    if (!st && room > 0 && all.n) memcpy(text, all.s, all.n < (size_t)room ? all.n : (size_t)room);
    tt_text_free(&all);
    return st;
}

int64_t libtt_decode(const libtt_model *m, const int32_t *tokens, int64_t count, char *text, int64_t room,
                     struct libtt_error *error)
{
    int64_t bytes = 0;
    locale_t before = tt_library_begin();
    return tt_library_end(before, decode(m, tokens, count, text, room, &bytes), error) ? bytes : -1;
}
