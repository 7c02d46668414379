/* A profile of a tiny model: every figure that can be known beforehand is checked, and the tables are compared with
 * each other. test_profile_folder.c tests the files. */
#include "profiling/disturbed.h"
#include "profiling/measure/ceiling.h"
#include "profiling/measure/cost.h"
#include "profiling/measure/derive.h"
#include "tests/profiling/profile_fixture.h"

/* ---- the tables agree with the plan and with each other ---- */

static void check_counts(const struct tt_profile *p, const struct tt_plan *plan)
{
    struct tt_plan_cost cost = tt_cost_of_plan(plan);
    int64_t operators = 0, groups = 0, phases = 0;
    double flops = 0, bytes = 0, seconds = 0;
    for (int i = 0; i < p->operators_count; i++) {
        operators += p->operators[i].count;
        flops += p->operators[i].flops;
        bytes += p->operators[i].bytes;
        seconds += p->operators[i].seconds;
        CHECK(p->operators[i].seconds > 0 || p->operators[i].median == 0);
        CHECK(i == 0 || p->operators[i].seconds <= p->operators[i - 1].seconds, "longest first");
    }
    CHECK(operators == plan->count && p->step.kernels == plan->count, "%lld of %d", (long long)operators, plan->count);
    CHECK(near(flops, cost.total.flops) && near(bytes, cost.total.bytes));
    CHECK(near(seconds, p->step.kernel_seconds), "%g %g", seconds, p->step.kernel_seconds);
    for (int i = 0; i < p->groups_count; i++)
        if (strcmp(p->groups[i].name, "copies")) groups += p->groups[i].count;
    CHECK(groups == plan->count);
    for (int i = 0; i < p->phases_count; i++) phases += p->phases[i].kernels;
    CHECK(phases == plan->count);
    for (int g = 0; g < TT_GROUP_COUNT; g++)
        for (int i = 0; i < p->groups_count; i++)
            if (!strcmp(p->groups[i].name, tt_group_name((enum tt_group)g)))
                CHECK(p->groups[i].count == cost.group[g].count && near(p->groups[i].flops, cost.group[g].flops));
}

static void check_shares(const struct tt_profile *p)
{
    double groups = 0, total = 0, operators = 0, rest = 0;
    CHECK(!strcmp(p->groups[p->groups_count - 1].name, "gaps") &&
          !strcmp(p->groups[p->groups_count - 2].name, "copies"));
    for (int i = 0; i < p->groups_count; i++) {
        groups += p->groups[i].share;
        total += p->groups[i].seconds;
        if (i >= p->groups_count - 2) rest += p->groups[i].share;
    }
    for (int i = 0; i < p->operators_count; i++) operators += p->operators[i].share;
    CHECK(near(groups, 1) && near(operators + rest, 1), "%.17g %.17g", groups, operators + rest);
    double gap = fmax(0, p->step.gap_seconds), copies = p->groups[p->groups_count - 2].seconds;
    CHECK(near(total, p->step.kernel_seconds + copies + gap));
    double most = fmax(0, p->launch.recorded_seconds - p->step.kernel_seconds) + p->phases[p->phases_count - 1].wall;
    struct tt_device_info device;
    CHECK_OK(backend.ops->info(backend.self, &device));
    CHECK(!device.shares_memory || gap <= most * (1 + 1e-9), "what recording made faster is noise: %g, %g", gap, most);
    CHECK(p->step.gap_seconds < 0 || near(p->step.gap_fraction, p->groups[p->groups_count - 1].share),
          "one share for one gap: %g, %g", p->step.gap_fraction, p->groups[p->groups_count - 1].share);
    CHECK(p->groups[p->groups_count - 2].count == 1 && p->groups[p->groups_count - 2].bytes > 0,
          "the tokens are copied once");
}

static void check_rows(const struct tt_profile *p)
{
    double alone = tt_recorded_busy(p) && tt_recorded_waited(p) > 0 ? 1 - tt_recorded_waited(p) : 1;
    for (int i = 0; i < p->operators_count; i++) {
        const struct tt_profile_row *r = &p->operators[i];
        double least = fmax(r->flops / GEMM_RATE, r->bytes / COPY_RATE);
        CHECK(r->seconds > 0 ? near(r->roof_percent, 100 * least / r->seconds) : isnan(r->roof_percent), "%s", r->name);
        CHECK(near(r->intensity, r->flops / r->bytes));
        bool far = r->roof_percent < 20 * alone;
        bool farther = r->roof_percent < 20 * fmin(alone, 1 / tt_recorded_slowed(p));
        const char *too_little = farther ? "latency" : "uncertain"; /* because of other programs */
        CHECK(!strcmp(r->bound, "launch") || !strcmp(r->bound, "uncertain") || far == !strcmp(r->bound, too_little),
              "%s is %s at %g %%", r->name, r->bound, r->roof_percent);
        CHECK(strcmp(r->bound, "uncertain") || tt_recorded_slowed(p) > 1, "%s in a quiet run", r->name);
        CHECK(!strcmp(r->name, "gemm") == !!r->shape[0], "%s has shape \"%s\"", r->name, r->shape);
    }
}

/* By hand: 2 FLOPs per weight of each matrix and token, and two products of S x S per head. */
static void check_efficiency(const struct tt_profile *p, const struct tt_config *c)
{
    double C = 48, D = 8, H = 6, KV = 2, F = 76, V = 61, L = (double)c->num_layers, S = 19, B = 3;
    double micros = (double)c->grad_accum;
    double matrices = L * (C * H * D + 2 * C * KV * D + H * D * C + 3 * C * F) + V * C;
    double norms = L * 2 * C + C;
    double full = micros * B * (2 * S * matrices + L * H * 2 * 2 * S * S * D);
    double causal = micros * B * (2 * S * matrices + L * H * 2 * 2 * (S * (S + 1) / 2) * D);
    const struct tt_profile_efficiency *e = &p->efficiency;
    CHECK(e->forward_flops == causal && e->backward_flops == 2 * causal && e->step_flops == 3 * causal);
    CHECK(e->forward_flops_full == full && e->step_flops_full == 3 * full);
    CHECK(p->run.parameters == (int64_t)(matrices + norms));
    CHECK(near(e->flops_per_parameter, 3 * causal / (matrices + norms)));
    CHECK(near(e->mfu_percent, 100 * 3 * causal / p->step.seconds / GEMM_RATE));
    CHECK(e->gemm_flops_per_second == GEMM_RATE && e->copy_bytes_per_second == COPY_RATE, "the kept rates are used");
    CHECK(near(e->ridge, GEMM_RATE / COPY_RATE));
    CHECK(near(p->step.tokens_per_second, micros * B * S / p->step.seconds));
    CHECK(!strcmp(e->mfu_class, tt_mfu_class(e->mfu_percent)));
}

static const struct tt_profile_component *component(const struct tt_profile *p, const char *name)
{
    for (int i = 0; i < p->components_count; i++)
        if (!strcmp(p->components[i].name, name)) return &p->components[i];
    CHECK(false, "no component %s", name);
    return &p->components[0];
}

static void check_components(const struct tt_profile *p, const struct tt_config *c)
{
    double L = (double)c->num_layers;
    const struct tt_profile_component *block = component(p, "block"), *pass = component(p, "forward + backward");
    double parts = component(p, "block attention")->seconds + component(p, "block ffn")->seconds +
                   component(p, "block norms")->seconds;
    CHECK(near(block->seconds, parts));
    CHECK(near(pass->seconds, p->phases[1].device + p->phases[2].device));
    CHECK(near(component(p, "forward")->seconds, p->phases[1].device) && isnan(component(p, "forward")->backward));
    double whole = 0, shares = 0;
    for (int i = 0; i < p->groups_count; i++) whole += p->groups[i].seconds, shares += p->groups[i].share;
    CHECK(component(p, "full step")->kernels == p->step.kernels && near(component(p, "full step")->seconds, whole) &&
          near(shares, 1) && near(component(p, "embedding")->share * whole, component(p, "embedding")->seconds));
    for (int i = 0; i < p->components_count; i++)
        CHECK(p->components[i].share <= 1 + 1e-9, "%s", p->components[i].name);
    CHECK(pass->seconds >= L * block->seconds + component(p, "head + loss")->seconds +
          component(p, "embedding")->seconds - 1e-12);
}

static void check_memory(const struct tt_profile *p, const struct tt_session *planned)
{
    const struct tt_profile_memory *m = &p->memory;
    double kinds = 0, alive = 0;
    CHECK(m->predicted_bytes >= (double)tt_engine_total(&planned->engine));
    CHECK(strcmp(p->run.backend, "cpu") || m->predicted_bytes == (double)tt_engine_total(&planned->engine));
    CHECK(m->measured_bytes >= m->predicted_bytes, "%g %g", m->measured_bytes, m->predicted_bytes);
    CHECK(strcmp(p->run.backend, "cpu") || m->measured_bytes <= 1.02 * m->predicted_bytes + 65536);
    CHECK(m->live_bytes <= m->arena_bytes && m->live_bytes > 0.5 * m->arena_bytes);
    for (int i = 0; i < p->memory_kinds_count; i++)
        if (isfinite(p->memory_kinds[i].predicted)) kinds += p->memory_kinds[i].predicted;
    CHECK(kinds == m->predicted_bytes);
    for (int i = 0; i < p->activations_count; i++) alive += p->activations[i].peak_bytes;
    CHECK(alive == m->live_bytes, "%g %g", alive, m->live_bytes);
    CHECK(p->memory_phases_count == 3);
    double most = fmax(p->memory_phases[0].peak_bytes,
                       fmax(p->memory_phases[1].peak_bytes, p->memory_phases[2].peak_bytes));
    CHECK(most == m->live_bytes);
    CHECK(p->sweeps_count >= 8);
    for (int i = 1; i < p->sweeps_count; i++)
        if (!strcmp(p->sweeps[i].axis, p->sweeps[i - 1].axis))
            CHECK(p->sweeps[i].activations > p->sweeps[i - 1].activations);
}

static void check_training(const struct tt_profile *p, const struct tt_config *c)
{
    double sum = 0, first = 0;
    int timed = 0;
    for (int i = 0; i < p->samples_count; i++) {
        CHECK(p->samples[i].step == i + 1 && isfinite(p->samples[i].loss));
        timed += isfinite(p->samples[i].seconds);
    }
    CHECK(timed == STEPS && p->run.steps == STEPS);
    CHECK(p->gradients_count == 1 + 9 * (int)c->num_layers + 1);
    for (int i = 0; i < p->gradients_count; i++) {
        CHECK(p->gradients[i].norm > 0 && !p->gradients[i].nonfinite, "%s got no gradient", p->gradients[i].name);
        sum += p->gradients[i].norm * p->gradients[i].norm;
        first += p->gradients[i].first_norm * p->gradients[i].first_norm;
    }
    CHECK(fabs(sqrt(sum) / p->step.grad_norm - 1) < 1e-5);
    CHECK(fabs(sqrt(first) / p->samples[0].grad_norm - 1) < 1e-5, "%g in the first step", sqrt(first));
    CHECK(fabs(sum - first) > 1e-6 * sum, "the first step is not the last");
}

/* ---- the trace ---- */

static double end_of(const struct tt_profile_event *e) { return e->start + e->seconds; }

/* In the given order, an event is either inside the last one that is still open, or begins after it. */
static void check_nesting(const struct tt_profile *p)
{
    const struct tt_profile_event *open[32];
    int depth = 0;
    for (int i = 0; i < p->events_count; i++) {
        const struct tt_profile_event *e = &p->events[i];
        if (i && strcmp(e->track, p->events[i - 1].track)) depth = 0;
        while (depth && end_of(open[depth - 1]) <= e->start + 1e-12) depth--;
        CHECK(!depth || end_of(e) <= end_of(open[depth - 1]) + 1e-12, "%s %s overlaps %s", e->track, e->name,
              open[depth - 1]->name);
        bool inside = depth && !strcmp(open[depth - 1]->kind, e->layer >= 0 ? "layer" : "phase");
        if (!strcmp(e->kind, "kernel") && e->seconds > 0)
            CHECK(inside, "%s is in no %s", e->name, e->layer >= 0 ? "layer" : "phase");
        if (!strcmp(e->kind, "phase"))
            CHECK(depth && !strcmp(open[depth - 1]->kind, "step"), "%s is in no step", e->name);
        if (depth < 32) open[depth++] = e;
    }
}

/* A kernel in the trace has the name of its operator row; a product's includes shape and phase. */
static bool is_row(const struct tt_profile *p, const struct tt_profile_event *e)
{
    char name[200];
    for (int i = 0; i < p->operators_count; i++) {
        const struct tt_profile_row *r = &p->operators[i];
        snprintf(name, sizeof name, "%s", r->name);
        if (r->shape[0])
            snprintf(name, sizeof name, "%s %s, %.*s", r->name, r->shape, (int)strcspn(r->phase, "_"), r->phase);
        if (!strcmp(name, e->name) && !strcmp(r->group, e->group)) return true;
    }
    return false;
}

static void check_trace(const struct tt_profile *p, const struct tt_plan *plan)
{
    int kernels = 0, launches = 0, copies = 0, steps = 0;
    for (int i = 0; i < p->events_count; i++) {
        kernels += !strcmp(p->events[i].kind, "kernel");
        launches += !strcmp(p->events[i].kind, "launch");
        copies += !strcmp(p->events[i].track, "copy");
        steps += !strcmp(p->events[i].kind, "step") && !strcmp(p->events[i].track, "compute");
        CHECK(p->events[i].start >= 0 && p->events[i].seconds >= 0);
        if (!strcmp(p->events[i].kind, "kernel")) CHECK(is_row(p, &p->events[i]), "no row is %s", p->events[i].name);
    }
    CHECK(steps >= 1 && kernels == steps * plan->count && launches == kernels && copies == steps,
          "%d steps, %d kernels, %d copies", steps, kernels, copies);
    check_nesting(p);
}

/* ---- each version ---- */

static void check_all(const struct tt_config *c)
{
    struct tt_profile p;
    struct tt_session planned;
    measure(c, &p);
    CHECK_OK(tt_session_plan(&planned, &backend, c, TT_USE_TRAIN));
    if (p.operators_count && planned.step) {
        check_counts(&p, planned.step);
        check_shares(&p);
        check_rows(&p);
        check_efficiency(&p, c);
        check_components(&p, c);
        check_memory(&p, &planned);
        check_training(&p, c);
        check_trace(&p, planned.step);
        CHECK(p.step.seconds > 0 && p.step.fastest <= p.step.seconds && p.step.seconds <= p.step.p95);
        CHECK(p.launch.launch_seconds > 0 && p.launch.event_seconds >= 0 && p.launch.waits >= 0.5);
    }
    tt_session_close(&planned);
    tt_profile_free(&p);
}

static void every_version(void)
{
    for (int v = first_version(); v < TT_VERSIONS; v++) {
        struct tt_config c = tiny_config();
        c.version = (enum tt_version)v;
        check_all(&c);
    }
}

static void accumulated_clipped_recomputed(void)
{
    struct tt_config c = tiny_config();
    c.version = TT_BASELINE;
    c.grad_accum = 2;
    c.clip_norm = 0.01; /* so small that it always clips */
    c.recompute = TT_RECOMPUTE_BLOCK;
    check_all(&c);
}

static void sweeps_are_run(void)
{
    struct tt_config c = tiny_config();
    struct tt_profile_options o = options_for(&c);
    struct tt_profile p;
    c.version = TT_FLASH;
    o.sweep_seq = true;
    CHECK_OK(tt_profile_measure(&o, &p));
    for (int i = 0; i < p.sweeps_count; i++) {
        const struct tt_profile_sweep *w = &p.sweeps[i];
        bool run = !strcmp(w->axis, "seq") || w->value == c.batch_size;
        CHECK(run == isfinite(w->measured) && run == isfinite(w->seconds), "%s %lld", w->axis, (long long)w->value);
        CHECK(!run || w->measured >= w->predicted);
    }
    tt_profile_free(&p);
}

static void classes(void)
{
    const struct {
        double percent;
        const char *words;
    } cases[] = {{0, "low"},  {19.9, "low"},  {20, "moderate"}, {39.9, "moderate"}, {40, "good"},
                 {60, "good"}, {60.1, "high"}, {140, "high"},    {NAN, "n/a"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(!strncmp(tt_mfu_class(cases[i].percent), cases[i].words, strlen(cases[i].words)), "%g", cases[i].percent);
}

/* The workshop's own sizes, counted again by hand from its shapes. */
static void known_flops(void)
{
    struct tt_config c = tiny_config();
    struct tt_model *m;
    c.hidden_dim = 512, c.num_layers = 8, c.num_heads = 8, c.num_kv_heads = 4, c.ffn_dim = 2048, c.vocab_size = 1000;
    c.seq_len = 128, c.batch_size = 8;
    CHECK_OK(tt_model_create(&c, &m));
    CHECK(fabs(tt_model_work(m).forward_full / 1e9 - 67.6) < 0.05, "%g", tt_model_work(m).forward_full);
    tt_model_free(m);
}

/* ---- a device apart from the host: with its own memory, and with graphs that are captured and replayed ---- */

struct beside {
    struct tt_relay relay; /* first member: the backend's self points to it */
    struct {
        bool is_gemm;
        enum tt_kernel kernel;
        union tt_args args;
    } recorded[4096];
    int count, begun; /* operations so far; where the newest graph begins */
    bool capturing;
};

static tt_status beside_info(void *self, struct tt_device_info *out)
{
    struct beside *d = self;
    TT_TRY(d->relay.real.ops->info(d->relay.real.self, out));
    out->shares_memory = false;
    return TT_OK;
}

static tt_status beside_gemm(void *self, const struct tt_gemm *g, tt_stream s)
{
    struct beside *d = self;
    if (!d->capturing) return d->relay.real.ops->gemm(d->relay.real.self, g, s);
    if (d->count == 4096) return tt_fail(TT_FAILED, "too many operations");
    d->recorded[d->count].is_gemm = true;
    d->recorded[d->count++].args.gemm = *g;
    return TT_OK;
}

static tt_status beside_launch(void *self, enum tt_kernel kernel, const void *args, tt_stream s)
{
    struct beside *d = self;
    if (!d->capturing) return d->relay.real.ops->launch(d->relay.real.self, kernel, args, s);
    if (d->count == 4096) return tt_fail(TT_FAILED, "too many operations");
    d->recorded[d->count].is_gemm = false;
    d->recorded[d->count].kernel = kernel;
    memcpy(&d->recorded[d->count++].args, args, tt_kernel_args_size(kernel));
    return TT_OK;
}

static tt_status beside_begin(void *self, tt_stream s)
{
    (void)s;
    struct beside *d = self;
    d->capturing = true;
    d->begun = d->count;
    return TT_OK;
}

/* A graph: its first operation and their number. */
struct stretch {
    int from, count;
};

static tt_status beside_end(void *self, tt_stream s, tt_graph *out)
{
    (void)s;
    struct beside *d = self;
    struct stretch *g = malloc(sizeof *g);
    *g = (struct stretch){d->begun, d->count - d->begun};
    d->capturing = false;
    *out = (tt_graph)g;
    return TT_OK;
}

static tt_status beside_replay(void *self, tt_graph graph, tt_stream s)
{
    struct beside *d = self;
    const struct stretch *g = (const struct stretch *)graph;
    struct tt_backend *b = &d->relay.real;
    for (int i = g->from; i < g->from + g->count; i++) {
        if (d->recorded[i].is_gemm) TT_TRY(b->ops->gemm(b->self, &d->recorded[i].args.gemm, s));
        else TT_TRY(b->ops->launch(b->self, d->recorded[i].kernel, &d->recorded[i].args, s));
    }
    return TT_OK;
}

static void beside_destroy(void *self, tt_graph g)
{
    (void)self;
    free(g);
}

static void graphs_and_running_ahead(void)
{
    struct tt_backend real = backend;
    struct beside *d = calloc(1, sizeof *d);
    struct tt_config c = tiny_config();
    struct tt_profile p;
    backend = tt_relay_open(&d->relay, &real);
    d->relay.ops.info = beside_info;
    d->relay.ops.gemm = beside_gemm;
    d->relay.ops.launch = beside_launch;
    d->relay.ops.graph_begin = beside_begin;
    d->relay.ops.graph_end = beside_end;
    d->relay.ops.graph_replay = beside_replay;
    d->relay.ops.graph_destroy = beside_destroy;
    c.version = TT_FLASH;
    c.graph = TT_SWITCH_ON;
    check_all(&c);
    struct tt_profile_options o = options_for(&c);
    d->count = 0;
    CHECK_OK(tt_profile_measure(&o, &p));
    CHECK(p.run.graph && p.run.warmup == 2, "the second step is captured before anything is measured");
    CHECK(isfinite(p.launch.graph_replay_seconds) && isfinite(p.launch.graph_kernel_seconds) &&
          p.step.launched_seconds > 0);
    CHECK(p.samples_count == 2 + 3 * STEPS + 1 + 2, "%d", p.samples_count);
    double host = 0, launches = 0;
    for (int i = 0; i < p.operators_count; i++) {
        CHECK(p.operators[i].host_seconds > 0, "%s takes the host no time", p.operators[i].name);
        host += p.operators[i].host_seconds;
    }
    for (int i = 0; i < p.groups_count - 2; i++) host -= p.groups[i].host_seconds;
    for (int i = 0; i < p.events_count; i++)
        launches += strcmp(p.events[i].kind, "launch") ? 0 : p.events[i].seconds;
    CHECK(launches > 0 && fabs(host) < 1e-9 * launches, "operators and groups differ by %g", host);
    CHECK(p.samples[p.samples_count - 1].step == p.samples_count, "a replayed step counts as one");
    double loss = p.step.loss;
    int samples = p.samples_count;
    tt_profile_free(&p);
    c.version = TT_BASELINE;
    CHECK_OK(tt_profile_measure(&o, &p));
    CHECK(!p.run.graph && p.samples_count == samples, "%d steps without a graph, %d with one", p.samples_count,
          samples);
    CHECK(fabs(p.step.loss - loss) < 1e-3 * loss, "of the same step: %g and %g", p.step.loss, loss);
    tt_profile_free(&p);
    backend = real;
    free(d);
}

int main(void)
{
    OPEN_OR_SKIP(begin_profiles());
    TEST(classes);
    TEST(known_flops);
    TEST(every_version);
    if (!test_few()) TEST(accumulated_clipped_recomputed);
    if (!test_few()) TEST(sweeps_are_run);
    if (!strcmp(backend.ops->name, "cpu")) TEST(graphs_and_running_ahead);
    return end_profiles();
}
