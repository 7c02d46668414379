#include "core/fault.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/rng.h"
#include "core/base/text.h"
#include "core/train/loop.h"

#define X(id, name, text) name,
const char *const tt_fault_names[TT_FAULT_COUNT] = {TT_FAULTS(X)};
#undef X
#define X(id, name, text) text,
const char *const tt_fault_texts[TT_FAULT_COUNT] = {TT_FAULTS(X)};
#undef X

/* ---- which ---- */

static enum tt_fault drawn(uint64_t seed)
{
    enum { STREAM = 12 };
    bool gpu = strcmp(tt_backend_name(), "cpu") != 0;
    for (uint64_t i = 0;; i++) {
        enum tt_fault f = (enum tt_fault)(1 + tt_random(seed, STREAM, i) % (TT_FAULT_COUNT - 1));
        if (gpu || f != TT_FAULT_UNPINNED_COPIES) return f;
    }
}

tt_status tt_fault_find(const char *text, enum tt_fault *out)
{
    static const char random[] = "random:";
    *out = TT_FAULT_NONE;
    if (!strncmp(text, random, sizeof random - 1)) {
        const char *digits = text + sizeof random - 1;
        if (!digits[0] || strspn(digits, "0123456789") != strlen(digits) || strlen(digits) > 18)
            return tt_fail(TT_USAGE, "\"%s\": after random: comes a number of at most 18 digits", text);
        *out = drawn(strtoull(digits, NULL, 10));
        return TT_OK;
    }
    for (int i = 0; i < TT_FAULT_COUNT; i++)
        if (!strcmp(text, tt_fault_names[i])) {
            *out = (enum tt_fault)i;
            return TT_OK;
        }
    const char *near = tt_nearest(text, tt_fault_names + 1, TT_FAULT_COUNT - 1);
    struct tt_text all = {0};
    for (int i = 1; i < TT_FAULT_COUNT; i++) tt_text_printf(&all, "%s, ", tt_fault_names[i]);
    tt_status st = near ? tt_fail(TT_USAGE, "there is no fault \"%s\"; did you mean %s?", text, near)
                        : tt_fail(TT_USAGE, "there is no fault \"%s\"; there are %sand random:SEED", text, all.s ? all.s : "");
    tt_text_free(&all);
    return st;
}

tt_status tt_fault_check(const char *text)
{
    enum tt_fault fault;
    return tt_fault_find(text, &fault);
}

enum tt_fault tt_fault_of(const struct tt_config *c)
{
    enum tt_fault fault = TT_FAULT_NONE;
    if (c->fault[0]) tt_status_free(tt_fault_find(c->fault, &fault));
    return fault;
}

const char *tt_fault_shown(const struct tt_config *c) { return strchr(c->fault, ':') ? "hidden" : c->fault; }

/* ---- the configuration ---- */

void tt_fault_configure(struct tt_config *c)
{
    switch (tt_fault_of(c)) {
    case TT_FAULT_NO_INIT:
        c->init_std = 1;
        break;
    case TT_FAULT_NO_CLIP:
        c->clip_norm = 0;
        c->learning_rate = 1;
        c->warmup_steps = 0;
        break;
    case TT_FAULT_TINY_BATCH:
        c->grad_accum *= c->batch_size;
        c->batch_size = 1;
        break;
    case TT_FAULT_EVAL_EVERY_STEP:
        c->val_interval = 1;
        if (c->val_batches < 1) c->val_batches = 8;
        break;
    default:
        break;
    }
}

/* ---- after a step ---- */

static tt_status rebuild_mask(struct tt_fault_work *w, struct tt_backend *b)
{
    int64_t S = w->config->seq_len;
    for (int64_t row = 0; row < S; row++)
        for (int64_t column = 0; column < S; column++) w->host[row * S + column] = column > row ? -INFINITY : 0;
    TT_TRY(b->ops->copy(b->self, w->device, w->host, (size_t)(S * S) * sizeof *w->host, TT_TO_DEVICE, NULL));
    return b->ops->stream_sync(b->self, NULL);
}

static tt_status norm_on_host(struct tt_fault_work *w, struct tt_backend *b)
{
    const char *gradients = w->engine.externals[TT_X_GRADS];
    volatile double norm; /* nobody reads it, which is no reason for a compiler not to compute it */
    double squares = 0;
    for (int i = 0; i < w->params->n; i++) {
        const struct tt_param *p = &w->params->items[i];
        TT_TRY(b->ops->copy(b->self, w->host, gradients + (size_t)p->offset * sizeof(float), (size_t)p->count * sizeof(float),
                            TT_TO_HOST, NULL));
        TT_TRY(b->ops->stream_sync(b->self, NULL));
        for (int64_t k = 0; k < p->count; k++) squares += (double)w->host[k] * (double)w->host[k];
    }
    norm = sqrt(squares);
    (void)norm;
    return TT_OK;
}

static tt_status validate(struct tt_fault_work *w)
{
    double loss;
    int64_t batches;
    return w->eval_plan ? tt_evaluate(&w->engine, w->eval_plan, w->config, w->data, &loss, &batches) : TT_OK;
}

tt_status tt_fault_step(struct tt_fault_work *w, struct tt_backend *b)
{
    switch (w->fault) {
    case TT_FAULT_HOST_WAIT:
        return b->ops->stream_sync(b->self, NULL);
    case TT_FAULT_MASK_REBUILD:
        return rebuild_mask(w, b);
    case TT_FAULT_HOST_NORM:
        return norm_on_host(w, b);
    case TT_FAULT_EVAL_EVERY_STEP:
        return validate(w);
    default:
        return TT_OK;
    }
}

tt_status tt_fault_open(struct tt_fault_work *w)
{
    size_t largest = 0, mask = (size_t)(w->config->seq_len * w->config->seq_len) * sizeof *w->host;
    struct tt_backend *b = w->engine.backend;
    for (int i = 0; i < w->params->n; i++)
        if ((size_t)w->params->items[i].count > largest) largest = (size_t)w->params->items[i].count;
    size_t bytes = w->fault == TT_FAULT_MASK_REBUILD ? mask : w->fault == TT_FAULT_HOST_NORM ? largest * sizeof *w->host : 0;
    if (!bytes) return TT_OK;
    w->host = malloc(bytes);
    if (!w->host) return tt_fail(TT_FAILED, "out of memory for --fault");
    return w->fault == TT_FAULT_MASK_REBUILD ? b->ops->alloc(b->self, bytes, &w->device) : TT_OK;
}

void tt_fault_close(struct tt_fault_work *w)
{
    struct tt_backend *b = w->engine.backend;
    if (w->device) b->ops->free(b->self, w->device);
    free(w->host);
    *w = (struct tt_fault_work){0};
}
