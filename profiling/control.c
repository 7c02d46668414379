/* Operators that two runs have in common, as a control of the machine. */
#include "profiling/control.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/load.h"
#include "profiling/disturbed.h"

static const double least_share = 0.1; /* of both steps; with less there is no control */

/* Whether operators of the same name run the same code in both. */
static bool same_kernels(const struct tt_profile_run *a, const struct tt_profile_run *b)
{
    return !strcmp(a->backend, b->backend) && !strcmp(a->device, b->device) && !strcmp(a->library, b->library) &&
           !strcmp(a->precision, b->precision) && !strcmp(a->fp8, b->fp8) && !strcmp(a->tt, b->tt) &&
           !strcmp(a->own_kernel_sha, b->own_kernel_sha) && a->graph == b->graph &&
           !strcmp(a->source, b->source) && !strcmp(a->scope, b->scope);
}

static bool same(double x, double y) { return x == y || (isnan(x) && isnan(y)); }

static bool alike(const struct tt_profile_row *a, const struct tt_profile_row *b)
{
    return !strcmp(a->name, b->name) && !strcmp(a->shape, b->shape) && !strcmp(a->group, b->group) &&
           !strcmp(a->phase, b->phase) && a->count == b->count && same(a->flops, b->flops) &&
           same(a->bytes, b->bytes);
}

/* With another tile, flash attention runs other kernels under the same names. */
static bool other_tile(const struct tt_profile_row *op, const struct tt_profile *a, const struct tt_profile *b)
{
    return !strncmp(op->name, "flash", 5) && strcmp(a->run.flash_tile, b->run.flash_tile) != 0;
}

static const struct tt_profile_row *find_alike(const struct tt_profile_row *op, const struct tt_profile *p)
{
    for (int i = 0; i < p->operators_count; i++)
        if (alike(op, &p->operators[i])) return &p->operators[i];
    return NULL;
}

/* The limit is twice what two runs of one program differ by, and at least 15 %: on a quiet GPU too, an operator's time
 * changes a little with what its changed neighbours leave in the caches. */
static bool has_moved(double times, const char *backend)
{
    double room = fmax(0.15, 2 * sqrt(2) * tt_runs_differ(backend));
    return times > 1 + room || times < 1 / (1 + room);
}

/* One operator: the logarithm of the ratio of its times, and its weight: the shorter of the two times. */
struct ratio {
    double log, weight;
};

static int by_ratio(const void *a, const void *b)
{
    double x = ((const struct ratio *)a)->log, y = ((const struct ratio *)b)->log;
    return (x > y) - (x < y);
}

/* The ratio below which `part` of the weight lies. Where that falls between two ratios it is their geometric mean, so
 * that with the runs swapped the quantile of 1 - part is the inverse. */
static double quantile_of(const struct ratio *r, int n, double part)
{
    double all = 0, sum = 0;
    for (int i = 0; i < n; i++) all += r[i].weight;
    for (int i = 0; i < n; i++) {
        sum += r[i].weight;
        bool tie = i + 1 < n && fabs(sum - part * all) <= 1e-12 * all;
        if (tie) return exp((r[i].log + r[i + 1].log) / 2);
        if (sum > part * all) return exp(r[i].log);
    }
    return NAN;
}

/* The median does not move for one operator that took ten times as long. Beside other programs many operators may have
 * been disturbed, and the median may be one of them: then the interval is the middle half of the weight. */
static void take_times(struct tt_control *c, struct ratio *r, int n)
{
    double aside = c->busy ? 0.25 : 0;
    qsort(r, (size_t)n, sizeof *r, by_ratio);
    c->times = quantile_of(r, n, 0.5);
    c->least = quantile_of(r, n, 0.5 - aside);
    c->most = quantile_of(r, n, 0.5 + aside);
}

/* Whether other programs explain the ratio: they may have slowed the slower run by that much. */
static bool by_others(const struct tt_control *c, const struct tt_profile *a, const struct tt_profile *b)
{
    const struct tt_profile *longer = c->times > 1 ? b : a;
    return c->busy && fmax(c->times, 1 / c->times) <= fmax(tt_step_slowed(longer), tt_recorded_slowed(longer));
}

struct tt_control tt_control(const struct tt_profile *a, const struct tt_profile *b)
{
    struct tt_control c = {.seconds = a->step.seconds, .seconds_there = b->step.seconds, .times = NAN};
    c.least = c.most = NAN;
    int n = 0;
    if (!same_kernels(&a->run, &b->run)) return c;
    c.disturbed = tt_recorded_slowed(a) > 1 || tt_recorded_slowed(b) > 1;
    c.busy = tt_recorded_busy(a) || tt_recorded_busy(b);
    struct ratio *ratios = calloc((size_t)a->operators_count + 1, sizeof *ratios);
    if (!ratios) return c;
    for (int i = 0; i < a->operators_count; i++) {
        const struct tt_profile_row *op = &a->operators[i], *other = find_alike(op, b);
        if (!other || other_tile(op, a, b)) continue;
        c.operators++;
        if (!(op->share > 0) || !(other->share > 0)) continue;
        c.share += op->share;
        c.there += other->share;
        double here = op->share * c.seconds, there = other->share * c.seconds_there;
        ratios[n++] = (struct ratio){log(there / here), fmin(here, there)};
    }
    c.all = c.operators == a->operators_count && c.operators == b->operators_count;
    /* Times above are shares of the undisturbed step: the recorded steps may have been slower as a whole. */
    if (c.share >= least_share && c.there >= least_share) take_times(&c, ratios, n);
    free(ratios);
    c.moved = isfinite(c.times) && has_moved(c.times, b->run.backend) && !by_others(&c, a, b);
    return c;
}
