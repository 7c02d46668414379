/* The step, its operators and groups.
 *
 * The time of an operation is its median over the recorded steps. A disturbance hits a different operation each time,
 * so a step takes longer than all its medians together. All medians are therefore scaled by one factor, to add up to
 * the median of the steps' sums. Every table is made of these times, so all tables add up to the same. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/stats.h"
#include "profiling/disturbed.h"
#include "profiling/measure/derive.h"

struct times {
    struct tt_passes *r;
    const struct tt_plan *plan;
    const struct tt_ceilings *ceilings;
    struct tt_profile *out;
    double *values; /* room for ops x steps of them, to take medians */
    int *row;       /* the operator that each operation belongs to */
};

/* A GPU does not wait for processors; one that was interrupted waited for other programs. */
static struct tt_roofs roofs_of(const struct tt_ceilings *c, double rate, bool busy, double waited, double slowed)
{
    return (struct tt_roofs){rate, c->bandwidth, tt_ceilings_doubtful(c), busy && waited > 0 ? waited : 0, slowed};
}

struct tt_roofs tt_roofs_of_row(const struct tt_ceilings *c, double rate, const struct tt_profile *p)
{
    /* The steps of a CPU may scatter so much that a slower recording does not stand out; its rows are slower anyway. */
    double slower = tt_host_computes(p) ? 1 + p->launch.recorded_overhead : 1;
    return roofs_of(c, rate, tt_recorded_busy(p), tt_recorded_waited(p), fmax(tt_recorded_slowed(p), slower));
}

struct tt_roofs tt_roofs_of_step(const struct tt_ceilings *c, double rate, const struct tt_profile *p)
{
    bool cpu = tt_host_computes(p);
    double slowed = cpu ? tt_step_slowed(p) : tt_interrupted_slowed(p->run.interrupted);
    return roofs_of(c, rate, slowed > 1, cpu ? p->run.waited : tt_recorded_waited(p), slowed);
}

void tt_op_shape(const struct tt_op *op, char out[64])
{
    const struct tt_gemm *g = &op->args.gemm;
    out[0] = 0;
    if (op->kind != TT_OP_GEMM) return;
    int n = g->batch > 1 ? snprintf(out, 64, "%lldx(", (long long)g->batch) : 0;
    snprintf(out + n, 64 - (size_t)n, "%lldx%lldx%lld%s", (long long)g->m, (long long)g->n, (long long)g->k,
             g->batch > 1 ? ")" : "");
}

/* ---- rows ---- */

/* A kernel as short as an empty one, or shorter than the host needs to start the next, is bound by launching. */
static const char *bound_of(const struct times *t, const struct tt_roofs *roofs, const struct tt_profile_row *row)
{
    const struct tt_profile_launch *l = &t->r->launch;
    double floor = 1.5 * l->empty_kernel_seconds;
    if (!t->r->graph && !t->r->serial) floor = fmax(floor, l->launch_seconds);
    if (row->median <= floor) return "launch";
    return tt_bound_by(roofs, row->flops, row->bytes, row->seconds);
}

/* The exposed part of a collective gives no rate; derive_ranks.c computes its bandwidth. */
static void finish_communication(struct tt_profile_row *row)
{
    row->intensity = row->flops_per_second = row->bytes_per_second = row->roof_percent = NAN;
    snprintf(row->bound, sizeof row->bound, "link");
}

/* `compute`: the seconds that its operations take at their compute roofs. */
static void finish_row(const struct times *t, struct tt_profile_row *row, double compute)
{
    if (!strcmp(row->group, tt_group_name(TT_G_COMMUNICATION))) {
        finish_communication(row);
        return;
    }
    row->intensity = row->bytes > 0 ? row->flops / row->bytes : NAN;
    row->flops_per_second = row->seconds > 0 ? row->flops / row->seconds : NAN;
    row->bytes_per_second = row->seconds > 0 ? row->bytes / row->seconds : NAN;
    double shortest = fmax(compute, row->bytes / t->ceilings->bandwidth);
    row->roof_percent = row->seconds > 0 ? 100 * shortest / row->seconds : NAN;
    struct tt_roofs roofs =
        tt_roofs_of_row(t->ceilings, compute > 0 ? row->flops / compute : t->ceilings->rest, t->out);
    snprintf(row->bound, sizeof row->bound, "%s", bound_of(t, &roofs, row));
}

static void add_op(struct tt_profile_row *row, const struct tt_op *op, double seconds)
{
    row->count++;
    row->seconds += seconds;
    row->flops += tt_op_flops(op);
    row->bytes += tt_op_bytes(op);
}

static bool same(const struct tt_profile_row *row, const struct tt_op *op, const char *shape)
{
    return !strcmp(row->name, tt_op_name(op)) && !strcmp(row->shape, shape) &&
           !strcmp(row->group, tt_group_name(op->group)) && !strcmp(row->phase, tt_phase_name(op->phase));
}

static int row_of(struct tt_profile *out, const struct tt_op *op)
{
    char shape[64];
    int i = 0;
    tt_op_shape(op, shape);
    while (i < out->operators_count && !same(&out->operators[i], op, shape)) i++;
    if (i < out->operators_count) return i;
    struct tt_profile_row *row = &out->operators[out->operators_count++];
    snprintf(row->name, sizeof row->name, "%s", tt_op_name(op));
    snprintf(row->shape, sizeof row->shape, "%s", shape);
    snprintf(row->group, sizeof row->group, "%s", tt_group_name(op->group));
    snprintf(row->phase, sizeof row->phase, "%s", tt_phase_name(op->phase));
    return i;
}

/* Median over the launches of all operations that `belongs` chooses. */
static double median_launch(const struct times *t, bool (*belongs)(const struct times *, int op, int which), int which)
{
    int steps = t->r->t.steps, n = 0;
    for (int i = 0; i < t->plan->count; i++) {
        if (!belongs(t, i, which)) continue;
        memcpy(t->values + n, t->r->t.op + (size_t)i * (size_t)steps, (size_t)steps * sizeof *t->values);
        n += steps;
    }
    return tt_quantile(t->values, n, 0.5);
}

static bool in_row(const struct times *t, int op, int which) { return t->row[op] == which; }
static bool in_group(const struct times *t, int op, int which) { return (int)t->plan->ops[op].group == which; }

static int longest_first(const void *x, const void *y)
{
    const struct tt_profile_row *a = x, *b = y;
    if (a->seconds != b->seconds) return a->seconds > b->seconds ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Adds the host's time of each launch to its operator. The launches of a traced step are in the order of its
 * operations. False: some are missing. */
static bool sum_launches(struct times *t)
{
    struct tt_profile *out = t->out;
    int at = 0;
    int64_t step = -1;
    for (int i = 0; i < out->events_count; i++) {
        const struct tt_profile_event *e = &out->events[i];
        if (strcmp(e->track, "host") || strcmp(e->kind, "launch")) continue;
        if (e->step != step && at % t->plan->count) return false;
        step = e->step;
        int op = at++ % t->plan->count;
        if (strcmp(e->name, tt_op_name(&t->plan->ops[op]))) return false;
        out->operators[t->row[op]].host_seconds += e->seconds / t->r->traced;
    }
    return at > 0 && at == t->r->traced * t->plan->count;
}

/* To be called before the operators are sorted, since t->row has their places. */
static void make_host_times(struct times *t)
{
    bool known = !t->r->serial && sum_launches(t);
    for (int i = 0; i < t->out->operators_count && !known; i++) t->out->operators[i].host_seconds = NAN;
}

static double group_host_seconds(const struct tt_profile *out, const char *group)
{
    double sum = 0;
    for (int i = 0; i < out->operators_count; i++)
        if (!strcmp(out->operators[i].group, group)) sum += out->operators[i].host_seconds;
    return sum;
}

/* The seconds of all operations that `belongs` chooses, each at its compute roof. */
static double compute_of(const struct times *t, bool (*belongs)(const struct times *, int op, int which), int which)
{
    double seconds = 0;
    for (int i = 0; i < t->plan->count; i++) {
        const struct tt_op *op = &t->plan->ops[i];
        if (belongs(t, i, which)) seconds += tt_op_flops(op) / tt_roof_of_op(t->ceilings, op);
    }
    return seconds;
}

static void make_operators(struct times *t)
{
    struct tt_profile *out = t->out;
    for (int i = 0; i < t->plan->count; i++) {
        t->row[i] = row_of(out, &t->plan->ops[i]);
        add_op(&out->operators[t->row[i]], &t->plan->ops[i], t->r->t.median[i]);
    }
    for (int i = 0; i < out->operators_count; i++) {
        out->operators[i].median = median_launch(t, in_row, i);
        finish_row(t, &out->operators[i], compute_of(t, in_row, i));
    }
    make_host_times(t);
    qsort(out->operators, (size_t)out->operators_count, sizeof *out->operators, longest_first);
}

static struct tt_profile_row *add_group(struct tt_profile *out, const char *name)
{
    struct tt_profile_row *row = &out->groups[out->groups_count++];
    snprintf(row->name, sizeof row->name, "%s", name);
    snprintf(row->group, sizeof row->group, "%s", name);
    return row;
}

static void make_groups(struct times *t)
{
    for (int g = 0; g < TT_GROUP_COUNT; g++) {
        struct tt_profile_row *row = NULL;
        for (int i = 0; i < t->plan->count; i++) {
            if ((int)t->plan->ops[i].group != g) continue;
            if (!row) row = add_group(t->out, tt_group_name((enum tt_group)g));
            add_op(row, &t->plan->ops[i], t->r->t.median[i]);
        }
        if (!row) continue;
        row->median = median_launch(t, in_group, g);
        row->host_seconds = group_host_seconds(t->out, row->name);
        finish_row(t, row, compute_of(t, in_group, g));
    }
}

/* Copies and gaps have no roof, since nothing computes in them. */
static void add_copies_and_gaps(struct times *t)
{
    struct tt_profile_row *copies = add_group(t->out, "copies");
    *copies = (struct tt_profile_row){.name = "copies",
                                      .group = "copies",
                                      .count = t->r->t.copy_count,
                                      .seconds = t->r->t.copy_median,
                                      .median = t->r->t.copy_count ? t->r->t.copy_median / t->r->t.copy_count : NAN,
                                      .host_seconds = NAN,
                                      .bytes = t->r->t.copy_bytes,
                                      .intensity = 0,
                                      .flops_per_second = 0,
                                      .bytes_per_second =
                                          t->r->t.copy_median > 0 ? t->r->t.copy_bytes / t->r->t.copy_median : NAN,
                                      .roof_percent = NAN};
    struct tt_profile_row *gaps = add_group(t->out, "gaps");
    *gaps = (struct tt_profile_row){.name = "gaps",
                                    .group = "gaps",
                                    .seconds = fmax(0, t->out->step.gap_seconds),
                                    .median = NAN,
                                    .host_seconds = NAN,
                                    .intensity = NAN,
                                    .flops_per_second = NAN,
                                    .bytes_per_second = NAN,
                                    .roof_percent = NAN};
}

static void make_shares(struct tt_profile *out)
{
    double total = 0;
    for (int i = 0; i < out->groups_count; i++) total += out->groups[i].seconds;
    for (int i = 0; i < out->groups_count; i++) out->groups[i].share = out->groups[i].seconds / total;
    for (int i = 0; i < out->operators_count; i++) out->operators[i].share = out->operators[i].seconds / total;
}

/* ---- the step ---- */

static double mean(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i];
    return sum / n;
}

static double deviation(const double *x, int n, double m)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (x[i] - m) * (x[i] - m);
    return n > 1 ? sqrt(sum / (n - 1)) : NAN;
}

static double quantile(struct tt_passes *r, const double *row, double q)
{
    tt_passes_median(r, row); /* leaves t.scratch sorted */
    return tt_quantile(r->t.scratch, r->t.steps, q);
}

/* The most that gaps can be. Where the host computes, nothing waits for it: what a step takes beyond a recorded one and
 * the host's work between steps is noise. A GPU can wait for the host, and in recorded steps it does not, so there is
 * no limit. */
static double most_of_gaps(struct tt_passes *r, double work)
{
    if (!r->serial) return INFINITY;
    return fmax(0, tt_passes_median(r, r->t.recorded) - work) + tt_outside_phases(r);
}

static void make_step(struct times *t)
{
    struct tt_passes *r = t->r;
    struct tt_profile_step *s = &t->out->step;
    const struct tt_config *c = &r->config;
    double samples = (double)tt_step_rows(c);
    s->seconds = tt_passes_median(r, r->t.step);
    s->p95 = quantile(r, r->t.step, 0.95);
    s->fastest = quantile(r, r->t.step, 0);
    s->mean = mean(r->t.step, r->t.steps);
    s->deviation = deviation(r->t.step, r->t.steps, s->mean);
    s->launched_seconds = r->graph ? tt_passes_median(r, r->t.launched) : s->seconds;
    s->wall_seconds = r->t.wall;
    for (int i = 0; i < t->plan->count; i++) s->kernel_seconds += t->r->t.median[i];
    double work = s->kernel_seconds + (r->serial ? r->t.copy_median : 0);
    s->gap_seconds = fmin(s->seconds - work, most_of_gaps(r, work));
    double groups = s->kernel_seconds + r->t.copy_median + s->gap_seconds; /* as make_shares adds them up */
    s->gap_fraction = s->gap_seconds / (s->gap_seconds > 0 ? groups : s->seconds);
    s->samples_per_second = samples / s->seconds;
    s->tokens_per_second = samples * (double)c->seq_len / s->seconds;
    s->kernels = t->plan->count;
    s->peak_memory_bytes = (double)r->after.memory_peak;
}

/* Whether two operations are of one row of the table and of one size. */
static bool do_the_same(const struct tt_op *a, const struct tt_op *b)
{
    char shape[64], other[64];
    if (a->group != b->group || a->phase != b->phase || strcmp(tt_op_name(a), tt_op_name(b))) return false;
    tt_op_shape(a, shape);
    tt_op_shape(b, other);
    return !strcmp(shape, other) && tt_op_bytes(a) == tt_op_bytes(b);
}

/* The time of all operations that do the same as `op`, in a step, if each takes the median of all their launches. Adds
 * what they really took in each step to `took`. Returns 0 and adds nothing where an earlier operation does the same,
 * since the kind is counted already, or where `op` is alone of its kind: it would be compared with itself. */
static double usual_kind(const struct times *t, int op, double *took)
{
    const struct tt_op *ops = t->plan->ops;
    const struct tt_times *times = &t->r->t;
    int steps = times->steps, n = 0;
    for (int i = 0; i < op; i++)
        if (do_the_same(&ops[i], &ops[op])) return 0;
    for (int i = op; i < t->plan->count; i++)
        if (do_the_same(&ops[i], &ops[op]))
            memcpy(t->values + steps * n++, times->op + (size_t)i * (size_t)steps, (size_t)steps * sizeof *t->values);
    for (int i = 0; n > 1 && i < n * steps; i++) took[i % steps] += t->values[i];
    return n > 1 ? n * tt_quantile(t->values, n * steps, 0.5) : 0;
}

/* run.interrupted: how many times as long as usual the recorded operations took, in the median step. What is usual is
 * the median of all operations of a kind, not that of one operation over the steps: steps begin alike, so the time
 * slices of another program may fall into the same operation again and again. Where the longest undisturbed steps took
 * more than 1.5 times the median, it is that ratio if larger. */
static double interrupted(const struct times *t)
{
    double *took = t->r->t.scratch, usual = 0, far = t->out->step.p95 / t->out->step.seconds;
    if (t->r->serial || t->r->t.beside) return NAN; /* no device, or ranks, which wait for each other */
    for (int i = 0; i < t->r->t.steps; i++) took[i] = 0;
    for (int i = 0; i < t->plan->count; i++) usual += usual_kind(t, i, took);
    double times = usual > 0 ? tt_quantile(took, t->r->t.steps, 0.5) / usual : NAN;
    return far > 1.5 ? fmax(times, far) : times;
}

static void make_launch(struct times *t)
{
    struct tt_profile_launch *l = &t->out->launch;
    const struct tt_profile_step *s = &t->out->step;
    *l = t->r->launch;
    l->recorded_seconds = tt_passes_median(t->r, t->r->t.recorded);
    l->recorded_overhead = l->recorded_seconds / s->launched_seconds - 1;
    l->total_seconds = (double)s->kernels * l->launch_seconds;
    l->idle_seconds = t->r->serial ? 0 : fmax(0, s->launched_seconds - s->kernel_seconds);
    l->waits = t->r->t.waits;
}

/* ---- all ---- */

static tt_status make_room(struct times *t)
{
    size_t n = (size_t)t->plan->count;
    struct tt_profile *out = t->out;
    t->values = calloc(n * (size_t)t->r->t.steps, sizeof *t->values);
    t->row = calloc(n, sizeof *t->row);
    out->operators = calloc(n, sizeof *out->operators);
    out->groups = calloc(TT_GROUP_COUNT + 2, sizeof *out->groups);
    bool whole = t->values && t->row && out->operators && out->groups;
    return whole ? TT_OK : tt_no_memory("the tables of a profile");
}

static void make_operation_times(struct times *t)
{
    struct tt_times *times = &t->r->t;
    double sum = 0;
    for (int i = 0; i < t->plan->count; i++)
        sum += times->median[i] = tt_passes_median(t->r, times->op + (size_t)i * (size_t)times->steps);
    for (int step = 0; step < times->steps; step++) {
        times->scratch[step] = 0;
        for (int i = 0; i < t->plan->count; i++) times->scratch[step] += times->op[i * times->steps + step];
    }
    double whole = tt_quantile(times->scratch, times->steps, 0.5);
    times->scale = sum > 0 ? whole / sum : 1;
    for (int i = 0; i < t->plan->count; i++) times->median[i] *= times->scale;
}

static void make_all(struct times *t)
{
    make_operation_times(t);
    t->r->t.copy_median = tt_passes_median(t->r, t->r->t.copy);
    make_step(t);
    t->out->run.interrupted = interrupted(t);
    make_launch(t);
    make_operators(t);
    make_groups(t);
    add_copies_and_gaps(t);
    make_shares(t->out);
}

tt_status tt_derive_times(struct tt_passes *r, const struct tt_ceilings *c, struct tt_profile *out)
{
    struct times t = {.r = r, .plan = r->session.step, .ceilings = c, .out = out};
    tt_status st = make_room(&t);
    if (!st) make_all(&t);
    free(t.values);
    free(t.row);
    return st;
}
