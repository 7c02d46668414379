#include "core/checkpoint/save.h"

#include <stdlib.h>

#include "core/checkpoint/moments.h"
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

/* One array for a checkpoint: the device's own if the host can read it in place, else a copy. If the array is sharded,
 * it has this rank's parts. */
struct taken {
    float *host;
    bool copied, parts;
};

static tt_status new_copy(struct taken *t, int64_t n)
{
    t->host = malloc((size_t)n * sizeof *t->host);
    t->copied = true;
    return t->host ? TT_OK : tt_no_memory("%.0f MiB of a checkpoint", (double)n * sizeof *t->host / 0x1p20);
}

static tt_status take(struct tt_engine *e, const struct tt_params *p, enum tt_external x, bool shared,
                      struct taken *out)
{
    bool halves = x == TT_X_WEIGHTS && e->bytes[TT_X_LOW];
    if (x == TT_X_WEIGHTS && e->bytes[TT_X_MASTER]) x = TT_X_MASTER;
    *out = (struct taken){.parts = !halves && p->sharded[x]};
    if (halves) {
        TT_TRY(new_copy(out, p->total));
        return tt_weights_read(e, p, out->host);
    }
    bool moments = x == TT_X_MOMENT1 || x == TT_X_MOMENT2;
    int64_t n = tt_arena_count(p, x);
    if (shared && !(moments && p->moments != TT_F32)) {
        out->host = e->externals[x];
        return TT_OK;
    }
    TT_TRY(new_copy(out, n));
    if (moments) return tt_moments_read(e, p, x, out->host);
    return tt_engine_download(e, x, 0, out->host, (size_t)n * sizeof *out->host);
}

static tt_status read_updates(struct tt_engine *e, struct tt_checkpoint *c)
{
    size_t bytes = e->bytes[TT_X_UPDATES];
    if (!bytes || !tt_job_leads(c->job)) return TT_OK;
    c->updates = malloc(bytes);
    return c->updates ? tt_engine_download(e, TT_X_UPDATES, 0, c->updates, bytes) : tt_no_memory("a checkpoint");
}

static tt_status read_scales(struct tt_engine *e, struct tt_checkpoint *c)
{
    enum { KEPT = TT_FP8_APART + TT_FP8_HISTORY };
    size_t row = e->bytes[TT_X_SCALES] / (size_t)(KEPT + c->params->ranks), kept = KEPT * row;
    if (!row || !tt_job_leads(c->job)) return TT_OK;
    c->scale_count = (int64_t)(row / sizeof *c->scales);
    c->scales = malloc(kept);
    return c->scales ? tt_engine_download(e, TT_X_SCALES, 0, c->scales, kept) : tt_no_memory("a checkpoint");
}

tt_status tt_save(struct tt_engine *e, const char *dir, const struct tt_checkpoint *c, int64_t keep)
{
    struct tt_device_info info;
    TT_TRY(tt_engine_settle(e)); /* a download does so by itself, but reading in place does not */
    TT_TRY(e->backend->ops->info(e->backend->self, &info));
    const enum tt_external which[] = {TT_X_WEIGHTS, TT_X_MOMENT1, TT_X_MOMENT2};
    struct taken got[3] = {0};
    struct tt_checkpoint whole = *c;
    tt_status st = TT_OK;
    bool writes = tt_job_leads(c->job) || c->params->sharded[TT_X_MOMENT1];
    for (int i = 0; i < 3 && !st && writes; i++) st = take(e, c->params, which[i], info.shares_memory, &got[i]);
    if (!st) st = read_updates(e, &whole);
    if (!st) st = read_scales(e, &whole);
    whole.w = got[0].host, whole.m = got[1].host, whole.v = got[2].host;
    for (int i = 0; i < 3; i++) whole.parts[i] = got[i].parts;
    st = tt_job_agree(c->job, st);
    if (!st) st = tt_checkpoint_save(dir, &whole, keep);
    free(whole.updates);
    free(whole.scales);
    for (int i = 0; i < 3; i++)
        if (got[i].copied) free(got[i].host);
    return st;
}
