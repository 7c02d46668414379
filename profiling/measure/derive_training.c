/* The loss of every step, from the device's ring, and the gradient of every tensor: a fast step is worth nothing if
 * these are wrong. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/train/gradients.h"
#include "core/train/state.h"
#include "profiling/measure/derive.h"
#include "profiling/measure/grads.h"

/* ---- losses ---- */

static double seconds_of(const struct tt_times *t, int64_t step)
{
    for (int i = 0; i < t->steps; i++)
        if (t->number[i] == step) return t->step[i];
    return NAN;
}

static tt_status take_samples(struct tt_passes *r, struct tt_profile *out)
{
    size_t bytes = TT_RING_ENTRIES * sizeof(struct tt_metrics);
    int64_t n = r->run.progress.step < TT_RING_ENTRIES ? r->run.progress.step : TT_RING_ENTRIES;
    struct tt_metrics *ring = malloc(bytes);
    out->samples = calloc((size_t)n + 1, sizeof *out->samples);
    tt_status st = ring && out->samples ? TT_OK : tt_no_memory("the losses");
    if (!st) st = tt_engine_download(&r->session.engine, TT_X_RING, 0, ring, bytes);
    for (int64_t step = r->run.progress.step - n; step < r->run.progress.step && !st; step++) {
        const struct tt_metrics *m = &ring[step % TT_RING_ENTRIES];
        bool counts = tt_counted_part(r->run.config, m->ignored) > 0;
        out->samples[out->samples_count++] = (struct tt_profile_sample){.step = m->step,
                                                                        .loss = counts ? (double)m->loss : (double)NAN,
                                                                        .grad_norm = (double)m->grad_norm,
                                                                        .seconds = seconds_of(&r->t, step)};
    }
    free(ring);
    return st;
}

/* ---- gradients ---- */

static void undo_clipping(struct tt_profile_gradient *rows, int n, double whole)
{
    double squares = 0;
    for (int i = 0; i < n; i++) squares += rows[i].norm * rows[i].norm;
    double factor = tt_gradient_unclip(whole, squares);
    for (int i = 0; i < n; i++) rows[i].norm *= factor;
}

/* Makes a row for each parameter; the caller frees them. `whole`: the norm of all gradients, as the step recorded
 * it. */
static tt_status take_gradients(struct tt_passes *r, double whole, struct tt_profile_gradient **out)
{
    const struct tt_params *params = &r->session.model->params;
    int64_t largest = 0;
    for (int i = 0; i < params->n; i++)
        if (params->items[i].count > largest) largest = params->items[i].count;
    float *g = malloc((size_t)largest * sizeof *g);
    *out = calloc((unsigned)params->n, sizeof **out);
    tt_status st = g && *out ? TT_OK : tt_no_memory("the gradients");
    for (int i = 0; i < params->n && !st; i++) {
        const struct tt_param *t = &params->items[i];
        struct tt_profile_gradient *row = *out + i;
        st = tt_engine_download(&r->session.engine, TT_X_GRADS, (size_t)t->offset * sizeof *g, g,
                                (size_t)t->count * sizeof *g);
        if (st) break;
        struct tt_grad_sums sums = tt_grad_sums(g, t->count);
        *row = (struct tt_profile_gradient){.count = t->count, .zeros = sums.zeros, .nonfinite = sums.nonfinite,
                                            .norm = sums.norm, .first_norm = NAN};
        snprintf(row->name, sizeof row->name, "%s", t->name);
    }
    if (!st) undo_clipping(*out, params->n, whole);
    free(g);
    return st;
}

/* Where gradients are sharded, a rank has only its own parts. */
static bool has_gradients(const struct tt_passes *r)
{
    return r->config.ranks == 1 || r->config.shard == TT_SHARD_NONE;
}

tt_status tt_take_first_gradients(struct tt_passes *r)
{
    struct tt_metrics first;
    if (!has_gradients(r)) return TT_OK;
    TT_TRY(tt_engine_download(&r->session.engine, TT_X_RING, 0, &first, sizeof first));
    return take_gradients(r, (double)first.grad_norm, &r->first_gradients);
}

static tt_status take_last_gradients(struct tt_passes *r, struct tt_profile *out)
{
    TT_TRY(take_gradients(r, out->step.grad_norm, &out->gradients));
    out->gradients_count = r->session.model->params.n;
    for (int i = 0; i < out->gradients_count && r->first_gradients; i++)
        out->gradients[i].first_norm = r->first_gradients[i].norm;
    return TT_OK;
}

tt_status tt_derive_training(struct tt_passes *r, struct tt_profile *out)
{
    TT_TRY(take_samples(r, out));
    const struct tt_profile_sample *last = &out->samples[out->samples_count - 1];
    bool may_skip = tt_scales_loss(r->config.precision); /* until the loss scale fits */
    if (!isfinite(last->loss) || (!isfinite(last->grad_norm) && !may_skip))
        return tt_fail(TT_FAILED,
                       "the loss became %g and the gradients' norm %g while profiling, so the figures would be "
                       "meaningless",
                       last->loss, last->grad_norm);
    out->step.loss = last->loss;
    out->step.grad_norm = last->grad_norm;
    return has_gradients(r) ? take_last_gradients(r, out) : TT_OK;
}
