/* tt diagnose of several ranks: how fast they communicate, and what that costs a step. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/kernel_info.h"
#include "cli/diagnose.h"
#include "core/base/cache.h"
#include "core/base/format.h"
#include "core/base/json.h"
#include "core/job/address.h"
#include "core/train/open.h"
#include "profiling/measure/ceiling.h"
#include "profiling/measure/cost.h"
#include "profiling/measure/predict.h"

/* ---- measuring ---- */

/* Gathers the memory of all ranks. To be called after the steps that were timed, which set the peak. */
static tt_status gather_seats(struct tt_diagnosis *d)
{
    struct tt_rank_seat mine = {.room = d->room};
    struct tt_device_info info = {0};
    tt_host_name(mine.host, sizeof mine.host);
    tt_status st = d->backend.ops->info(d->backend.self, &info);
    mine.peak = (double)info.memory_peak;
    d->ranks.seats = calloc((size_t)tt_job_ranks(d->member.job), sizeof *d->ranks.seats);
    if (!st && !d->ranks.seats) st = tt_no_memory("what the ranks have");
    TT_TRY(tt_job_agree(d->member.job, st));
    return tt_job_gather(d->member.job, &mine, sizeof mine, d->ranks.seats);
}

/* Rank 0's rates, measured while the others wait. Only the ratios between kernels follow from them. */
static tt_status rates(struct tt_diagnosis *d, struct tt_chip *out)
{
    struct tt_ceilings c = {0};
    char path[1200];
    tt_status st = TT_OK;
    if (tt_job_leads(d->member.job))
        st = tt_ceilings_find(&d->backend, d->c->precision, tt_cache_path("ceilings.json", path, sizeof path),
                              TT_CEILINGS_KEPT, &c);
    TT_TRY(tt_job_agree(d->member.job, st));
    TT_TRY(tt_job_share(d->member.job, &c, sizeof c));
    *out = (struct tt_chip){.vector = c.rest, .bandwidth = c.bandwidth};
    for (int p = 0; p < TT_PRECISIONS; p++) out->matrix[p] = p == TT_PREC_FP8 ? c.flops : c.rest;
    return TT_OK;
}

/* Predicts the exposed communication. Kernels are scaled to the time that they took here; collectives take as long as
 * the table says. */
static tt_status predict(struct tt_diagnosis *d, const struct tt_plan *plan)
{
    struct tt_rank_diagnosis *r = &d->ranks;
    struct tt_prediction p;
    struct tt_chip chip;
    enum tt_precision precision = d->c->precision;
    double rate = r->sent / r->communication;
    TT_TRY(rates(d, &chip));
    TT_TRY(tt_predict(plan, precision, &chip, (struct tt_ring){rate, 0}, &p));
    double slower = r->own / (p.seconds - p.exposed);
    chip.vector /= slower;
    chip.bandwidth /= slower;
    for (int p = 0; p < TT_PRECISIONS; p++) chip.matrix[p] /= slower;
    TT_TRY(tt_predict(plan, precision, &chip, (struct tt_ring){rate, 0}, &p));
    r->exposed = p.exposed < r->communication ? p.exposed : r->communication;
    return TT_OK;
}

static tt_status predict_step(struct tt_diagnosis *d)
{
    struct tt_rank_diagnosis *r = &d->ranks;
    struct tt_session s = {0};
    tt_status st = tt_job_agree(d->member.job, tt_session_plan(&s, &d->backend, d->c, TT_USE_TRAIN));
    if (!st) {
        struct tt_plan_cost cost = tt_cost_of_plan(s.step);
        r->collectives = cost.collectives;
        r->sent = cost.sent;
        r->communication = tt_links_plan_seconds(&r->links, s.step);
        st = predict(d, s.step);
    }
    tt_session_close(&s);
    return st;
}

static tt_status time_steps(struct tt_diagnosis *d, struct tt_session *s, struct tt_step_times *steps)
{
    struct tt_rank_diagnosis *r = &d->ranks;
    struct tt_run run = {0};
    d->backend.ops->reset_peak(d->backend.self); /* forgets what timing the collectives took */
    tt_status st = tt_session_try(s, &d->backend, d->c, d->data, &run);
    if (!st) st = tt_step_times_open(steps, &d->backend, 2, d->own->quick ? 3 : 7);
    st = tt_job_agree(d->member.job, st);
    tt_job_busy(d->member.job);
    if (!st) st = tt_measure_overlap(steps, &d->backend, &run, s->step, &r->measured);
    r->own = r->measured.kernels;
    tt_run_close(&run);
    return st;
}

tt_status tt_diagnose_ranks(struct tt_diagnosis *d)
{
    struct tt_session s = {0};
    struct tt_step_times steps = {0};
    double most = d->own->quick ? 0x1p20 : d->device.shares_memory ? 0x1p24 : 0x1p27;
    if (!d->member.job) return TT_OK;
    TT_TRY(tt_links_measure(&d->backend, d->member.job, most, d->own->quick ? 3 : 7, &d->ranks.links));
    tt_status st = time_steps(d, &s, &steps);
    tt_step_times_close(&steps, &d->backend);
    tt_session_close(&s);
    if (!st) st = gather_seats(d);
    return st ? st : predict_step(d);
}

/* ---- in words ---- */

/* The columns of nccl-tests, whose "float" is fp32. */
static void print_table(const struct tt_links *l)
{
    printf("\n  %-15s %11s %12s %7s %11s %8s %8s\n", "", "size", "count", "type", "time", "algbw", "busbw");
    printf("  %-15s %11s %12s %7s %11s %8s %8s\n", "", "(B)", "(elements)", "", "(us)", "(GB/s)", "(GB/s)");
    for (int i = 0; i < l->row_count; i++) {
        const struct tt_link_row *r = &l->rows[i];
        printf("  %-15s %11.0f %12lld %7s %11.2f %8.3f %8.3f\n", tt_collective_name(r->kind), r->bytes,
               (long long)r->count, "float", 1e6 * r->seconds, r->algbw / 1e9, r->busbw / 1e9);
    }
    putchar('\n');
}

static void print_pair(const struct tt_rank_diagnosis *r, const char *which, const struct tt_link_pair *p)
{
    printf("%s ranks %d (%s) and %d (%s) with %.3f GB/s", which, p->a, r->seats[p->a].host, p->b, r->seats[p->b].host,
           p->bytes_per_second / 1e9);
}

static void print_pairs(const struct tt_rank_diagnosis *r)
{
    if (!r->links.pairs) {
        printf("pairs     not measured: %s\n", r->links.no_pairs);
        return;
    }
    print_pair(r, "pairs     slowest:", &r->links.slowest);
    if (r->links.pairs > 1) print_pair(r, "; fastest:", &r->links.fastest);
    printf("; %d measured\n", r->links.pairs);
}

/* The two ranks that matter: the one that took most, and the one with the least room. */
static void print_memory(const struct tt_rank_diagnosis *r)
{
    char most[32], least[32];
    int takes = 0, tight = 0;
    for (int i = 1; i < r->links.ranks; i++) {
        if (r->seats[i].peak > r->seats[takes].peak) takes = i;
        if (r->seats[i].room < r->seats[tight].room) tight = i;
    }
    tt_format_bytes(r->seats[takes].peak, most);
    tt_format_bytes(r->seats[tight].room, least);
    printf("memory    a step took at most %s, on rank %d (%s); rank %d (%s) had the least free, %s\n", most, takes,
           r->seats[takes].host, tight, r->seats[tight].host, least);
}

void tt_diagnose_print_ranks(const struct tt_diagnosis *d)
{
    const struct tt_rank_diagnosis *r = &d->ranks;
    char sent[32];
    if (!d->member.job || !r->links.row_count) return;
    printf("ranks     %d by %s through %s; shard %s\n", r->links.ranks, d->member.place.starter, d->device.collectives,
           tt_shard_names[d->c->shard]);
    print_table(&r->links);
    print_pairs(r);
    print_memory(r);
    tt_format_bytes(r->sent, sent);
    printf("comm.     a rank sends %s in the %d collective%s of a step: from this table %.2f ms, of which %.2f ms are "
           "exposed beside %.2f ms of kernels\n", sent, r->collectives, tt_plural(r->collectives),
           1e3 * r->communication, 1e3 * r->exposed, 1e3 * r->own);
    printf("          measured: %.2f ms of collectives, waiting for later ranks included; a step of %.2f ms\n",
           1e3 * r->measured.communication, 1e3 * r->measured.median);
}

/* ---- JSON ---- */

static void put_table(struct tt_json_writer *w, const struct tt_links *l)
{
    tt_json_begin(w, "bandwidth", '[');
    for (int i = 0; i < l->row_count; i++) {
        const struct tt_link_row *r = &l->rows[i];
        tt_json_begin(w, NULL, '{');
        tt_json_put_string(w, "collective", tt_collective_name(r->kind));
        tt_json_put_number(w, "size_bytes", r->bytes);
        tt_json_put_int(w, "count", r->count);
        tt_json_put_string(w, "type", "float");
        tt_json_put_number(w, "time_us", 1e6 * r->seconds);
        tt_json_put_number(w, "algbw_gb_per_s", r->algbw / 1e9);
        tt_json_put_number(w, "busbw_gb_per_s", r->busbw / 1e9);
        tt_json_end(w, '}');
    }
    tt_json_end(w, ']');
}

static void put_pair(struct tt_json_writer *w, const char *key, const struct tt_rank_diagnosis *r,
                     const struct tt_link_pair *p)
{
    tt_json_begin(w, key, '{');
    tt_json_begin(w, "ranks", '[');
    tt_json_put_int(w, NULL, p->a);
    tt_json_put_int(w, NULL, p->b);
    tt_json_end(w, ']');
    tt_json_begin(w, "hosts", '[');
    tt_json_put_string(w, NULL, r->seats[p->a].host);
    tt_json_put_string(w, NULL, r->seats[p->b].host);
    tt_json_end(w, ']');
    tt_json_put_number(w, "gb_per_s", p->bytes_per_second / 1e9);
    tt_json_end(w, '}');
}

static void put_seats(struct tt_json_writer *w, const struct tt_rank_diagnosis *r)
{
    tt_json_begin(w, "each", '[');
    for (int i = 0; i < r->links.ranks; i++) {
        tt_json_begin(w, NULL, '{');
        tt_json_put_int(w, "rank", i);
        tt_json_put_string(w, "host", r->seats[i].host);
        tt_json_put_number(w, "free_bytes", r->seats[i].room);
        tt_json_put_number(w, "peak_bytes", r->seats[i].peak);
        tt_json_end(w, '}');
    }
    tt_json_end(w, ']');
}

void tt_diagnose_put_ranks(struct tt_json_writer *w, const struct tt_diagnosis *d)
{
    const struct tt_rank_diagnosis *r = &d->ranks;
    if (!d->member.job || !r->links.row_count) return;
    tt_json_begin(w, "ranks", '{');
    tt_json_put_int(w, "ranks", r->links.ranks);
    tt_json_put_string(w, "starter", d->member.place.starter);
    tt_json_put_string(w, "collectives", d->device.collectives);
    tt_json_put_string(w, "shard", tt_shard_names[d->c->shard]);
    put_table(w, &r->links);
    tt_json_put_int(w, "pairs", r->links.pairs);
    tt_json_put_string(w, "no_pairs", r->links.no_pairs);
    if (r->links.pairs) put_pair(w, "slowest_pair", r, &r->links.slowest);
    if (r->links.pairs) put_pair(w, "fastest_pair", r, &r->links.fastest);
    put_seats(w, r);
    tt_json_begin(w, "step", '{');
    tt_json_put_int(w, "collectives", r->collectives);
    tt_json_put_number(w, "sent_bytes", r->sent);
    tt_json_put_number(w, "kernels_ms", 1e3 * r->own);
    tt_json_put_number(w, "predicted_communication_ms", 1e3 * r->communication);
    tt_json_put_number(w, "predicted_exposed_ms", 1e3 * r->exposed);
    tt_json_put_number(w, "measured_communication_ms", 1e3 * r->measured.communication);
    tt_json_put_number(w, "measured_step_ms", 1e3 * r->measured.median);
    tt_json_end(w, '}');
    tt_json_end(w, '}');
}
