/* From what was imported to the tables of a profile. What the tool did not see stays NaN and is shown as n/a. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/stats.h"
#include "profiling/import/imported.h"
#include "profiling/names.h"

enum { EVENTS_SHOWN = 2000 };

/* Every figure of these structs is unknown until it is set. */
static void clear_figures(struct tt_profile *p)
{
    *p = (struct tt_profile){0};
    p->step = (struct tt_profile_step){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0, NAN, NAN, NAN};
    p->launch = (struct tt_profile_launch){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    struct tt_profile_efficiency *e = &p->efficiency;
    p->run.load = p->run.waited = p->run.recorded_waited = p->run.interrupted = NAN;
    e->gemm_spread = e->copy_spread = e->roofs_load = e->roofs_waited = NAN;
    double *figures[] = {&e->forward_flops,
                         &e->backward_flops,
                         &e->step_flops,
                         &e->forward_flops_full,
                         &e->backward_flops_full,
                         &e->step_flops_full,
                         &e->flops_per_parameter,
                         &e->flops_per_parameter_full,
                         &e->plan_flops,
                         &e->plan_bytes,
                         &e->intensity,
                         &e->flops_per_second,
                         &e->bytes_per_second,
                         &e->gemm_flops_per_second,
                         &e->datasheet_flops_per_second,
                         &e->copy_bytes_per_second,
                         &e->datasheet_bytes_per_second,
                         &e->mfu_percent,
                         &e->mfu_datasheet_percent,
                         &e->mfu_full_percent,
                         &e->mfu_full_datasheet_percent,
                         &e->bandwidth_percent,
                         &e->ridge,
                         &e->ridge_datasheet};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) *figures[i] = NAN;
    p->memory = (struct tt_profile_memory){NAN, NAN, NAN, NAN, NAN, NAN, NAN, "", "", -1};
}

/* ---- the time from first to last, and how much of it the device was busy ---- */

static int by_start(const void *x, const void *y)
{
    double a = ((const struct tt_imported_span *)x)->start, b = ((const struct tt_imported_span *)y)->start;
    return a < b ? -1 : a > b;
}

/* Keeps only the spans of the device; what the host did is in the tables already. */
static void keep_device(struct tt_imported *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->span_count; i++)
        if (r->spans[i].table == TT_IN_KERNELS || r->spans[i].table == TT_IN_COPIES) r->spans[n++] = r->spans[i];
    r->span_count = n;
}

static void busy_time(struct tt_imported *r, double *span, double *busy)
{
    *span = *busy = NAN;
    if (!r->span_count) return;
    qsort(r->spans, r->span_count, sizeof *r->spans, by_start);
    double end = r->spans[0].start;
    *busy = 0;
    for (size_t i = 0; i < r->span_count; i++) {
        if (r->spans[i].end <= end) continue;
        *busy += r->spans[i].end - fmax(end, r->spans[i].start);
        end = r->spans[i].end;
    }
    *span = end - r->spans[0].start;
}

/* ---- rows ---- */

static void set_rates(struct tt_profile_row *row)
{
    row->intensity = row->bytes > 0 ? row->flops / row->bytes : NAN;
    row->flops_per_second = row->seconds > 0 ? row->flops / row->seconds : NAN;
    row->bytes_per_second = row->seconds > 0 ? row->bytes / row->seconds : NAN;
}

static void set_bound(struct tt_profile_row *row, const struct tt_tally *t)
{
    enum { NEAR_THE_ROOF = 60 }; /* percent from which ncu calls one of the two the limit */
    row->roof_percent = fmax(t->compute_percent, t->memory_percent);
    if (!(row->roof_percent >= NEAR_THE_ROOF)) return;
    strcpy(row->bound, t->memory_percent >= t->compute_percent ? "memory" : "compute");
}

static struct tt_profile_row row_of(struct tt_tally *t, double steps, double all)
{
    struct tt_profile_row row = {.count = llround(t->count / steps),
                                 .seconds = t->total / steps,
                                 .median = t->median,
                                 .share = all > 0 ? t->total / all : NAN,
                                 .flops = t->flops / steps,
                                 .bytes = t->bytes / steps,
                                 .host_seconds = NAN,
                                 .roof_percent = NAN};
    tt_kernel_short_name(t->name, row.name, sizeof row.name);
    row.name[strcspn(row.name, "\t")] = 0;
    snprintf(row.group, sizeof row.group, "%.31s", tt_tally_group(t->name));
    if (isnan(row.median) && t->time_count) row.median = tt_quantile(t->times, (int)t->time_count, 0.5);
    if (isnan(row.median) && t->count > 0) row.median = t->total / t->count;
    set_rates(&row);
    set_bound(&row, t);
    return row;
}

static int longest_first(const void *x, const void *y)
{
    double a = ((const struct tt_profile_row *)x)->seconds, b = ((const struct tt_profile_row *)y)->seconds;
    return a > b ? -1 : a < b;
}

/* Adds to sums in which one unknown part (NaN) makes the whole unknown. */
static void add_to_group(struct tt_profile_row *group, const struct tt_profile_row *op)
{
    group->count += op->count;
    group->seconds += op->seconds;
    group->share += op->share;
    group->flops += op->flops;
    group->bytes += op->bytes;
}

static struct tt_profile_row *group_of(struct tt_profile *p, const char *name)
{
    for (int i = 0; i < p->groups_count; i++)
        if (strcmp(p->groups[i].name, name) == 0) return &p->groups[i];
    struct tt_profile_row *group = &p->groups[p->groups_count++];
    *group = (struct tt_profile_row){.median = NAN, .roof_percent = NAN};
    snprintf(group->name, sizeof group->name, "%s", name);
    snprintf(group->group, sizeof group->group, "%s", name);
    return group;
}

static tt_status make_rows(struct tt_imported *r, double steps, double gap, struct tt_profile *p)
{
    int n = r->kernels.count + r->copies.count;
    double all = gap > 0 ? gap : 0;
    p->operators = calloc((size_t)n + 1, sizeof *p->operators);
    p->groups = calloc((size_t)n + 2, sizeof *p->groups);
    if (!p->operators || !p->groups) return tt_no_memory("an imported profile");
    for (int i = 0; i < r->kernels.count; i++) all += r->kernels.rows[i].total;
    for (int i = 0; i < r->copies.count; i++) all += r->copies.rows[i].total;
    for (int i = 0; i < r->kernels.count; i++)
        if (r->kernels.rows[i].count > 0) p->operators[p->operators_count++] = row_of(&r->kernels.rows[i], steps, all);
    for (int i = 0; i < r->copies.count; i++) {
        if (!(r->copies.rows[i].count > 0)) continue;
        struct tt_profile_row *row = &p->operators[p->operators_count++];
        *row = row_of(&r->copies.rows[i], steps, all);
        strcpy(row->group, "copies");
    }
    for (int i = 0; i < p->operators_count; i++) add_to_group(group_of(p, p->operators[i].group), &p->operators[i]);
    for (int i = 0; i < p->groups_count; i++) set_rates(&p->groups[i]);
    qsort(p->operators, (size_t)p->operators_count, sizeof *p->operators, longest_first);
    qsort(p->groups, (size_t)p->groups_count, sizeof *p->groups, longest_first);
    if (!(gap > 0)) return TT_OK;
    struct tt_profile_row *row = group_of(p, "gaps");
    row->seconds = gap / steps;
    row->share = gap / all;
    row->flops = row->bytes = row->intensity = row->flops_per_second = row->bytes_per_second = NAN;
    return TT_OK;
}

static tt_status make_phases(const struct tt_imported *r, double steps, struct tt_profile *p)
{
    p->phases = calloc((size_t)r->ranges.count + 1, sizeof *p->phases);
    if (!p->phases) return tt_no_memory("an imported profile");
    for (int i = 0; i < r->ranges.count; i++) {
        const struct tt_tally *t = &r->ranges.rows[i];
        if (!(t->count > 0)) continue; /* outside the measured steps */
        struct tt_profile_phase *phase = &p->phases[p->phases_count++];
        *phase =
            (struct tt_profile_phase){.wall = t->total / steps, .host = NAN, .device = NAN, .flops = NAN, .bytes = NAN};
        snprintf(phase->name, sizeof phase->name, "%.31s", t->name);
    }
    return TT_OK;
}

static tt_status make_events(const struct tt_imported *r, struct tt_profile *p)
{
    size_t n = r->span_count < EVENTS_SHOWN ? r->span_count : EVENTS_SHOWN;
    p->events = calloc(n + 1, sizeof *p->events);
    if (!p->events) return tt_no_memory("an imported profile");
    for (int copies = 1; copies >= 0; copies--) /* by track */
        for (size_t i = 0; i < n; i++) {
            const struct tt_imported_span *b = &r->spans[i];
            if ((b->table == TT_IN_COPIES) != copies) continue;
            const char *name = r->tables[b->table].rows[b->row].name;
            struct tt_profile_event *e = &p->events[p->events_count++];
            *e = (struct tt_profile_event){
                .layer = -1, .start = b->start - r->spans[0].start, .seconds = b->end - b->start};
            strcpy(e->track, copies ? "copy" : "compute");
            strcpy(e->kind, copies ? "copy" : "kernel");
            tt_kernel_short_name(name, e->name, sizeof e->name);
            e->name[strcspn(e->name, "\t")] = 0;
            snprintf(e->group, sizeof e->group, "%.31s", tt_tally_group(name));
        }
    return TT_OK;
}

/* ---- what the host did ---- */

static void read_calls(const struct tt_imported *r, double steps, struct tt_profile *p)
{
    double launches = 0, seconds = 0, waits = 0;
    for (int i = 0; i < r->calls.count; i++) {
        const struct tt_tally *t = &r->calls.rows[i];
        if (strstr(t->name, "LaunchKernel")) launches += t->count, seconds += t->total;
        if (strstr(t->name, "Synchronize")) waits += t->count;
    }
    if (launches > 0) p->launch.launch_seconds = seconds / launches;
    if (launches > 0) p->launch.total_seconds = seconds / steps;
    if (r->calls.count) p->launch.waits = waits / steps;
}

static void name_run(const struct tt_imported *r, double steps, struct tt_profile *p)
{
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(p->run.created, sizeof p->run.created, "%Y-%m-%dT%H:%M:%SZ", &utc);
    snprintf(p->run.tt, sizeof p->run.tt, "%s", TT_VERSION_STRING);
    memcpy(p->run.source, r->tool, sizeof p->run.source);
    memcpy(p->run.device, r->device, sizeof p->run.device);
    memcpy(p->run.scope, r->scope, sizeof p->run.scope);
    p->run.steps = llround(steps);
}

tt_status tt_imported_profile(struct tt_imported *r, double steps, struct tt_profile *out)
{
    double span, busy;
    clear_figures(out);
    if (!(steps > 0)) steps = r->steps;
    name_run(r, steps, out);
    if (!(steps > 0)) steps = 1;
    keep_device(r);
    busy_time(r, &span, &busy);
    TT_TRY(make_rows(r, steps, span - busy, out));
    TT_TRY(make_phases(r, steps, out));
    TT_TRY(make_events(r, out));
    read_calls(r, steps, out);
    double kernels = 0, seconds = 0;
    for (int i = 0; i < r->kernels.count; i++) kernels += r->kernels.rows[i].count, seconds += r->kernels.rows[i].total;
    out->step.kernels = llround(kernels / steps);
    out->step.kernel_seconds = seconds / steps;
    out->step.seconds = out->step.launched_seconds = out->step.mean = span / steps;
    out->step.gap_seconds = (span - busy) / steps;
    out->step.gap_fraction = span > 0 ? (span - busy) / span : NAN;
    return TT_OK;
}
