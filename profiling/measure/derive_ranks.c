/* Several ranks: their collectives, how their times differ, and their traces on one clock. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/kernel_info.h"
#include "core/job/address.h"
#include "profiling/measure/derive.h"
#include "profiling/measure/trace.h"

/* ---- collectives ---- */

static bool same(const struct tt_profile_collective *row, const struct tt_op *op)
{
    const struct tt_collective *c = &op->args.collective;
    return !strcmp(row->name, tt_collective_name(c->kind)) && row->elements == c->count &&
           !strcmp(row->type, tt_dtype_names[c->type]) && !strcmp(row->phase, tt_phase_name(op->phase));
}

static struct tt_profile_collective *row_of(struct tt_profile *out, const struct tt_op *op)
{
    const struct tt_collective *c = &op->args.collective;
    for (int i = 0; i < out->collectives_count; i++)
        if (same(&out->collectives[i], op)) return &out->collectives[i];
    struct tt_profile_collective *row = &out->collectives[out->collectives_count++];
    snprintf(row->name, sizeof row->name, "%s", tt_collective_name(c->kind));
    snprintf(row->type, sizeof row->type, "%s", tt_dtype_names[c->type]);
    snprintf(row->phase, sizeof row->phase, "%s", tt_phase_name(op->phase));
    row->elements = c->count;
    row->bytes = (double)c->count * (double)tt_dtype_size(c->type);
    return row;
}

/* Adds one operation to its row: its time on this rank, waiting included. `fastest` is of this rank until find_fastest
 * compares all. */
static void add_collective(struct tt_passes *r, struct tt_profile *out, int i)
{
    const struct tt_op *op = &r->session.step->ops[i];
    struct tt_times *t = &r->t;
    struct tt_profile_collective *row = row_of(out, op);
    double whole = tt_passes_median(r, t->beside + (size_t)i * (size_t)t->steps);
    row->count++;
    row->sent_bytes += tt_collective_sent(&op->args.collective);
    row->seconds += whole * t->scale;
    row->exposed += t->median[i];
    row->fastest += whole;
}

static tt_status make_collectives(struct tt_passes *r, struct tt_profile *out)
{
    const struct tt_plan *plan = r->session.step;
    out->collectives = calloc((size_t)plan->count, sizeof *out->collectives);
    if (!out->collectives) return tt_no_memory("the collectives of a step");
    for (int i = 0; i < plan->count; i++)
        if (plan->ops[i].kind == TT_OP_COLLECTIVE) add_collective(r, out, i);
    for (int i = 0; i < out->collectives_count; i++) {
        struct tt_profile_collective *row = &out->collectives[i];
        row->hidden = row->seconds - row->exposed;
        row->fastest /= (double)row->count;
        out->job.sent_bytes += row->sent_bytes;
        out->job.communication += row->seconds;
        out->job.hidden += row->hidden;
        out->job.exposed += row->exposed;
    }
    return TT_OK;
}

/* The rank that arrives last waits for nobody, so the shortest time of all ranks is nearest to that of the transfer. */
static tt_status find_fastest(struct tt_job *job, struct tt_profile *out)
{
    size_t n = (size_t)out->collectives_count, ranks = (size_t)tt_job_ranks(job);
    double *mine = calloc(n + 1, sizeof *mine), *all = calloc(n * ranks + 1, sizeof *all);
    tt_status st = tt_job_agree(job, mine && all ? TT_OK : tt_no_memory("the collectives of %d ranks", (int)ranks));
    for (size_t i = 0; i < n && !st; i++) mine[i] = out->collectives[i].fastest;
    if (!st) st = tt_job_gather(job, mine, n * sizeof *mine, all);
    for (size_t i = 0; i < n && !st; i++) {
        struct tt_profile_collective *row = &out->collectives[i];
        for (size_t r = 0; r < ranks; r++) row->fastest = fmin(row->fastest, all[r * n + i]);
        row->algorithm_bandwidth = row->fastest > 0 ? row->bytes / row->fastest : NAN;
        row->bus_bandwidth = row->fastest > 0 ? row->sent_bytes / (double)row->count / row->fastest : NAN;
    }
    free(mine);
    free(all);
    return st;
}

/* ---- ranks ---- */

static struct tt_profile_rank describe(const struct tt_passes *r, const struct tt_profile *out)
{
    struct tt_profile_rank me = {.rank = r->config.rank, .seconds = out->step.seconds, .p95 = out->step.p95,
                                 .own_seconds = out->step.kernel_seconds - out->job.exposed,
                                 .communication = out->job.communication, .hidden = out->job.hidden,
                                 .exposed = out->job.exposed, .peak_memory_bytes = out->step.peak_memory_bytes};
    tt_host_name(me.host, sizeof me.host);
    snprintf(me.device, sizeof me.device, "%s", out->run.device);
    return me;
}

/* A rank that computes for longer than the others keeps them waiting. */
static void name_slowest(struct tt_profile *out)
{
    double mean = 0;
    for (int i = 0; i < out->ranks_count; i++) {
        mean += out->ranks[i].own_seconds / out->ranks_count;
        if (out->ranks[i].own_seconds > out->ranks[out->job.slowest].own_seconds) out->job.slowest = i;
    }
    out->job.slowest_percent = 100 * (out->ranks[out->job.slowest].own_seconds / mean - 1);
}

static void name_clocks(struct tt_profile *out)
{
    double within = 0;
    for (int i = 0; i < out->ranks_count; i++) within = fmax(within, out->ranks[i].clock_within);
    if (within > 0)
        snprintf(out->job.clocks, sizeof out->job.clocks, "the hosts' clocks are aligned by messages to rank 0 and "
                 "back, within %.0f us; a device's differs from its host's by the start of an event", 1e6 * within);
    else
        snprintf(out->job.clocks, sizeof out->job.clocks, "all ranks are on one machine and share its clock; a "
                 "device's differs from it by the start of an event");
}

static tt_status make_ranks(struct tt_passes *r, struct tt_job *job, struct tt_profile *out)
{
    int ranks = tt_job_ranks(job);
    struct tt_clock *clocks = calloc((size_t)ranks, sizeof *clocks);
    struct tt_profile_rank me = describe(r, out);
    out->ranks = calloc((size_t)ranks, sizeof *out->ranks);
    tt_status st = tt_job_agree(job, clocks && out->ranks ? TT_OK : tt_no_memory("the times of %d ranks", ranks));
    if (!st) st = tt_job_clocks(job, clocks);
    if (!st) st = tt_job_gather(job, &me, sizeof me, out->ranks);
    for (int i = 0; i < ranks && !st; i++) {
        out->ranks[i].clock_ahead = clocks[i].ahead;
        out->ranks[i].clock_within = clocks[i].within;
        out->ranks_count++;
    }
    free(clocks);
    TT_TRY(st);
    name_slowest(out);
    name_clocks(out);
    return TT_OK;
}

/* ---- their traces ---- */

struct sent {
    int64_t events;
    double zero; /* this rank's clock when its trace began: its events' times count from there */
};

/* Puts the events of the other ranks on rank 0's clock and into the profile, which has rank 0's own already. */
static void take_events(struct tt_profile *out, const struct sent *sent, struct tt_profile_event *all)
{
    int n = 0;
    for (int rank = 0; rank < out->ranks_count; rank++) {
        double shift = sent[rank].zero - out->ranks[rank].clock_ahead - sent[0].zero;
        for (int64_t i = 0; i < sent[rank].events; i++, n++) {
            all[n].rank = rank;
            all[n].start += shift;
        }
    }
    memmove(all, all + sent[0].events, (size_t)(n - sent[0].events) * sizeof *all);
    out->rank_events = all;
    out->rank_events_count = n - (int)sent[0].events;
    tt_trace_sort(out->rank_events, out->rank_events_count);
}

static tt_status collect_events(struct tt_job *job, struct tt_profile *out, const struct sent *sent)
{
    int ranks = tt_job_ranks(job);
    size_t *sizes = calloc((size_t)ranks, sizeof *sizes), total = 0;
    for (int i = 0; i < ranks && sizes; i++)
        total += sizes[i] = (size_t)sent[i].events * sizeof(struct tt_profile_event);
    struct tt_profile_event *all = sizes && tt_job_leads(job) ? malloc(total + 1) : NULL;
    bool whole = sizes && (all || !tt_job_leads(job));
    tt_status st = tt_job_agree(job, whole ? TT_OK : tt_no_memory("the traces of %d ranks", ranks));
    if (!st) st = tt_job_collect(job, out->events, sizes, all);
    free(sizes);
    if (!st && all)
        take_events(out, sent, all);
    else
        free(all);
    return st;
}

static tt_status make_trace(const struct tt_passes *r, struct tt_job *job, struct tt_profile *out)
{
    struct sent mine = {out->events_count, r->recorder.zero}, *sent = calloc((size_t)tt_job_ranks(job), sizeof *sent);
    tt_status st = tt_job_agree(job, sent ? TT_OK : tt_no_memory("the traces of the ranks"));
    if (!st) st = tt_job_gather(job, &mine, sizeof mine, sent);
    if (!st) st = collect_events(job, out, sent);
    free(sent);
    return st;
}

tt_status tt_derive_ranks(struct tt_passes *r, struct tt_job *job, struct tt_profile *out)
{
    if (!r->session.step->collective) return TT_OK;
    out->job.ranks = r->config.ranks; /* also of one rank with simulated links (backend/link.h) */
    snprintf(out->job.shard, sizeof out->job.shard, "%s", tt_shard_names[r->config.shard]);
    snprintf(out->job.collectives, sizeof out->job.collectives, "%s", r->before.collectives);
    TT_TRY(tt_job_agree(job, make_collectives(r, out)));
    TT_TRY(find_fastest(job, out));
    TT_TRY(make_ranks(r, job, out));
    return make_trace(r, job, out);
}
