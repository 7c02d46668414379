#include "model/continue.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "model/decoder.h"
#include "model/generate.h"

static tt_status not_finite(void)
{
    return tt_fail(TT_FAILED, "the logits are not finite: the weights hold NaN or Inf, or numbers overflow");
}

static int64_t known_of(const struct tt_config *c, const struct tt_continuation *w)
{
    return w->known > 0 && w->known < c->vocab_size ? w->known : c->vocab_size;
}

/* ---- all rows at once, with a cache ---- */

static tt_status hand_out(struct tt_continuation *w, const int32_t *chosen, bool *ended, int64_t *left)
{
    for (int64_t r = 0; r < w->rows; r++) {
        if (ended[r]) continue;
        if (chosen[r] < 0) return not_finite();
        if (!w->on_token || w->on_token(r, chosen[r], w->arg)) continue;
        ended[r] = true;
        --*left;
    }
    return TT_OK;
}

/* A device that runs asynchronously gets the next step before the tokens of the last one are looked at. A step too many
 * is thrown away. */
static tt_status steps(struct tt_decoder *d, struct tt_continuation *w, bool *ended)
{
    int64_t left = w->rows, ahead = d->engine.backend->ops->graph_begin ? TT_DECODER_AHEAD : 1;
    double start = tt_seconds(), first = start;
    while (d->taken < w->max_tokens && left > 0) {
        const int32_t *chosen;
        while (d->begun < w->max_tokens && d->begun - d->taken < ahead) TT_TRY(tt_decoder_step(d));
        TT_TRY(tt_decoder_take(d, &chosen));
        TT_TRY(hand_out(w, chosen, ended, &left));
        if (d->taken == 1) first = tt_seconds();
    }
    w->prompt_seconds += first - start;
    w->seconds += tt_seconds() - first;
    w->steps += d->taken - 1;
    return TT_OK;
}

static tt_status start(struct tt_decoder *d, struct tt_continuation *w)
{
    double begin = tt_seconds();
    for (int64_t r = 0; r < w->rows; r++)
        TT_TRY(tt_decoder_start(d, r, w->prompts[r].tokens, w->prompts[r].count, w->prompts[r].seed));
    TT_TRY(d->engine.backend->ops->stream_sync(d->engine.backend->self, NULL));
    w->prompt_seconds += tt_seconds() - begin;
    return TT_OK;
}

static tt_status with_cache(const struct tt_config *c, const struct tt_engine *weights, struct tt_continuation *w)
{
    struct tt_decoder d;
    int64_t length = 1, prompt = 1;
    for (int64_t r = 0; r < w->rows; r++) {
        int64_t count = w->prompts[r].count, room = tt_decoder_room(count, w->max_tokens);
        length = room > length ? room : length;
        prompt = count > prompt ? count : prompt;
    }
    bool *ended = calloc((size_t)w->rows, sizeof *ended);
    tt_status st = ended ? tt_decoder_open(&d, c, weights, w->rows, length, prompt, &w->how, known_of(c, w))
                         : tt_no_memory("%lld rows", (long long)w->rows);
    if (ended) {
        if (!st) st = start(&d, w);
        if (!st) st = steps(&d, w, ended);
        tt_decoder_close(&d);
    }
    free(ended);
    return st;
}

/* ---- one row after the other, with a cache ---- */

struct lone_row {
    const struct tt_continuation *all;
    int64_t row;
};

static bool hand_on(int64_t row, int32_t token, void *arg)
{
    const struct lone_row *l = arg;
    return !l->all->on_token || l->all->on_token(l->row + row, token, l->all->arg);
}

static tt_status row_by_row(const struct tt_config *c, const struct tt_engine *weights, struct tt_continuation *w)
{
    for (int64_t r = 0; r < w->rows; r++) {
        struct lone_row l = {w, r};
        struct tt_continuation one = *w;
        one.prompts += r;
        one.rows = 1;
        one.on_token = hand_on;
        one.arg = &l;
        one.prompt_seconds = one.seconds = 0;
        one.steps = 0;
        TT_TRY(with_cache(c, weights, &one));
        w->prompt_seconds += one.prompt_seconds;
        w->seconds += one.seconds;
        w->steps += one.steps;
    }
    return TT_OK;
}

/* Whether rows need tables of angles of their own. All rows share one table, and with dynamic RoPE its angles depend on
 * the length of a prompt that is longer than the model is for. */
static bool angles_differ(const struct tt_config *c, const struct tt_continuation *w)
{
    struct tt_rope_scaling s;
    bool differ = false;
    tt_status_free(tt_rope_scaling_read(c->rope_scaling, &s)); /* the model was made with it */
    for (int64_t r = 1; r < w->rows; r++)
        differ |= fmax((double)w->prompts[r].count, s.longest) != fmax((double)w->prompts[0].count, s.longest);
    return differ && s.type == TT_ROPE_DYNAMIC;
}

/* ---- one row after the other, without a cache ---- */

struct host_choice {
    float *logits;
    struct tt_candidate *scratch;
    uint32_t *seen;
};

static tt_status choose(const struct tt_config *c, const struct tt_continuation *w, struct host_choice *h,
                        const struct tt_prompt *p, int64_t at, int32_t *token)
{
    for (int64_t v = 0; v < c->vocab_size; v++)
        if (!isfinite(h->logits[v])) return not_finite();
    if (w->how.penalty > 0 && w->how.penalty != 1) tt_penalise(h->logits, known_of(c, w), h->seen, w->how.penalty);
    double u = (double)tt_decoder_draw(p->seed, at) * 0x1p-32;
    *token = tt_sample(h->logits, known_of(c, w), &w->how, u, h->scratch);
    return TT_OK;
}

static tt_status one_row(const struct tt_config *c, struct tt_generator *g, struct tt_continuation *w,
                         struct host_choice *h, int64_t r)
{
    const struct tt_prompt *p = &w->prompts[r];
    int32_t token = p->tokens[0];
    for (int64_t i = 0; i + 1 < p->count + w->max_tokens; i++) {
        h->seen[token / 32] |= 1u << token % 32;
        TT_TRY(tt_generator_feed(g, token, i + 1 < p->count ? NULL : h->logits));
        if (i + 1 < p->count) {
            token = p->tokens[i + 1];
            continue;
        }
        TT_TRY(choose(c, w, h, p, i, &token));
        if (w->on_token && !w->on_token(r, token, w->arg)) return TT_OK;
    }
    return TT_OK;
}

static tt_status without_cache(const struct tt_config *c, const struct tt_engine *weights, struct tt_continuation *w)
{
    tt_status st = TT_OK;
    size_t vocab = (size_t)c->vocab_size;
    for (int64_t r = 0; r < w->rows && !st; r++) {
        struct tt_generator g = {0};
        struct host_choice h = {malloc(vocab * sizeof *h.logits), malloc(vocab * sizeof *h.scratch),
                                calloc(TT_SEEN_WORDS(vocab), sizeof *h.seen)};
        double begin = tt_seconds();
        if (!h.logits || !h.scratch || !h.seen) st = tt_no_memory("%lld logits", (long long)vocab);
        int64_t prompt = w->prompts[r].count;
        if (!st) st = tt_generator_open(&g, c, weights, prompt + w->max_tokens, prompt, false);
        if (!st) st = one_row(c, &g, w, &h, r);
        w->seconds += tt_seconds() - begin;
        w->steps += w->max_tokens;
        tt_generator_close(&g);
        free(h.logits);
        free(h.scratch);
        free(h.seen);
    }
    return st;
}

tt_status tt_continue(const struct tt_config *c, const struct tt_engine *weights, struct tt_continuation *w)
{
    w->prompt_seconds = w->seconds = 0;
    w->steps = 0;
    if (w->uncached) return without_cache(c, weights, w);
    return (angles_differ(c, w) ? row_by_row : with_cache)(c, weights, w);
}
