/* The device memory of a run: all that its plans need, allocated once before the first step. */
#ifndef TT_ENGINE_H
#define TT_ENGINE_H

#include "core/base/text.h"
#include "core/plan/plan.h"

/* TT_X_TOKENS is double-buffered: one batch is copied in while the step reads the other. */
enum { TT_TOKEN_SLOTS = 2 };

/* For a run whose steps leave their update to the next step: the update alone, which is run before anyone else sees the
 * weights. */
struct tt_late {
    struct tt_backend *backend;
    const struct tt_plan *update; /* bound */
    bool due;                     /* the last step has left its update undone */
};

struct tt_engine {
    struct tt_backend *backend;
    struct tt_late *late; /* of the run that uses this memory; NULL: its steps make their own updates */
    void *externals[TT_EXTERNAL_COUNT];
    size_t bytes[TT_EXTERNAL_COUNT];
    bool borrowed[TT_EXTERNAL_COUNT];
    void *arena;
    size_t arena_bytes;
    size_t wide_bytes; /* what a device that computes in fp32 needs to widen the 8-bit factors of a product */
    struct tt_backend *batch_memory; /* the backend whose pinned memory holds training batches; NULL: `backend` */
    bool no_prefetch;                /* load a training batch only when its step needs it */
    int32_t *val_tokens;             /* pinned host memory for a batch of TT_X_VAL_TOKENS */
};

/* Raises the sizes to what this plan needs. Several plans share the arena and the externals. */
void tt_engine_require(struct tt_engine *e, const struct tt_plan *p);

/* Use another engine's memory for one external instead of allocating it. */
void tt_engine_borrow(struct tt_engine *e, const struct tt_engine *from, enum tt_external x);

/* "weights 15.2 MiB, …, activations 80.0 MiB", for messages. */
void tt_engine_list(const struct tt_engine *e, struct tt_text *out);

size_t tt_engine_total(const struct tt_engine *e); /* bytes that a run takes, without borrowed memory */

/* Allocates everything and clears it to zero. If the device has too little memory, the error lists what was needed. */
tt_status tt_engine_alloc(struct tt_engine *e, struct tt_backend *backend);
/* Gives a finished plan its addresses in this memory. */
void tt_engine_bind(struct tt_engine *e, struct tt_plan *p);
void tt_engine_free(struct tt_engine *e);

/* Enqueues an update that is due. Call it before a plan reads the weights outside of the run's own steps. */
tt_status tt_engine_settle(const struct tt_engine *e);

/* Copy and wait until the copy is done. An update that is due comes first if it touches the copied memory. */
tt_status tt_engine_upload(struct tt_engine *e, enum tt_external x, size_t offset, const void *src, size_t bytes);
tt_status tt_engine_download(struct tt_engine *e, enum tt_external x, size_t offset, void *dst, size_t bytes);

#endif
