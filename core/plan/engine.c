#include "core/plan/engine.h"

#include "core/base/fp8.h"

/* Only a CPU computes in fp32 with 8-bit factors. It keeps room to widen both factors of the largest product. */
static size_t wide_bytes(const struct tt_plan *p)
{
    size_t most = 0;
    for (int i = 0; p->dtype == TT_F32 && i < p->count; i++) {
        const struct tt_gemm *g = &p->ops[i].args.gemm;
        if (p->ops[i].kind != TT_OP_GEMM || !tt_is_fp8(g->type_a)) continue;
        size_t floats = (size_t)((g->m + g->n) * g->k);
        if (floats > most) most = floats;
    }
    return most * sizeof(float);
}

void tt_engine_require(struct tt_engine *e, const struct tt_plan *p)
{
    for (int x = 0; x < TT_EXTERNAL_COUNT; x++)
        if (p->external_bytes[x] > e->bytes[x]) e->bytes[x] = p->external_bytes[x];
    if (p->arena_bytes > e->arena_bytes) e->arena_bytes = p->arena_bytes;
    if (wide_bytes(p) > e->wide_bytes) e->wide_bytes = wide_bytes(p);
}

void tt_engine_borrow(struct tt_engine *e, const struct tt_engine *from, enum tt_external x)
{
    e->externals[x] = from->externals[x];
    e->bytes[x] = from->bytes[x];
    e->borrowed[x] = true;
}

size_t tt_engine_total(const struct tt_engine *e)
{
    size_t sum = e->arena_bytes + e->wide_bytes;
    for (int x = 0; x < TT_EXTERNAL_COUNT; x++)
        if (!e->borrowed[x]) sum += e->bytes[x];
    return sum;
}

void tt_engine_list(const struct tt_engine *e, struct tt_text *out)
{
    for (int x = 0; x < TT_EXTERNAL_COUNT; x++)
        if (e->bytes[x] >> 20 && !e->borrowed[x])
            tt_text_printf(out, "%s %.1f MiB, ", tt_external_name((enum tt_external)x), (double)e->bytes[x] / 0x1p20);
    tt_text_printf(out, "activations %.1f MiB", (double)e->arena_bytes / 0x1p20);
}

static tt_status too_much(struct tt_engine *e, tt_status st)
{
    struct tt_text list = {0};
    tt_engine_list(e, &list);
    st = tt_context(st,
                    "the run needs %.1f MiB of device memory (%s); a smaller --batch-size or --recompute block "
                    "needs less",
                    (double)tt_engine_total(e) / 0x1p20, list.s ? list.s : "");
    tt_text_free(&list);
    return st;
}

static tt_status alloc_cleared(struct tt_engine *e, size_t bytes, void **out)
{
    struct tt_backend *b = e->backend;
    TT_TRY(b->ops->alloc(b->self, bytes, out));
    return b->ops->fill(b->self, *out, 0, bytes, NULL);
}

tt_status tt_engine_alloc(struct tt_engine *e, struct tt_backend *backend)
{
    e->backend = backend;
    tt_status st = TT_OK;
    for (int x = 0; x < TT_EXTERNAL_COUNT && !st; x++)
        if (e->bytes[x] && !e->externals[x]) st = alloc_cleared(e, e->bytes[x], &e->externals[x]);
    if (!st && e->arena_bytes) st = alloc_cleared(e, e->arena_bytes, &e->arena);
    if (!st && e->bytes[TT_X_VAL_TOKENS])
        st = backend->ops->host_alloc(backend->self, e->bytes[TT_X_VAL_TOKENS], (void **)&e->val_tokens);
    return st ? too_much(e, st) : backend->ops->stream_sync(backend->self, NULL);
}

void tt_engine_bind(struct tt_engine *e, struct tt_plan *p) { tt_plan_bind(p, e->arena, e->externals); }

void tt_engine_free(struct tt_engine *e)
{
    if (!e->backend) return;
    const struct tt_backend_ops *ops = e->backend->ops;
    for (int x = 0; x < TT_EXTERNAL_COUNT; x++)
        if (e->externals[x] && !e->borrowed[x]) ops->free(e->backend->self, e->externals[x]);
    if (e->arena) ops->free(e->backend->self, e->arena);
    if (e->val_tokens) ops->host_free(e->backend->self, e->val_tokens);
    *e = (struct tt_engine){0};
}

tt_status tt_engine_settle(const struct tt_engine *e)
{
    if (!e->late || !e->late->due) return TT_OK;
    e->late->due = false;
    return tt_context(tt_plan_run(e->late->update, e->late->backend, NULL), "the update of the last step");
}

static bool is_updated(enum tt_external x)
{
    return x == TT_X_WEIGHTS || x == TT_X_MASTER || x == TT_X_LOW || x == TT_X_MOMENT1 || x == TT_X_MOMENT2;
}

tt_status tt_engine_upload(struct tt_engine *e, enum tt_external x, size_t offset, const void *src, size_t bytes)
{
    struct tt_backend *b = e->backend;
    if (is_updated(x) || x == TT_X_STATE || x == TT_X_GRADS) TT_TRY(tt_engine_settle(e));
    TT_TRY(b->ops->copy(b->self, (char *)e->externals[x] + offset, src, bytes, TT_TO_DEVICE, NULL));
    return b->ops->stream_sync(b->self, NULL);
}

tt_status tt_engine_download(struct tt_engine *e, enum tt_external x, size_t offset, void *dst, size_t bytes)
{
    struct tt_backend *b = e->backend;
    if (is_updated(x)) TT_TRY(tt_engine_settle(e));
    TT_TRY(b->ops->copy(b->self, dst, (const char *)e->externals[x] + offset, bytes, TT_TO_HOST, NULL));
    return b->ops->stream_sync(b->self, NULL);
}
