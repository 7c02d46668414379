/* The memory ledger: what the plan and the engine predict, beside what the device reports. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "profiling/measure/derive.h"

static double aligned(size_t n) { return (double)((n + TT_ALIGN - 1) / TT_ALIGN * TT_ALIGN); }

/* Whether a buffer takes memory of its own: it is used, and not one of a later micro-batch, which reuse the first's. */
static bool counts(const struct tt_buffer *b) { return b->twin < 0 && b->first >= 0; }

/* ---- what lives when ---- */

/* Bytes of activations alive at each operation, as the planner places them; malloc'd. */
static double *live_bytes(const struct tt_plan *p)
{
    double *live = calloc((size_t)p->count + 1, sizeof *live);
    if (!live) return NULL;
    for (int i = 0; i < p->buffer_count; i++) {
        const struct tt_buffer *b = &p->buffers[i];
        if (!counts(b)) continue;
        live[b->first] += aligned(b->bytes);
        live[b->last + 1] -= aligned(b->bytes);
    }
    for (int i = 1; i < p->count; i++) live[i] += live[i - 1];
    return live;
}

static int make_peaks(const struct tt_plan *p, const double *live, struct tt_profile *out)
{
    static const char *const names[TT_PHASES] = {"forward", "backward", "optimizer"};
    int peak = 0;
    for (int phase = 0; phase < TT_PHASES; phase++) {
        struct tt_profile_memory_phase *m = &out->memory_phases[out->memory_phases_count++];
        snprintf(m->name, sizeof m->name, "%s", names[phase]);
        for (int i = 0; i < p->count; i++)
            if ((int)p->ops[i].phase == phase && live[i] > m->peak_bytes) m->peak_bytes = live[i];
    }
    for (int i = 0; i < p->count; i++)
        if (live[i] > live[peak]) peak = i;
    out->memory.live_bytes = live[peak];
    out->memory.peak_layer = p->ops[peak].layer;
    snprintf(out->memory.peak_phase, sizeof out->memory.peak_phase, "%s", names[p->ops[peak].phase]);
    snprintf(out->memory.peak_operation, sizeof out->memory.peak_operation, "%s", tt_op_name(&p->ops[peak]));
    return peak;
}

static struct tt_profile_activation *activation_of(const struct tt_plan *p, const struct tt_buffer *b,
                                                   struct tt_profile *out)
{
    int i = 0;
    while (i < out->activations_count &&
           (out->activations[i].layer != b->layer || strcmp(out->activations[i].name, b->name)))
        i++;
    struct tt_profile_activation *a = &out->activations[i];
    if (i < out->activations_count) return a;
    out->activations_count++;
    a->layer = b->layer;
    a->first = b->first;
    snprintf(a->name, sizeof a->name, "%s", b->name);
    snprintf(a->kind, sizeof a->kind, "%s", tt_group_name(p->ops[b->first].group));
    return a;
}

static void make_activations(const struct tt_plan *p, int peak, struct tt_profile *out)
{
    for (int i = 0; i < p->buffer_count; i++) {
        const struct tt_buffer *b = &p->buffers[i];
        if (!counts(b)) continue;
        struct tt_profile_activation *a = activation_of(p, b, out);
        a->count++;
        a->bytes += aligned(b->bytes);
        if (b->first <= peak && peak <= b->last) a->peak_bytes += aligned(b->bytes);
        if (b->first < a->first) a->first = b->first;
        if (b->last > a->last) a->last = b->last;
    }
}

/* ---- by kind ---- */

static void add_kind(struct tt_profile *out, const char *kind, double predicted, double measured)
{
    struct tt_profile_memory_kind *k = &out->memory_kinds[out->memory_kinds_count++];
    snprintf(k->kind, sizeof k->kind, "%s", kind);
    k->predicted = predicted;
    k->measured = measured;
}

static double logits_at_peak(const struct tt_profile *out)
{
    double sum = 0;
    for (int i = 0; i < out->activations_count; i++)
        if (!strcmp(out->activations[i].name, "logits")) sum += out->activations[i].peak_bytes;
    return sum;
}

/* Externals and activations are one allocation each, of exactly these sizes. What the device took beyond them is the
 * workspace. */
static void make_kinds(const struct tt_passes *r, struct tt_profile *out)
{
    const struct tt_engine *e = &r->session.engine;
    double logits = logits_at_peak(out), wide = (double)e->wide_bytes, total = (double)tt_engine_total(e) - wide;
    for (int x = 0; x < TT_EXTERNAL_COUNT; x++)
        if (e->bytes[x] && !e->borrowed[x])
            add_kind(out, tt_external_name((enum tt_external)x), (double)e->bytes[x], (double)e->bytes[x]);
    add_kind(out, "activations", (double)e->arena_bytes - logits, (double)e->arena_bytes - logits);
    add_kind(out, "logits", logits, logits);
    add_kind(out, "workspace", (double)r->before.memory_used + wide, fmax(0, (double)r->after.memory_peak - total));
    add_kind(out, "graph pool", NAN, r->t.graph_pool);
}

tt_status tt_derive_memory(const struct tt_passes *r, struct tt_profile *out)
{
    const struct tt_plan *p = r->session.step;
    struct tt_profile_memory *m = &out->memory;
    double *live = live_bytes(p);
    out->memory_kinds = calloc(TT_EXTERNAL_COUNT + 4, sizeof *out->memory_kinds);
    out->activations = calloc((size_t)p->buffer_count + 1, sizeof *out->activations);
    out->memory_phases = calloc(TT_PHASES, sizeof *out->memory_phases);
    if (!live || !out->memory_kinds || !out->activations || !out->memory_phases) {
        free(live);
        return tt_no_memory("the memory ledger");
    }
    m->predicted_bytes = (double)tt_engine_total(&r->session.engine) + (double)r->before.memory_used;
    m->measured_bytes = (double)r->after.memory_peak;
    m->arena_bytes = (double)r->session.engine.arena_bytes;
    m->device_total_bytes = (double)r->before.memory_total;
    m->device_free_bytes = (double)r->before.memory_free;
    m->process_bytes = tt_peak_memory();
    make_activations(p, make_peaks(p, live, out), out);
    make_kinds(r, out);
    free(live);
    return TT_OK;
}

/* ---- sweeps ---- */

enum { POINTS = 5 };

static tt_status plan_point(const struct tt_passes *r, const char *axis, int64_t value, struct tt_profile *out)
{
    struct tt_config *c;
    struct tt_session s;
    TT_TRY(tt_config_copy(&r->config, &c));
    *(strcmp(axis, "batch") ? &c->seq_len : &c->batch_size) = value;
    tt_status st = tt_session_plan(&s, r->o->backend, c, TT_USE_TRAIN);
    if (!st) {
        struct tt_profile_sweep *w = &out->sweeps[out->sweeps_count++];
        *w = (struct tt_profile_sweep){.value = value,
                                       .predicted = (double)tt_engine_total(&s.engine),
                                       .activations = (double)s.engine.arena_bytes,
                                       .measured = NAN,
                                       .seconds = NAN};
        snprintf(w->axis, sizeof w->axis, "%s", axis);
    }
    tt_session_close(&s);
    free(c);
    if (st && st->code == TT_USAGE) { /* a size beyond what a run may have */
        tt_status_free(st);
        return TT_OK;
    }
    return st;
}

static tt_status plan_axis(const struct tt_passes *r, const char *axis, int64_t here, struct tt_profile *out)
{
    int64_t last = 0;
    for (int i = -2; i <= 2; i++) {
        int64_t value = i < 0 ? here >> -i : here << i;
        if (value <= last) continue;
        TT_TRY(plan_point(r, axis, value, out));
        last = value;
    }
    return TT_OK;
}

/* Plans the step at a quarter, half, once, twice and four times the batch size, and so for the sequence length. */
tt_status tt_derive_sweeps(const struct tt_passes *r, struct tt_profile *out)
{
    out->sweeps = calloc(2 * POINTS, sizeof *out->sweeps);
    if (!out->sweeps) return tt_no_memory("the sweeps");
    TT_TRY(plan_axis(r, "batch", r->config.batch_size, out));
    return plan_axis(r, "seq", r->config.seq_len, out);
}
