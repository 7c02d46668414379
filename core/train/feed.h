/* Batches on their way to the device: a background thread gathers them into pinned buffers, two ahead, and a separate
 * copy stream copies each into one of the slots that the steps read in turn. */
#ifndef TT_FEED_H
#define TT_FEED_H

#include "core/data/data.h"
#include "core/plan/engine.h"

enum { TT_FEED_BUFFERS = 3 };

struct tt_feed {
    struct tt_engine *engine;
    struct tt_loader *loader;
    int32_t *buffers[TT_FEED_BUFFERS];
    size_t bytes; /* of a step's tokens */
    tt_stream copy_stream;
    tt_event copied[TT_TOKEN_SLOTS], consumed[TT_TOKEN_SLOTS];
    int64_t begun; /* steps fed so far */
    int64_t first; /* number of the first of them, counting from 0 over the whole run: decides its slot */
};

/* Which samples of the training data are fed. */
struct tt_feed_rows {
    int64_t rows, stride; /* samples in a step; from the first sample of a step to that of the next */
    int64_t seq_len;
    uint64_t position; /* of the first sample */
};

/* Opens the feed of a run that has done `first` steps. */
tt_status tt_feed_open(struct tt_feed *f, struct tt_engine *e, struct tt_data *data, const struct tt_feed_rows *r,
                       int64_t first);
/* Enqueues the copy of the next step's tokens, and makes the step wait for it. */
tt_status tt_feed_begin(struct tt_feed *f);
tt_status tt_feed_end(struct tt_feed *f); /* the step is enqueued: its slot is free when it is done */
double tt_feed_waited(const struct tt_feed *f); /* seconds that the host waited for the loader */
void tt_feed_close(struct tt_feed *f);

#endif
