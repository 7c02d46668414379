/* Phases and components of a step, from the medians of its operations. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/stats.h"
#include "profiling/measure/derive.h"

struct parts {
    struct tt_passes *r;
    const struct tt_plan *plan;
    struct tt_profile *out;
};

/* ---- phases ---- */

static double phase_median(struct tt_passes *r, int phase, bool host)
{
    struct tt_times *times = &r->t;
    for (int i = 0; i < times->steps; i++)
        times->scratch[i] = host ? times->phase[i].host[phase] : times->phase[i].wall[phase];
    return tt_quantile(times->scratch, times->steps, 0.5);
}

/* The difference is taken step by step, before the median: a disturbance of one step then counts in that step alone. */
double tt_outside_phases(struct tt_passes *r)
{
    struct tt_times *t = &r->t;
    for (int i = 0; i < t->steps; i++) {
        t->scratch[i] = t->launched[i] - (r->serial ? t->data_host[i] : 0);
        for (int phase = 0; phase < TT_PHASES; phase++) t->scratch[i] -= t->phase[i].wall[phase];
    }
    return fmax(0, tt_quantile(t->scratch, t->steps, 0.5));
}

static struct tt_profile_phase *add_phase(struct tt_profile *out, const char *name)
{
    struct tt_profile_phase *p = &out->phases[out->phases_count++];
    snprintf(p->name, sizeof p->name, "%s", name);
    return p;
}

static void make_phases(struct parts *t)
{
    static const char *const names[TT_PHASES] = {"forward", "backward", "optimizer"};
    double data = tt_passes_median(t->r, t->r->t.data_host);
    struct tt_profile_phase *p = add_phase(t->out, "data");
    p->wall = p->host = data;
    p->device = t->r->t.copy_median;
    /* on a CPU, copies that take longer than loading the data run between steps */
    double beyond = t->r->before.shares_memory ? fmax(0, p->device - data) : 0;
    p->device -= beyond;
    p->bytes = t->r->t.copy_bytes;
    for (int phase = 0; phase < TT_PHASES; phase++) {
        p = add_phase(t->out, names[phase]);
        p->wall = phase_median(t->r, phase, false);
        p->host = phase_median(t->r, phase, true);
        for (int i = 0; i < t->plan->count; i++) {
            const struct tt_op *op = &t->plan->ops[i];
            if ((int)op->phase != phase) continue;
            p->kernels++;
            p->device += t->r->t.median[i];
            p->flops += tt_op_flops(op);
            p->bytes += tt_op_bytes(op);
        }
    }
    p = add_phase(t->out, "other");
    p->wall = tt_outside_phases(t->r);
    p->device = beyond;
    p->host = NAN;
}

/* ---- components ---- */

typedef bool (*chooser)(const struct tt_op *op);

static bool is_embedding(const struct tt_op *op) { return op->group == TT_G_EMBEDDING; }
static bool in_block(const struct tt_op *op) { return op->layer >= 0; }
static bool is_attention(const struct tt_op *op)
{
    return in_block(op) && (op->group == TT_G_QKV || op->group == TT_G_ROPE || op->group == TT_G_SCORES ||
                            op->group == TT_G_SOFTMAX || op->group == TT_G_ATTENTION);
}
static bool is_ffn(const struct tt_op *op)
{
    return in_block(op) && (op->group == TT_G_GATE_UP || op->group == TT_G_ACTIVATION || op->group == TT_G_DOWN);
}
static bool is_norm(const struct tt_op *op) { return in_block(op) && !is_attention(op) && !is_ffn(op); }
static bool is_head(const struct tt_op *op) { return op->group == TT_G_LOSS; }
static bool is_forward(const struct tt_op *op) { return op->phase == TT_FORWARD; }
static bool is_pass(const struct tt_op *op) { return op->phase != TT_OPTIMIZE; }
static bool is_any(const struct tt_op *op)
{
    (void)op;
    return true;
}

static const struct {
    const char *name;
    chooser is;
    bool per_layer;
} components[] = {
    {"embedding", is_embedding, false},
    {"block", in_block, true},
    {"block attention", is_attention, true},
    {"block ffn", is_ffn, true},
    {"block norms", is_norm, true},
    {"head + loss", is_head, false},
    {"forward", is_forward, false},
    {"forward + backward", is_pass, false},
    {"full step", is_any, false},
};
enum { COMPONENTS = sizeof components / sizeof *components };

static void make_component(struct parts *t, int which)
{
    struct tt_profile_component *c = &t->out->components[t->out->components_count++];
    double part = components[which].per_layer ? 1.0 / (double)t->r->config.num_layers : 1, kernels = 0;
    snprintf(c->name, sizeof c->name, "%s", components[which].name);
    for (int i = 0; i < t->plan->count; i++) {
        const struct tt_op *op = &t->plan->ops[i];
        if (!components[which].is(op)) continue;
        double seconds = part * t->r->t.median[i];
        kernels += part;
        c->flops += part * tt_op_flops(op);
        c->bytes += part * tt_op_bytes(op);
        c->seconds += seconds;
        if (op->phase == TT_FORWARD) c->forward += seconds;
        if (op->phase == TT_BACKWARD) c->backward += seconds;
    }
    c->kernels = (int64_t)round(kernels);
    if (components[which].is == is_forward) c->backward = NAN;
    double whole = 0; /* the sum of all groups, gaps too: their shares are of it as well */
    for (int i = 0; i < t->out->groups_count; i++) whole += t->out->groups[i].seconds;
    if (components[which].is == is_any) c->seconds = whole;
    c->share = c->seconds / whole;
}

tt_status tt_derive_parts(struct tt_passes *r, struct tt_profile *out)
{
    struct parts t = {.r = r, .plan = r->session.step, .out = out};
    out->phases = calloc(TT_PHASES + 2, sizeof *out->phases);
    out->components = calloc(COMPONENTS, sizeof *out->components);
    if (!out->phases || !out->components) return tt_no_memory("the parts of a step");
    make_phases(&t);
    for (int i = 0; i < COMPONENTS; i++) make_component(&t, i);
    return TT_OK;
}
