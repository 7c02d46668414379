/* The device memory of a run: what its plans need, allocated once before the first step. */
#ifndef TT_ENGINE_H
#define TT_ENGINE_H

#include "core/base/text.h"
#include "core/plan/plan.h"

/* Batches that TT_X_TOKENS has room for: steps read them in turn, so that one is copied while another is read. */
enum { TT_TOKEN_SLOTS = 2 };

struct tt_engine {
    struct tt_backend *backend;
    void *externals[TT_EXTERNAL_COUNT];
    size_t bytes[TT_EXTERNAL_COUNT];
    bool borrowed[TT_EXTERNAL_COUNT];
    void *arena;
    size_t arena_bytes;
    struct tt_backend *batch_memory; /* whose pinned memory batches for it are gathered in; NULL: that of `backend` */
    bool no_prefetch;                /* and only when a step asks for one */
    int32_t *val_tokens; /* pinned, on the host: where a batch for TT_X_VAL_TOKENS is gathered */
};

/* Room for what this plan needs; several plans share the arena and the externals. */
void tt_engine_require(struct tt_engine *e, const struct tt_plan *p);

/* Use another engine's memory for one external instead of allocating it. */
void tt_engine_borrow(struct tt_engine *e, const struct tt_engine *from, enum tt_external x);

/* "weights 15.2 MiB, …, activations 80.0 MiB": what it consists of, for messages. */
void tt_engine_list(const struct tt_engine *e, struct tt_text *out);

size_t tt_engine_total(const struct tt_engine *e); /* bytes it will allocate or has allocated */

/* Allocates all of it, cleared to zero. When the device has less, the error lists what was wanted. */
tt_status tt_engine_alloc(struct tt_engine *e, struct tt_backend *backend);
void tt_engine_bind(struct tt_engine *e, struct tt_plan *p);
void tt_engine_free(struct tt_engine *e);

/* Copies that wait until they are done. */
tt_status tt_engine_upload(struct tt_engine *e, enum tt_external x, size_t offset, const void *src, size_t bytes);
tt_status tt_engine_download(struct tt_engine *e, enum tt_external x, size_t offset, void *dst, size_t bytes);

#endif
