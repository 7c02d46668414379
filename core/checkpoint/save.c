#include "core/checkpoint/save.h"

#include <stdlib.h>

#include "core/checkpoint/weights.h"

void tt_progress_to(struct tt_progress *progress, int64_t step, int64_t rows)
{
    progress->position += (uint64_t)((step - progress->step) * rows);
    progress->step = step;
}

tt_status tt_save_progress(struct tt_engine *e, int64_t step, int64_t rows, struct tt_progress *progress)
{
    struct tt_state state;
    TT_TRY(tt_engine_download(e, TT_X_STATE, 0, &state, sizeof state));
    tt_progress_to(progress, step, rows);
    progress->skipped = state.skipped;
    progress->loss_scale = state.loss_scale;
    progress->good_steps = state.good;
    return TT_OK;
}

/* Weights and moments as the host may read them: themselves, or a copy. */
static float *in_place(const struct tt_engine *e, enum tt_external x, bool shared)
{
    if (x == TT_X_WEIGHTS) return tt_weights_in_place(e, shared);
    return shared ? e->externals[x] : NULL;
}

static tt_status on_host(struct tt_engine *e, enum tt_external x, int64_t n, bool shared, float **out)
{
    *out = in_place(e, x, shared);
    if (*out) return TT_OK;
    *out = malloc((size_t)n * sizeof **out);
    if (!*out) return tt_no_memory("%.0f MiB of a checkpoint", (double)n * sizeof **out / 0x1p20);
    if (x == TT_X_WEIGHTS) return tt_weights_read(e, n, *out);
    return tt_engine_download(e, x, 0, *out, (size_t)n * sizeof **out);
}

tt_status tt_save(struct tt_engine *e, const char *dir, const struct tt_checkpoint *c, int64_t keep)
{
    struct tt_device_info info;
    TT_TRY(e->backend->ops->info(e->backend->self, &info));
    const enum tt_external which[] = {TT_X_WEIGHTS, TT_X_MOMENT1, TT_X_MOMENT2};
    float *host[3] = {0};
    struct tt_checkpoint whole = *c;
    tt_status st = TT_OK;
    for (int i = 0; i < 3 && !st; i++) st = on_host(e, which[i], c->params->total, info.shares_memory, &host[i]);
    whole.w = host[0], whole.m = host[1], whole.v = host[2];
    if (!st) st = tt_checkpoint_save(dir, &whole, keep);
    for (int i = 0; i < 3; i++)
        if (host[i] != in_place(e, which[i], info.shares_memory)) free(host[i]);
    return st;
}
