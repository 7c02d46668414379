#include "model/decoder.h"

#include <stdlib.h>

#include "core/base/rng.h"

/* Streams of random numbers, other than those of weights and data. */
enum { STREAM_SAMPLE = 1 << 20, LEAST_FILL = 16 };

uint32_t tt_decoder_draw(uint64_t seed, int64_t at)
{
    return (uint32_t)(tt_random(seed, STREAM_SAMPLE, (uint64_t)at) >> 32);
}

/* All but the last token of a prompt are read at once, in a plan for a power of two tokens. So few plans serve all
 * prompts, and the result of a prompt does not depend on those beside it. */
static int64_t fill_size(int64_t prompt_count)
{
    int64_t n = LEAST_FILL;
    while (n < prompt_count - 1) n *= 2;
    return n;
}

int64_t tt_decoder_room(int64_t prompt_count, int64_t max_tokens)
{
    int64_t most = prompt_count + max_tokens, fill = prompt_count > 1 ? fill_size(prompt_count) : 1;
    return most > fill ? most : fill;
}

static tt_status make_model(struct tt_decoder *d, const struct tt_config *c, const struct tt_engine *weights)
{
    struct tt_config *one;
    struct tt_device_info device;
    TT_TRY(tt_config_copy(c, &one));
    one->batch_size = 1;
    one->seq_len = d->length;
    one->grad_accum = 1;
    tt_status st = tt_model_create(one, &d->model);
    free(one);
    TT_TRY(st);
    TT_TRY(weights->backend->ops->info(weights->backend->self, &device));
    tt_model_fit(d->model, &device);
    /* The cache is filled from packed rows, so their keys must be rotated in place. */
    if (!d->model->fuse[TT_FUSE_ATTENTION]) d->model->fuse[TT_FUSE_ROPE] = false;
    return TT_OK;
}

static tt_status host_side(struct tt_decoder *d)
{
    struct tt_backend *b = d->engine.backend;
    for (int i = 0; i < TT_DECODER_AHEAD; i++) TT_TRY(b->ops->event_create(b->self, &d->done[i]));
    return b->ops->host_alloc(b->self, (size_t)(TT_DECODER_AHEAD * d->rows) * sizeof *d->chosen, (void **)&d->chosen);
}

tt_status tt_decoder_open(struct tt_decoder *d, const struct tt_config *c, const struct tt_engine *weights,
                          int64_t rows, int64_t length, int64_t prompt, const struct tt_sampling *how, int64_t known)
{
    *d = (struct tt_decoder){.rows = rows, .length = length};
    TT_TRY(tt_engine_settle(weights));
    TT_TRY(make_model(d, c, weights));
    d->model->rope_prompt = prompt;
    TT_TRY(tt_model_plan_decode(d->model, rows, length, how, known, &d->plan));
    tt_engine_borrow(&d->engine, weights, TT_X_WEIGHTS);
    tt_engine_require(&d->engine, d->plan);
    TT_TRY(tt_engine_alloc(&d->engine, weights->backend));
    tt_engine_bind(&d->engine, d->plan);
    TT_TRY(tt_model_upload_rope(d->model, &d->engine, length));
    d->stepper = (struct tt_stepper){.backend = weights->backend, .plan = d->plan, .graph_wanted = true};
    return host_side(d);
}

/* ---- prompts ---- */

static void drop_fill(struct tt_decoder *d)
{
    tt_engine_free(&d->fill_engine);
    tt_plan_free(d->fill);
    d->fill = NULL;
}

static tt_status plan_fill(struct tt_decoder *d, int64_t tokens)
{
    static const enum tt_external shared[] = {TT_X_WEIGHTS, TT_X_CACHE, TT_X_ROPE};
    if (d->fill && d->fill_tokens == tokens) return TT_OK;
    drop_fill(d);
    d->fill_tokens = tokens;
    TT_TRY(tt_model_plan_fill(d->model, tokens, d->rows, d->length, &d->fill));
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        tt_engine_borrow(&d->fill_engine, &d->engine, shared[i]);
    tt_engine_require(&d->fill_engine, d->fill);
    TT_TRY(tt_engine_alloc(&d->fill_engine, d->engine.backend));
    tt_engine_bind(&d->fill_engine, d->fill);
    return TT_OK;
}

/* The tokens behind the prompt are 0. Nothing attends to their keys before they are overwritten. */
static tt_status fill(struct tt_decoder *d, int64_t row, const int32_t *prompt, int64_t count)
{
    int32_t sequence = (int32_t)row;
    int64_t tokens = fill_size(count);
    TT_TRY(plan_fill(d, tokens));
    int32_t *padded = calloc((size_t)tokens + 1, sizeof *padded);
    if (!padded) return tt_no_memory("a prompt of %lld tokens", (long long)count);
    for (int64_t i = 0; i + 1 < count; i++) padded[i] = prompt[i];
    tt_status st = tt_engine_upload(&d->fill_engine, TT_X_VAL_TOKENS, 0, padded, ((size_t)tokens + 1) * sizeof *padded);
    if (!st) st = tt_engine_upload(&d->fill_engine, TT_X_SEQUENCE, 0, &sequence, sizeof sequence);
    if (!st) st = tt_plan_run(d->fill, d->engine.backend, NULL);
    free(padded);
    return st;
}

static tt_status upload_draws(struct tt_decoder *d, int64_t row, int64_t from, uint64_t seed)
{
    uint32_t *draws = calloc((size_t)d->length, sizeof *draws);
    if (!draws) return tt_no_memory("%lld random draws", (long long)d->length);
    for (int64_t i = from; i < d->length; i++) draws[i] = tt_decoder_draw(seed, i);
    size_t bytes = (size_t)d->length * sizeof *draws;
    tt_status st = tt_engine_upload(&d->engine, TT_X_DRAWS, (size_t)row * bytes, draws, bytes);
    free(draws);
    return st;
}

static tt_status upload_seen(struct tt_decoder *d, int64_t row, const int32_t *prompt, int64_t count)
{
    size_t words = TT_SEEN_WORDS((size_t)d->model->config.vocab_size), bytes = words * sizeof(uint32_t);
    uint32_t *seen = calloc(words, sizeof *seen);
    if (!seen) return tt_no_memory("the tokens of a prompt");
    for (int64_t i = 0; i < count; i++) seen[prompt[i] / 32] |= 1u << prompt[i] % 32;
    tt_status st = tt_engine_upload(&d->engine, TT_X_SEEN, (size_t)row * bytes, seen, bytes);
    free(seen);
    return st;
}

tt_status tt_decoder_start(struct tt_decoder *d, int64_t row, const int32_t *prompt, int64_t count, uint64_t seed)
{
    int32_t input[2] = {prompt[count - 1], 0}, position = (int32_t)(count - 1);
    if (tt_decoder_room(count, 0) > d->length)
        return tt_fail(TT_FAILED, "the sequence is full: it has room for %lld tokens", (long long)d->length);
    if (count > 1) TT_TRY(fill(d, row, prompt, count));
    TT_TRY(tt_engine_upload(&d->engine, TT_X_VAL_TOKENS, (size_t)row * sizeof input, input, sizeof input));
    TT_TRY(tt_engine_upload(&d->engine, TT_X_POSITION, (size_t)row * sizeof position, &position, sizeof position));
    TT_TRY(upload_draws(d, row, position, seed));
    return upload_seen(d, row, prompt, count);
}

/* ---- steps ---- */

tt_status tt_decoder_step(struct tt_decoder *d)
{
    struct tt_backend *b = d->engine.backend;
    int slot = (int)(d->begun % TT_DECODER_AHEAD);
    TT_TRY(tt_step(&d->stepper));
    TT_TRY(b->ops->copy(b->self, d->chosen + slot * d->rows, d->engine.externals[TT_X_CHOSEN],
                        (size_t)d->rows * sizeof *d->chosen, TT_TO_HOST, NULL));
    d->begun++;
    return b->ops->event_record(b->self, d->done[slot], NULL);
}

tt_status tt_decoder_take(struct tt_decoder *d, const int32_t **chosen)
{
    struct tt_backend *b = d->engine.backend;
    int slot = (int)(d->taken++ % TT_DECODER_AHEAD);
    *chosen = d->chosen + slot * d->rows;
    return b->ops->event_sync(b->self, d->done[slot]);
}

void tt_decoder_close(struct tt_decoder *d)
{
    struct tt_backend *b = d->engine.backend;
    if (b) {
        tt_status_free(b->ops->stream_sync(b->self, NULL)); /* a step may be running that was not taken */
        tt_stepper_close(&d->stepper);
        for (int i = 0; i < TT_DECODER_AHEAD; i++)
            if (d->done[i]) b->ops->event_destroy(b->self, d->done[i]);
        if (d->chosen) b->ops->host_free(b->self, d->chosen);
    }
    drop_fill(d);
    tt_engine_free(&d->engine);
    tt_plan_free(d->plan);
    tt_model_free(d->model);
    *d = (struct tt_decoder){0};
}
