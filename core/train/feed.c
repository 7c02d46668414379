#include "core/train/feed.h"

static struct tt_backend *memory_of(const struct tt_feed *f)
{
    return f->engine->batch_memory ? f->engine->batch_memory : f->engine->backend;
}

tt_status tt_feed_open(struct tt_feed *f, struct tt_engine *e, struct tt_data *data, const struct tt_feed_rows *r,
                       int64_t first)
{
    *f = (struct tt_feed){.engine = e, .bytes = (size_t)(r->rows * (r->seq_len + 1)) * sizeof(int32_t),
                          .first = first};
    struct tt_backend *b = e->backend, *memory = memory_of(f);
    for (int i = 0; i < TT_FEED_BUFFERS; i++)
        TT_TRY(memory->ops->host_alloc(memory->self, f->bytes, (void **)&f->buffers[i]));
    TT_TRY(b->ops->stream_create(b->self, &f->copy_stream));
    for (int i = 0; i < TT_TOKEN_SLOTS; i++) {
        TT_TRY(b->ops->event_create(b->self, &f->copied[i]));
        TT_TRY(b->ops->event_create(b->self, &f->consumed[i]));
    }
    struct tt_loader_options options = {.data = data, .split = TT_TRAIN, .rows = r->rows,
                                        .stride = r->stride, .seq_len = r->seq_len, .position = r->position,
                                        .buffers = f->buffers, .count = TT_FEED_BUFFERS,
                                        .on_demand = e->no_prefetch};
    return tt_loader_open(&options, &f->loader);
}

/* The buffer of the step before was copied long ago, unless the host is ahead of the device: then this waits for the
 * copy. */
static tt_status give_back_previous(struct tt_feed *f, int64_t step)
{
    if (f->begun == 0) return TT_OK;
    struct tt_backend *b = f->engine->backend;
    TT_TRY(b->ops->event_sync(b->self, f->copied[(step - 1) % TT_TOKEN_SLOTS]));
    tt_loader_release(f->loader);
    return TT_OK;
}

tt_status tt_feed_begin(struct tt_feed *f)
{
    struct tt_backend *b = f->engine->backend;
    int64_t step = f->first + f->begun, slot = step % TT_TOKEN_SLOTS;
    int32_t *buffer;
    TT_TRY(give_back_previous(f, step));
    if (b->ops->range_push) b->ops->range_push(b->self, "data_loading");
    tt_status st = tt_loader_next(f->loader, &buffer);
    if (b->ops->range_push) b->ops->range_pop(b->self);
    if (st) return st;
    char *tokens = (char *)f->engine->externals[TT_X_TOKENS] + (size_t)slot * f->bytes;
    if (f->begun >= TT_TOKEN_SLOTS) TT_TRY(b->ops->stream_wait(b->self, f->copy_stream, f->consumed[slot]));
    TT_TRY(b->ops->copy(b->self, tokens, buffer, f->bytes, TT_TO_DEVICE, f->copy_stream));
    TT_TRY(b->ops->event_record(b->self, f->copied[slot], f->copy_stream));
    return b->ops->stream_wait(b->self, NULL, f->copied[slot]);
}

tt_status tt_feed_end(struct tt_feed *f)
{
    struct tt_backend *b = f->engine->backend;
    int64_t slot = (f->first + f->begun++) % TT_TOKEN_SLOTS;
    return b->ops->event_record(b->self, f->consumed[slot], NULL);
}

double tt_feed_waited(const struct tt_feed *f) { return f->loader ? tt_loader_waited(f->loader) : 0; }

void tt_feed_close(struct tt_feed *f)
{
    if (!f->engine) return;
    struct tt_backend *b = f->engine->backend, *memory = memory_of(f);
    if (f->copy_stream) tt_status_free(b->ops->stream_sync(b->self, f->copy_stream));
    if (f->loader) tt_loader_close(f->loader);
    for (int i = 0; i < TT_TOKEN_SLOTS; i++) {
        if (f->copied[i]) b->ops->event_destroy(b->self, f->copied[i]);
        if (f->consumed[i]) b->ops->event_destroy(b->self, f->consumed[i]);
    }
    if (f->copy_stream) b->ops->stream_destroy(b->self, f->copy_stream);
    for (int i = 0; i < TT_FEED_BUFFERS; i++)
        if (f->buffers[i]) memory->ops->host_free(memory->self, f->buffers[i]);
    *f = (struct tt_feed){0};
}
