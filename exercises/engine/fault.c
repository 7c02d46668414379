#include "exercises/engine/fault.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/relay.h"
#include "core/base/rng.h"
#include "core/base/text.h"
#include "core/train/evaluate.h"
#include "exercises/engine/course.h"

#define X(id, name, text) name,
const char *const tt_fault_names[TT_FAULT_COUNT] = {TT_FAULTS(X)};
#undef X
#define X(id, name, text) text,
const char *const tt_fault_texts[TT_FAULT_COUNT] = {TT_FAULTS(X)};
#undef X

/* ---- which fault ---- */

static enum tt_fault drawn(uint64_t seed)
{
    enum { STREAM = 12 };
    bool gpu = strcmp(tt_backend_name(), "cpu") != 0;
    for (uint64_t i = 0;; i++) {
        enum tt_fault f = (enum tt_fault)(1 + tt_random(seed, STREAM, i) % (TT_FAULT_OF_RANKS - 1));
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
                        : tt_fail(TT_USAGE, "there is no fault \"%s\"; there are %sand random:SEED", text,
                                  all.s ? all.s : "");
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
    if (tt_course_of(c)->fault[0]) tt_status_free(tt_fault_find(tt_course_of(c)->fault, &fault));
    return fault;
}

const char *tt_fault_shown(const struct tt_config *c)
{
    return strchr(tt_course_of(c)->fault, ':') ? "hidden" : tt_course_of(c)->fault;
}

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

struct work {
    enum tt_fault fault;
    struct tt_visit visit;
    struct tt_engine engine; /* a copy of the visit's, with the visit's backend */
    float *host;
    void *device;
    struct tt_relay relay; /* unpinned-copies */
    struct tt_backend pageable;
};

static tt_status rebuild_mask(struct work *w, struct tt_backend *b)
{
    int64_t S = w->visit.config->seq_len;
    for (int64_t row = 0; row < S; row++)
        for (int64_t column = 0; column < S; column++) w->host[row * S + column] = column > row ? -INFINITY : 0;
    TT_TRY(b->ops->copy(b->self, w->device, w->host, (size_t)(S * S) * sizeof *w->host, TT_TO_DEVICE, NULL));
    return b->ops->stream_sync(b->self, NULL);
}

static tt_status norm_on_host(struct work *w, struct tt_backend *b)
{
    const struct tt_params *params = w->visit.params;
    const char *gradients = w->engine.externals[TT_X_GRADS];
    volatile double norm; /* volatile, so that the compiler computes it though nobody reads it */
    double squares = 0;
    for (int i = 0; i < params->n; i++) {
        const struct tt_param *p = &params->items[i];
        TT_TRY(b->ops->copy(b->self, w->host, gradients + (size_t)p->offset * sizeof(float),
                            (size_t)p->count * sizeof(float), TT_TO_HOST, NULL));
        TT_TRY(b->ops->stream_sync(b->self, NULL));
        for (int64_t k = 0; k < p->count; k++) squares += (double)w->host[k] * (double)w->host[k];
    }
    norm = sqrt(squares);
    (void)norm;
    return TT_OK;
}

enum { NORM_PARTS = 256 }; /* partial sums of squares that the device makes of a tensor */

static int largest_first(const void *x, const void *y)
{
    float a = *(const float *)x, b = *(const float *)y;
    return a < b ? 1 : a > b ? -1 : 0;
}

/* The obvious way to update only the tensors with the largest gradients: read one norm after the other, then sort. In a
 * profile, its kernels do not count as part of the step; they show as waits. */
static tt_status sort_on_host(struct work *w, struct tt_backend *b)
{
    const struct tt_params *params = w->visit.params;
    const float *gradients = w->engine.externals[TT_X_GRADS];
    float *norms = w->host + NORM_PARTS;
    for (int i = 0; i < params->n; i++) {
        const struct tt_param *p = &params->items[i];
        struct tt_sum_squares_args a = {.x = gradients + p->offset, .partial = w->device, .n = p->count,
                                        .parts = NORM_PARTS};
        double squares = 0;
        TT_TRY(b->ops->launch(b->self, TT_K_sum_squares, &a, NULL));
        TT_TRY(b->ops->copy(b->self, w->host, w->device, NORM_PARTS * sizeof *w->host, TT_TO_HOST, NULL));
        TT_TRY(b->ops->stream_sync(b->self, NULL));
        for (int k = 0; k < NORM_PARTS; k++) squares += (double)w->host[k];
        norms[i] = (float)sqrt(squares);
    }
    qsort(norms, (size_t)params->n, sizeof *norms, largest_first);
    return TT_OK;
}

/* For a profile. tt train validates by itself, and eval_plan is NULL there. */
static tt_status validate(struct work *w)
{
    const struct tt_visit *v = &w->visit;
    struct tt_evaluation on;
    return v->eval_plan ? tt_evaluate(&w->engine, v->eval_plan, v->config, v->data, NULL, &on) : TT_OK;
}

tt_status tt_fault_step(void *work, struct tt_backend *b)
{
    struct work *w = work;
    switch (w->fault) {
    case TT_FAULT_HOST_WAIT:
        return b->ops->stream_sync(b->self, NULL);
    case TT_FAULT_MASK_REBUILD:
        return rebuild_mask(w, b);
    case TT_FAULT_HOST_NORM:
        return norm_on_host(w, b);
    case TT_FAULT_HOST_SORT:
        return sort_on_host(w, b);
    case TT_FAULT_EVAL_EVERY_STEP:
        return validate(w);
    default:
        return TT_OK;
    }
}

/* ---- before the first and after the last ---- */

static tt_status pageable_alloc(void *self, size_t bytes, void **out)
{
    (void)self;
    *out = malloc(bytes);
    return *out ? TT_OK : tt_no_memory("a batch");
}

static void pageable_free(void *self, void *p)
{
    (void)self;
    free(p);
}

static void unpin(struct work *w)
{
    w->pageable = tt_relay_open(&w->relay, w->engine.backend);
    w->relay.ops.host_alloc = pageable_alloc;
    w->relay.ops.host_free = pageable_free;
    w->visit.engine->batch_memory = &w->pageable;
}

static tt_status make_room(struct work *w, size_t floats, bool on_device)
{
    struct tt_backend *b = w->engine.backend;
    w->host = malloc(floats * sizeof *w->host);
    if (!w->host) return tt_no_memory("--fault");
    return on_device ? b->ops->alloc(b->self, floats * sizeof *w->host, &w->device) : TT_OK;
}

static size_t largest_tensor(const struct tt_params *params)
{
    size_t largest = 0;
    for (int i = 0; i < params->n; i++)
        if ((size_t)params->items[i].count > largest) largest = (size_t)params->items[i].count;
    return largest;
}

static tt_status prepare(struct work *w)
{
    int64_t S = w->visit.config->seq_len;
    switch (w->fault) {
    case TT_FAULT_MASK_REBUILD:
        return make_room(w, (size_t)(S * S), true);
    case TT_FAULT_HOST_NORM:
        return make_room(w, largest_tensor(w->visit.params), false);
    case TT_FAULT_HOST_SORT:
        return make_room(w, NORM_PARTS + (size_t)w->visit.params->n, true);
    case TT_FAULT_UNPINNED_COPIES:
        unpin(w);
        return TT_OK;
    default:
        return TT_OK;
    }
}

tt_status tt_fault_open(const struct tt_visit *v, void **work)
{
    enum tt_fault fault = tt_fault_of(v->config);
    *work = NULL;
    if (fault == TT_FAULT_NONE) return TT_OK;
    struct work *w = calloc(1, sizeof *w);
    if (!w) return tt_no_memory("--fault");
    *w = (struct work){.fault = fault, .visit = *v, .engine = *v->engine};
    w->engine.backend = v->backend;
    *work = w;
    return prepare(w);
}

void tt_fault_close(void *work)
{
    struct work *w = work;
    struct tt_backend *b = w->engine.backend;
    if (w->device) b->ops->free(b->self, w->device);
    if (w->pageable.ops) w->visit.engine->batch_memory = NULL;
    free(w->host);
    free(w);
}
