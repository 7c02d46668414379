#include "core/save.h"

#include <stdlib.h>

tt_status tt_save_progress(struct tt_engine *e, int64_t step, int64_t rows, struct tt_progress *progress)
{
    struct tt_state state;
    TT_TRY(tt_engine_download(e, TT_X_STATE, 0, &state, sizeof state));
    progress->step = step;
    progress->position = (uint64_t)(step * rows);
    progress->skipped = state.skipped;
    progress->loss_scale = state.loss_scale;
    progress->good_steps = state.good;
    return TT_OK;
}

/* Device memory as the host may read it: itself, or a copy. */
static tt_status on_host(struct tt_engine *e, enum tt_external x, int64_t count, bool shared, float **out)
{
    size_t bytes = (size_t)count * sizeof(float);
    if (shared) {
        *out = e->externals[x];
        return TT_OK;
    }
    *out = malloc(bytes);
    if (!*out) return tt_fail(TT_FAILED, "no %.0f MiB of host memory for a checkpoint", (double)bytes / 0x1p20);
    return tt_engine_download(e, x, 0, *out, bytes);
}

tt_status tt_save(struct tt_engine *e, const char *dir, const struct tt_checkpoint *c, int64_t keep)
{
    struct tt_device_info info;
    TT_TRY(e->backend->ops->info(e->backend->self, &info));
    enum tt_external which[] = {e->bytes[TT_X_MASTER] ? TT_X_MASTER : TT_X_WEIGHTS, TT_X_MOMENT1, TT_X_MOMENT2};
    float *host[3] = {0};
    struct tt_checkpoint whole = *c;
    tt_status st = TT_OK;
    for (int i = 0; i < 3 && !st; i++) st = on_host(e, which[i], c->params->total, info.shares_memory, &host[i]);
    whole.w = host[0], whole.m = host[1], whole.v = host[2];
    if (!st) st = tt_checkpoint_save(dir, &whole, keep);
    for (int i = 0; i < 3 && !info.shares_memory; i++) free(host[i]);
    return st;
}
