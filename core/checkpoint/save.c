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

/* The array itself if the host can read it in place, else NULL. */
static float *in_place(const struct tt_engine *e, const struct tt_params *p, enum tt_external x, bool shared)
{
    if (x == TT_X_WEIGHTS) return tt_weights_in_place(e, p, shared);
    return shared && !p->sharded[x] ? e->externals[x] : NULL;
}

static tt_status on_host(struct tt_engine *e, const struct tt_params *p, enum tt_external x, bool shared, float **out)
{
    *out = in_place(e, p, x, shared);
    if (*out) return TT_OK;
    *out = malloc((size_t)p->total * sizeof **out);
    if (!*out) return tt_no_memory("%.0f MiB of a checkpoint", (double)p->total * sizeof **out / 0x1p20);
    return x == TT_X_WEIGHTS ? tt_weights_read(e, p, *out) : tt_arena_download(e, p, x, sizeof **out, *out);
}

tt_status tt_save(struct tt_engine *e, const char *dir, const struct tt_checkpoint *c, int64_t keep)
{
    struct tt_device_info info;
    TT_TRY(e->backend->ops->info(e->backend->self, &info));
    const enum tt_external which[] = {TT_X_WEIGHTS, TT_X_MOMENT1, TT_X_MOMENT2};
    float *host[3] = {0};
    struct tt_checkpoint whole = *c;
    tt_status st = TT_OK;
    bool writes = tt_job_leads(c->job) || c->params->sharded[TT_X_MOMENT1];
    for (int i = 0; i < 3 && !st && writes; i++) st = on_host(e, c->params, which[i], info.shares_memory, &host[i]);
    whole.w = host[0], whole.m = host[1], whole.v = host[2];
    st = tt_job_agree(c->job, st);
    if (!st) st = tt_checkpoint_save(dir, &whole, keep);
    for (int i = 0; i < 3; i++)
        if (host[i] != in_place(e, c->params, which[i], info.shares_memory)) free(host[i]);
    return st;
}
