/* How well the device was used: FLOPs of the mathematics over time against what the device can do, and the roofline. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "profiling/measure/cost.h"
#include "profiling/measure/derive.h"

/* ---- the mathematics ---- */

/* 2 FLOPs per multiply-add: each matrix of the blocks and the head once per token, and two products of S x S per
 * head. */
struct tt_model_work tt_model_work(const struct tt_model *m)
{
    const struct tt_config *c = &m->config;
    double C = (double)c->hidden_dim, D = (double)m->head_dim, H = (double)c->num_heads, KV = (double)c->num_kv_heads;
    double F = (double)c->ffn_dim, V = (double)c->vocab_size, L = (double)c->num_layers, S = (double)c->seq_len;
    double sequences = (double)(c->batch_size * c->grad_accum), tokens = sequences * S;
    double matrices = L * (C * (H + 2 * KV) * D + H * D * C + 3 * C * F) + V * C;
    double per_pair = 4 * L * H * D * sequences;
    return (struct tt_model_work){.forward = 2 * tokens * matrices + per_pair * S * (S + 1) / 2,
                                  .forward_full = 2 * tokens * matrices + per_pair * S * S};
}

const char *tt_mfu_class(double percent)
{
    if (!isfinite(percent)) return "n/a";
    if (percent < 20) return "low";
    if (percent < 40) return "moderate";
    if (percent <= 60) return "good";
    return "high";
}

static double or_unknown(double x) { return x > 0 ? x : NAN; }

static void make_flops(const struct tt_passes *r, struct tt_profile_efficiency *e)
{
    struct tt_model_work w = tt_model_work(r->session.model);
    struct tt_plan_cost cost = tt_cost_of_plan(r->session.step);
    double parameters = (double)tt_model_param_count(r->session.model);
    e->forward_flops = w.forward;
    e->backward_flops = 2 * w.forward;
    e->step_flops = 3 * w.forward;
    e->forward_flops_full = w.forward_full;
    e->backward_flops_full = 2 * w.forward_full;
    e->step_flops_full = 3 * w.forward_full;
    e->flops_per_parameter = e->step_flops / parameters;
    e->flops_per_parameter_full = e->step_flops_full / parameters;
    e->plan_flops = cost.total.flops;
    e->plan_bytes = cost.total.bytes;
    e->intensity = e->plan_flops / e->plan_bytes;
}

static void make_efficiency(const struct tt_passes *r, const struct tt_ceilings *c, struct tt_profile *out)
{
    struct tt_profile_efficiency *e = &out->efficiency;
    double seconds = out->step.seconds;
    make_flops(r, e);
    e->flops_per_second = e->step_flops / seconds;
    e->bytes_per_second = e->plan_bytes / seconds;
    e->gemm_flops_per_second = c->flops;
    e->copy_bytes_per_second = c->bandwidth;
    e->datasheet_flops_per_second = or_unknown(tt_roof_datasheet(r->config.precision, &r->before));
    e->datasheet_bytes_per_second = or_unknown(r->before.peak_bandwidth);
    e->mfu_percent = 100 * e->flops_per_second / c->flops;
    e->mfu_datasheet_percent = 100 * e->flops_per_second / e->datasheet_flops_per_second;
    e->mfu_full_percent = 100 * e->step_flops_full / seconds / c->flops;
    e->mfu_full_datasheet_percent = 100 * e->step_flops_full / seconds / e->datasheet_flops_per_second;
    e->bandwidth_percent = 100 * e->bytes_per_second / c->bandwidth;
    e->ridge = c->flops / c->bandwidth;
    e->ridge_datasheet = e->datasheet_flops_per_second / e->datasheet_bytes_per_second;
    snprintf(e->roofs_measured, sizeof e->roofs_measured, "%s", c->measured);
    e->roofs_kept = c->kept;
    e->roofs_earlier = c->earlier;
    e->gemm_spread = c->flops_spread;
    e->copy_spread = c->bandwidth_spread;
    e->roofs_load = c->load;
    e->roofs_waited = c->waited;
    snprintf(e->mfu_class, sizeof e->mfu_class, "%s", tt_mfu_class(e->mfu_percent));
    struct tt_roofs roofs = tt_roofs_of_step(c, tt_roof_of_plan(c, r->session.step), out);
    snprintf(e->bound, sizeof e->bound, "%s", tt_bound_by(&roofs, e->plan_flops, e->plan_bytes, seconds));
}

/* ---- the roofline ---- */

enum { TOP_OPERATORS = 24 };

static void add_roof(struct tt_profile *out, const char *name, const char *kind, const char *source, double rate)
{
    if (!(rate > 0)) return;
    struct tt_profile_roof *roof = &out->roofs[out->roofs_count++];
    snprintf(roof->name, sizeof roof->name, "%s", name);
    snprintf(roof->kind, sizeof roof->kind, "%s", kind);
    snprintf(roof->source, sizeof roof->source, "%s", source);
    roof->rate = rate;
}

/* `roof`: FLOP/s that the roofs allow for this work. */
static void add_point(struct tt_profile *out, const char *name, const char *kind, double flops, double bytes,
                      double seconds, double roof)
{
    if (!(flops > 0) || !(bytes > 0) || !(seconds > 0)) return;
    struct tt_profile_point *p = &out->points[out->points_count++];
    snprintf(p->name, sizeof p->name, "%s", name);
    snprintf(p->kind, sizeof p->kind, "%s", kind);
    p->intensity = flops / bytes;
    p->flops_per_second = flops / seconds;
    p->seconds = seconds;
    p->roof = roof;
}

static void add_row(struct tt_profile *out, const char *name, const char *kind, const struct tt_profile_row *row)
{
    add_point(out, name, kind, row->flops, row->bytes, row->seconds, 100 * row->flops_per_second / row->roof_percent);
}

static void make_points(const struct tt_ceilings *c, double rate, struct tt_profile *out)
{
    const struct tt_profile_efficiency *e = &out->efficiency;
    add_point(out, "step", "step", e->plan_flops, e->plan_bytes, out->step.seconds,
              fmin(rate, e->intensity * c->bandwidth));
    for (int i = 0; i < out->groups_count; i++) {
        const struct tt_profile_row *g = &out->groups[i];
        add_row(out, g->name, "group", g);
    }
    for (int i = 0; i < out->operators_count && i < TOP_OPERATORS; i++) {
        const struct tt_profile_row *o = &out->operators[i];
        char name[128];
        snprintf(name, sizeof name, "%.47s%s%.50s, %.25s", o->name, o->shape[0] ? " " : "", o->shape, o->phase);
        add_row(out, name, "operator", o);
    }
}

tt_status tt_derive_efficiency(const struct tt_passes *r, const struct tt_ceilings *c, struct tt_profile *out)
{
    char name[48], rest[48];
    out->roofs = calloc(6, sizeof *out->roofs);
    out->points = calloc((size_t)(1 + out->groups_count + TOP_OPERATORS), sizeof *out->points);
    if (!out->roofs || !out->points) return tt_no_memory("the roofline");
    make_efficiency(r, c, out);
    enum tt_precision roof = tt_roof_precision(r->config.precision, &r->before),
                      other = tt_precision_rest(roof, r->before.has[TT_PREC_BF16]);
    snprintf(name, sizeof name, "matrix product in %s", tt_precision_names[roof]);
    snprintf(rest, sizeof rest, "matrix product in %s", tt_precision_names[other]);
    add_roof(out, name, "compute", "measured", c->flops);
    if (other != roof) add_roof(out, rest, "compute", "measured", c->rest);
    add_roof(out, "copy", "memory", "measured", c->bandwidth);
    add_roof(out, name, "compute", "datasheet", out->efficiency.datasheet_flops_per_second);
    if (other != roof) add_roof(out, rest, "compute", "datasheet", tt_roof_datasheet(other, &r->before));
    add_roof(out, "memory", "memory", "datasheet", out->efficiency.datasheet_bytes_per_second);
    make_points(c, tt_roof_of_plan(c, r->session.step), out);
    return TT_OK;
}
