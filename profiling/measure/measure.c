#include "profiling/measure/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/build_id.h"
#include "core/base/load.h"
#include "profiling/measure/derive.h"
#include "profiling/measure/trace.h"

static void fill_shape(struct tt_profile_run *run, const struct tt_config *c, const struct tt_model *m)
{
    run->hidden_dim = c->hidden_dim;
    run->num_layers = c->num_layers;
    run->num_heads = c->num_heads;
    run->num_kv_heads = c->num_kv_heads;
    run->head_dim = m->head_dim;
    run->ffn_dim = c->ffn_dim;
    run->vocab_size = c->vocab_size;
    run->seq_len = c->seq_len;
    run->batch_size = c->batch_size;
    run->grad_accum = c->grad_accum;
    run->tie_embeddings = c->tie_embeddings;
    run->qkv_bias = c->qkv_bias;
    run->qk_norm = c->qk_norm;
    _Static_assert(sizeof run->rope_scaling >= sizeof c->rope_scaling, "a scaling fits");
    strcpy(run->rope_scaling, c->rope_scaling);
    snprintf(run->documents, sizeof run->documents, "%s", tt_documents_names[c->documents]);
    if (c->precision == TT_PREC_FP8) snprintf(run->fp8, sizeof run->fp8, "%s", tt_fp8_words(c));
    _Static_assert(sizeof run->update >= TT_UPDATE_WORDS, "they fit");
    tt_update_words(c, run->update);
    run->parameters = tt_model_param_count(m);
}

static void fill_run(const struct tt_passes *r, struct tt_profile_run *run)
{
    const struct tt_config *c = &r->config;
    time_t now = time(NULL);
    struct tm utc;
    strftime(run->created, sizeof run->created, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    snprintf(run->tt, sizeof run->tt, "%s", TT_VERSION_STRING);
    tt_build_id(run->build, sizeof run->build);
    snprintf(run->source, sizeof run->source, "tt profile");
    snprintf(run->backend, sizeof run->backend, "%s", r->o->backend->ops->name);
    snprintf(run->device, sizeof run->device, "%s", r->before.name);
    snprintf(run->arch, sizeof run->arch, "%s", r->before.arch);
    snprintf(run->library, sizeof run->library, "%s", r->before.library);
    snprintf(run->preset, sizeof run->preset, "%s", c->preset);
    snprintf(run->version, sizeof run->version, "%s", tt_version_names[c->version]);
    snprintf(run->fuse, sizeof run->fuse, "%s", c->fuse);
    snprintf(run->precision, sizeof run->precision, "%s", tt_precision_names[c->precision]);
    snprintf(run->recompute, sizeof run->recompute, "%s", tt_recompute_names[c->recompute]);
    snprintf(run->data, sizeof run->data, "%.127s", c->data);
    snprintf(run->flash_tile, sizeof run->flash_tile, "%s", c->flash_tile);
    run->seed = c->seed;
    run->steps = r->t.steps;
    run->warmup = r->warmed;
    run->graph = r->graph;
    run->prefetch = c->prefetch == TT_SWITCH_ON;
    run->flash_refused = r->session.model->flash_refused;
    fill_shape(run, c, r->session.model);
}

static void take_trace(struct tt_passes *r, struct tt_profile *out)
{
    out->events = r->recorder.trace;
    out->events_count = r->recorder.trace_count;
    r->recorder.trace = NULL;
    r->recorder.trace_count = r->recorder.trace_room = 0;
    tt_trace_sort(out->events, out->events_count);
}

static const double tolerance = 1.05; /* two measurements of the same rate may differ by this */

/* Whether an operation is faster than the roofs allow, and long enough for that to be no error of the clock. Its bytes
 * count if they are more than any cache holds and so must pass through memory. Kernels get a wider tolerance than
 * products, since what they do is less certain. */
static bool op_beats(const struct tt_op *op, double seconds, const struct tt_ceilings *c)
{
    const double shortest = 1e-4, largest_cache = 0x1p30, much = 1.25;
    if (seconds < shortest) return false;
    double most = op->kind == TT_OP_GEMM ? tolerance : much;
    if (tt_op_flops(op) / seconds > most * tt_roof_of_op(c, op)) return true;
    return tt_op_bytes(op) > largest_cache && tt_op_bytes(op) / seconds > much * c->bandwidth;
}

/* Whether the roofs are too low. Nothing multiplies faster than a large product does on an idle device: if a step, its
 * matrix products together, or a single operation does, the roofs were measured while the device was busy. */
static bool beaten(struct tt_passes *r, const struct tt_ceilings *c)
{
    double flops = 0, seconds = 0, most = c->flops * tolerance;
    for (int i = 0; i < r->session.step->count; i++) {
        const struct tt_op *op = &r->session.step->ops[i];
        double median = tt_passes_median(r, r->t.op + (size_t)i * (size_t)r->t.steps);
        if (op_beats(op, median, c)) return true;
        if (op->kind != TT_OP_GEMM) continue;
        flops += tt_op_flops(op);
        seconds += median;
    }
    double step = 3 * tt_model_work(r->session.model).forward / tt_passes_median(r, r->t.step);
    return step > most || (seconds > 0 && flops / seconds > most);
}

static void measure_again(struct tt_passes *r, struct tt_ceilings *c)
{
    if (!tt_job_leads(r->o->job) || !beaten(r, c)) return;
    if (r->o->say) r->o->say("the step is faster than the measured rates of the device; measuring them again");
    struct tt_ceilings now;
    tt_status st = tt_ceilings_find(r->o->backend, r->o->config->precision, r->o->ceilings,
                                    TT_CEILINGS_RAISE, &now);
    if (!st) *c = now;
    tt_status_free(st); /* no memory left beside the model: the roofs stay, and the report says so */
}

static tt_status run_all(struct tt_passes *r, struct tt_ceilings *c, struct tt_profile *out)
{
    TT_TRY(tt_passes_open(r));
    TT_TRY(tt_passes_run(r, true));
    measure_again(r, c);
    fill_run(r, &out->run);
    out->run.waited = tt_turns_waited(&r->t.turns);
    out->run.recorded_waited = tt_turns_waited(&r->t.recorded_turns);
    take_trace(r, out);
    TT_TRY(tt_derive_training(r, out));
    TT_TRY(tt_derive_times(r, c, out));
    TT_TRY(tt_derive_parts(r, out));
    TT_TRY(tt_derive_efficiency(r, c, out));
    TT_TRY(tt_derive_memory(r, out));
    return tt_derive_sweeps(r, out);
}

/* Rank 0 measures the roofs; meanwhile the others wait and leave the machine to it. */
static tt_status find_ceilings(const struct tt_profile_options *o, struct tt_ceilings *c)
{
    tt_status st = TT_OK;
    if (tt_job_leads(o->job))
        st = tt_ceilings_find(o->backend, o->config->precision, o->ceilings,
                              o->measure_ceilings ? TT_CEILINGS_AGAIN : TT_CEILINGS_KEPT, c);
    TT_TRY(tt_job_agree(o->job, st));
    return tt_job_share(o->job, c, sizeof *c);
}

/* All ranks run each step together. If one fails in between, the others' devices wait for it; whoever closes the job
 * reports it. */
static tt_status run_ranks(struct tt_passes *r, struct tt_ceilings *c, struct tt_profile *out)
{
    tt_job_busy(r->o->job);
    TT_TRY(run_all(r, c, out));
    return tt_derive_ranks(r, r->o->job, out);
}

static tt_status make_run(const struct tt_profile_options *o, struct tt_passes **out)
{
    *out = calloc(1, sizeof **out);
    if (!*out) return tt_no_memory("a profile");
    (*out)->o = o;
    (*out)->config = *o->config;
    return TT_OK;
}

/* ---- the points of a sweep, where they fit ---- */

static tt_status run_point(const struct tt_profile_options *o, struct tt_profile_sweep *w)
{
    struct tt_profile_options few = *o;
    struct tt_passes *r;
    TT_TRY(make_run(&few, &r));
    *(strcmp(w->axis, "batch") ? &r->config.seq_len : &r->config.batch_size) = w->value;
    few.config = &r->config;
    few.steps = 3;
    few.warmup = 1;
    few.say = NULL;
    tt_status st = tt_passes_open(r);
    if (!st) st = tt_passes_run(r, false);
    if (!st) {
        w->measured = (double)r->after.memory_peak;
        w->seconds = tt_passes_median(r, r->t.step);
    }
    tt_passes_close(r);
    free(r);
    return st;
}

static bool fits(const struct tt_profile *p, const struct tt_profile_sweep *w)
{
    return !(p->memory.device_free_bytes > 0) || w->predicted < 0.9 * p->memory.device_free_bytes;
}

static tt_status run_sweeps(const struct tt_profile_options *o, struct tt_profile *out)
{
    for (int i = 0; i < out->sweeps_count; i++) {
        struct tt_profile_sweep *w = &out->sweeps[i];
        bool batch = !strcmp(w->axis, "batch");
        bool here = w->value == (batch ? o->config->batch_size : o->config->seq_len);
        if (here) {
            w->measured = out->memory.measured_bytes;
            w->seconds = out->step.seconds;
        } else if ((batch ? o->sweep_batch : o->sweep_seq) && fits(out, w)) {
            char what[64];
            snprintf(what, sizeof what, "running %s %lld", w->axis, (long long)w->value);
            if (o->say) o->say(what);
            TT_TRY(tt_context(run_point(o, w), "--sweep %s, at %lld", w->axis, (long long)w->value));
        }
    }
    return TT_OK;
}

tt_status tt_profile_measure(const struct tt_profile_options *o, struct tt_profile *out)
{
    struct tt_ceilings ceilings;
    struct tt_passes *r;
    *out = (struct tt_profile){.run.load = tt_machine_load()};
    if (o->say) o->say("measuring what the device can do");
    TT_TRY(find_ceilings(o, &ceilings));
    TT_TRY(make_run(o, &r));
    /* All passes are parts of one training run, and follow its schedule. */
    r->config.num_steps = 3 * o->steps + o->warmup + 5;
    tt_status st = run_ranks(r, &ceilings, out);
    tt_passes_close(r);
    free(r);
    if (!st) st = run_sweeps(o, out);
    out->sealed = !st;
    return st;
}
